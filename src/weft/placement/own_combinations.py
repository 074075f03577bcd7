"""Give hosts of a projection combinations of their own, where what arrives there anyway makes others cheaper.

Idea        A host that already gets the events of some kinds need not read matches made of them, and one that
            gets the matches need not read the events. For each host, the items that the other hosts read
            completely are covered by the cheapest of all that is found, given what is sent there anyway.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.1.2, leaves different combinations for different bindings to future work.
Differs     Nothing.
Complexity  O(2^k n) for every host, for k items and n projections found.
"""

import numpy as np

from weft.placement.arrangement import Arrangement
from weft.placement.combinations import CheapestCombinations
from weft.placement.draft import GAIN, GraphDraft

MOST_HOSTS = 200


def with_own_combinations(draft: GraphDraft, text: str) -> Arrangement | None:
    """Return a projection whose hosts have the cheapest combinations; None if those it has are as cheap."""
    arrangement = draft.arrangements[text]
    query, kind = arrangement.query, arrangement.partition
    if (
        query is None
        or kind is None
        or query.checked_negations(arrangement.items)
        or len(arrangement.sites) > MOST_HOSTS
    ):
        return None
    divided = tuple(items for items in arrangement.inputs if kind in query.projection(items).kinds)
    wanted = arrangement.items
    for items in divided:
        wanted &= ~items
    prices = {
        items: draft.price(read, but=arrangement)
        for items in range(1, arrangement.items)
        if items & wanted and items & arrangement.items == items
        for read in [arrangement.read_for(items).text]
        if kind not in query.projection(items).kinds
        and (read in draft.arrangements or items & (items - 1) == 0)
    }
    if all(items & (items - 1) == 0 for items in prices):
        return None
    costs = np.array(list(prices.values()))[:, arrangement.sites]
    cheapest = CheapestCombinations(wanted, prices, costs)
    rows = {items: row for row, items in enumerate(prices)}
    own: dict[int, tuple[int, ...]] = {}
    for column, host in enumerate(arrangement.sites.tolist()):
        present = arrangement.own_inputs.get(host, arrangement.inputs)
        cost = sum(float(costs[rows[items], column]) for items in present if items in rows)
        if cheapest.least[column] < cost * GAIN:
            own[host] = (*divided, *next(cheapest.of_column(column, most=1)))
    if not own:
        return None
    return draft.ledger.arrange(
        query,
        arrangement.items,
        arrangement.inputs,
        kind,
        arrangement.hosts,
        {**arrangement.own_inputs, **own},
        arrangement.substitutes,
    )
