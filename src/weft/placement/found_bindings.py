"""Which event type bindings the vertices of a graph find, worked out from what each of them reads.

The cover of a vertex (definition 4 of the paper) goes by what can be reached. A vertex finds a binding if
its inputs find parts of it that together have all items. The two agree unless bindings of one vertex use
different combinations, or a kind of events that a negation reads from everywhere divides the matches.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from weft.cost.shape import items_of
from weft.pattern.invariants import InvariantError
from weft.placement.boxes import Box, merge, overlaps, subtract
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.normal_form_query import NormalFormQuery

Region = tuple[int, list[Box]]  # some items, and boxes of bindings of which these are found


class FoundBindings:
    """The bindings that each vertex of a graph finds; items are in the order of the projection's text."""

    def __init__(self, graph: MuseGraph, queries: Sequence[NormalFormQuery]) -> None:
        self.graph = graph
        self.queries = tuple(queries)
        self._boxes: dict[Vertex, tuple[Box, ...]] = {}
        for vertex in graph.order:
            self._boxes[vertex] = self._found(vertex)

    def boxes(self, vertex: Vertex) -> tuple[Box, ...]:
        """Return the bindings that a vertex finds."""
        return self._boxes[vertex]

    def part(self, vertex: Vertex) -> tuple[NormalFormQuery, int]:
        """Return a query and the items whose projection a vertex that reads others evaluates."""
        return self._parts[vertex.projection.text]

    def sinks(self, query: NormalFormQuery) -> tuple[Vertex, ...]:
        """Return the vertices that find the matches of a query.

        Raises
        ------
        InvariantError
            When some bindings are found nowhere.
        """
        text = query.projection(query.whole).text
        sinks = tuple(vertex for vertex in self.graph.order if vertex.projection.text == text)
        wanted = self._everything(query, query.whole)
        boxes = [box for vertex in sinks for box in self._boxes[vertex]]
        if all(wanted) and subtract([wanted], boxes, lists_of(query, query.whole)):
            raise InvariantError(f"the graph does not find all matches of {query.name}")
        return sinks

    def parts_within(self, query: NormalFormQuery, items: int, text: str) -> list[int]:
        """Return the sets of items, within some, whose projection has a text."""
        single = [1 << item for item in items_of(items) if query.kinds[item] == text]
        if single:
            return single
        known = [part for part in query.occurrences(text) if not part & ~items]
        return known or [part for part in _subsets(items) if query.projection(part).text == text]

    @cached_property
    def _parts(self) -> dict[str, tuple[NormalFormQuery, int]]:
        parts = {}
        for vertex, inputs in self.graph.inputs.items():
            text = vertex.projection.text
            if inputs and text not in parts:
                occurrence = next(self._occurrences(text), None)
                if occurrence is None:
                    raise InvariantError(f"no query has the projection {text}")
                parts[text] = occurrence
        return parts

    def _occurrences(self, text: str) -> Iterator[tuple[NormalFormQuery, int]]:
        for query in self.queries:
            yield from ((query, items) for items in query.occurrences(text))
        for query in self.queries:
            for items in _subsets(query.whole):
                if query.projection(items).text == text:
                    yield query, items

    def _everything(self, query: NormalFormQuery, items: int) -> Box:
        return tuple(self.graph.network.emitters(query.kinds[item]) for item in query.places(items))

    def _found(self, vertex: Vertex) -> tuple[Box, ...]:
        inputs = self.graph.inputs[vertex]
        if not inputs:
            return ((1 << vertex.site,),)
        query, items = self.part(vertex)
        everything = self._everything(query, items)
        if not all(everything):
            return ()
        by_text: dict[str, list[Box]] = {}
        for read in inputs:
            by_text.setdefault(read.projection.text, []).extend(self._boxes[read])
        places = {item: place for place, item in enumerate(query.places(items))}
        regions: list[Region] = []
        for text, boxes in by_text.items():
            for part in self.parts_within(query, items, text):
                is_raw = text == query.kinds[part.bit_length() - 1] and part.bit_count() == 1
                order = [part.bit_length() - 1] if is_raw else query.places(part)
                lists = [] if is_raw else lists_of(query, part)
                own = [places[item] for item in order]
                regions.append((part, [_lifted(box, own, everything) for box in merge(boxes, lists)]))
        return tuple(merge(_covered(items, [everything], regions), lists_of(query, items)))


def lists_of(query: NormalFormQuery, items: int) -> list[int]:
    """Return the places of a projection, in the order of its text, that are lists."""
    is_list = (query.whole_form.items[item].is_list for item in query.places(items))
    return [place for place, is_one in enumerate(is_list) if is_one]


def _covered(missing: int, boxes: list[Box], regions: Sequence[Region]) -> Iterator[Box]:
    """Yield the boxes in which regions together have all of the missing items."""
    if not missing:
        yield from boxes
        return
    first = missing & -missing
    for part, region in regions:
        if part & first:
            common = overlaps(boxes, region)
            if common:
                yield from _covered(missing & ~part, common, regions)


def _lifted(box: Box, order: Sequence[int], everything: Box) -> Box:
    """Return a box of a part as one of the whole."""
    sites = list(everything)
    for place, own in zip(order, box, strict=True):
        sites[place] &= own
    return tuple(sites)


def _subsets(items: int) -> Iterator[int]:
    """Yield the sets of at least two items within some, small numbers last."""
    part = items
    while part:
        if part.bit_count() > 1 or part == items:
            yield part
        part = (part - 1) & items
