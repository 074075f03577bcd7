"""Dynamic programs over all subsets of a few items; a subset is a bit mask."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

Array = np.ndarray[Any, np.dtype[Any]]


class Tariff(NamedTuple):
    """What a node costs, and a row read, a pair of rows looked at, a row built, checked, held by a leaf."""

    fixed: float = 0.0
    row_in: float = 0.0
    pair: float = 0.0
    row_out: float = 0.0
    row_checked: float = 0.0
    leaf: float = 0.0


class Prices(NamedTuple):
    """What the nodes over each subset have to do, and the tariff for it.

    `rows` are those of a subset before any check, `equal` the share of pairs that equalities leave among
    its items. `ready` is the mask of the checks whose items are all in the subset, and `survivals` is,
    for each check, the share of rows that pass it. What joins and checks of a subset cost, but for the rows
    that joins read, is multiplied by its factor.
    """

    rows: Array
    equal: Array
    ready: Array
    survivals: Array
    tariff: Tariff
    factors: Array


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
def _share(survivals: Array, checks: int) -> float:
    """Return the share of rows that pass some checks."""
    share = 1.0
    for number in range(survivals.size):
        if checks >> number & 1:
            share *= survivals[number]
    return share


@njit(cache=True)
def _check_cost(tariff: Tariff, survivals: Array, checks: int, rows: float) -> float:
    """Return what some checks cost, done one after the other."""
    total = 0.0
    for number in range(survivals.size):
        if checks >> number & 1:
            total += tariff.fixed + tariff.row_checked * rows
            rows *= survivals[number]
    return total


@njit(cache=True)
def _join_cost(
    tariff: Tariff, left_rows: float, right_rows: float, equal: float, built: float, factor: float
) -> float:
    """Return what a join costs that reads and builds some rows; equalities leave a share of all pairs."""
    read = tariff.row_in * (left_rows + right_rows)
    if factor == 1.0:  # as sums in another order differ
        return tariff.fixed + read + tariff.pair * left_rows * right_rows * equal + tariff.row_out * built
    done = tariff.fixed + tariff.pair * left_rows * right_rows * equal + tariff.row_out * built
    return read + factor * done


@njit(cache=True)
def cheapest_splits(prices: Prices, given: Array, reading: Array, lists: int) -> tuple[Array, Array]:
    """Return the cost of the cheapest binary tree over each subset, all that is ready checked, and its parts.

    A join is priced with the rows that have passed the checks below it; the checks that become ready
    with it come after it. Where `given` is not -1, there is a tree over the subset that has passed the
    checks of this mask and costs nothing but `reading`. A single item is then taken as it is given; a
    larger subset may be read as it is, may have its missing checks done, or may be built anew. The items
    in the mask `lists` are joined one at a time, to something that is there.

    A part is a subset, negative where its given tree is read as it is. The second part is 0 where the
    given tree of the subset itself is taken and checked; both are 0 for a single item.
    """
    rows, equal, all_ready, survivals, tariff, factors = prices
    n_subsets = given.size
    only_lists = lists == n_subsets - 1
    parts_of = np.zeros((n_subsets, 2), np.int64)
    # Of each subset, the cheapest tree, and the given one if its reader has checks left to do:
    costs = np.zeros((n_subsets, 2))
    checks = np.zeros((n_subsets, 2), np.int64)
    shares = np.ones((n_subsets, 2))
    n_ways = np.ones(n_subsets, np.int64)
    for subset in range(1, n_subsets):
        is_single = subset & (subset - 1) == 0
        is_given = given[subset] >= 0
        ready, factor = all_ready[subset], factors[subset]
        checks[subset, 0] = given[subset] if is_single and is_given else ready
        shares[subset, 0] = _share(survivals, checks[subset, 0])
        if is_single:
            if not is_given:
                held = tariff.fixed + tariff.leaf * rows[subset]
                checked = _check_cost(tariff, survivals, ready, rows[subset])
                costs[subset, 0] = held + factor * checked
            continue
        best = np.inf
        if is_given:
            share = _share(survivals, given[subset])
            best = reading[subset]
            missing = ready & ~given[subset]
            best += factor * _check_cost(tariff, survivals, missing, rows[subset] * share)
            parts_of[subset, 0] = -subset
            if given[subset] == ready and reading[subset] == 0:
                costs[subset, 0] = best
                continue
            if given[subset] != ready:
                checks[subset, 1], shares[subset, 1], n_ways[subset] = given[subset], share, 2
                costs[subset, 1] = reading[subset]
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
            among = equal[subset] / (equal[left] * equal[right])
            for i in range(n_ways[left]):
                for j in range(n_ways[right]):
                    left_rows, right_rows = rows[left] * shares[left, i], rows[right] * shares[right, j]
                    built = rows[subset] * shares[left, i] * shares[right, j]
                    total = costs[left, i] + costs[right, j]
                    total += _join_cost(tariff, left_rows, right_rows, among, built, factor)
                    missing = ready & ~(checks[left, i] | checks[right, j])
                    if missing:  # seldom, and a call costs
                        total += factor * _check_cost(tariff, survivals, missing, built)
                    if total < best:
                        best = total
                        parts_of[subset, 0] = -left if i else left
                        parts_of[subset, 1] = -right if j else right
        costs[subset, 0] = best
    return costs[:, 0], parts_of


@njit(cache=True)
def cheapest_lasts(prices: Prices, lists: int, start: int, start_checks: int) -> tuple[Array, Array]:
    """Return the cost of the cheapest order of each subset, and its last item.

    An order costs what the first item and the joins with each further one cost, with the checks above
    them; those of single items are the same in every order. With a `start`, that subset comes first,
    has passed `start_checks`, and costs nothing here. A list comes first only where there is nothing
    else.
    """
    rows, equal, ready, survivals, tariff, factors = prices
    n_subsets = rows.size
    best = np.full(n_subsets, np.inf)
    last_of = np.full(n_subsets, -1, np.int64)
    everything = n_subsets - 1
    for subset in range(1, n_subsets):
        if start and subset & start != start:
            continue
        factor = factors[subset]
        if subset == start:
            best[subset] = 0.0
            continue
        if subset & (subset - 1) == 0:
            item = 0
            while subset >> item & 1 == 0:
                item += 1
            if subset & ~lists or lists == everything:
                best[subset] = factor * (tariff.fixed + tariff.leaf * rows[subset])
                last_of[subset] = item
            continue
        item = 0
        while subset >> item:
            bit = 1 << item
            earlier = subset ^ bit
            if subset & bit and not start & bit and best[earlier] < np.inf:
                checks = start_checks if earlier == start else ready[earlier]
                share, item_share = _share(survivals, checks), _share(survivals, ready[bit])
                among = equal[subset] / (equal[earlier] * equal[bit])
                built = rows[subset] * share * item_share
                missing = ready[subset] & ~(checks | ready[bit])
                parts = rows[earlier] * share, rows[bit] * item_share
                total = best[earlier] + _join_cost(tariff, parts[0], parts[1], among, built, factor)
                total += factor * _check_cost(tariff, survivals, missing, built)
                if total < best[subset]:
                    best[subset] = total
                    last_of[subset] = item
            item += 1
    return best, last_of


@njit(cache=True)
def compose_corrections(known: Array, lists: int) -> Array:
    """Return the logarithm of a factor for each subset; those that are not known are NaN.

    Given all others, two items of a subset are taken to be independent, and what this says is averaged over
    all pairs. Of single items and of unknown pairs the factor is 1; an item of `lists` changes nothing.
    """
    composed = np.zeros(known.size)
    for subset in range(1, known.size):
        if not np.isnan(known[subset]):
            composed[subset] = known[subset]
            continue
        if subset & lists:
            composed[subset] = composed[subset & ~lists]
            continue
        n_members, n_pairs, one_less, two_less = 0, 0, 0.0, 0.0
        first = subset
        while first:
            bit = first & -first
            first ^= bit
            n_members += 1
            one_less += composed[subset ^ bit]
            second = first
            while second:
                other = second & -second
                second ^= other
                n_pairs += 1
                two_less += composed[subset ^ bit ^ other]
        if n_members > 2:
            composed[subset] = 2 * one_less / n_members - two_less / n_pairs
    return composed
