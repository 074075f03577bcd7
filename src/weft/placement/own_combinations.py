"""Give hosts of a projection combinations of their own, where what arrives there anyway makes others cheaper.

Idea        A host that already gets the events of some kinds need not read matches made of them, and one that
            gets the matches need not read the events. For each host, the items that the other hosts read
            completely are covered by the cheapest of all that is found, given what is sent there anyway.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.1.2, leaves different combinations for different bindings to future work.
Differs     Nothing.
Complexity  O(2^k n) for every host, for k items and n projections found.
"""

from collections.abc import Mapping

from weft.placement.arrangement import Accounts, Arrangement, Arrangements, readers_of

LEAST_GAIN = 1 - 1e-9
MOST_HOSTS = 200


def with_own_combinations(accounts: Accounts, plan: Arrangements, text: str) -> Arrangement | None:
    """Return a projection whose hosts have the cheapest combinations; None if those it has are as cheap."""
    arrangement = plan[text]
    query, kind = arrangement.query, arrangement.partition
    if (
        query is None
        or kind is None
        or query.checked(arrangement.items)
        or len(arrangement.sites) > MOST_HOSTS
    ):
        return None
    divided = tuple(items for items in arrangement.inputs if kind in query.projection(items).kinds)
    wanted = arrangement.items
    for items in divided:
        wanted &= ~items
    readers = readers_of(plan)
    prices = {
        items: accounts.price(plan, found, [one for one in readers.get(found, ()) if one is not arrangement])
        for items in range(1, arrangement.items)
        if items & wanted and items & arrangement.items == items
        for found in [_read_for(arrangement, items)]
        if kind not in query.projection(items).kinds and (found in plan or items & (items - 1) == 0)
    }
    if all(items & (items - 1) == 0 for items in prices):
        return None
    own: dict[int, tuple[int, ...]] = {}
    for host in arrangement.sites.tolist():
        costs = {items: float(price[host]) for items, price in prices.items()}
        present = [items for items in arrangement.own_inputs.get(host, arrangement.inputs) if items in costs]
        cost, chosen = cheapest_cover(wanted, costs)
        if cost < sum(costs[items] for items in present) * LEAST_GAIN:
            own[host] = (*divided, *chosen)
    if not own:
        return None
    return accounts.arrange(
        query,
        arrangement.items,
        arrangement.inputs,
        kind,
        arrangement.hosts,
        {**arrangement.own_inputs, **own},
        arrangement.substitutes,
    )


def _read_for(arrangement: Arrangement, items: int) -> str:
    assert arrangement.query is not None
    return (arrangement.substitutes.get(items) or arrangement.query.projection(items)).text


def cheapest_cover(wanted: int, costs: Mapping[int, float]) -> tuple[float, tuple[int, ...]]:
    """Return the least cost of sets of items that have all wanted ones between them, and the sets.

    >>> cheapest_cover(0b111, {0b001: 1.0, 0b010: 5.0, 0b110: 3.0, 0b100: 1.0})
    (4.0, (1, 6))
    """
    known: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}

    def cover(items: int) -> tuple[float, tuple[int, ...]]:
        if items not in known:
            first = items & -items
            known[items] = min(
                (costs[part] + cover(items & ~part)[0], (part, *cover(items & ~part)[1]))
                for part in costs
                if part & first
            )
        return known[items]

    return cover(wanted)
