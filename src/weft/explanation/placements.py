"""Say where queries are best evaluated when events have sites, what that sends, and how good it is."""

from collections.abc import Callable, Iterable, Sequence

from weft.explanation.placement_picture import channels_by_projection, dearest_channels, number_text
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.pipeline import Placed
from weft.placement.projection import Projection
from weft.placement.site_statistics import SiteStatistics
from weft.runtime.stages.match_codec import OVERHEAD_BYTES

MOST_NAMED = 4  # sites that are named; of more, the number is said
MOST_CHANNELS = 20  # shown one by one, the most costly first

Column = Callable[[Projection, float], str]  # what a column says of the matches of a projection, given a rate
UNITS = ("B", "kB", "MB", "GB", "TB")


def placement_text(placed: Placed, known: SiteStatistics) -> str:
    """Return where queries are evaluated, what that sends, and how far from the best it can be."""
    lines = [
        f"Placement on {len(known.network.sites)} sites",
        f"  cost         {number_text(placed.cost)} rows per second between sites, "
        f"{number_text(known.rows(placed.cost))} in all",
        f"  centralized  {number_text(placed.central_cost)} rows per second; this is "
        f"{percent_text(placed.ratio)} of it",
        f"  bound        {_bound_text(placed)}",
    ]
    if known.idle:
        names = ", ".join(query.name for query in known.idle)
        lines.append(f"  no matches   {names}: there are no events of some item")
    lines += [f"  at one site  {line}" for line in central_lines(placed.graph, known.queries)]
    columns = {
        "rows per second": lambda _, rate: number_text(rate),
        "rows": lambda _, rate: number_text(known.rows(rate)),
        "bytes": lambda projection, rate: bytes_text(known.rows(rate) * sent_bytes(known, projection)),
    }
    lines += ["", "Found, matches per second", *(f"  {line}" for line in projection_lines(placed.graph))]
    sent = channel_lines(placed.graph, columns) if placed.graph.channels else ["nothing"]
    return "\n".join([*lines, "", "Sent between sites", *(f"  {line}".rstrip() for line in sent)])


def central_lines(graph: MuseGraph, queries: Iterable[NormalFormQuery]) -> list[str]:
    """Say of the queries with TIMEOUTS where each is evaluated."""
    central = {query.root.text: query.central for query in queries if query.central is not None}
    sites = {
        central[vertex.projection.text]: graph.network.sites[vertex.site]
        for vertex in graph.order
        if vertex.projection.text in central
    }
    return [f"{name}: for its TIMEOUTS, all of its events come to {site}" for name, site in sites.items()]


def sent_bytes(known: SiteStatistics, projection: Projection) -> float:
    """Return what a match takes on its way to another site, with what is sent of each event besides."""
    return known.match_bytes(projection) + OVERHEAD_BYTES * len(projection.kinds)


def percent_text(share: float) -> str:
    """Return a share in percent.

    >>> percent_text(0.00812), percent_text(12.3)
    ('0.812%', '1,230%')
    """
    return f"{100 * share:,.0f}%" if share >= 1 else f"{100 * share:.3g}%"


def bytes_text(count: float) -> str:
    """Return a number of bytes as people read it.

    >>> bytes_text(999.0), bytes_text(1_234_567.0)
    ('999 B', '1.23 MB')
    """
    unit = 0
    while count >= 1000 and unit < len(UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.3g} {UNITS[unit]}"


def _bound_text(placed: Placed) -> str:
    if placed.gap is None:
        return "nothing is known of what the best placement costs"
    if not placed.gap:
        return "no placement costs less"
    return (
        f"no placement costs less than {number_text(placed.lower_bound)}; this costs at most "
        f"{percent_text(placed.gap)} more than the best"
    )


def projection_lines(graph: MuseGraph) -> list[str]:
    r"""Return every projection that is found, the sites that do so, and what they read.

    >>> import numpy as np
    >>> from weft.placement.network import Network
    >>> network = Network(("x", "y"), {"A": np.array([5.0, 5.0]), "B": np.array([0.0, 1.0])})
    >>> a, b, pairs = (
    ...     Projection("A", ("A",)),
    ...     Projection("B", ("B",)),
    ...     Projection("SEQ(A, B)", ("A", "B"), 0.1),
    ... )
    >>> a0, a1, b1 = Vertex(a, 0), Vertex(a, 1), Vertex(b, 1)
    >>> inputs = {a0: (), a1: (), b1: (), Vertex(pairs, 0): (a0, b1), Vertex(pairs, 1): (a1, b1)}
    >>> print("\n".join(projection_lines(MuseGraph(network, inputs))))
    SEQ(A, B)
      at x, y: 1
      reads A of the own site
      reads B of y
    """
    derived: dict[Projection, list[Vertex]] = {}
    for vertex in graph.order:
        if graph.inputs[vertex]:
            derived.setdefault(vertex.projection, []).append(vertex)
    lines = []
    for projection, vertices in derived.items():
        rate = sum(graph.rate(vertex) for vertex in vertices)
        lines += [projection.text, f"  at {_sites(graph, vertices)}: {number_text(rate)}"]
        read: dict[str, list[tuple[Vertex, Vertex]]] = {}
        for vertex in vertices:
            for source in graph.inputs[vertex]:
                read.setdefault(source.projection.text, []).append((source, vertex))
        lines += [f"  reads {text} of {_origins(graph, pairs)}" for text, pairs in read.items()]
    return lines


def channel_lines(graph: MuseGraph, columns: dict[str, Column], most: int = MOST_CHANNELS) -> list[str]:
    """Return a table of what is sent, by projection, and of the most costly channels from site to site."""
    rows = []
    for projection, channels in channels_by_projection(graph).items():
        rate = sum(graph.rate(vertex) for vertex, _ in channels)
        cells = [column(projection, rate) for column in columns.values()]
        rows.append([projection.text, str(len(channels)), *cells])
    lines = table_lines(["projection", "streams", *columns], rows)
    dearest = dearest_channels(graph, most)
    if not dearest:
        return lines
    names = graph.network.sites
    shown = [
        [
            vertex.projection.text,
            f"{names[vertex.site]} -> {names[site]}",
            *(column(vertex.projection, graph.rate(vertex)) for column in columns.values()),
        ]
        for (vertex, site), _ in dearest
    ]
    rest = len(graph.channels) - len(shown)
    more = [f"and {rest:,} more streams"] if rest else []
    return [*lines, "", *table_lines(["stream", "from and to", *columns], shown), *more]


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    r"""Return a table; the first two columns are texts, the others numbers.

    >>> print("\n".join(table_lines(["stream", "from", "rows"], [["A", "x", "12"], ["SEQ(A, B)", "y", "3"]])))
    stream     from  rows
    A          x       12
    SEQ(A, B)  y        3
    """
    listed = [list(heads), *map(list, rows)]
    widths = [max(len(row[place]) for row in listed) for place in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in listed
    ]


def _sites(graph: MuseGraph, vertices: Iterable[Vertex]) -> str:
    names = [graph.network.sites[site] for site in sorted({vertex.site for vertex in vertices})]
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} sites"


def _origins(graph: MuseGraph, pairs: Sequence[tuple[Vertex, Vertex]]) -> str:
    if all(source.site == reader.site for source, reader in pairs):
        return "the own site"
    readers: dict[Vertex, set[Vertex]] = {}
    for source, reader in pairs:
        readers.setdefault(reader, set()).add(source)
    if len({frozenset(read) for read in readers.values()}) == 1:
        return _sites(graph, (source for source, _ in pairs))
    return f"{len({source.site for source, _ in pairs})} sites, each reader of its own"
