"""Enumerate the lists of a Kleene item: all increasing subsequences of the candidates of each row."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, first_at_least, grown
from weft.kernels.join import EXHAUSTED, OVERFLOW


class Rows(NamedTuple):
    """The rows to expand: the candidates of a row are the elements of its run, between its bounds.

    `runs` gives the first element and the one past the last; `bounds` the ranks strictly between which
    elements lie; `clocks` those of the row's first and last event; `seeds` the element that starts
    every list of the row, or -1.
    """

    runs: Array
    bounds: Array
    clocks: Array
    seeds: Array
    values: Array
    is_new: Array


class Elements(NamedTuple):
    """The elements that lists are made of, sorted by rank within each run."""

    ranks: Array
    clocks: Array
    values: Array
    is_new: Array


class Edges(NamedTuple):
    """Comparisons of consecutive elements; `valid` has columns 2c (previous) and 2c+1 (current)."""

    previous: Array
    current: Array
    valid: Array
    masks: Array


@njit(cache=True, nogil=True)
def expand_lists(
    rows: Rows,
    elements: Elements,
    edges: Edges,
    masks: Array,
    least: int,
    most: int,
    length: int,
    limit: int,
    budget: int,
) -> tuple[Array, Array, Array, int, int]:
    """Return (rows, list offsets, element indices, status, lists examined).

    A candidate's values compare with the row's as the masks allow (row against element). A list keeps
    the row's events and its own within `length`, and its consecutive elements satisfy the edges. It is
    reported when the row or one of its elements is new.
    """
    found = np.empty(1024, np.int64)
    offsets = np.empty(1025, np.int64)
    offsets[0] = 0
    members = np.empty(4096, np.int64)
    n_lists, n_elements, n_examined = 0, 0, 0
    candidates = np.empty(64, np.int64)
    chosen = np.empty(64, np.int64)  # indices into candidates, one per depth
    n_new = np.empty(64, np.int64)  # new elements among the chosen ones, per depth
    for row in range(rows.runs.shape[0]):
        n_candidates, last_new = 0, -1
        if rows.seeds[row] >= 0:
            candidates[0] = rows.seeds[row]
            n_candidates = 1
        first_clock, last_clock = rows.clocks[row, 0], rows.clocks[row, 1]
        start = first_at_least(elements.ranks, rows.runs[row, 0], rows.runs[row, 1], rows.bounds[row, 0] + 1)
        for element in range(start, rows.runs[row, 1]):
            if elements.ranks[element] >= rows.bounds[row, 1]:
                break
            clock = elements.clocks[element]
            n_examined += 1
            if clock < last_clock - length or clock - length > first_clock:
                continue
            holds = True
            for column in range(masks.size):
                a = rows.values[column, row]
                b = elements.values[column, element]
                sign = 1 if a == b else (0 if a < b else 2)
                if (masks[column] >> sign) & 1 == 0:
                    holds = False
                    break
            if holds:
                if n_candidates == candidates.size:
                    candidates = grown(candidates)
                    chosen = grown(chosen)
                    n_new = grown(n_new)
                candidates[n_candidates] = element
                n_candidates += 1
        for index in range(n_candidates):
            if elements.is_new[candidates[index]]:
                last_new = index
        if n_candidates < least or (last_new < 0 and not rows.is_new[row]):
            continue
        # Depth-first: chosen[0..depth] is the current list, advanced at its last place.
        depth = 0
        chosen[0] = -1
        while depth >= 0:
            chosen[depth] += 1
            index = chosen[depth]
            if index >= n_candidates or (depth == 0 and rows.seeds[row] >= 0 and index > 0):
                depth -= 1
                continue
            n_examined += 1
            if n_examined > budget:
                found[0] = row
                return found[:1], offsets[:1], members[:0], EXHAUSTED, n_examined
            if n_candidates - index + depth < least:
                depth -= 1  # too few candidates remain
                continue
            before = n_new[depth - 1] if depth > 0 else 0
            if before == 0 and last_new < index and not rows.is_new[row]:
                depth -= 1  # no new element can follow
                continue
            element = candidates[index]
            first = candidates[chosen[0]]
            earliest = min(first_clock, elements.clocks[first])
            if max(last_clock, elements.clocks[element]) - length > earliest:
                continue
            if depth > 0:
                earlier = candidates[chosen[depth - 1]]
                if elements.ranks[earlier] >= elements.ranks[element]:
                    continue
                holds = True
                for column in range(edges.masks.size):
                    if edges.valid[earlier, 2 * column] == 0:
                        holds = False
                        break
                    if edges.valid[element, 2 * column + 1] == 0:
                        holds = False
                        break
                    a = edges.previous[earlier, column]
                    b = edges.current[element, column]
                    sign = 1 if a == b else (0 if a < b else 2)
                    if (edges.masks[column] >> sign) & 1 == 0:
                        holds = False
                        break
                if not holds:
                    continue
            n_new[depth] = before + (1 if elements.is_new[element] else 0)
            if depth + 1 >= least and (rows.is_new[row] or n_new[depth] > 0):
                if n_lists >= limit or n_elements > 8 * limit:
                    found[n_lists - 1] = row
                    return found[:n_lists], offsets[:n_lists], members[:0], OVERFLOW, n_examined
                if n_lists == found.size:
                    found = grown(found)
                    offsets = grown(offsets)
                while n_elements + depth + 1 > members.size:
                    members = grown(members)
                for place in range(depth + 1):
                    members[n_elements + place] = candidates[chosen[place]]
                n_elements += depth + 1
                found[n_lists] = row
                n_lists += 1
                offsets[n_lists] = n_elements
            if depth + 1 < most:
                depth += 1
                if depth == chosen.size:
                    chosen = grown(chosen)
                    n_new = grown(n_new)
                chosen[depth] = index
    return found[:n_lists], offsets[: n_lists + 1], members[:n_elements], n_lists, n_examined
