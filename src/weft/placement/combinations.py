"""Combinations: from which smaller projections a projection is made up, and which projections may pay.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
definitions 13 and 15. Projections are sets of items as bits; a combination of one is a tuple of smaller
sets. What differs: where rates differ from site to site, the rate for one binding is that of an average one;
combinations come cheapest first, by the sum of costs given for the sets, instead of all of them.
"""

import heapq
from collections.abc import Iterable, Iterator
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from weft.placement.network import Network, Numbers, bits
from weft.placement.projection import ProjectedQuery, Projection

Combination = tuple[int, ...]


def is_redundant(inputs: Iterable[int]) -> bool:
    """Whether the other inputs have all the items of one of them (definition 15).

    >>> is_redundant([0b011, 0b110, 0b001]), is_redundant([0b011, 0b110])
    (True, False)
    """
    once = twice = 0
    inputs = tuple(inputs)
    for part in inputs:
        twice |= once & part
        once |= part
    return any(not part & ~twice for part in inputs)


def rate_per_binding(network: Network, projection: Projection) -> float:
    """Return the output rate of a projection for one binding, on average."""
    means = (network.totals[kind] / network.emitters(kind).bit_count() for kind in projection.kinds)
    return projection.factor * prod(means)


def is_beneficial(network: Network, projection: Projection) -> bool:
    """Whether one binding gives no more matches than there are events for it (definition 13)."""
    events = sum(rate_per_binding(network, Projection(kind, (kind,))) for kind in projection.kinds)
    return rate_per_binding(network, projection) <= events


def beneficial_projections(network: Network, query: ProjectedQuery) -> list[int]:
    """Return the sets of two items and more that are beneficial, smaller ones first, and the whole query."""
    sets = (items for items in range(1, query.whole) if items & items - 1)
    chosen = [items for items in sets if is_beneficial(network, query.projection(items))]
    return [*sorted(chosen, key=lambda items: (items.bit_count(), items)), query.whole]


class CheapestCombinations:
    """The cheapest combinations of a projection by the sum of costs given for its inputs.

    `costs` has a row for each of `inputs`, which have the projection's items between them, and a column for
    each way to place the projection. O(2^n m) operations on rows, for n items and m inputs.

    >>> costs = np.array([[1.0], [4.0], [1.0], [3.0]])
    >>> cheapest = CheapestCombinations(0b111, [0b001, 0b010, 0b100, 0b110], costs)
    >>> list(cheapest.of_column(0, most=2)), cheapest.least
    ([(1, 6), (1, 2, 4)], array([4.]))
    """

    def __init__(self, items: int, inputs: Iterable[int], costs: Numbers) -> None:
        self.items = items
        sets = np.fromiter(inputs, dtype=np.int64)
        self._by_lowest: dict[int, tuple[NDArray[np.int64], Numbers]] = {}
        for item in bits(items):
            has_item = (sets >> item & 1).astype(bool)
            self._by_lowest[1 << item] = (sets[has_item], costs[has_item])
        self._to_cover = np.zeros((items + 1, costs.shape[1]))  # a row for every set of items, as bits
        uncovered = items & -items
        while uncovered:  # all subsets of the items, in increasing order
            parts, part_costs = self._by_lowest[uncovered & -uncovered]
            self._to_cover[uncovered] = np.min(part_costs + self._to_cover[uncovered & ~parts], axis=0)
            uncovered = (uncovered - items) & items

    @property
    def least(self) -> Numbers:
        """The cost of the cheapest combination, for every column."""
        least: Numbers = self._to_cover[self.items]
        return least

    def of_column(self, column: int, most: int) -> Iterator[Combination]:
        """Yield the cheapest combinations of a column that are not redundant, cheapest first."""
        waiting: list[tuple[float, int, float, Combination]] = [(0.0, self.items, 0.0, ())]
        seen: set[Combination] = set()
        while waiting and len(seen) < most:
            _, uncovered, spent, chosen = heapq.heappop(waiting)
            if not uncovered:
                combination = tuple(sorted(chosen))
                if combination not in seen and not is_redundant(combination):
                    seen.add(combination)
                    yield combination
                continue
            parts, part_costs = self._by_lowest[uncovered & -uncovered]
            rests = uncovered & ~parts
            spends = spent + part_costs[:, column]
            totals = spends + self._to_cover[rests, column]
            order = np.argsort(totals, kind="stable")[: 4 * most]
            for number in order.tolist():
                total = float(totals[number])
                if total == inf:
                    break
                extended = (*chosen, int(parts[number]))
                heapq.heappush(waiting, (total, int(rests[number]), float(spends[number]), extended))
