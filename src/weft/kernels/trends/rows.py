"""Rows of numbers that stand for trends.

A row is what is known of some trends: how many there are, the sums (lanes) and the smallest values
(extremes) of their events. Rows live in a pool of natural numbers, `1 + lanes` numbers to a row.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.trends.naturals import Numbers, add_multiple, assign, clear, is_zero, new_numbers


class Pool(NamedTuple):
    """Rows: `width` numbers each, and the smallest values with whether there is one."""

    numbers: Numbers
    best: Array
    has: Array
    width: int


@njit(cache=True, nogil=True)
def new_pool(n_rows: int, width: int, most: int, n_extremes: int) -> Pool:
    """Return a pool of rows that stand for no trends, whose numbers are exact up to so many limbs."""
    return Pool(
        new_numbers(n_rows * width, most),
        np.empty((n_rows, n_extremes), np.int64),
        np.zeros((n_rows, n_extremes), np.bool_),
        width,
    )


@njit(cache=True, nogil=True)
def is_empty(pool: Pool, row: int) -> bool:
    """Whether a row stands for no trends."""
    return is_zero(pool.numbers, row * pool.width)


@njit(cache=True, nogil=True)
def clear_row(pool: Pool, row: int) -> None:
    """Make a row stand for no trends."""
    for lane in range(pool.width):
        clear(pool.numbers, row * pool.width + lane)
    for extreme in range(pool.best.shape[1]):
        pool.has[row, extreme] = False


@njit(cache=True, nogil=True)
def copy_row(pool: Pool, target: int, other: int) -> None:
    """Make a row stand for the trends of another."""
    for lane in range(pool.width):
        assign(pool.numbers, target * pool.width + lane, other * pool.width + lane)
    for extreme in range(pool.best.shape[1]):
        pool.has[target, extreme] = pool.has[other, extreme]
        pool.best[target, extreme] = pool.best[other, extreme]


@njit(cache=True, nogil=True)
def add_row(pool: Pool, target: int, other: int, ways: int) -> None:
    """Add the trends of a row to another, each so many times."""
    if is_empty(pool, other):
        return
    for lane in range(pool.width):
        add_multiple(pool.numbers, target * pool.width + lane, other * pool.width + lane, ways)
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
