"""Read and write constants: numbers, times, dates and durations."""

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from weft.schema import DOUBLE, LONG, MAX_DECIMAL_DIGITS, Type, decimal

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECONDS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_SHORT_UNITS = {
    "week": ("w", "wk", "wks"),
    "day": ("d",),
    "hour": ("h", "hr", "hrs"),
    "minute": ("m", "min", "mins"),
    "second": ("s", "sec", "secs"),
    "millisecond": ("ms", "msec", "msecs", "milli", "millis"),
    "microsecond": ("us", "usec", "usecs", "micro", "micros", "\u00b5s", "\u03bcs"),
}
UNITS: dict[str, int] = {
    word: size for unit, size in _MICROSECONDS.items() for word in (unit, unit + "s", *_SHORT_UNITS[unit])
}

_ISO_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<week>\d+)W)?(?:(?P<day>\d+)D)?"
    r"(?:T(?:(?P<hour>\d+)H)?(?:(?P<minute>\d+)M)?(?:(?P<second>\d+(?:\.\d+)?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
_WORDED_DURATION = re.compile(r"\s*([+-]?)\s*((?:\d+(?:\.\d+)?\s*[^\W\d]+\s*)+)", re.ASCII)
_WORDED_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([^\W\d]+)", re.ASCII)
_TOO_FINE = re.compile(r"[.,]\d{7}")


def number_literal(text: str) -> tuple[int | float | Decimal, Type]:
    """Return the value and type of a number as written; raises ValueError when it is out of range.

    A number with a point or an exponent is a double, unless it has more digits than a double
    keeps and fits a decimal.

    >>> number_literal("3"), number_literal("0.5")
    ((3, Type(kind='long', scale=0)), (0.5, Type(kind='double', scale=0)))
    """
    if text.isdecimal():
        if len(text) > 4000 or int(text) > INT64_MAX + 1:  # one more, for the minus that may precede
            raise ValueError("out of range")
        return int(text), LONG
    value = float(text)
    if math.isinf(value):
        raise ValueError("out of range")
    if len(text) > 15:
        try:
            exact = Decimal(text)
        except InvalidOperation:
            raise ValueError("out of range") from None
        if exact != Decimal(repr(value)) and fits_decimal(exact, scale := scale_of(exact)):
            return exact, decimal(scale)
    return value, DOUBLE


def scale_of(value: Decimal) -> int:
    """Return how many digits after the point a decimal needs."""
    if not value:
        return 0
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # finite
    trailing = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return max(0, -(exponent + trailing))


def fits_decimal(value: Decimal, scale: int) -> bool:
    """Return whether a value is exactly a decimal of at most 18 digits, `scale` of them after the point.

    >>> fits_decimal(Decimal("1.25"), 2), fits_decimal(Decimal("1.25"), 1)
    (True, False)
    """
    if not value:
        return 0 <= scale <= MAX_DECIMAL_DIGITS
    return (
        0 <= scale_of(value) <= scale <= MAX_DECIMAL_DIGITS and value.adjusted() < MAX_DECIMAL_DIGITS - scale
    )


def duration_of(number: str, unit: str) -> int | None:
    """Return the microseconds in a quantity of a known unit, or None when that is no whole int64.

    >>> duration_of("1.5", "hours")
    5400000000
    """
    try:
        if abs(Decimal(number).adjusted()) > 20:  # before a fraction of a huge exponent is built
            return None
        exact = Fraction(number) * UNITS[unit.lower()]
    except (InvalidOperation, ValueError):
        return None
    return int(exact) if exact.denominator == 1 and exact <= INT64_MAX else None


def parse_timestamp(text: str) -> int | None:
    """Return the microseconds of an ISO 8601 time (UTC unless it has an offset), or None.

    >>> parse_timestamp("1970-01-01T00:00:01.5Z")
    1500000
    """
    if _TOO_FINE.search(text):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def parse_date(text: str) -> int | None:
    """Return the days since the epoch of an ISO 8601 date, or None.

    >>> parse_date("1970-02-01")
    31
    """
    try:
        return (
            (datetime.fromisoformat(text.strip()).date() - EPOCH.date()).days
            if len(text.strip()) <= 10
            else None
        )
    except ValueError:
        return None


def parse_duration(text: str) -> int | None:
    """Return the microseconds of a duration in words or in ISO 8601, or None.

    >>> parse_duration("1 hour 30 min"), parse_duration("PT1H30M")
    (5400000000, 5400000000)
    """
    iso = _ISO_DURATION.fullmatch(text.strip())
    if iso:
        parts = [(number, unit) for unit, number in iso.groupdict().items() if number and unit != "sign"]
        sign = iso["sign"]
    else:
        worded = _WORDED_DURATION.fullmatch(text)
        if not worded:
            return None
        parts = _WORDED_PART.findall(worded[2])
        sign = worded[1]
    if not parts or any(unit.lower() not in UNITS for _, unit in parts):
        return None
    sizes = [duration_of(number, unit) for number, unit in parts]
    total = sum(size for size in sizes if size is not None)
    if None in sizes or total > INT64_MAX:
        return None
    return -total if sign == "-" else total


def format_duration(microseconds: int) -> str:
    """Return a duration in the largest unit that gives a whole number.

    >>> format_duration(5_400_000_000)
    '90 minutes'
    """
    size = abs(microseconds)
    unit = "second"
    if size:
        unit = next(unit for unit, step in _MICROSECONDS.items() if size % step == 0 and unit != "week")
    count = size // _MICROSECONDS[unit]
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{count} {unit}{'' if count == 1 else 's'}"


def format_timestamp(microseconds: int) -> str:
    """Return the ISO 8601 text, in UTC, of a time.

    >>> format_timestamp(1_500_000)
    '1970-01-01 00:00:01.500000'
    """
    moment = EPOCH + timedelta(microseconds=microseconds)
    return moment.replace(tzinfo=None).isoformat(sep=" ")


def format_date(days: int) -> str:
    """Return the ISO 8601 text of a date.

    >>> format_date(31)
    '1970-02-01'
    """
    return (EPOCH + timedelta(days=days)).date().isoformat()
