"""Attributes as natural numbers, so that sums over trends are exact."""

from dataclasses import dataclass

import numpy as np

from weft.runtime.columns.events import Array, Column

MANTISSA_BITS = 53


@dataclass(frozen=True, slots=True)
class Naturals:
    """A row of 32-bit limbs for each value, lowest first, of which `lengths` are in use."""

    limbs: Array
    lengths: Array


@dataclass(frozen=True, slots=True)
class Parts:
    """A column as differences of naturals: value = (positive - negative) * 2**exponent, NULL is zero.

    `negative` is None where no value is negative.
    """

    positive: Naturals
    negative: Naturals | None
    exponent: int


def indicators(is_counted: Array) -> Naturals:
    """Return a one for each row that counts, zero for the others."""
    return Naturals(is_counted.astype(np.uint32)[:, None], is_counted.astype(np.int64))


def parts_of(column: Column) -> Parts:
    """Return the values of a column exactly; doubles by their binary value, NaN and infinity as zero."""
    values, mantissas, shifts, exponent = _binary(column)
    negative = None
    if (values < 0).any():
        negative = _shift_words(np.where(values < 0, mantissas, np.uint64(0)), shifts)
    return Parts(_shift_words(np.where(values > 0, mantissas, np.uint64(0)), shifts), negative, exponent)


def squares_of(column: Column) -> Naturals:
    """Return the squares of the values of a column, exactly, over the square of what `parts_of` has."""
    _, mantissas, shifts, _ = _binary(column)
    low, high = mantissas & np.uint64(0xFFFFFFFF), mantissas >> np.uint64(32)
    middle = 2 * low * high  # below 2**64, as no mantissa is above 2**63
    bottom = low * low
    words = bottom + (middle << np.uint64(32))
    top = high * high + (middle >> np.uint64(32)) + (words < bottom)
    parts = [_shift_words(words, 2 * shifts), _shift_words(top, 2 * shifts + 64)]
    limbs = np.zeros((words.size, max(part.limbs.shape[1] for part in parts)), np.uint32)
    for part in parts:
        limbs[:, : part.limbs.shape[1]] |= part.limbs
    return Naturals(limbs, np.maximum(*(part.lengths for part in parts)))


def _binary(column: Column) -> tuple[Array, Array, Array, int]:
    """Return values, and their sizes as mantissas * 2**(shifts + exponent); what is no number is zero."""
    if column.type.kind == "double":
        values = np.where(column.validity & np.isfinite(column.values), column.values, 0.0)
        fractions, exponents = np.frexp(np.abs(values))
        mantissas = (fractions * (1 << MANTISSA_BITS)).astype(np.uint64)
        trailing = _trailing_zeros(mantissas)
        exponents = exponents.astype(np.int64) - MANTISSA_BITS + trailing
        mantissas >>= trailing.astype(np.uint64)
        exponent = int(exponents[mantissas != 0].min(initial=0))
        return values, mantissas, np.where(mantissas != 0, exponents - exponent, 0), exponent
    values = np.where(column.validity, column.values.astype(np.int64, copy=False), 0)
    mantissas = np.where(values < 0, np.uint64(0) - values.view(np.uint64), values.view(np.uint64))
    return values, mantissas, np.zeros(values.size, np.int64), 0


def _shift_words(words: Array, shifts: Array) -> Naturals:
    """Return words * 2**shifts, limb by limb."""
    width = (int(shifts.max(initial=0)) + 64) // 32 + 1
    limbs = np.zeros((words.size, width), np.uint32)
    for place in range(width):
        right = 32 * place - shifts
        down = words >> np.clip(right, 0, 63).astype(np.uint64)
        up = words << np.clip(-right, 0, 31).astype(np.uint64)
        limbs[:, place] = (
            np.where((right >= 64) | (right <= -32), 0, np.where(right >= 0, down, up)) & 0xFFFFFFFF
        )
    used = limbs != 0
    width = int(used.any(axis=0).sum()) and int(np.flatnonzero(used.any(axis=0))[-1]) + 1
    limbs, used = np.ascontiguousarray(limbs[:, : max(width, 1)]), used[:, : max(width, 1)]
    lengths = np.where(used, np.arange(1, max(width, 1) + 1), 0).max(axis=1, initial=0)
    return Naturals(limbs, lengths.astype(np.int64))


def _trailing_zeros(words: Array) -> Array:
    """Return how often each word can be halved; of zero, never."""
    lowest = words & (np.uint64(0) - words)
    return np.where(words == 0, 0, np.frexp(lowest.astype(np.float64))[1] - 1).astype(np.int64)
