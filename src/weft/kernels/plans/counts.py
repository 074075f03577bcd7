"""What all trees of a search need and offer together, and what it costs, in whole numbers.

A node is paid for the longest window that is needed; costs are those of `SharedNodes`.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.plans.tables import NOTHING, Tables

MOST_TREES = 32  # in a tree of up to 12 items, itself included


@njit(cache=True, nogil=True)
def _settle(tables: Tables, node: int) -> int:
    """Pay for the longest window of a node; return how the cost changes."""
    slot, longest, cost = tables.nodes[node].first_slot, -np.inf, 0
    while slot != NOTHING:
        if tables.slots[slot].count > 0 and tables.slots[slot].window > longest:
            longest, cost = tables.slots[slot].window, tables.slots[slot].cost
        slot = tables.slots[slot].next
    change: int = cost - tables.nodes[node].paid
    tables.nodes[node].paid = cost
    return change


@njit(cache=True, nogil=True)
def set_slot(tables: Tables, slot: int, count: int) -> int:
    """Say how often a node is needed for a window; return how the cost changes."""
    was_needed = tables.slots[slot].count > 0
    tables.slots[slot].count = count
    return 0 if was_needed == (count > 0) else _settle(tables, tables.slots[slot].node)


@njit(cache=True, nogil=True)
def set_part(tables: Tables, part: int, count: int) -> None:
    """Say how many trees have a part."""
    row = tables.parts[part]
    had = row.count > 0
    row.count = count
    if had == (count > 0):
        return
    owner = tables.sub_patterns[row.sub_pattern]
    if had:
        if row.earlier == NOTHING:
            owner.parts = row.later
        else:
            tables.parts[row.earlier].later = row.later
        if row.later != NOTHING:
            tables.parts[row.later].earlier = row.earlier
    else:
        row.earlier, row.later = NOTHING, owner.parts
        if owner.parts != NOTHING:
            tables.parts[owner.parts].earlier = part
        owner.parts = part


@njit(cache=True, nogil=True)
def _trees_in(tables: Tables, root: int) -> Array:
    """Return a tree and all trees in it."""
    found = np.empty(MOST_TREES, np.int64)
    found[0], n_found, place = root, 1, 0
    while place < n_found:
        tree = tables.trees[found[place]]
        place += 1
        if tree.left != NOTHING:
            found[n_found], found[n_found + 1] = tree.left, tree.right
            n_found += 2
    return found[:n_found]


@njit(cache=True, nogil=True)
def count_needs(tables: Tables, root: int, by: int) -> int:
    """Count all that a tree needs once more (1) or less (-1); return how the cost changes."""
    trees, slots, nodes, slots_of = tables.trees, tables.slots, tables.nodes, tables.slots_of
    change = 0
    for number in _trees_in(tables, root):
        tree = trees[number]
        for place in range(tree.first_slot, tree.first_slot + tree.n_slots):
            slot = slots[slots_of[place]]
            was_needed = slot.count > 0
            slot.count += by
            if was_needed == (slot.count > 0):
                continue
            node = nodes[slot.node]
            if slot.next == NOTHING and node.first_slot == slots_of[place]:  # for one window alone
                node.paid += by * slot.cost
                change += by * slot.cost
            else:
                change += _settle(tables, slot.node)
    return change


@njit(cache=True, nogil=True)
def count_offers(tables: Tables, root: int, by: int) -> None:
    """Count all that a tree offers once more (1) or less (-1)."""
    trees, parts, parts_of = tables.trees, tables.parts, tables.parts_of
    for number in _trees_in(tables, root):
        tree = trees[number]
        for place in range(tree.first_part, tree.first_part + tree.n_parts):
            set_part(tables, parts_of[place], parts[parts_of[place]].count + by)


@njit(cache=True, nogil=True)
def count_parts(tables: Tables, root: int, by: int) -> None:
    """Count the parts of a tree for a moment; those that nobody has stay where they are."""
    trees, parts, parts_of = tables.trees, tables.parts, tables.parts_of
    for number in _trees_in(tables, root):
        tree = trees[number]
        for place in range(tree.first_part, tree.first_part + tree.n_parts):
            parts[parts_of[place]].count += by


@njit(cache=True, nogil=True)
def shared_parts(tables: Tables, root: int, found: Array) -> int:
    """Note the largest parts of a tree that others have too; return how many. Its own are not counted now."""
    waiting = np.empty(MOST_TREES, np.int64)
    waiting[0], n_waiting, n_found = root, 1, 0
    while n_waiting:
        n_waiting -= 1
        number = waiting[n_waiting]
        tree = tables.trees[number]
        is_shared = False
        for place in range(tree.first_part, tree.first_part + tree.n_offered):
            is_shared |= tables.parts[tables.parts_of[place]].count > 0
        if is_shared:
            found[n_found] = number
            n_found += 1
        elif tree.left != NOTHING:
            waiting[n_waiting], waiting[n_waiting + 1] = tree.right, tree.left
            n_waiting += 2
    return n_found
