"""Place several queries by aMuSE or aMuSE*, one after another, each with what the earlier ones send.

Idea        A projection that an earlier query finds costs nothing to find, and what it sends to a site can be
            read there by all.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.2, multi-query extension.
Differs     A projection that is placed stays as it is placed: a later query cannot place it otherwise.
Complexity  That of aMuSE or aMuSE* for every query.
"""

from collections.abc import Callable, Iterable

from weft.placement.amuse import place_query
from weft.placement.arrangement import Arrangement, graph_of
from weft.placement.checks import check_graph
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network
from weft.placement.options import Draft, arrangements
from weft.placement.projection import ProjectedQuery

PlaceQuery = Callable[[Network, ProjectedQuery, Draft], Draft]


def multi_query(
    network: Network, queries: Iterable[ProjectedQuery], place: PlaceQuery = place_query
) -> MuseGraph:
    """Return a graph for all queries, placed in the order given by aMuSE, or by another way to place one.

    >>> from weft.placement.problem_file import problem_of
    >>> robots = {"sites": {"R1": ["C"], "R2": ["F"]}, "rates": {"C": 9, "F": 1}}
    >>> problem = problem_of(robots | {"queries": ["SEQ(C, F)", "AND(C, F)"]})
    >>> multi_query(problem.network, problem.queries).cost
    1.0
    """
    queries = tuple(queries)
    graph = graph_of(network, queries, arrange_queries(network, queries, place))
    check_graph(graph, queries)
    return graph


def arrange_queries(
    network: Network, queries: Iterable[ProjectedQuery], place: PlaceQuery = place_query
) -> dict[str, Arrangement]:
    """Return how all queries are found, as arrangements by the texts of their projections."""
    draft = Draft()
    for query in queries:
        draft = place(network, query, draft)
    return arrangements(network, draft.options)
