"""Aggregates of the segments of a flat array, and checked integer arithmetic."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, Word


@njit(cache=True, nogil=True)
def sum_segments(values: Array, valid: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the sum of the valid values of each segment, and whether it exists and fits int64."""
    n_segments = offsets.size - 1
    sums = np.zeros(n_segments, np.int64)
    exists = np.zeros(n_segments, np.bool_)
    for segment in range(n_segments):
        total = np.int64(0)
        fits = True
        for place in range(offsets[segment], offsets[segment + 1]):
            if valid[place]:
                exists[segment] = True
                value = values[place]
                added = total + value
                if ((total ^ added) & (value ^ added)) < 0:
                    fits = False
                total = added
        sums[segment] = total
        exists[segment] = exists[segment] and fits
    return sums, exists


@njit(cache=True, nogil=True)
def sum_double_segments(values: Array, valid: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the sum of the valid values of each segment, added in order, and how many there are."""
    n_segments = offsets.size - 1
    sums = np.full(n_segments, -0.0)  # which added to any value changes nothing, not even the sign of a zero
    counts = np.zeros(n_segments, np.int64)
    for segment in range(n_segments):
        for place in range(offsets[segment], offsets[segment + 1]):
            if valid[place]:
                sums[segment] += values[place]
                counts[segment] += 1
    return sums, counts


@njit(cache=True, nogil=True)
def extreme_segments(values: Array, valid: Array, offsets: Array, largest: bool) -> Array:
    """Return the index of the smallest (or largest) valid int64 of each segment, or -1."""
    n_segments = offsets.size - 1
    best = np.full(n_segments, -1, np.int64)
    for segment in range(n_segments):
        for place in range(offsets[segment], offsets[segment + 1]):
            if not valid[place]:
                continue
            current = best[segment]
            if current < 0 or (
                values[place] > values[current] if largest else values[place] < values[current]
            ):
                best[segment] = place
    return best


@njit(cache=True, nogil=True)
def multiply_checked(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the products and whether each fits int64."""
    products = np.empty(left.size, np.int64)
    fits = np.empty(left.size, np.bool_)
    for row in range(left.size):
        a, b = left[row], right[row]
        products[row] = a * b
        negative = (a < 0) != (b < 0)
        largest = np.uint64(0x8000000000000000) if negative else np.uint64(0x7FFFFFFFFFFFFFFF)
        fits[row] = a == 0 or magnitude(b) <= largest // magnitude(a)
    return products, fits


@njit(cache=True, nogil=True)
def magnitude(value: int) -> Word:
    """Return the absolute value as an unsigned integer, which also holds that of the smallest int64."""
    return np.uint64(value) if value >= 0 else np.uint64(0) - np.uint64(value)
