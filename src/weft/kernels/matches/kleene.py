"""Enumerate the lists of a Kleene item: increasing subsequences of the candidates of each row."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, first_at_least, grown
from weft.kernels.matches.join import EXHAUSTED, OVERFLOW

HIGHEST = (1 << 63) - 1


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


class Successors(NamedTuple):
    """Which lists there are: all, or those that always go on with the `nearest` candidate that may follow.

    No candidate follows an element that is `broken`. Those that `begins_early` have the nearest candidate
    first, and in those that `ends_late` none may follow the last, unless they are of the greatest length.
    """

    nearest: bool
    broken: Array
    begins_early: bool
    ends_late: bool


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
    successors: Successors,
    least: int,
    most: int,
    length: int,
    monotone: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, Array, int, int]:
    """Return (rows, list offsets, element indices, status, lists examined).

    A candidate's values compare with the row's as the masks allow (row against element). A list keeps
    the row's events and its own within `length`, and its consecutive elements satisfy the edges. It is
    reported when the row or one of its elements is new; `successors` says which lists are looked at.
    `monotone` says that the clock grows with the rank. Arrays grow only outside the inner loops, where Numba
    would pay for it in every step.
    """
    found_rows = np.empty(1024, np.int64)
    offsets = np.empty(1024, np.int64)
    offsets[0] = 0
    members = np.empty(4096, np.int64)
    n_lists, n_elements, n_examined = 0, 0, 0
    candidates = np.empty(64, np.int64)
    chosen = np.empty(64, np.int64)  # indices into candidates, one per depth
    n_new = np.empty(64, np.int64)  # new elements among the chosen ones, per depth
    furthest = np.empty(64, np.int64)  # the rank past which no candidate is tried, per depth
    for row in range(rows.runs.shape[0]):
        first_clock, last_clock = rows.clocks[row, 0], rows.clocks[row, 1]
        if last_clock - first_clock > length:
            continue
        run_start, run_stop = rows.runs[row, 0], rows.runs[row, 1]
        start = first_at_least(elements.ranks, run_start, run_stop, rows.bounds[row, 0] + 1)
        stop = first_at_least(elements.ranks, start, run_stop, rows.bounds[row, 1])
        if monotone:
            start = first_at_least(elements.clocks, start, stop, last_clock - length)
            stop = first_at_least(elements.clocks, start, stop, first_clock + length + 1)
        if candidates.size < stop - start + 1:
            candidates = np.empty(2 * (stop - start + 1), np.int64)
            chosen = np.empty(candidates.size, np.int64)
            n_new = np.empty(candidates.size, np.int64)
            furthest = np.empty(candidates.size, np.int64)
        n_candidates, last_new = 0, -1
        is_seeded = rows.seeds[row] >= 0
        if is_seeded:
            candidates[0] = rows.seeds[row]
            n_candidates = 1
        n_examined += stop - start
        for element in range(start, stop):
            clock = elements.clocks[element]
            holds = last_clock - length <= clock <= first_clock + length
            if holds:
                for column in range(masks.size):
                    a = rows.values[column, row]
                    b = elements.values[column, element]
                    sign = 1 if a == b else (0 if a < b else 2)
                    if (masks[column] >> sign) & 1 == 0:
                        holds = False
                        break
            if holds:
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
        furthest[0] = HIGHEST
        while depth >= 0:
            if n_lists > limit or n_elements > 8 * limit:
                found_rows[n_lists - 1] = row
                return found_rows[:n_lists], offsets[:n_lists], members[:0], OVERFLOW, n_examined
            if n_examined > budget:
                found_rows[0] = row
                return found_rows[:1], offsets[:1], members[:0], EXHAUSTED, n_examined
            if n_lists + 2 > found_rows.size:
                found_rows = grown(found_rows)
                offsets = grown(offsets)
            while n_elements + chosen.size > members.size:
                members = grown(members)
            while (
                depth >= 0
                and n_lists + 2 <= found_rows.size
                and n_elements + chosen.size <= members.size
                and n_examined <= budget
            ):
                chosen[depth] += 1
                index = chosen[depth]
                if index >= n_candidates or (depth == 0 and is_seeded and index > 0):
                    depth -= 1
                    continue
                n_examined += 1
                if n_candidates - index + depth < least:
                    depth -= 1  # too few candidates remain
                    continue
                before = n_new[depth - 1] if depth > 0 else 0
                if before == 0 and last_new < index and not rows.is_new[row]:
                    depth -= 1  # no new element can follow
                    continue
                element = candidates[index]
                if elements.ranks[element] > furthest[depth]:
                    depth -= 1  # a nearer one may follow
                    continue
                earliest = min(first_clock, elements.clocks[candidates[chosen[0]]])
                if max(last_clock, elements.clocks[element]) - length > earliest:
                    continue
                if depth > 0:
                    earlier = candidates[chosen[depth - 1]]
                    if elements.ranks[earlier] >= elements.ranks[element]:
                        continue
                    if successors.broken[earlier]:
                        depth -= 1
                        continue
                    if not follows(edges, earlier, element):
                        continue
                if successors.begins_early if depth == 0 else successors.nearest:
                    furthest[depth] = elements.ranks[element]
                n_new[depth] = before + (1 if elements.is_new[element] else 0)
                is_wanted = depth + 1 >= least and (rows.is_new[row] or n_new[depth] > 0)
                if is_wanted and successors.ends_late and depth + 1 < most and not successors.broken[element]:
                    for later in range(index + 1, n_candidates):
                        follower = candidates[later]
                        if elements.ranks[follower] > elements.ranks[element] and follows(
                            edges, element, follower
                        ):
                            is_wanted = False
                            break
                if is_wanted:
                    for place in range(depth + 1):
                        members[n_elements + place] = candidates[chosen[place]]
                    n_elements += depth + 1
                    found_rows[n_lists] = row
                    n_lists += 1
                    offsets[n_lists] = n_elements
                if depth + 1 < most and depth + 1 < n_candidates:
                    depth += 1
                    chosen[depth] = index
                    furthest[depth] = HIGHEST
    if n_lists > limit:
        return found_rows[:n_lists], offsets[:n_lists], members[:0], OVERFLOW, n_examined
    return found_rows[:n_lists], offsets[: n_lists + 1], members[:n_elements], n_lists, n_examined


@njit(cache=True, nogil=True)
def follows(edges: Edges, earlier: int, element: int) -> bool:
    """Say whether an element may come next after an earlier one."""
    for column in range(edges.masks.size):
        if edges.valid[earlier, 2 * column] == 0 or edges.valid[element, 2 * column + 1] == 0:
            return False
        a = edges.previous[earlier, column]
        b = edges.current[element, column]
        sign = 1 if a == b else (0 if a < b else 2)
        if (edges.masks[column] >> sign) & 1 == 0:
            return False
    return True
