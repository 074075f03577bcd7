"""Small array operations that the kernels share."""

from typing import Any, TypeAlias

import numpy as np
from numba import njit

Array: TypeAlias = Any  # a NumPy array; Numba infers the element type
Word: TypeAlias = Any  # an unsigned 64-bit integer


def as_input(array: Array) -> Array:
    """Return an array in one piece that is not to be written to: itself seen so, or a copy.

    Numba compiles a kernel once for arrays that may be written to and once for others. What comes out of
    Arrow may be either, so kernels that only read such arrays are always given this.

    >>> as_input(np.arange(6)[::2]).flags.writeable
    False
    """
    given = np.ascontiguousarray(array).view()
    given.flags.writeable = False
    return given


def as_own(array: Array) -> Array:
    """Return an array in one piece that may be written to: itself, or a copy.

    >>> as_own(np.frombuffer(b"abc", np.uint8)).flags.writeable
    True
    """
    return np.require(array, requirements=("C", "W"))


@njit(cache=True, nogil=True)
def grown(array: Array) -> Array:
    """Return a copy with twice the room."""
    larger = np.empty(2 * array.size, array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def first_at_least(values: Array, start: int, stop: int, wanted: int) -> int:
    """Return the first index in [start, stop) of sorted values whose value is at least `wanted`."""
    while start < stop:
        middle = (start + stop) // 2
        if values[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def mix_hashes(values: Array) -> Array:
    """Hash each column of a two-dimensional int64 array to a non-negative int64."""
    hashes = np.empty(values.shape[1], np.int64)
    for row in range(values.shape[1]):
        state: Word = np.uint64(0x9E3779B97F4A7C15)
        for column in range(values.shape[0]):
            state = mix_bits(state ^ np.uint64(values[column, row]))
        hashes[row] = np.int64(state >> np.uint64(1))
    return hashes


@njit(cache=True, nogil=True)
def mix_bits(state: Word) -> Word:
    """Scramble 64 bits (the finalizer of SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def ordered_bits(values: Array) -> Array:
    """Map doubles to int64 that compare as SQL does: NaN largest and equal to itself, -0.0 equal to 0.0."""
    return _ordered_bits(as_input(values))


@njit(cache=True, nogil=True)
def _ordered_bits(values: Array) -> Array:
    bits = np.empty(values.size, np.int64)
    for row in range(values.size):
        value = values[row]
        if value != value:
            bits[row] = np.int64(0x7FFFFFFFFFFFFFFF)
        else:
            raw = np.float64(value + 0.0).view(np.int64)
            bits[row] = raw if raw >= 0 else raw ^ np.int64(0x7FFFFFFFFFFFFFFF)
    return bits
