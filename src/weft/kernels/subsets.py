"""Dynamic programs over all subsets of a few items; a subset is a bit mask."""

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, np.dtype[Any]]


@njit(cache=True)
def order_fractions(before: Array) -> Array:
    """Return, for each subset, how many of the orderings of its items keep a partial order.

    `before[i]` is the mask of the items that precede item i. A random ordering ends with each item
    equally often, and the last one must be one that nothing in the subset follows.
    """
    n_items = before.size
    fractions = np.ones(1 << n_items, np.float64)
    for subset in range(1, 1 << n_items):
        n_members = 0
        preceding = 0
        for item in range(n_items):
            if subset >> item & 1:
                n_members += 1
                preceding |= before[item]
        total = 0.0
        for item in range(n_items):
            if subset >> item & 1 and not preceding >> item & 1:
                total += fractions[subset & ~(1 << item)]
        fractions[subset] = total / n_members
    return fractions


@njit(cache=True)
def cheapest_splits(
    own: Array, rows: Array, equal: Array, weight: float, free: Array, lists: int
) -> tuple[Array, Array]:
    """Return the cost of the cheapest binary tree over each subset, and its left part.

    A tree costs what its nodes cost: `own` of each subset, and `weight` for each candidate pair of a
    left and a right row, of which equalities leave the share `equal[both] / (equal[left] *
    equal[right])`. A subset may be had for what `free` says, infinity if not. The items in the mask
    `lists` are joined one at a time, to something that is there.
    """
    n_subsets = own.size
    only_lists = lists == n_subsets - 1
    best = np.full(n_subsets, np.inf)
    left_of = np.zeros(n_subsets, np.int64)
    for subset in range(1, n_subsets):
        if free[subset] < np.inf:
            best[subset] = free[subset]
            continue
        if subset & (subset - 1) == 0:
            best[subset] = own[subset]
            continue
        lowest = subset & -subset
        rest = subset ^ lowest
        part = rest
        while part:  # every split once: the left part holds the lowest item
            part = (part - 1) & rest
            left = part | lowest
            right = subset ^ left
            left_is_lists = left & ~lists == 0 and left & (left - 1) != 0
            right_is_lists = right & ~lists == 0 and right & (right - 1) != 0
            if (left_is_lists or right_is_lists) and (not only_lists or left_is_lists == right_is_lists):
                continue
            pairs = rows[left] * rows[right] * equal[subset] / (equal[left] * equal[right])
            total = best[left] + best[right] + weight * pairs
            if total < best[subset]:
                best[subset] = total
                left_of[subset] = left
        best[subset] += own[subset]
    return best, left_of


@njit(cache=True)
def cheapest_lasts(
    own: Array, rows: Array, equal: Array, weight: float, lists: int, start: int
) -> tuple[Array, Array]:
    """Return the cost of the cheapest order of each subset, and its last item.

    An order costs what its prefixes cost, plus the candidate pairs of each prefix with the next item.
    With a `start`, that subset comes first and costs nothing here. A list comes first only where
    there is nothing else.
    """
    n_subsets = own.size
    best = np.full(n_subsets, np.inf)
    last_of = np.full(n_subsets, -1, np.int64)
    everything = n_subsets - 1
    for subset in range(1, n_subsets):
        if start and subset & start != start:
            continue
        if subset == start:
            best[subset] = 0.0
            continue
        if subset & (subset - 1) == 0:
            item = 0
            while subset >> item & 1 == 0:
                item += 1
            if subset & ~lists or lists == everything:
                best[subset] = own[subset]
                last_of[subset] = item
            continue
        item = 0
        while subset >> item:
            bit = 1 << item
            earlier = subset ^ bit
            if subset & bit and not start & bit and best[earlier] < np.inf:
                pairs = rows[earlier] * rows[bit] * equal[subset] / (equal[earlier] * equal[bit])
                total = best[earlier] + weight * pairs
                if total < best[subset]:
                    best[subset] = total
                    last_of[subset] = item
            item += 1
        best[subset] += own[subset]
    return best, last_of
