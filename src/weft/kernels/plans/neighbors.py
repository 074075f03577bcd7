"""Neighbors of a shared plan: other trees for two patterns, or for k of them, that share a sub-pattern.

The moves are those of `Neighborhood`, drawn in another order from other dice.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, mix_bits
from weft.kernels.plans.counts import count_parts, shared_parts
from weft.kernels.plans.replies import find_offers, offer_at, reply
from weft.kernels.plans.tables import (
    BEST,
    GENERAL,
    GROW,
    NOTHING,
    PLACE,
    UNKNOWN,
    Tables,
    answer_to,
    ask,
    pair_key,
    placing_key,
)

MOST_TRIES = 20
VARIANTS = 16  # ways in which a pair grows, drawn before
MOST_ITEMS = 12  # of a pattern
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Neighbor(NamedTuple):
    """Room for a step: the places that are to be shared, the patterns to be changed and their trees."""

    places: Array
    patterns: Array
    trees: Array
    offers: Array  # by items
    costs: Array


def new_neighbor(k: int, n_items: int) -> Neighbor:
    """Return the room for steps that change up to k patterns of so many items."""
    places, patterns, trees = (np.full(k, NOTHING, np.int64) for _ in range(3))
    return Neighbor(places, patterns, trees, np.full(1 << n_items, NOTHING, np.int64), np.zeros(1 << n_items))


@njit(cache=True, nogil=True)
def chance(dice: Array) -> float:
    """Return a random number in [0, 1)."""
    dice[0] += GOLDEN
    return float(mix_bits(dice[0]) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True, nogil=True)
def below(dice: Array, bound: int) -> int:
    """Return a random whole number below a bound."""
    return min(int(chance(dice) * bound), bound - 1)


@njit(cache=True, nogil=True)
def propose(tables: Tables, neighbor: Neighbor, dice: Array) -> int:
    """Note other trees for some patterns; return for how many: 0 where there is nothing to share."""
    for _ in range(MOST_TRIES if tables.searched.size else 0):
        pattern = tables.searched[below(dice, tables.searched.size)]
        row = tables.patterns[pattern]
        n_pairs = row.n_grown // VARIANTS
        choice = below(dice, row.n_common + n_pairs + 1)
        n_places = 0
        if choice < row.n_common:
            neighbor.places[0], n_places = row.first_common + choice, 1
        elif choice < row.n_common + n_pairs:
            place = (choice - row.n_common) * VARIANTS + below(dice, VARIANTS)
            grown = tables.grown[row.first_grown + place]
            if grown.own == UNKNOWN:
                return ask(tables, GROW, pattern, place, 0, 0)
            if grown.own != NOTHING:
                neighbor.places[0], neighbor.places[1] = grown.own, grown.other
                n_places = 1 if grown.other == NOTHING else 2
        n_changed = 0
        if n_places:  # in one place, as what is called from two may be compiled twice
            n_changed = _share(tables, neighbor, n_places, dice)
        elif choice == row.n_common + n_pairs:
            neighbor.patterns[0] = pattern
            neighbor.trees[0] = _complete(tables, neighbor, pattern, neighbor.trees[:0], dice)
            n_changed = UNKNOWN if neighbor.trees[0] == UNKNOWN else 1
        if n_changed == UNKNOWN:
            return UNKNOWN
        for number in range(n_changed):
            if neighbor.trees[number] != tables.patterns[neighbor.patterns[number]].tree:
                return n_changed
    return 0


@njit(cache=True, nogil=True)
def _add_others(tables: Tables, neighbor: Neighbor, n_places: int, dice: Array) -> int:
    """Add further patterns that have the sub-pattern, up to k in all; return how many there are."""
    owner = tables.sub_patterns[tables.places[neighbor.places[0]].sub_pattern]
    others = np.empty(owner.n_users, np.int64)
    n_others = 0
    for user in range(owner.first_user, owner.first_user + owner.n_users):
        is_new = True
        for place in neighbor.places[:n_places]:
            is_new &= tables.places[place].pattern != tables.users[user].pattern
        if is_new:
            others[n_others] = user
            n_others += 1
    while n_places < neighbor.places.size and n_others:
        drawn = below(dice, n_others)
        user = tables.users[others[drawn]]
        n_others -= 1
        others[drawn] = others[n_others]
        neighbor.places[n_places] = tables.places_of[user.first_places + below(dice, user.n_places)]
        n_places += 1
    return n_places


@njit(cache=True, nogil=True)
def _share(tables: Tables, neighbor: Neighbor, n_places: int, dice: Array) -> int:
    """Note trees that contain the same tree over a sub-pattern, which is at the given places and others."""
    n_places = _add_others(tables, neighbor, n_places, dice)
    first = neighbor.places[0]
    tree = tables.places[first].best
    if tree == UNKNOWN:
        return ask(tables, BEST, first, 0, 0, 0)
    if chance(dice) < 0.5:
        offered = offer_at(tables, first)
        if offered == UNKNOWN:
            return UNKNOWN
        tree = offered if offered != NOTHING else tree
    general = answer_to(tables.generals, pair_key(tree, first))
    if general == UNKNOWN:
        return ask(tables, GENERAL, tree, first, 0, 0)
    extent, is_unchecked = _demanded(tables, neighbor.places[:n_places])
    for number in range(n_places):
        place = neighbor.places[number]
        placed = answer_to(tables.placings, placing_key(general, place, extent, is_unchecked))
        if placed == UNKNOWN:
            return ask(tables, PLACE, general, place, extent, 1 if is_unchecked else 0)
        pattern = tables.places[place].pattern
        neighbor.trees[number] = placed
        completed = _complete(tables, neighbor, pattern, neighbor.trees[number : number + 1], dice)
        if completed == UNKNOWN:
            return UNKNOWN
        neighbor.patterns[number], neighbor.trees[number] = pattern, completed
    return n_places


@njit(cache=True, nogil=True)
def _demanded(tables: Tables, places: Array) -> tuple[int, bool]:
    """Return the longest extent of those who share, and whether what they share is left unchecked."""
    longest = tables.patterns[tables.places[places[0]].pattern]
    for place in places:
        row = tables.patterns[tables.places[place].pattern]
        if row.length > longest.length:
            longest = row
    negations, is_unchecked = tables.places[places[0]].negations, False
    for place in places:
        row = tables.places[place]
        is_own = row.is_own and tables.patterns[row.pattern].extent == longest.extent
        is_unchecked |= not is_own or row.negations != negations
    return longest.extent, is_unchecked


@njit(cache=True, nogil=True)
def _complete(tables: Tables, neighbor: Neighbor, pattern: int, given: Array, dice: Array) -> int:
    """Return a tree with the given parts that gives up, keeps or weighs what is shared already."""
    way = below(dice, 3)
    pinned = np.empty(MOST_ITEMS + 1, np.int64)
    pinned[: given.size] = given
    n_pinned = given.size
    if way == 1:
        n_pinned = _keep_shared(tables, tables.patterns[pattern].tree, pinned, n_pinned)
    if way == 2:
        found = find_offers(tables, pattern, neighbor.offers, neighbor.costs)
        if found == UNKNOWN:
            neighbor.offers[:] = NOTHING
            return UNKNOWN
    tree = reply(tables, pattern, pinned[:n_pinned], neighbor.offers, neighbor.costs)
    if way == 2:
        neighbor.offers[: 1 << tables.patterns[pattern].n_items] = NOTHING
    return tree


@njit(cache=True, nogil=True)
def _keep_shared(tables: Tables, own: int, pinned: Array, n_pinned: int) -> int:
    """Add the largest parts that a pattern shares and that have no item in common with the given ones."""
    taken = 0
    for tree in pinned[:n_pinned]:
        taken |= tables.trees[tree].mask
    shared = np.empty(MOST_ITEMS + 1, np.int64)
    count_parts(tables, own, -1)
    n_shared = shared_parts(tables, own, shared)
    count_parts(tables, own, 1)
    for tree in shared[:n_shared]:
        if not tables.trees[tree].mask & taken:
            pinned[n_pinned] = tree
            n_pinned += 1
    return n_pinned
