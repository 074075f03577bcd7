"""A MuSE graph as a picture in SVG: sites as boxes on a ring, what each finds, what is sent between them."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from html import escape

from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.projection import Projection

MOST_CHANNELS = 60  # drawn; of more, the most costly
MOST_LABELS = 40  # with more channels, a cost shows only when the pointer rests on its line
MOST_ROWS = 9  # of a box
LONGEST_TEXT = 34  # characters of a projection; the rest shows when the pointer rests on it
ROW, HEAD, CHARACTER, PADDING, MARGIN, GAP = 17, 24, 6.7, 9, 30, 46  # pixels
RATE_WIDTH = 60
THINNEST, THICKEST = 0.8, 5.0
STYLE = (
    "text{font:12px ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace;fill:#222}"
    ".note{font-size:13px}.site{font-weight:bold}.sink{font-weight:bold}.rate,.cost{font-size:10.5px;fill:#555}"
    ".cost{text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:3px}.rate{text-anchor:end}"
    ".box{fill:#f7f8fa;stroke:#8a94a6}.stream{fill:none;stroke:#2a6fb0;stroke-opacity:.75}"
    ".local{fill:none;stroke:#8a94a6;stroke-dasharray:3 3}"
)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a site is drawn, and the vertices that its rows show."""

    site: int
    x: float
    y: float
    width: float
    height: float
    rows: tuple[Vertex, ...]
    n_hidden: int

    def row(self, vertex: Vertex) -> float:
        """Return the height of the middle of a vertex's row; hidden ones are the last row."""
        place = self.rows.index(vertex) if vertex in self.rows else len(self.rows)
        return self.y + HEAD + (place + 0.5) * ROW

    def anchor(self, vertex: Vertex, other: float, center: float) -> Point:
        """Return the point of the border beside a vertex's row that faces the inside of the ring.

        In the middle, top or bottom, it is the side that faces the other end, at a horizontal position.
        """
        toward = other if self.x < center < self.x + self.width else center
        return (self.x + self.width if toward > self.x + self.width / 2 else self.x), self.row(vertex)


@dataclass(frozen=True, slots=True)
class _Line:
    """A channel on its way from box to box, bent toward the center of the ring."""

    start: Point
    bend: Point
    end: Point

    @classmethod
    def between(cls, boxes: Mapping[int, _Box], vertex: Vertex, reader: Vertex, center: Point) -> "_Line":
        """Return the line from a vertex to one that reads it at another site."""
        source, target = boxes[vertex.site], boxes[reader.site]
        start = source.anchor(vertex, target.x + target.width / 2, center[0])
        end = target.anchor(reader, start[0], center[0])
        bend = (start[0] + end[0] + center[0]) / 3, (start[1] + end[1] + center[1]) / 3
        return cls(start, bend, end)

    def draw(self, width: float, text: str) -> str:
        points = " ".join(f"{value:.1f}" for value in (*self.bend, *self.end))
        return (
            f'<path class="stream" stroke-width="{width:.2f}" marker-end="url(#tip)" '
            f'd="M{self.start[0]:.1f} {self.start[1]:.1f}Q{points}"><title>{escape(text)}</title></path>'
        )

    def label(self, text: str) -> str:
        """Return a text at a quarter of the way, where lines to one site have not met yet."""
        weights = ((self.start, 0.5625), (self.bend, 0.375), (self.end, 0.0625))
        x, y = (sum(point[axis] * weight for point, weight in weights) for axis in (0, 1))
        return f'<text class="cost" x="{x:.1f}" y="{y - 3:.1f}">{text}</text>'


