"""Place queries of one item: its events decide alone, or with a negation, or as a list of many."""

from collections import Counter
from collections.abc import Iterable

from weft.errors import PlacementError
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import bits
from weft.placement.projection import ProjectedQuery, Projection


def with_single_item_queries(
    graph: MuseGraph, queries: Iterable[ProjectedQuery], *, sink: int | None = None, is_single: bool = False
) -> MuseGraph:
    """Return a graph to which queries of one item are added; events that decide alone stay where they are.

    Otherwise the event with a negation is looked for at every site that emits it, with all of the negated
    events, or at the one site where that is cheaper: always so for a list, whose events come from many sites,
    and where `is_single`. A `sink` is that site. Queries are added one after the other, lists first.

    >>> import numpy as np
    >>> from weft.language.parser import parse
    >>> from weft.placement.network import Network
    >>> from weft.placement.normal_form_query import normal_form_queries
    >>> from weft.statistics.model import Statistics
    >>> network = Network(("x", "y"), {"A": np.array([50.0, 50.0]), "B": np.array([0.0, 1.0])})
    >>> queries = normal_form_queries(
    ...     parse("QUERY q PATTERN SEQ(A a, NOT B b) WITHIN 1 second"), None, Statistics()
    ... )
    >>> with_single_item_queries(MuseGraph(network, {}), queries).cost  # the B to the other A
    1.0
    >>> with_single_item_queries(MuseGraph(network, {}), queries, sink=0).cost
    51.0
    """
    for query in sorted(queries, key=lambda query: -len(query.root.kinds)):
        graph = _with_query(graph, query, sink, is_single=is_single)
    return graph


def _with_query(graph: MuseGraph, query: ProjectedQuery, sink: int | None, *, is_single: bool) -> MuseGraph:
    whole = query.root
    kind = whole.kinds[0]
    own = _events(graph, kind)
    negated = [event for other in sorted(query.negated) for event in _events(graph, other)]
    events: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys((*own, *negated), ())
    if whole.is_primitive:
        return MuseGraph(graph.network, {**graph.inputs, **events})
    sites = range(len(graph.network.sites)) if sink is None else [sink]
    options = [{Vertex(whole, site): tuple(events)} for site in sites]
    if sink is None and not is_single and len(whole.kinds) == 1:
        options.append({Vertex(whole, event.site): (event, *negated) for event in own})
    graphs = [MuseGraph(graph.network, {**events, **graph.inputs, **option}) for option in options]
    return min(graphs, key=lambda one: one.cost)


def check_single_item_queries(graph: MuseGraph, queries: Iterable[ProjectedQuery]) -> None:
    """Raise an error unless a graph finds every match of queries of one item once."""
    for query in queries:
        whole = query.root
        own = set(_events(graph, whole.kinds[0]))
        negated = {event for kind in query.negated for event in _events(graph, kind)}
        if not graph.inputs.keys() >= own | negated:
            raise PlacementError(
                f"query {query.name}: a site that emits {whole.kinds[0]} has no vertex for it"
            )
        if whole.is_primitive:
            continue
        reads = [set(inputs) for vertex, inputs in graph.inputs.items() if vertex.projection == whole]
        if any(not negated <= read for read in reads):
            raise PlacementError(f"query {query.name}: a vertex does not read all of the negated events")
        is_list = len(whole.kinds) > 1
        if (
            Counter(event for read in reads for event in read & own) != Counter(own)
            or len(reads) > 1
            and is_list
        ):
            raise PlacementError(f"query {query.name}: not every event is read at one vertex, and once")


def _events(graph: MuseGraph, kind: str) -> list[Vertex]:
    return [Vertex(Projection(kind, (kind,)), site) for site in bits(graph.network.emitters(kind))]
