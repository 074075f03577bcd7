"""How much the patterns of a workload have in common: the density of their graph, and types chosen for it.

The density is that of appendix D of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
Streams. SIGMOD 2019: with which share of the other patterns one has a sub-pattern of two events in common, on
average.
"""

import math
from collections.abc import Callable, Iterable, Set
from itertools import combinations


def density(parts: Iterable[Set[object]]) -> float:
    """Return the density of patterns that are given by their sub-patterns of two events.

    >>> density([{1, 2}, {2, 3}, {4}])
    0.3333333333333333
    """
    every = list(parts)
    n_neighbors = sum(not one.isdisjoint(other) for one, other in combinations(every, 2))
    return n_neighbors / max(1, math.comb(len(every), 2))


def nearest_count(wanted: float, fewest: int, most: int, density_of: Callable[[int], float]) -> int:
    """Return how many types come nearest to a density; the fewer there are, the higher it is.

    >>> nearest_count(0.25, 2, 60, lambda n_types: 1 / n_types)
    4
    """
    tried: list[tuple[float, int]] = []
    while fewest <= most:
        middle = (fewest + most) // 2
        found = density_of(middle)
        tried.append((abs(found - wanted), middle))
        fewest, most = (middle + 1, most) if found > wanted else (fewest, middle - 1)
    return min(tried, key=lambda one: one[0])[1]
