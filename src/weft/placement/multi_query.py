"""Place several queries by aMuSE or another way to place one, each with what the others send.

Idea        A projection that another query finds costs nothing to find, and what is sent to a site can be
            read there by all.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.2, multi-query extension.
Differs     A projection that is placed stays as it is placed: another query cannot place it otherwise. When
            all queries are placed, each is placed once more given all others, if that is cheaper: for a few
            rounds, or a single one for many or long queries.
Complexity  That of placing one query, for every query and round.
"""

from collections.abc import Callable, Sequence

from weft.placement.amuse import place_query
from weft.placement.draft import GraphDraft, TransferLedger
from weft.placement.network import Network
from weft.placement.projection import ProjectedQuery

PlaceQuery = Callable[[ProjectedQuery, GraphDraft], GraphDraft]
MOST_ROUNDS = 3
MANY_PROJECTIONS = 1000


def multi_query(
    network: Network, queries: Sequence[ProjectedQuery], place: PlaceQuery = place_query
) -> GraphDraft:
    """Return a draft of all queries, placed in the order given by aMuSE, or by another way to place one.

    >>> from weft_lab.placement.example import robots
    >>> multi_query(*robots("SEQ(C c, F f)", "AND(C c, F f)")).cost
    1.0
    """
    is_small = sum(2**query.n_items for query in queries) <= MANY_PROJECTIONS
    return place_in_turn(TransferLedger(network).draft(), queries, place, MOST_ROUNDS if is_small else 1)


def place_in_turn(
    draft: GraphDraft, queries: Sequence[ProjectedQuery], place: PlaceQuery, rounds: int
) -> GraphDraft:
    """Add the queries that a draft lacks; then place each again, given the others, while that is cheaper."""
    wholes = {query.root.text for query in queries}
    for query in queries:
        if query.root.text not in draft.arrangements:
            draft = place(query, draft)
    for _ in range(rounds if len(queries) > 1 else 0):
        cost = draft.cost
        for query in queries:
            placed = place(query, draft.needed_for(wholes - {query.root.text}))
            if placed.cost < draft.cost:
                draft = placed
        if draft.cost >= cost * (1 - 1e-12):
            break
    return draft.needed_for(wholes)
