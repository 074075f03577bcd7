"""Join each row with the nearest that comes after it and fits."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, first_at_least, grown
from weft.kernels.matches.join import EXHAUSTED, OVERFLOW


class EarlierRows(NamedTuple):
    """Rows that look forward: in the run of later rows, past a rank; clocks of the first and last event."""

    runs: Array
    ranks: Array
    clocks: Array
    values: Array
    is_new: Array


class LaterRows(NamedTuple):
    """Rows sorted within each run by the rank of the event that is to be nearest; its clock, and theirs."""

    ranks: Array
    nearest: Array
    clocks: Array
    values: Array
    is_new: Array


@njit(cache=True, nogil=True)
def probe_nearest(
    earlier: EarlierRows,
    later: LaterRows,
    masks: Array,
    length: int,
    monotone: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, int, int]:
    """Return (earlier rows, later rows, status, candidates examined).

    The search of an earlier row ends at the first event whose row compares as the masks allow; later rows
    with events at the same place in the order are as near. Of the pairs, those within `length` come out in
    which a row is new. `monotone` says that the clock grows with the rank.
    """
    found_earlier = np.empty(1024, np.int64)
    found_later = np.empty(1024, np.int64)
    n_found, n_examined = 0, 0
    for row in range(earlier.ranks.size):
        first_clock, last_clock = earlier.clocks[row, 0], earlier.clocks[row, 1]
        start, stop = earlier.runs[row, 0], earlier.runs[row, 1]
        start = first_at_least(later.ranks, start, stop, earlier.ranks[row] + 1)
        nearest = -1
        for other in range(start, stop):
            if nearest >= 0 and later.ranks[other] != later.ranks[nearest]:
                break
            if monotone and later.nearest[other] > first_clock + length:
                break
            n_examined += 1
            holds = True
            for column in range(masks.size):
                a = earlier.values[column, row]
                b = later.values[column, other]
                sign = 1 if a == b else (0 if a < b else 2)
                if (masks[column] >> sign) & 1 == 0:
                    holds = False
                    break
            if not holds:
                continue
            nearest = other
            reach = max(last_clock, later.clocks[other, 1]) - min(first_clock, later.clocks[other, 0])
            if reach <= length and (earlier.is_new[row] or later.is_new[other]):
                if n_found > limit:
                    found_earlier[n_found - 1] = row
                    return found_earlier[:n_found], found_later[:n_found], OVERFLOW, n_examined
                if n_found == found_earlier.size:
                    found_earlier, found_later = grown(found_earlier), grown(found_later)
                found_earlier[n_found] = row
                found_later[n_found] = other
                n_found += 1
        if n_examined > budget:
            found_earlier[0] = row
            return found_earlier[:1], found_later[:1], EXHAUSTED, n_examined
    status = n_found if n_found <= limit else OVERFLOW
    return found_earlier[:n_found], found_later[:n_found], status, n_examined
