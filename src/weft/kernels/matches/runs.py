"""Enumerate the lists that are runs: stretches of the candidates of each row, told by their two ends."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, first_at_least, grown
from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.kernels.matches.kleene import Elements, Rows


@njit(cache=True, nogil=True)
def find_runs(
    rows: Rows,
    elements: Elements,
    ends: Array,
    begins_early: bool,
    ends_late: bool,
    least: int,
    most: int,
    length: int,
    limit: int,
    budget: int,
) -> tuple[Array, Array, Array, int, int]:
    """Return (rows, first elements, lengths, status, runs examined).

    The candidates of a row are all elements of its run between its bounds; their clocks and ranks grow. A
    list goes on with every one of them, up to the end that `ends` has for its first. It is reported as by
    `expand_lists`; what `begins_early` begins with the first candidate, what `ends_late` ends with the last
    or at the greatest length.
    """
    found_rows = np.empty(1024, np.int64)
    starts = np.empty(1024, np.int64)
    lengths = np.empty(1024, np.int64)
    n_new = np.zeros(elements.ranks.size + 1, np.int64)
    for element in range(elements.ranks.size):
        n_new[element + 1] = n_new[element] + (1 if elements.is_new[element] else 0)
    n_lists, n_examined = 0, 0
    for row in range(rows.runs.shape[0]):
        first_clock, last_clock = rows.clocks[row, 0], rows.clocks[row, 1]
        if last_clock - first_clock > length:
            continue
        run_start, run_stop = rows.runs[row, 0], rows.runs[row, 1]
        start = first_at_least(elements.ranks, run_start, run_stop, rows.bounds[row, 0] + 1)
        stop = first_at_least(elements.ranks, start, run_stop, rows.bounds[row, 1])
        beginnings = start + 1 if begins_early else stop
        if rows.seeds[row] >= 0:
            start, beginnings = rows.seeds[row], rows.seeds[row] + 1
        else:
            start = first_at_least(elements.clocks, start, stop, last_clock - length)
        for beginning in range(start, min(beginnings, stop)):
            earliest = min(first_clock, elements.clocks[beginning])
            if last_clock - length > earliest or n_new[stop] == n_new[beginning] and not rows.is_new[row]:
                continue
            end = min(stop, beginning + most) if most < stop - beginning else stop
            fitting = first_at_least(elements.clocks, beginning, end, earliest + length + 1)
            fitting = min(fitting, ends[beginning] + 1)
            nearest_end = max(beginning + least, end) if ends_late else beginning + least
            n_examined += 1
            for past in range(nearest_end, fitting + 1):
                if not rows.is_new[row] and n_new[past] == n_new[beginning]:
                    continue
                if n_lists > limit:
                    found_rows[n_lists - 1] = row
                    return found_rows[:n_lists], starts[:0], lengths[:0], OVERFLOW, n_examined
                if n_lists == found_rows.size:
                    found_rows, starts, lengths = grown(found_rows), grown(starts), grown(lengths)
                found_rows[n_lists] = row
                starts[n_lists] = beginning
                lengths[n_lists] = past - beginning
                n_lists += 1
        if n_examined > budget:
            found_rows[0] = row
            return found_rows[:1], starts[:1], lengths[:1], EXHAUSTED, n_examined
    status = n_lists if n_lists <= limit else OVERFLOW
    return found_rows[:n_lists], starts[:n_lists], lengths[:n_lists], status, n_examined
