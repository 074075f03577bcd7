"""The cheapest tree of one pattern, given parts of it and what the trees of others offer."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.matches.subsets import Prices, Tariff, cheapest_splits
from weft.kernels.plans.counts import count_parts
from weft.kernels.plans.tables import (
    CHECK,
    FIT,
    JOIN,
    NOTHING,
    UNKNOWN,
    WEAKER,
    Tables,
    answer_to,
    ask,
    pair_key,
)

SCALE = 1 << 20  # of whole costs


@njit(cache=True, nogil=True)
def cheapest_offer(tables: Tables, places: int) -> tuple[int, float]:
    """Return the tree of others that is read for least at some places, and for how much; or NOTHING.

    The parts of the pattern's own tree are not counted now.
    """
    best, least = NOTHING, 0.0
    part = tables.sub_patterns[tables.places[places].sub_pattern].parts
    while part != NOTHING and (best == NOTHING or least > 0):
        if tables.parts[part].count > 0:
            tree = answer_to(tables.fits, pair_key(part, places))
            if tree == UNKNOWN:
                return ask(tables, FIT, part, places, 0, 0), 0.0
            if tree != NOTHING:
                cost = _reading(tables, tree)
                if best == NOTHING or cost < least:
                    best, least = tree, cost
        part = tables.parts[part].later
    return best, least


@njit(cache=True, nogil=True)
def offer_at(tables: Tables, places: int) -> int:
    """Return the tree of others that is read for least instead of the items at some places, or NOTHING."""
    one = tables.places[places]
    row = tables.patterns[one.pattern]
    if row.weaker == UNKNOWN:
        return ask(tables, WEAKER, one.pattern, 0, 0, 0)
    count_parts(tables, row.tree, -1)
    best, least = cheapest_offer(tables, places)
    other = row.weaker
    while other != NOTHING and best != UNKNOWN and (best == NOTHING or least > 0):
        if tables.places[other].mask == one.mask:
            tree, cost = cheapest_offer(tables, other)
            if tree == UNKNOWN or (tree != NOTHING and (best == NOTHING or cost < least)):
                best, least = tree, cost
        other = tables.places[other].next
    count_parts(tables, row.tree, 1)
    return best


@njit(cache=True, nogil=True)
def _reading(tables: Tables, tree: int) -> float:
    slot = tables.trees[tree].reading
    if slot == NOTHING:
        return 0.0
    other = tables.nodes[tables.slots[slot].node].first_slot
    while other != NOTHING:
        if tables.slots[other].count > 0:
            return 0.0
        other = tables.slots[other].next
    cost: int = tables.slots[slot].cost
    return cost / SCALE


@njit(cache=True, nogil=True)
def find_offers(tables: Tables, pattern: int, offers: Array, costs: Array) -> int:
    """Note, by items, the trees of others that a pattern could use, cheapest to read, and for how much."""
    row = tables.patterns[pattern]
    if row.weaker == UNKNOWN:
        return ask(tables, WEAKER, pattern, 0, 0, 0)
    count_parts(tables, row.tree, -1)
    all_places, owners, found = tables.places, tables.sub_patterns, 0
    for places in range(row.first_common, row.first_common + row.n_common):
        if owners[all_places[places].sub_pattern].parts != NOTHING:  # seldom, and a call costs
            found = _note_offer(tables, places, offers, costs)
            if found == UNKNOWN:
                break
    places = row.weaker
    while places != NOTHING and found != UNKNOWN:
        if owners[all_places[places].sub_pattern].parts != NOTHING:
            found = _note_offer(tables, places, offers, costs)
        places = all_places[places].next
    count_parts(tables, row.tree, 1)
    return found


@njit(cache=True, nogil=True)
def _note_offer(tables: Tables, places: int, offers: Array, costs: Array) -> int:
    mask = tables.places[places].mask
    if offers[mask] != NOTHING and costs[mask] == 0:
        return 0
    tree, cost = cheapest_offer(tables, places)
    if tree == UNKNOWN:
        return UNKNOWN
    if tree != NOTHING and (offers[mask] == NOTHING or cost < costs[mask]):
        offers[mask], costs[mask] = tree, cost
    return 0


@njit(cache=True, nogil=True)
def _has(tables: Tables, tree: int, part: int) -> bool:
    """Say whether a tree has another as a part, given that it has items of it."""
    mask = tables.trees[part].mask
    while tree != NOTHING:
        row = tables.trees[tree]
        if row.mask == mask:
            return tree == part
        if mask & ~row.mask or row.left_within == NOTHING:
            return False
        tree = row.left_within if tables.trees[row.left_within].mask & mask else row.right_within
    return False


@njit(cache=True, nogil=True)
def _is_usable(tables: Tables, tree: int, pinned: Array) -> bool:
    mask, is_usable = tables.trees[tree].mask, True
    for part in pinned:
        is_usable &= not tables.trees[part].mask & mask or _has(tables, tree, part)
    return is_usable


@njit(cache=True, nogil=True)
def _units(tables: Tables, pattern: int, pinned: Array) -> Array:
    """Return the given trees and leaves for all other items, by their first items."""
    row = tables.patterns[pattern]
    units = np.empty(row.n_items, np.int64)
    taken, n_units = 0, 0
    for item in range(row.n_items):
        if taken >> item & 1:
            continue
        unit = tables.leaves[row.first_leaf + item]
        for tree in pinned:
            if tables.trees[tree].mask >> item & 1:
                unit = tree
        taken |= tables.trees[unit].mask
        units[n_units] = unit
        n_units += 1
    return units[:n_units]


@njit(cache=True, nogil=True)
def reply(tables: Tables, pattern: int, pinned: Array, offers: Array, costs: Array) -> int:
    """Return the cheapest tree of a pattern that contains the given trees and may read those on offer."""
    row = tables.patterns[pattern]
    units = _units(tables, pattern, pinned)
    n_subsets = 1 << units.size
    masks = np.zeros(n_subsets, np.int64)
    for subset in range(1, n_subsets):
        lowest = subset & -subset
        place = 0
        while lowest >> place != 1:
            place += 1
        masks[subset] = masks[subset ^ lowest] | tables.trees[units[place]].mask
    trees, covered = np.full(n_subsets, NOTHING, np.int64), 0
    reading = np.zeros(n_subsets)
    for subset in range(1, n_subsets):
        tree = offers[masks[subset]]
        if tree != NOTHING and _is_usable(tables, tree, pinned):
            trees[subset], covered = tree, covered | masks[subset]
            reading[subset] = costs[masks[subset]]
    lists = 0
    for place, unit in enumerate(units):
        one = tables.trees[unit]
        is_leaf = one.mask & (one.mask - 1) == 0
        trees[1 << place] = unit if not is_leaf or one.mask & covered else NOTHING
        reading[1 << place] = 0.0
        if not one.mask & ~row.lists:
            lists |= 1 << place
    given = np.full(n_subsets, -1, np.int64)
    for subset in range(1, n_subsets):
        if trees[subset] != NOTHING:
            given[subset] = tables.trees[trees[subset]].passed
    _, parts = cheapest_splits(_prices(tables, pattern, masks), given, reading, lists)
    return _built(tables, parts, units, trees)


@njit(cache=True, nogil=True)
def _prices(tables: Tables, pattern: int, masks: Array) -> Prices:
    row, tariff = tables.patterns[pattern], tables.tariffs[pattern]
    rows, equal = np.empty(masks.size), np.empty(masks.size)
    ready = np.empty(masks.size, np.int64)
    for subset in range(masks.size):
        place = row.first_price + masks[subset]
        rows[subset], equal[subset], ready[subset] = (
            tables.rows[place],
            tables.equal[place],
            tables.ready[place],
        )
    survivals = tables.survivals[row.first_check : row.first_check + row.n_checks]
    prices = Tariff(tariff[0], tariff[1], tariff[2], tariff[3], tariff[4], tariff[5])
    return Prices(rows, equal, ready, survivals, prices, np.ones(masks.size))


@njit(cache=True, nogil=True)
def _built(tables: Tables, parts: Array, units: Array, given: Array) -> int:
    """Return the tree that `cheapest_splits` describes."""
    whole = parts.shape[0] - 1
    built = np.full(whole + 1, NOTHING, np.int64)
    needed = np.zeros(whole + 1, np.bool_)
    needed[whole] = True
    for subset in range(whole, 0, -1):
        if needed[subset] and subset & (subset - 1) and parts[subset, 1]:
            for side in range(2):
                if parts[subset, side] > 0:
                    needed[parts[subset, side]] = True
    for subset in range(1, whole + 1):
        if not needed[subset]:
            continue
        if subset & (subset - 1) == 0:
            place = 0
            while subset >> place != 1:
                place += 1
            built[subset] = units[place]
        elif not parts[subset, 1]:
            tree = given[subset]
            built[subset] = tables.trees[tree].checked
            if built[subset] == UNKNOWN:
                return ask(tables, CHECK, tree, 0, 0, 0)
        else:
            left, right = parts[subset, 0], parts[subset, 1]
            left_tree = built[left] if left > 0 else given[-left]
            right_tree = built[right] if right > 0 else given[-right]
            built[subset] = answer_to(tables.joins, pair_key(left_tree, right_tree))
            if built[subset] == UNKNOWN:
                return ask(tables, JOIN, left_tree, right_tree, 0, 0)
    found: int = built[whole]
    return found
