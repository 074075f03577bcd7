"""Integers of any size as columns of Arrow: exact decimals, doubles, and what is too long for them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal

import numpy as np
import pyarrow as pa

from weft.kernels.trends.results import Kept
from weft.runtime.columns.events import Array

MOST_DIGITS = 38  # of a decimal
EXACT = 1 << 53  # integers up to here are doubles
LEAST_NORMAL = 2.0**-1022
DIGITS = 11  # of a rounded number that are shown
DECIMALS = Context(prec=30, Emax=MAX_EMAX, Emin=MIN_EMIN)


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number too long to be kept exactly: mantissa * 2**exponent, right in some eleven digits.

    >>> Rounded(0.75, 10_000).digits()
    '1.4962973377e+3010'
    """

    mantissa: float
    exponent: int

    def digits(self, scale: int = 0) -> str:
        """Return the number divided by 10**scale, with an exponent that tells it from an exact one."""
        value = DECIMALS.multiply(Decimal(self.mantissa), DECIMALS.power(2, self.exponent))
        return f"{DECIMALS.scaleb(value, -scale):.{DIGITS - 1}e}"

    def __neg__(self) -> "Rounded":
        return Rounded(-self.mantissa, self.exponent)

    def __add__(self, other: "int | Rounded") -> "Rounded":
        large, small = sorted((self, rounded(other)), key=lambda one: one.exponent, reverse=True)
        total = large.mantissa + math.ldexp(small.mantissa, max(small.exponent - large.exponent, -4096))
        mantissa, shift = math.frexp(total)
        return Rounded(mantissa, large.exponent + shift)

    def divided_by(self, other: "int | Rounded") -> "Rounded":
        """Return this number over another one."""
        divisor = rounded(other)
        return Rounded(self.mantissa / divisor.mantissa, self.exponent - divisor.exponent)

    def as_double(self, exponent: int) -> float:
        """Return the number times 2**exponent; an OverflowError says that there is no such double."""
        return math.ldexp(self.mantissa, self.exponent + exponent)


def rounded(value: int | Rounded) -> Rounded:
    """Return a number that may be exact as one that is not."""
    if isinstance(value, Rounded):
        return value
    shift = max(value.bit_length() - 64, 0)
    mantissa, exponent = math.frexp(value >> shift)
    return Rounded(mantissa, exponent + shift)


def number_at(kept: Kept, number: int) -> int | Rounded:
    """Return a natural of any size."""
    if kept.mantissas[number] != 0.0:
        return Rounded(float(kept.mantissas[number]), int(kept.exponents[number]))
    content = kept.limbs[kept.offsets[number] : kept.offsets[number + 1]]
    return int.from_bytes(content.astype("<u4").tobytes(), "little")


