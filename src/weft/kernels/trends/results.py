"""Results of trends: rows of numbers, kept one after the other, and sums and products of them."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.trends.naturals import (
    ROUNDED,
    Numbers,
    add_multiple,
    add_product,
    add_scaled,
    assign,
    clear,
    load,
    new_numbers,
)
from weft.kernels.trends.rows import Pool


class Kept(NamedTuple):
    """Numbers one after the other: number i has the limbs from offsets[i] to offsets[i + 1].

    Of a rounded number, which has no limbs, the mantissa is not zero.
    """

    offsets: Array
    limbs: Array
    mantissas: Array
    exponents: Array


class Room(NamedTuple):
    """Room for results, made beforehand: one for each member, partition and window that may have trends.

    The numbers of result r are those from r * width on, as in Kept, whose limbs grow as results come.
    size[0] says how many have come.
    """

    members: Array
    partitions: Array
    windows: Array
    offsets: Array
    mantissas: Array
    exponents: Array
    best: Array
    has: Array
    size: Array


@njit(cache=True, nogil=True)
def with_result(
    limbs: Array, room: Room, pool: Pool, row: int, member: int, partition: int, window: int
) -> Array:
    """Add a row of the pool as a result; return the limbs, which are a new array where they had no room."""
    place = room.size[0]
    room.members[place], room.partitions[place], room.windows[place] = member, partition, window
    for lane in range(pool.width):
        kept = Kept(room.offsets, limbs, room.mantissas, room.exponents)
        limbs = _keep(kept, place * pool.width + lane, pool.numbers, row * pool.width + lane)
    for extreme in range(room.best.shape[1]):
        room.best[place, extreme], room.has[place, extreme] = pool.best[row, extreme], pool.has[row, extreme]
    room.size[0] += 1
    return limbs


@njit(cache=True, nogil=True)
def _keep(kept: Kept, place: int, numbers: Numbers, number: int) -> Array:
    """Keep a number as the next one; return the limbs."""
    used, limbs, start = max(numbers.lengths[number], 0), kept.limbs, kept.offsets[place]
    while start + used > limbs.size:
        limbs = grown(limbs)
    for limb in range(used):
        limbs[start + limb] = numbers.limbs[number, limb]
    kept.offsets[place + 1] = start + used
    is_rounded = numbers.lengths[number] == ROUNDED
    kept.mantissas[place] = numbers.mantissas[number] if is_rounded else 0.0
    kept.exponents[place] = numbers.exponents[number] if is_rounded else 0
    return limbs


@njit(cache=True, nogil=True)
def _load(numbers: Numbers, target: int, kept: Kept, number: int) -> None:
    """Set a number to one that is kept."""
    start, stop = kept.offsets[number], kept.offsets[number + 1]
    length = ROUNDED if kept.mantissas[number] != 0.0 else stop - start
    load(numbers, target, kept.limbs[start:stop], length, kept.mantissas[number], kept.exponents[number])


@njit(cache=True, nogil=True)
def load_row(pool: Pool, row: int, kept: Kept, result: int, best: Array, has: Array) -> None:
    """Set a row of the pool to a result."""
    for lane in range(pool.width):
        _load(pool.numbers, row * pool.width + lane, kept, result * pool.width + lane)
    for extreme in range(pool.best.shape[1]):
        pool.best[row, extreme], pool.has[row, extreme] = best[result, extreme], has[result, extreme]


@njit(cache=True, nogil=True)
def _longest(kept: Kept) -> int:
    longest = 0
    for number in range(kept.offsets.size - 1):
        longest = max(longest, kept.offsets[number + 1] - kept.offsets[number])
    return int(longest)


@njit(cache=True, nogil=True)
def _empty(n_numbers: int, n_limbs: int) -> Kept:
    return Kept(
        np.zeros(n_numbers + 1, np.int64),
        np.empty(max(16, n_limbs), np.uint32),
        np.zeros(n_numbers, np.float64),
        np.zeros(n_numbers, np.int64),
    )


@njit(cache=True, nogil=True)
def _with_limbs(kept: Kept, limbs: Array) -> Kept:
    return Kept(kept.offsets, limbs[: kept.offsets[-1]], kept.mantissas, kept.exponents)


@njit(cache=True, nogil=True)
def sum_results(kept: Kept, width: int, order: Array, runs: Array, most: int) -> Kept:
    """Add up results: those that order[runs[r]:runs[r + 1]] names make sum r. With most 0, all are exact."""
    numbers = new_numbers(2, most if most else _longest(kept) + 2)
    sums = _empty((runs.size - 1) * width, kept.limbs.size + runs.size)
    limbs = sums.limbs
    for run in range(runs.size - 1):
        for lane in range(width):
            clear(numbers, 0)
            for place in range(runs[run], runs[run + 1]):
                _load(numbers, 1, kept, order[place] * width + lane)
                add_multiple(numbers, 0, 1, 1)
            limbs = _keep(_with_room(sums, limbs), run * width + lane, numbers, 0)
    return _with_limbs(sums, limbs)


@njit(cache=True, nogil=True)
def _with_room(kept: Kept, limbs: Array) -> Kept:
    return Kept(kept.offsets, limbs, kept.mantissas, kept.exponents)


@njit(cache=True, nogil=True)
def multiply_results(
    left: Kept, left_rows: Array, right: Kept, right_rows: Array, width: int, most: int
) -> Kept:
    """Combine each trend of a result with each of another, pair by pair. With most 0, all are exact."""
    numbers = new_numbers(2 * width + 1, most if most else _longest(left) + _longest(right) + 2)
    products = _empty(left_rows.size * width, left.limbs.size + right.limbs.size)
    limbs, own, other, result = products.limbs, 0, width, 2 * width
    for pair in range(left_rows.size):
        for lane in range(width):
            _load(numbers, own + lane, left, left_rows[pair] * width + lane)
            _load(numbers, other + lane, right, right_rows[pair] * width + lane)
        for lane in range(width):
            clear(numbers, result)
            add_product(numbers, result, own + lane, other)
            if lane:
                add_product(numbers, result, own, other + lane)
            limbs = _keep(_with_room(products, limbs), pair * width + lane, numbers, result)
    return _with_limbs(products, limbs)


@njit(cache=True, nogil=True)
def scale_results(kept: Kept, shifts: Array, most: int) -> Kept:
    """Return the numbers, each multiplied by two to a power."""
    numbers = new_numbers(2, most)
    n_limbs = kept.limbs.size + np.sum(shifts) // 32 + shifts.size
    scaled = _empty(shifts.size, n_limbs)
    limbs = scaled.limbs
    for number in range(shifts.size):
        _load(numbers, 0, kept, number)
        if shifts[number]:
            factor = np.zeros(shifts[number] // 32 + 1, np.uint32)
            factor[-1] = np.uint32(1 << (shifts[number] % 32))
            clear(numbers, 1)
            add_scaled(numbers, 1, 0, factor, factor.size)
        else:
            assign(numbers, 1, 0)
        limbs = _keep(_with_room(scaled, limbs), number, numbers, 1)
    return _with_limbs(scaled, limbs)
