"""Rows of numbers that stand for trends, and the results made of them.

A row is what is known of some trends: how many there are, the sums (lanes) and the smallest values
(extremes) of their events. Rows live in a pool of natural numbers, `1 + lanes` numbers to a row.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.naturals import add_multiple, assign


class Pool(NamedTuple):
    """Rows: `width` numbers each, and the smallest values with whether there is one."""

    limbs: Array
    lengths: Array
    best: Array
    has: Array
    width: int


class Results(NamedTuple):
    """A result for each member, partition and window with trends: the numbers of its row, and extremes.

    Number n of result r is limbs[offsets[r * width + n]:offsets[r * width + n + 1]]. While results are
    added, the arrays have room for more than `size` says.
    """

    members: Array
    partitions: Array
    windows: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array
    size: Array


@njit(cache=True, nogil=True)
def clear_row(pool: Pool, row: int) -> None:
    """Make a row stand for no trends."""
    for lane in range(pool.width):
        pool.lengths[row * pool.width + lane] = 0
    for extreme in range(pool.best.shape[1]):
        pool.has[row, extreme] = False


@njit(cache=True, nogil=True)
def copy_row(pool: Pool, target: int, other: int) -> None:
    """Make a row stand for the trends of another."""
    for lane in range(pool.width):
        assign(pool.limbs, pool.lengths, target * pool.width + lane, other * pool.width + lane)
    for extreme in range(pool.best.shape[1]):
        pool.has[target, extreme] = pool.has[other, extreme]
        pool.best[target, extreme] = pool.best[other, extreme]


@njit(cache=True, nogil=True)
def add_row(pool: Pool, target: int, other: int, ways: int) -> None:
    """Add the trends of a row to another, each so many times."""
    if pool.lengths[other * pool.width] == 0:
        return
    for lane in range(pool.width):
        add_multiple(pool.limbs, pool.lengths, target * pool.width + lane, other * pool.width + lane, ways)
    for extreme in range(pool.best.shape[1]):
        if pool.has[other, extreme]:
            lower_row(pool, target, extreme, pool.best[other, extreme])


@njit(cache=True, nogil=True)
def lower_row(pool: Pool, row: int, extreme: int, value: int) -> None:
    """Tell a row of a value that may be its smallest."""
    if not pool.has[row, extreme] or value < pool.best[row, extreme]:
        pool.has[row, extreme] = True
        pool.best[row, extreme] = value


@njit(cache=True, nogil=True)
def no_results(width: int, n_extremes: int) -> Results:
    """Return room for results of rows of so many numbers and extremes."""
    return Results(
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.zeros(64 * width + 1, np.int64),
        np.empty(1024, np.uint32),
        np.empty((64, n_extremes), np.int64),
        np.empty((64, n_extremes), np.bool_),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def with_result(found: Results, pool: Pool, row: int, member: int, partition: int, window: int) -> Results:
    """Add a row of the pool as a result; the arrays are new ones where they had no more room."""
    members, partitions, windows, offsets, limbs, best, has, size = found
    place = size[0]
    if place == members.size:
        members, partitions, windows = grown(members), grown(partitions), grown(windows)
        more = np.zeros(2 * place * pool.width + 1, np.int64)
        more[: offsets.size] = offsets
        offsets, best, has = more, _more_rows(best), _more_rows(has)
    members[place], partitions[place], windows[place] = member, partition, window
    for lane in range(pool.width):
        number = place * pool.width + lane
        used = pool.lengths[row * pool.width + lane]
        while offsets[number] + used > limbs.size:
            limbs = grown(limbs)
        for limb in range(used):
            limbs[offsets[number] + limb] = pool.limbs[row * pool.width + lane, limb]
        offsets[number + 1] = offsets[number] + used
    for extreme in range(best.shape[1]):
        best[place, extreme], has[place, extreme] = pool.best[row, extreme], pool.has[row, extreme]
    size[0] += 1
    return Results(members, partitions, windows, offsets, limbs, best, has, size)


@njit(cache=True, nogil=True)
def trimmed(found: Results, width: int) -> Results:
    """Return results without the room for more."""
    n_results = found.size[0]
    offsets = found.offsets[: n_results * width + 1]
    return Results(
        found.members[:n_results],
        found.partitions[:n_results],
        found.windows[:n_results],
        offsets,
        found.limbs[: offsets[-1]],
        found.best[:n_results],
        found.has[:n_results],
        found.size,
    )


@njit(cache=True, nogil=True)
def _more_rows(rows: Array) -> Array:
    """Return a copy of a matrix with twice the room for rows."""
    more = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    more[: rows.shape[0]] = rows
    return more


@njit(cache=True, nogil=True)
def first_window(time: int, length: int, slide: int) -> int:
    """Return the number of the first window that ends after a time; with slide 0 there is only one."""
    return (time - length) // slide + 1 if slide else 0


@njit(cache=True, nogil=True)
def largest_window(times: Array, starts: Array, length: int, slide: int) -> int:
    """Return how many events the fullest window of a partition can have."""
    most = 1
    for partition in range(starts.size - 1):
        low = starts[partition]
        for high in range(low, starts[partition + 1]):
            while slide and times[high] - times[low] >= length:
                low += 1
            most = max(most, high - low + 1)
    return most
