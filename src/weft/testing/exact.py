"""Sums and averages of many values, exact until the last step."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import cast

from weft.schema import Type
from weft.testing.values import Value


def exact_sum(values: Sequence[Value], kind: Type | None) -> Value:
    """Return the sum of values of one type: an exact integer or decimal, or the nearest double.

    >>> from weft.schema import DOUBLE, LONG, decimal
    >>> exact_sum([2**63 - 1, 1], LONG), exact_sum([0.1] * 10, DOUBLE)
    (9223372036854775808, 1.0)
    >>> exact_sum([Decimal("0.10"), Decimal("0.20")], decimal(2))
    Decimal('0.30')
    """
    if kind is None:
        raise ValueError("a sum of an unbound attribute")
    if kind.kind == "double":
        special = _special(values)
        return nearest_double(_total(values)) if special is None else special
    total = _total(values) * 10**kind.scale
    if total.denominator != 1:
        raise ValueError(f"a sum of values that are not of type {kind}")
    return Decimal(f"{total.numerator}E-{kind.scale}") if kind.kind == "decimal" else total.numerator


def exact_average(values: Sequence[Value]) -> float:
    """Return the double nearest to the exact average.

    >>> exact_average([2**62, 2**62 + 1]), exact_average([1e308, 1e308]), exact_average([math.inf, 1.0])
    (4.611686018427388e+18, 1e+308, inf)
    """
    special = _special(values)
    return nearest_double(_total(values) / len(values)) if special is None else special


def nearest_double(value: Fraction) -> float:
    """Return the double nearest to a fraction, infinite when it is beyond all doubles."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def canonical(value: Value) -> Value:
    """Return the value that stands for all that agree with it: one NaN, and 0.0 for -0.0."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def _special(values: Sequence[Value]) -> float | None:
    """Return the sum of doubles that are not all finite, None if they are."""
    infinite = {value for value in values if isinstance(value, float) and not math.isfinite(value)}
    return sum(infinite) if infinite else None


def _total(values: Sequence[Value]) -> Fraction:
    """Return the exact sum of finite numbers."""
    return sum((Fraction(cast(Decimal, value)) for value in values), Fraction(0))
