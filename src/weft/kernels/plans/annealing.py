"""Simulated annealing over tables of trees: many steps in one call."""

import math

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.plans.counts import count_tree
from weft.kernels.plans.neighbors import Neighbor, chance, propose
from weft.kernels.plans.tables import UNKNOWN, Tables

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
def probe(tables: Tables, neighbor: Neighbor, run: Array, dice: Array, n_steps: int) -> int:
    """Look at some neighbors and note by how much they differ at most; return how many were looked at."""
    for step in range(n_steps):
        before = dice[0]
        n_changed = propose(tables, neighbor, dice)
        if n_changed == UNKNOWN:
            dice[0] = before
            return step
        if n_changed == 0:
            run[0].is_over = True
            return step
        if _is_dear(tables, neighbor, n_changed):
            continue
        change = _change(tables, neighbor, n_changed)
        _change(tables, neighbor, n_changed)
        run[0].largest = max(run[0].largest, abs(change))
    return n_steps


@njit(cache=True, nogil=True)
def anneal(
    tables: Tables, neighbor: Neighbor, run: Array, dice: Array, changed: Array, n_steps: int
) -> int:
    """Take some steps; return how many were taken before there was a question, or nothing to propose.

    `changed` are the patterns whose trees are not those of the cheapest plan.
    """
    state = run[0]
    for step in range(n_steps):
        before = dice[0]
        n_changed = propose(tables, neighbor, dice)
        if n_changed == UNKNOWN:
            dice[0] = before
            return step
        if n_changed == 0:
            state.is_over = True
            return step
        state.idle += 1
        if not _is_dear(tables, neighbor, n_changed):
            change = _change(tables, neighbor, n_changed)
            if change <= 0 or _accepts(change, state.threshold, dice):
                state.total += change
                _note_changed(tables, neighbor, n_changed, run, changed)
            else:
                _change(tables, neighbor, n_changed)
        state.threshold *= state.alpha
    return n_steps


@njit(cache=True, nogil=True)
def _is_dear(tables: Tables, neighbor: Neighbor, n_changed: int) -> bool:
    for tree in neighbor.trees[:n_changed]:
        if tables.trees[tree].is_dear:
            return True
    return False


@njit(cache=True, nogil=True)
def _change(tables: Tables, neighbor: Neighbor, n_changed: int) -> int:
    """Exchange the trees of patterns and those of a neighbor; return how the cost changes."""
    change = 0
    for number in range(n_changed):
        pattern, tree = neighbor.patterns[number], neighbor.trees[number]
        own = tables.patterns[pattern].tree
        if own != tree:
            change += count_tree(tables, own, -1) + count_tree(tables, tree, 1)
            tables.patterns[pattern].tree = tree
            neighbor.trees[number] = own
    return change


@njit(cache=True, nogil=True)
def _accepts(change: int, threshold: float, dice: Array) -> bool:
    return threshold > 0 and chance(dice) < math.exp(-min(change / threshold, 700.0))


@njit(cache=True, nogil=True)
def _note_changed(tables: Tables, neighbor: Neighbor, n_changed: int, run: Array, changed: Array) -> None:
    """Note that some patterns have other trees; where the plan is the cheapest so far, these are the best."""
    state = run[0]
    for pattern in neighbor.patterns[:n_changed]:
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
            if row.tree >= 0:
                change += count_tree(tables, row.tree, -1)
            change += count_tree(tables, trees[number], 1)
        row.tree = row.best = trees[number]
        row.is_changed = 0
    return change
