"""STDDEV of trend queries of a single event, from exact sums of values and of their squares."""

import math

import numpy as np
import pyarrow as pa

from weft.runtime.columns.events import Array
from weft.runtime.trends.numbers import EXACT, Integers, Rounded, Shown, nearest_double

SMALL = 1 << 31  # sums up to here have squares of 62 bits


def as_deviations(
    counts: Integers, totals: Integers, squares: Integers, exponent: int, scale: int, is_number: Array
) -> Shown:
    """Return the roots of the doubles nearest to the sample variances of so many values each.

    The values have the sums `totals` * 2**exponent / 10**scale; `squares` are those of their squares. Where
    there are fewer than two values, there is no deviation.
    """
    n, total, square = counts.small, totals.small, squares.small
    is_known = (n > 1) | counts.is_large
    is_exact = ~(counts.is_large | totals.is_large | squares.is_large) & (n < SMALL) & (np.abs(total) < SMALL)
    is_exact &= square < (1 << 62) // np.maximum(n, 1)
    numerators = np.where(is_exact, n * square - total * total, 0)
    divisors = n.astype(np.float64) * (n - 1.0) * 100.0**scale
    is_exact &= (numerators <= EXACT) & (divisors <= EXACT) & (exponent == 0)
    variances = numerators / np.where(is_exact & is_known, divisors, 1.0)
    for row in np.flatnonzero(is_known & is_number & ~is_exact).tolist():
        variances[row] = _variance(counts[row], totals[row], squares[row], exponent, scale)
    deviations = np.sqrt(np.where(is_number, variances, np.nan))
    return Shown(pa.array(deviations, mask=~is_known))


def _variance(
    n: int | Rounded, total: int | Rounded, square: int | Rounded, exponent: int, scale: int
) -> float:
    """Return the double nearest to a sample variance."""
    assert isinstance(n, int)  # like the other sums over events, not over trends
    assert isinstance(total, int)
    assert isinstance(square, int)
    try:
        return nearest_double(n * square - total * total, 2 * exponent, n * (n - 1), 100**scale)
    except OverflowError:
        return math.inf
