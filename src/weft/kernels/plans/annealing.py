"""Simulated annealing over tables of trees: many steps in one call."""

import math

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.plans.counts import count_needs, count_offers
from weft.kernels.plans.neighbors import Neighbor, chance, propose
from weft.kernels.plans.tables import NOTHING, UNKNOWN, Tables

RUN = np.dtype(
    [
        ("total", np.int64),  # what all trees cost
        ("best_total", np.int64),
        ("idle", np.int64),  # steps since the cheapest plan
        ("largest", np.int64),  # difference of the cost that was seen
        ("n_changed", np.int64),  # patterns whose trees are not those of the cheapest plan
        ("is_over", np.bool_),  # whether there is nothing to propose
        ("threshold", np.float64),
        ("alpha", np.float64),  # of the threshold that is left after a step
    ]
)


@njit(cache=True, nogil=True)
def _propose(tables: Tables, neighbor: Neighbor, run: Array, dice: Array) -> int:
    """Propose a neighbor; return how many patterns it changes: 0 with a question, or where there is none."""
    before = dice[0]
    n_changed: int = propose(tables, neighbor, dice)
    if n_changed == UNKNOWN:
        dice[0] = before
        return 0
    run[0].is_over = n_changed == 0
    return n_changed


@njit(cache=True, nogil=True)
def probe(tables: Tables, neighbor: Neighbor, run: Array, dice: Array, n_steps: int) -> int:
    """Look at some neighbors and note by how much they differ at most; return how many were looked at."""
    for step in range(n_steps):
        n_changed = _propose(tables, neighbor, run, dice)
        if not n_changed:
            return step
        if _is_dear(tables, neighbor, n_changed):
            continue
        change = _price(tables, neighbor, n_changed)
        _take_back(tables, neighbor, n_changed)
        run[0].largest = max(run[0].largest, abs(change))
    return n_steps


@njit(cache=True, nogil=True)
def anneal(tables: Tables, neighbor: Neighbor, run: Array, dice: Array, changed: Array, n_steps: int) -> int:
    """Take some steps; return how many were taken before there was a question, or nothing to propose.

    `changed` are the patterns whose trees are not those of the cheapest plan.
    """
    state = run[0]
    for step in range(n_steps):
        n_changed = _propose(tables, neighbor, run, dice)
        if not n_changed:
            return step
        state.idle += 1
        if not _is_dear(tables, neighbor, n_changed):
            change = _price(tables, neighbor, n_changed)
            if change <= 0 or _accepts(change, state.threshold, dice):
                state.total += change
                _accept(tables, neighbor, n_changed, run, changed)
            else:
                _take_back(tables, neighbor, n_changed)
        state.threshold *= state.alpha
    return n_steps


@njit(cache=True, nogil=True)
def _is_dear(tables: Tables, neighbor: Neighbor, n_changed: int) -> bool:
    is_dear = False
    for tree in neighbor.trees[:n_changed]:
        is_dear |= tables.trees[tree].is_dear != 0
    return is_dear


@njit(cache=True, nogil=True)
def _price(tables: Tables, neighbor: Neighbor, n_changed: int) -> int:
    """Count what the trees of a neighbor need instead of those there are; return how the cost changes."""
    change = 0
    for number in range(n_changed):
        own, tree = tables.patterns[neighbor.patterns[number]].tree, neighbor.trees[number]
        if own != tree:
            change += count_needs(tables, own, -1) + count_needs(tables, tree, 1)
    return change


@njit(cache=True, nogil=True)
def _take_back(tables: Tables, neighbor: Neighbor, n_changed: int) -> None:
    for number in range(n_changed):
        own, tree = tables.patterns[neighbor.patterns[number]].tree, neighbor.trees[number]
        if own != tree:
            count_needs(tables, tree, -1)
            count_needs(tables, own, 1)


@njit(cache=True, nogil=True)
def _give(tables: Tables, pattern: int, tree: int) -> None:
    """Give a pattern a tree; what it needs is counted already."""
    own = tables.patterns[pattern].tree
    if own != tree:
        count_offers(tables, own, -1)
        count_offers(tables, tree, 1)
        tables.patterns[pattern].tree = tree


@njit(cache=True, nogil=True)
def _accepts(change: int, threshold: float, dice: Array) -> bool:
    return threshold > 0 and chance(dice) < math.exp(-min(change / threshold, 700.0))


@njit(cache=True, nogil=True)
def _accept(tables: Tables, neighbor: Neighbor, n_changed: int, run: Array, changed: Array) -> None:
    """Give patterns the trees of a neighbor; where the plan is the cheapest so far, these are the best."""
    state = run[0]
    for number in range(n_changed):
        pattern = neighbor.patterns[number]
        _give(tables, pattern, neighbor.trees[number])
        if not tables.patterns[pattern].is_changed:
            tables.patterns[pattern].is_changed = 1
            changed[state.n_changed] = pattern
            state.n_changed += 1
    if state.total < state.best_total:
        state.best_total, state.idle = state.total, 0
        for pattern in changed[: state.n_changed]:
            tables.patterns[pattern].best = tables.patterns[pattern].tree
            tables.patterns[pattern].is_changed = 0
        state.n_changed = 0


@njit(cache=True, nogil=True)
def take_trees(tables: Tables, patterns: Array, trees: Array) -> int:
    """Give some patterns these trees, which are then the best ones too; return how the cost changes."""
    change = 0
    for number in range(patterns.size):
        row = tables.patterns[patterns[number]]
        if row.tree != trees[number]:
            if row.tree != NOTHING:
                change += count_needs(tables, row.tree, -1)
                count_offers(tables, row.tree, -1)
            change += count_needs(tables, trees[number], 1)
            count_offers(tables, trees[number], 1)
        row.tree = row.best = trees[number]
        row.is_changed = 0
    return change