def picture(graph: MuseGraph, *, unit: str = "", most_channels: int = MOST_CHANNELS) -> str:
    """Return an SVG document that shows a graph; `unit` is that of rates and costs.

    Vertices that no other reads are bold. A line from site to site is what is sent, the wider the more it
    costs; dashed lines are read at the same site.

    >>> import numpy as np
    >>> from weft.placement.network import Network
    >>> from weft.placement.projection import Projection
    >>> network = Network(("x", "y"), {"A": np.array([5.0, 0.0]), "B": np.array([0.0, 1.0])})
    >>> a, b = Vertex(Projection("A", ("A",)), 0), Vertex(Projection("B", ("B",)), 1)
    >>> pairs = Vertex(Projection("SEQ(A, B)", ("A", "B"), factor=0.1), 0)
    >>> svg = picture(MuseGraph(network, {a: (), b: (), pairs: (a, b)}))
    >>> svg.startswith("<svg"), "SEQ(A, B)" in svg, svg.count('class="stream"')
    (True, True, 1)
    """
    dearest = dearest_channels(graph, most_channels)
    readers = _first_readers(graph)
    ends = {end for (vertex, site), _ in dearest for end in (vertex, readers[vertex, site])}
    sinks = {vertex for vertex, inputs in graph.inputs.items() if inputs}.difference(*graph.inputs.values())
    boxes, size = _ring(graph, sinks, ends)
    costs = [cost for _, cost in dearest if cost > 0]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]:.0f} {size[1]:.0f}" '
        f'width="{size[0]:.0f}" height="{size[1]:.0f}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerUnits="userSpaceOnUse" '
        'markerWidth="9" markerHeight="9" orient="auto"><path d="M0 0L8 4L0 8z" fill="#2a6fb0"/></marker>'
        "</defs>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        *_notes(graph, dearest, unit),
    ]
    labels = []
    for (vertex, site), cost in dearest:
        line = _Line.between(boxes, vertex, readers[vertex, site], (size[0] / 2, size[1] / 2))
        text = f"{vertex.projection.text}: {number_text(cost)}"
        lines.append(line.draw(_width(cost, costs), text))
        if len(dearest) <= MOST_LABELS:
            labels.append(line.label(number_text(cost)))
    lines += [*(line for box in boxes.values() for line in _box_lines(box, graph, sinks)), *labels]
    return "\n".join([*lines, "</svg>"]) + "\n"


def dearest_channels(graph: MuseGraph, most: int) -> list[tuple[tuple[Vertex, int], float]]:
    """Return the most costly channels, each with its cost."""
    return sorted(graph.channels.items(), key=lambda channel: -channel[1])[:most]


def channels_by_projection(graph: MuseGraph) -> dict[Projection, list[tuple[Vertex, int]]]:
    """Return the channels of each projection that is sent, the most costly projections first."""
    channels: dict[Projection, list[tuple[Vertex, int]]] = {}
    for vertex, site in graph.channels:
        channels.setdefault(vertex.projection, []).append((vertex, site))
    costs = {projection: sum(graph.channels[way] for way in ways) for projection, ways in channels.items()}
    return {projection: channels[projection] for projection in sorted(costs, key=lambda own: -costs[own])}


def _first_readers(graph: MuseGraph) -> dict[tuple[Vertex, int], Vertex]:
    """Return for every vertex and site the first vertex there that reads it."""
    reading = ((read, reader) for reader in reversed(graph.order) for read in graph.inputs[reader])
    return {(read, reader.site): reader for read, reader in reading}


def _ring(graph: MuseGraph, sinks: Set[Vertex], ends: Set[Vertex]) -> tuple[dict[int, _Box], Point]:
    """Place the sites that do anything on an ellipse wide enough for their boxes.

    Sinks, and the ends of channels that are drawn, are the first to be shown.
    """
    by_site: dict[int, list[Vertex]] = {}
    for vertex in graph.order:
        by_site.setdefault(vertex.site, []).append(vertex)
    rows = {site: _rows(vertices, sinks, ends) for site, vertices in by_site.items()}
    sizes = {
        site: (_box_width(graph, site, rows[site]), _box_height(len(rows[site]), len(by_site[site])))
        for site in sorted(by_site)
    }
    widest = max(width for width, _ in sizes.values())
    highest = max(height for _, height in sizes.values())
    n_sites = len(sizes)
    radius_y = max((highest + GAP) * n_sites / 4.8, (highest + GAP) * 0.75)
    radius_x = max(widest + GAP, (widest + GAP) * n_sites / 6)
    width = 2 * (radius_x + MARGIN) + widest
    height = 2 * (radius_y + MARGIN) + highest + 3 * ROW
    boxes = {}
    for number, (site, (own_width, own_height)) in enumerate(sizes.items()):
        angle = 2 * math.pi * (number + 0.5) / n_sites - math.pi
        x = width / 2 + radius_x * math.cos(angle) - own_width / 2
        y = height / 2 + 1.5 * ROW + radius_y * math.sin(angle) - own_height / 2
        n_hidden = len(by_site[site]) - len(rows[site])
        boxes[site] = _Box(site, x, y, own_width, own_height, rows[site], n_hidden)
    return boxes, (width, height)


