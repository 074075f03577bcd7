"""Walk matches in order: one that is kept decides, in its partition, which one may be kept next."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array


@njit(cache=True, nogil=True)
def walk_in_order(
    partitions: Array, starts: Array, ends: Array, reached: Array, swallowed: Array
) -> tuple[Array, Array, Array]:
    """Keep the matches that start after what their partition has reached, which then is where they end.

    Starts, ends and what is `reached` are pairs of a time and a tie. `reached` and `swallowed`, how many were
    not kept since, have a row for each partition and are brought up to date. Returns which rows are kept, how
    many the partition had swallowed before each, and the last row kept in each partition, or -1.
    """
    is_kept = np.zeros(partitions.size, np.bool_)
    counts = np.zeros(partitions.size, np.int64)
    latest = np.full(reached.shape[0], -1, np.int64)
    for row in range(partitions.size):
        own = partitions[row]
        time, tie = reached[own, 0], reached[own, 1]
        if starts[row, 0] > time or (starts[row, 0] == time and starts[row, 1] > tie):
            is_kept[row] = True
            counts[row] = swallowed[own]
            swallowed[own] = 0
            reached[own, 0], reached[own, 1] = ends[row, 0], ends[row, 1]
            latest[own] = row
        else:
            swallowed[own] += 1
    return is_kept, counts, latest


@njit(cache=True, nogil=True)
def places_of(keys: Array, wanted: Array) -> Array:
    """Return where keys of two numbers are, or belong, among others that are sorted."""
    places = np.empty(wanted.shape[0], np.int64)
    for row in range(wanted.shape[0]):
        high, low = wanted[row, 0], wanted[row, 1]
        start, stop = 0, keys.shape[0]
        while start < stop:
            middle = (start + stop) // 2
            if keys[middle, 0] < high or (keys[middle, 0] == high and keys[middle, 1] < low):
                start = middle + 1
            else:
                stop = middle
        places[row] = start
    return places
