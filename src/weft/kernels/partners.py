"""Find the events that extend partial matches: after some of their events, before others, within a window."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array


@njit(cache=True, nogil=True)
def find_partners(
    times: Array, ranks: Array, rows: Array, pieces: Array, limits: Array, window: int
) -> Array:
    """Return from where to where in `rows` the partners of each partial match stand, in two arrays.

    `rows` are events in ascending order within pieces; those of a match are `pieces[0]` to `pieces[1]`. Of
    each match, `limits` has the first and the last event, the last of those that come before the partner and
    the first of those that come after it; -1 where there is none. A window below 0 is none.
    """
    found = np.empty((2, limits.shape[1]), np.int64)
    for match in range(limits.shape[1]):
        start, stop = pieces[0, match], pieces[1, match]
        first, last, before, after = limits[:, match]
        if window >= 0:
            earliest, latest = times[last] - window, times[first] + window
            start = _first(times, rows, start, stop, earliest)
            stop = _first(times, rows, start, stop, latest + 1)
        if before >= 0:
            start = _first(ranks, rows, start, stop, ranks[before] + 1)
        if after >= 0:
            stop = _first(ranks, rows, start, stop, ranks[after])
        found[0, match], found[1, match] = start, stop
    return found


@njit(cache=True, nogil=True)
def _first(values: Array, rows: Array, start: int, stop: int, wanted: int) -> int:
    """Return the first place in [start, stop) whose event has at least a value."""
    while start < stop:
        middle = (start + stop) // 2
        if values[rows[middle]] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start
