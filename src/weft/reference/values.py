"""Values and the arithmetic on them: exact integers, Spark's order of doubles, NULL on overflow.

Sums and averages over trends, which may be many, are exact until the last step instead.
"""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cmp_to_key
from typing import TypeAlias, cast

from weft.expressions import ArithmeticOperator
from weft.schema import Type

Value: TypeAlias = int | float | bool | str | Decimal | None

_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT = Context(prec=80)  # more digits than any product of two decimals has
_DAY = 86_400_000_000


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for two values of one type, neither of them NULL.

    NaN equals NaN and is greater than every other double; -0.0 equals 0.0; strings compare by code
    point.

    >>> compare(math.nan, math.nan), compare(math.nan, math.inf), compare(-0.0, 0.0), compare("a", "é")
    (0, 1, 0, -1)
    """
    left_is_nan, right_is_nan = _is_nan(left), _is_nan(right)
    if left_is_nan or right_is_nan:
        return left_is_nan - right_is_nan
    a, b = cast(int, left), cast(int, right)  # any one ordered type; int stands for it
    return (a > b) - (a < b)


ORDER = cmp_to_key(compare)  # a key for sorting values of one type


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def fit(value: float | Decimal, kind: Type) -> Value:
    """Return the value of a result of type `kind`, or NULL when it overflows a 64-bit integer.

    >>> (
    ...     fit(2**63, Type("long")),
    ...     fit(7, Type("long")),
    ...     fit(Decimal("92233720368547758.08"), Type("decimal", 2)),
    ... )
    (None, 7, None)
    """
    if kind.kind == "double":
        return float(value)
    if kind.kind == "decimal":
        unscaled = Decimal(value).scaleb(kind.scale, _EXACT)
        fits = unscaled == int(unscaled) and _LEAST <= unscaled <= _MOST
        return Decimal(int(unscaled)).scaleb(-kind.scale, _EXACT) if fits else None
    return int(value) if _LEAST <= value <= _MOST else None


def calculate(operator: ArithmeticOperator, left: Value, right: Value, result: Type) -> Value:
    """Return `left operator right` for operands whose types the binder has made to agree.

    >>> from weft.schema import DOUBLE, LONG
    >>> calculate("+", 2**63 - 1, 1, LONG), calculate("/", 1.0, 0.0, DOUBLE), calculate("%", -7, 3, LONG)
    (None, None, -1)
    """
    if left is None or right is None:
        return None
    a, b = cast(int, left), cast(int, right)  # numbers of one type; int stands for it
    if operator in ("/", "%") and b == 0:
        return None
    with localcontext(_EXACT):
        match operator:
            case "+":
                return fit(a + b, result)
            case "-":
                return fit(a - b, result)
            case "*":
                return fit(a * b, result)
            case "/":
                return float(a) / float(b)
            case "%":
                return fit(_remainder(a, b), result)


def _remainder(dividend: float, divisor: float) -> float:
    """Return the remainder with the sign of the dividend."""
    if isinstance(dividend, int) and isinstance(divisor, int):
        size = abs(dividend) % abs(divisor)
        return size if dividend >= 0 else -size
    return math.nan if math.isinf(dividend) else math.fmod(dividend, divisor)


def convert(value: Value, source: Type, target: Type) -> Value:
    """Return a value cast from one type to another, NULL when it does not fit.

    >>> from weft.schema import DATE, TIMESTAMP, decimal
    >>> convert(1, DATE, TIMESTAMP), convert(Decimal("1.5"), decimal(1), decimal(2))
    (86400000000, Decimal('1.50'))
    """
    if value is None or source == target:
        return value
    number = cast(Decimal, value)  # a number; Decimal stands for it
    match source.kind, target.kind:
        case "long", "double":
            return float(number)
        case "decimal", "double":
            return float(int(number.scaleb(source.scale))) / 10.0**source.scale
        case "decimal", "decimal":
            return fit(number, target)
        case "date", "timestamp":
            return fit(number * _DAY, target)
        case _:
            raise ValueError(f"no cast from {source} to {target}")


def exact_sum(values: Sequence[Value], kind: Type) -> Value:
    """Return the sum of values of one type: an exact integer or decimal, or the nearest double.

    >>> from weft.schema import DOUBLE, LONG, decimal
    >>> exact_sum([2**63 - 1, 1], LONG), exact_sum([0.1] * 10, DOUBLE)
    (9223372036854775808, 1.0)
    >>> exact_sum([Decimal("0.10"), Decimal("0.20")], decimal(2))
    Decimal('0.30')
    """
    if kind.kind == "double":
        special = _special(values)
        return _nearest_double(_total(values)) if special is None else special
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
    return _nearest_double(_total(values) / len(values)) if special is None else special


def sample_deviation(values: Sequence[Value]) -> float | None:
    """Return the root of the double nearest to the exact sample variance, NULL for fewer than two values.

    >>> sample_deviation([1, 3, 5]), sample_deviation([1]), sample_deviation([1.0, math.inf])
    (2.0, None, nan)
    """
    if len(values) < 2:
        return None
    if _special(values) is not None:
        return math.nan
    mean = _total(values) / len(values)
    squares = sum(((Fraction(cast(Decimal, value)) - mean) ** 2 for value in values), Fraction(0))
    return math.sqrt(_nearest_double(squares / (len(values) - 1)))


def _nearest_double(value: Fraction) -> float:
    """Return the double nearest to a fraction, infinite when it is beyond all doubles."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _special(values: Sequence[Value]) -> float | None:
    """Return the sum of doubles that are not all finite, None if they are."""
    infinite = {value for value in values if isinstance(value, float) and not math.isfinite(value)}
    return sum(infinite) if infinite else None


def _total(values: Sequence[Value]) -> Fraction:
    """Return the exact sum of finite numbers."""
    return sum((Fraction(cast(Decimal, value)) for value in values), Fraction(0))
