"""MuSE graphs drawn at random: any combinations, any sites, whatever they cost, as long as nothing is missed.

Vertices of a projection may read different combinations and overlap in what they find; what no vertex of a
query finds, one more vertex does that reads everything. Of a central query, one site finds everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.helpers.random_queries import Dice

from weft.placement.boxes import subtract
from weft.placement.found_bindings import FoundBindings, lists_of
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network, bits
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.projection import Projection


@dataclass
class RandomGraph:
    """Builds a graph, query by query."""

    dice: Dice
    network: Network
    queries: Sequence[NormalFormQuery]
    inputs: dict[Vertex, tuple[Vertex, ...]] = field(default_factory=dict)
    placed: dict[str, list[Vertex]] = field(default_factory=dict)

    def build(self) -> MuseGraph:
        sites: dict[str, int] = {}
        for query in self.queries:
            if query.central is not None:
                site = sites.setdefault(query.central, self.site())
                self.inputs[Vertex(query.root, site)] = self.all_events(query)
                continue
            self.place(query, query.whole)
            self.complete(query)
        return MuseGraph(self.network, self.inputs)

    def site(self) -> int:
        return self.dice.integer(0, len(self.network.sites) - 1)

    def all_events(self, query: NormalFormQuery) -> tuple[Vertex, ...]:
        kinds = (*query.kinds, *sorted(query.all_negated_kinds))
        return tuple(event for kind in dict.fromkeys(kinds) for event in self.events(kind))

    def place(self, query: NormalFormQuery, items: int) -> list[Vertex]:
        """Return the vertices of a projection, which are made unless there are some."""
        text = query.projection(items).text
        if text not in self.placed:
            self.placed[text] = []
            if query.projection(items).is_primitive:
                self.placed[text] = self.events(query.kinds[items.bit_length() - 1])
            else:
                self.placed[text] = self.composite(query, items)
        return self.placed[text]

    def events(self, kind: str) -> list[Vertex]:
        found = [Vertex(Projection(kind, (kind,)), site) for site in bits(self.network.emitters(kind))]
        self.inputs.update((vertex, ()) for vertex in found)
        return found

    def composite(self, query: NormalFormQuery, items: int) -> list[Vertex]:
        dice, n_sites = self.dice, len(self.network.sites)
        hosts = list(dict.fromkeys(dice.integer(0, n_sites - 1) for _ in range(dice.integer(1, n_sites))))
        combination = self.combination(query, items)
        found = []
        for host in hosts:
            if dice.chance(30):
                combination = self.combination(query, items)
            vertex = Vertex(query.projection(items), host)
            read: dict[Vertex, None] = {}
            for part in combination:
                every = self.place(query, part) if query.n_items > 1 else self.events(query.kinds[0])
                chosen = [] if dice.chance(50) else [one for one in every if dice.chance(60)]
                read |= dict.fromkeys(chosen or every)
            inputs = tuple(combination) if query.n_items > 1 else ()
            for kind in sorted(query.needed_kinds(items, inputs)):
                read |= dict.fromkeys(self.events(kind))
            self.inputs[vertex] = tuple(read)
            found.append(vertex)
        return found

    def combination(self, query: NormalFormQuery, items: int) -> list[int]:
        """Return parts that have all items between them, none of which could be left out."""
        if items.bit_count() == 1:
            return [items]
        numbers = bits(items)
        parts: list[int] = []
        while items & ~_union(parts):
            part = sum(1 << number for number in numbers if self.dice.chance(50))
            if part & ~_union(parts) and part != items:
                parts.append(part)
        for part in list(parts):
            others = [other for other in parts if other != part]
            parts = parts if part & ~_union(others) else others
        return parts

    def complete(self, query: NormalFormQuery) -> None:
        """Add a vertex that finds everything if the others do not."""
        whole = query.root
        graph = MuseGraph(self.network, self.inputs)
        found = FoundBindings(graph, self.queries)
        wanted = tuple(self.network.emitters(query.kinds[item]) for item in query.places(query.whole))
        vertices = [vertex for vertex in graph.order if vertex.projection == whole]
        boxes = [box for vertex in vertices for box in found.boxes[vertex]]
        if not all(wanted) or not subtract([wanted], boxes, lists_of(query, query.whole)):
            return
        vertex = Vertex(whole, self.site())
        events = self.all_events(query)
        self.inputs[vertex] = tuple(dict.fromkeys((*self.inputs.get(vertex, ()), *events)))


def _union(parts: Sequence[int]) -> int:
    found = 0
    for part in parts:
        found |= part
    return found
