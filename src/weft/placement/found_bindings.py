"""Which event type bindings the vertices of a graph find, worked out from what each of them reads.

The cover of a vertex (definition 4 of the paper) goes by what can be reached. A vertex finds a binding if
its inputs find parts of it that together have all items. The two agree unless bindings of one vertex use
different combinations, or a kind of events that a negation reads from everywhere divides the matches.
"""

from collections.abc import Iterator, Sequence

from weft.pattern.invariants import InvariantError
from weft.placement.boxes import Box, merge, overlaps, subtract
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.projection import Projection

Region = tuple[int, list[Box]]  # some items, and boxes of bindings of which these are found


class FoundBindings:
    """The bindings that each vertex of a graph finds; items are in the order of the projection's text.

    `boxes` are those of a vertex; `parts` has a query and its items for every projection that is evaluated.
    """

    def __init__(self, graph: MuseGraph, queries: Sequence[NormalFormQuery]) -> None:
        self.graph = graph
        self.queries = tuple(queries)
        evaluated = dict.fromkeys(vertex.projection for vertex, inputs in graph.inputs.items() if inputs)
        self.parts = {projection: self._part(projection) for projection in evaluated}
        self.boxes: dict[Vertex, tuple[Box, ...]] = {}
        for vertex in graph.order:
            self.boxes[vertex] = self._find(vertex)

    def sinks(self, query: NormalFormQuery) -> tuple[Vertex, ...]:
        """Return the vertices that find the matches of a query.

        Raises
        ------
        InvariantError
            When some bindings are found nowhere.
        """
        sinks = tuple(vertex for vertex in self.graph.order if vertex.projection == query.root)
        wanted = self._everything(query, query.whole)
        boxes = [box for vertex in sinks for box in self.boxes[vertex]]
        if all(wanted) and subtract([wanted], boxes, lists_of(query, query.whole)):
            raise InvariantError(f"the graph does not find all matches of {query.name}")
        return sinks

    def _part(self, projection: Projection) -> tuple[NormalFormQuery, int]:
        for query in self.queries:
            for items in query.occurrences(projection):
                return query, items
        raise InvariantError(f"no query has the projection {projection.text}")

    def _everything(self, query: NormalFormQuery, items: int) -> Box:
        return tuple(self.graph.network.emitters(query.kinds[item]) for item in query.places(items))

    def _find(self, vertex: Vertex) -> tuple[Box, ...]:
        inputs = self.graph.inputs[vertex]
        if not inputs:
            return ((1 << vertex.site,),)
        query, items = self.parts[vertex.projection]
        everything = self._everything(query, items)
        if not all(everything):
            return ()
        boxes_read: dict[Projection, list[Box]] = {}
        for read in inputs:
            boxes_read.setdefault(read.projection, []).extend(self.boxes[read])
        places = {item: place for place, item in enumerate(query.places(items))}
        regions: list[Region] = []
        for projection, boxes in boxes_read.items():
            for part in query.occurrences(projection):
                if part & ~items:
                    continue
                is_raw = projection.is_primitive
                order = [part.bit_length() - 1] if is_raw else query.places(part)
                lists = [] if is_raw else lists_of(query, part)
                own = [places[item] for item in order]
                regions.append((part, [_lift(box, own, everything) for box in merge(boxes, lists)]))
        return tuple(merge(_cover(items, [everything], regions), lists_of(query, items)))


def lists_of(query: NormalFormQuery, items: int) -> list[int]:
    """Return the places of a projection, in the order of its text, that are lists."""
    form = query.whole_form
    return [place for place, item in enumerate(query.places(items)) if form.items[item].is_list]


def _cover(missing: int, boxes: list[Box], regions: Sequence[Region]) -> Iterator[Box]:
    """Yield the boxes in which regions together have all of the missing items."""
    if not missing:
        yield from boxes
        return
    first = missing & -missing
    for part, region in regions:
        if part & first:
            common = overlaps(boxes, region)
            if common:
                yield from _cover(missing & ~part, common, regions)


def _lift(box: Box, order: Sequence[int], everything: Box) -> Box:
    """Return a box of a part as one of the whole."""
    sites = list(everything)
    for place, own in zip(order, box, strict=True):
        sites[place] &= own
    return tuple(sites)
