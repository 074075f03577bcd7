"""All graphs of very small problems, as algorithm 1 of the paper makes them up: binding by binding."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

from weft.errors import PlacementError
from weft.placement.checks import check_inputs_suffice
from weft.placement.combinations import is_redundant
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import bits
from weft.placement.projection import Projection
from weft_lab.placement.all_combinations import is_correct
from weft_lab.placement.problem_file import PlacementProblem

Binding = tuple[int, ...]  # the site of every item
Way = tuple[
    tuple[int, ...], tuple[int, ...]
]  # inputs of the query; sites of its composite inputs, then its own


def bindings_of(problem: PlacementProblem) -> list[Binding]:
    """Return the event type bindings of the only query."""
    query = problem.queries[0]
    return list(product(*(bits(problem.network.emitters(kind)) for kind in query.root.kinds)))


def all_inputs(problem: PlacementProblem, *, with_redundant: bool = False) -> list[tuple[int, ...]]:
    """Return the combinations of a query of three items, whose composite inputs have two items each."""
    whole = problem.queries[0].whole
    sets = range(1, whole)
    tuples = chain.from_iterable(combinations(sets, size) for size in range(2, len(sets) + 1))
    return [
        inputs
        for inputs in tuples
        if is_correct(whole, inputs) and (with_redundant or not is_redundant(inputs))
    ]


def ways_to_find(problem: PlacementProblem, combination: tuple[int, ...]) -> Iterator[Way]:
    """Yield all placements of a combination."""
    n_composite = sum(part.bit_count() > 1 for part in combination)
    for sites in product(range(len(problem.network.sites)), repeat=n_composite + 1):
        yield combination, sites


def cheapest_graphs(problem: PlacementProblem, ways: Iterable[Way]) -> list[MuseGraph]:
    """Return the cheapest of all graphs in which every binding is found in one of the ways.

    Graphs that miss matches, because ways of different bindings get mixed up, do not count.
    """
    bindings = bindings_of(problem)
    best: list[MuseGraph] = []
    for chosen in product(tuple(ways), repeat=len(bindings)):
        graph = _graph(problem, zip(bindings, chosen, strict=True))
        if best and graph.cost > best[0].cost * (1 + 1e-12):
            continue
        try:
            check_inputs_suffice(graph)
        except PlacementError:
            continue
        if best and graph.cost < best[0].cost * (1 - 1e-12):
            best = []
        best.append(graph)
    return best


def _graph(problem: PlacementProblem, found: Iterable[tuple[Binding, Way]]) -> MuseGraph:
    query, network = problem.queries[0], problem.network
    kinds = query.root.kinds
    inputs: dict[Vertex, dict[Vertex, None]] = {
        Vertex(Projection(kind, (kind,)), site): {} for kind in kinds for site in bits(network.emitters(kind))
    }
    for binding, (combination, sites) in found:
        waiting = list(sites)
        sink = Vertex(query.root, waiting.pop())
        reads = inputs.setdefault(sink, {})
        for part in combination:
            events = [Vertex(Projection(kinds[item], (kinds[item],)), binding[item]) for item in bits(part)]
            if len(events) == 1:
                reads[events[0]] = None
            else:
                vertex = Vertex(query.projection(part), waiting.pop())
                reads[vertex] = None
                inputs.setdefault(vertex, {}).update(dict.fromkeys(events))
    return MuseGraph(network, {vertex: tuple(read) for vertex, read in inputs.items()})


@dataclass(frozen=True)
class Placement:
    """Where a projection of events of different types is found: for every host the events that it reads."""

    reads: dict[int, frozenset[tuple[str, int]]]
    cost: float


def placements(
    emitters: dict[str, tuple[int, ...]], rates: dict[str, float], n_sites: int
) -> Iterator[Placement]:
    """Yield all ways to share out the bindings of the types among sites, with what the hosts must get."""
    bindings = list(product(*([(kind, site) for site in sites] for kind, sites in emitters.items())))
    for hosts in product(range(n_sites), repeat=len(bindings)):
        reads: dict[int, set[tuple[str, int]]] = {}
        for binding, host in zip(bindings, hosts, strict=True):
            reads.setdefault(host, set()).update(binding)
        cost = sum(rates[kind] for host, events in reads.items() for kind, site in events if site != host)
        yield Placement({host: frozenset(events) for host, events in reads.items()}, cost)