@dataclass(frozen=True, slots=True)
class Integers:
    """An integer for each row: below 2**62 in size in `small`, other ones by row in `large`."""

    small: Array
    large: Mapping[int, int | Rounded] = field(default_factory=dict)

    def __getitem__(self, row: int) -> int | Rounded:
        return self.large[row] if row in self.large else int(self.small[row])

    @property
    def is_zero(self) -> Array:
        is_zero: Array = self.small == 0
        is_zero[list(self.large)] = False
        return is_zero

    @property
    def is_large(self) -> Array:
        is_large = np.zeros(self.small.size, np.bool_)
        is_large[list(self.large)] = True
        return is_large


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of results; `beyond` are the digits of those values, by row, that do not fit it."""

    values: pa.Array
    beyond: Mapping[int, str] = field(default_factory=dict)


def integers_at(kept: Kept, numbers: Array) -> Integers:
    """Return the numbers that stand at some places."""
    starts = kept.offsets[numbers]
    sizes = kept.offsets[numbers + 1] - starts
    limbs = kept.limbs if kept.limbs.size else np.zeros(1, np.uint32)
    low = np.where(sizes > 0, limbs.take(starts, mode="clip"), 0).astype(np.int64)
    high = np.where(sizes > 1, limbs.take(starts + 1, mode="clip"), 0).astype(np.int64)
    fits = (sizes <= 2) & (high < 1 << 30) & (kept.mantissas[numbers] == 0.0)
    large = {int(row): number_at(kept, int(numbers[row])) for row in np.flatnonzero(~fits)}
    return Integers(np.where(fits, low | high << 32, 0), large)


def difference(left: Integers, right: Integers) -> Integers:
    """Return left - right of naturals, row by row."""
    large = {row: _minus(left[row], right[row]) for row in sorted({*left.large, *right.large})}
    small = left.small - right.small
    small[list(large)] = 0
    return Integers(small, large)


def _minus(left: int | Rounded, right: int | Rounded) -> int | Rounded:
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    return -rounded(right) + left


def as_decimals(values: Integers, is_known: Array, scale: int = 0) -> Shown:
    """Return integers as decimals of which `scale` digits stand after the point."""
    words = np.stack([values.small, values.small >> 63], axis=1)
    beyond: dict[int, str] = {}
    valid = is_known.copy()
    for row, value in values.large.items():
        if isinstance(value, int) and abs(value) < 10**MOST_DIGITS:
            words[row] = np.frombuffer(value.to_bytes(16, "little", signed=True), "<i8")
        elif is_known[row]:
            valid[row] = False
            beyond[row] = digits_of(value, scale)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    content = pa.py_buffer(np.ascontiguousarray(words))
    kind = pa.decimal128(MOST_DIGITS, scale)
    return Shown(pa.Array.from_buffers(kind, valid.size, [validity, content]), beyond)


def as_doubles(values: Integers, exponent: int, is_known: Array) -> Shown:
    """Return the doubles nearest to values * 2**exponent, where every value is a sum of doubles.

    An exponent is then at least that of the smallest double: what is scaled down has not been rounded.
    """
    with np.errstate(over="ignore"):
        doubles = np.ldexp(values.small.astype(np.float64), exponent)
    beyond: dict[int, str] = {}
    valid = is_known.copy()
    for row in np.flatnonzero(values.is_large | ~np.isfinite(doubles)).tolist():
        value = values[row]
        try:
            doubles[row] = nearest_double(value, exponent)
        except OverflowError:
            valid[row] = False
            if is_known[row]:
                beyond[row] = digits_of(_whole_part(value, exponent))
    return Shown(pa.array(doubles, mask=~valid), beyond)


def as_averages(totals: Integers, counts: Integers, exponent: int, scale: int, is_known: Array) -> Shown:
    """Return the doubles nearest to totals * 2**exponent / 10**scale / counts."""
    unit = 10**scale
    most = EXACT // unit  # counts up to here give exact divisors
    divisors = np.where(is_known, counts.small, 1) * min(unit, EXACT)
    divisors[counts.is_large] = 1
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        quotients = totals.small / divisors
        doubles = np.ldexp(quotients, exponent)
    is_exact = (np.abs(totals.small) <= EXACT) & (counts.small <= most) & (counts.small > 0)
    is_exact &= ~totals.is_large & ~counts.is_large
    is_exact &= (doubles == 0) & (totals.small == 0) | (np.abs(doubles) >= LEAST_NORMAL) & np.isfinite(
        doubles
    )
    for row in np.flatnonzero(is_known & ~is_exact).tolist():
        doubles[row] = nearest_double(totals[row], exponent, counts[row], unit)
    return Shown(pa.array(doubles, mask=~is_known))


def nearest_double(value: int | Rounded, exponent: int, divisor: int | Rounded = 1, unit: int = 1) -> float:
    """Return the double nearest to value * 2**exponent / divisor / unit, or near it where one is rounded.

    >>> nearest_double(3, -1), nearest_double(10**400, -1000, 7)
    (1.5, 1.3332337407188841e+98)
    >>> nearest_double(Rounded(0.75, 10_000), -9_998, Rounded(0.5, 2))
    1.5
    """
    if isinstance(value, Rounded) or isinstance(divisor, Rounded):
        return 0.0 if value == 0 else rounded(value).divided_by(divisor).as_double(exponent) / unit
    divisor *= unit
    if exponent >= 0:
        return (value << exponent) / divisor
    return value / (divisor << -exponent)


def _whole_part(value: int | Rounded, exponent: int) -> int | Rounded:
    if isinstance(value, Rounded):
        return Rounded(value.mantissa, value.exponent + exponent)
    size = abs(value) << exponent if exponent >= 0 else abs(value) >> -exponent
    return size if value >= 0 else -size


def digits_of(value: int | Rounded, scale: int = 0) -> str:
    """Return an integer of any size in decimal digits, `scale` of them after the point.

    Of a rounded one, return some, and how many there are.

    >>> digits_of(-12345, 2), digits_of(7, 3), len(digits_of(1 << 100_000))
    ('-123.45', '0.007', 30103)
    """
    if isinstance(value, Rounded):
        return value.digits(scale)
    digits = str(Decimal(abs(value)))  # unlike str(int), of any length
    if scale:
        digits = digits.rjust(scale + 1, "0")
        digits = f"{digits[:-scale]}.{digits[-scale:]}"
    return f"-{digits}" if value < 0 else digits
