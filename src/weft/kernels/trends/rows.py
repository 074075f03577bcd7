"""Rows of numbers that stand for trends, and the results made of them.

A row is what is known of some trends: how many there are, the sums (lanes) and the smallest values
(extremes) of their events. Rows live in a pool of natural numbers, `1 + lanes` numbers to a row.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.trends.naturals import add_multiple, assign


class Pool(NamedTuple):
    """Rows: `width` numbers each, and the smallest values with whether there is one."""

    limbs: Array
    lengths: Array
    best: Array
    has: Array
    width: int


class Room(NamedTuple):
    """Room for results, made beforehand: one for each member, partition and window that may have trends.

    Number n of result r is limbs[offsets[r * width + n]:offsets[r * width + n + 1]], where the limbs grow as
    results come. size[0] says how many have come.
    """

    members: Array
    partitions: Array
    windows: Array
    offsets: Array
    best: Array
    has: Array
    size: Array


@njit(cache=True, nogil=True)
def new_pool(n_rows: int, width: int, n_limbs: int, n_extremes: int) -> Pool:
    """Return a pool of rows that stand for no trends."""
    return Pool(
        np.empty((n_rows * width, n_limbs), np.uint32),
        np.zeros(n_rows * width, np.int64),
        np.empty((n_rows, n_extremes), np.int64),
        np.zeros((n_rows, n_extremes), np.bool_),
        width,
    )


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
def with_result(
    limbs: Array, room: Room, pool: Pool, row: int, member: int, partition: int, window: int
) -> Array:
    """Add a row of the pool as a result; return the limbs, which are a new array where they had no room."""
    place = room.size[0]
    room.members[place], room.partitions[place], room.windows[place] = member, partition, window
    for lane in range(pool.width):
        number = place * pool.width + lane
        used = pool.lengths[row * pool.width + lane]
        while room.offsets[number] + used > limbs.size:
            limbs = grown(limbs)
        for limb in range(used):
            limbs[room.offsets[number] + limb] = pool.limbs[row * pool.width + lane, limb]
        room.offsets[number + 1] = room.offsets[number] + used
    for extreme in range(room.best.shape[1]):
        room.best[place, extreme], room.has[place, extreme] = pool.best[row, extreme], pool.has[row, extreme]
    room.size[0] += 1
    return limbs


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