def _rows(vertices: Sequence[Vertex], sinks: Set[Vertex], ends: Set[Vertex]) -> tuple[Vertex, ...]:
    """Choose the vertices that a box shows."""
    ranked = sorted(vertices, key=lambda vertex: (vertex not in sinks, vertex not in ends))
    kept = set(ranked[:MOST_ROWS])
    return tuple(vertex for vertex in vertices if vertex in kept)


def _box_width(graph: MuseGraph, site: int, rows: Sequence[Vertex]) -> float:
    longest = max([len(_short_text(vertex)) for vertex in rows] + [len(graph.network.sites[site])])
    return longest * CHARACTER + RATE_WIDTH + 2 * PADDING


def _box_height(n_rows: int, n_vertices: int) -> float:
    return HEAD + (n_rows + (n_vertices > n_rows)) * ROW + PADDING


def _notes(graph: MuseGraph, dearest: Sequence[tuple[tuple[Vertex, int], float]], unit: str) -> list[str]:
    said = f" {unit}" if unit else ""
    n_sites = len({vertex.site for vertex in graph.inputs})
    notes = [
        f"{n_sites} sites, {len(graph.channels)} streams between them, cost {number_text(graph.cost)}{said}"
    ]
    if len(dearest) < len(graph.channels):
        share = sum(cost for _, cost in dearest) / graph.cost if graph.cost else 1.0
        notes.append(f"the {len(dearest)} most costly streams are drawn: {share:.1%} of the cost")
    return [
        f'<text class="note" x="{MARGIN / 2:.0f}" y="{20 + 17 * place}">{escape(note)}</text>'
        for place, note in enumerate(notes)
    ]


def _box_lines(box: _Box, graph: MuseGraph, sinks: Set[Vertex]) -> list[str]:
    lines = [
        f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="6"/>',
        f'<text class="site" x="{box.x + PADDING:.1f}" y="{box.y + 16:.1f}">'
        f"{escape(graph.network.sites[box.site])}</text>",
    ]
    for vertex in box.rows:
        middle = box.row(vertex)
        kind = ' class="sink"' if vertex in sinks else ""
        lines += [
            f'<text{kind} x="{box.x + PADDING:.1f}" y="{middle + 4:.1f}">{escape(_short_text(vertex))}'
            f"<title>{escape(vertex.projection.text)}</title></text>",
            f'<text class="rate" x="{box.x + box.width - PADDING:.1f}" y="{middle + 4:.1f}">'
            f"{number_text(graph.rate(vertex))}</text>",
        ]
        for read in graph.inputs[vertex]:
            if read.site == box.site and read in box.rows:
                start = box.row(read)
                bend = box.x - 4 - 3 * abs(box.rows.index(vertex) - box.rows.index(read))
                lines.append(
                    f'<path class="local" d="M{box.x + 4:.1f} {start:.1f}C{bend:.1f} {start:.1f} '
                    f'{bend:.1f} {middle:.1f} {box.x + 4:.1f} {middle:.1f}"/>'
                )
    if box.n_hidden:
        y = box.y + HEAD + (len(box.rows) + 0.5) * ROW + 4
        lines.append(
            f'<text class="rate" x="{box.x + box.width - PADDING:.1f}" y="{y:.1f}">'
            f"and {box.n_hidden} more</text>"
        )
    return lines


def number_text(value: float) -> str:
    """Return a number with three digits that count.

    >>> [number_text(value) for value in (0, 0.00123, 12.34, 12345.6, 1.2e13)]
    ['0', '0.00123', '12.3', '12,346', '1.2e+13']
    """
    return f"{value:,.0f}" if 1000 <= value < 1e12 else f"{value:.3g}"


def _width(cost: float, costs: Sequence[float]) -> float:
    """Return the width of a line, by the logarithm of the cost among all that are drawn."""
    if cost <= 0 or min(costs) == max(costs):
        return THINNEST if cost <= 0 else (THINNEST + THICKEST) / 2
    place = math.log(cost / min(costs)) / math.log(max(costs) / min(costs))
    return THINNEST + place * (THICKEST - THINNEST)


def _short_text(vertex: Vertex) -> str:
    """Return a projection without its conditions and window, and not too long."""
    text = vertex.projection.text.split(" WHERE ")[0].split(" NOT (")[0].split(" WITHIN ")[0]
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
