"""Place several queries by aMuSE or aMuSE*, one after another, each with what the others send.

Idea        A projection that another query finds costs nothing to find, and what is sent to a site can be
            read there by all.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.2, multi-query extension.
Differs     A projection that is placed stays as it is placed: another query cannot place it otherwise. When
            all queries are placed, each is placed once more given all others, if that is cheaper: for a few
            rounds, or a single one for many or long queries.
Complexity  That of aMuSE or aMuSE* for every query and round.
"""

from collections.abc import Callable, Iterable

from weft.placement.amuse import place_query
from weft.placement.checks import check_graph
from weft.placement.draft import GraphDraft, TransferLedger
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network
from weft.placement.projection import ProjectedQuery

PlaceQuery = Callable[[ProjectedQuery, GraphDraft], GraphDraft]
MOST_ROUNDS = 3
MANY_PROJECTIONS = 1000


def multi_query(
    network: Network, queries: Iterable[ProjectedQuery], place: PlaceQuery = place_query
) -> MuseGraph:
    """Return a graph for all queries, placed in the order given by aMuSE, or by another way to place one.

    >>> from weft.placement.example import robots
    >>> multi_query(*robots("SEQ(C c, F f)", "AND(C c, F f)")).cost
    1.0
    """
    queries = tuple(queries)
    graph = draft_queries(network, queries, place).graph(queries)
    check_graph(graph, queries)
    return graph


def draft_queries(
    network: Network, queries: Iterable[ProjectedQuery], place: PlaceQuery = place_query
) -> GraphDraft:
    """Return a draft in which all queries are found."""
    queries = tuple(queries)
    draft = TransferLedger(network).draft()
    for query in queries:
        draft = place(query, draft)
    wholes = [query.root.text for query in queries]
    for _ in range(_rounds(queries)):
        cost = draft.cost
        for query, whole in zip(queries, wholes, strict=True):
            placed = place(query, draft.needed_for(other for other in wholes if other != whole))
            if placed.cost < draft.cost:
                draft = placed
        if draft.cost >= cost * (1 - 1e-12):
            break
    return draft.needed_for(wholes)


def _rounds(queries: tuple[ProjectedQuery, ...]) -> int:
    """Return how often to place all queries once more."""
    if len(queries) == 1:
        return 0
    return MOST_ROUNDS if sum(2**query.n_items for query in queries) <= MANY_PROJECTIONS else 1
