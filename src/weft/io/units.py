"""Units of times that are numbers, and the calendar they must lie in."""

from collections.abc import Mapping
from typing import Literal

from weft.errors import DataError

TimeUnit = Literal["s", "ms", "us", "ns"]

NANOSECONDS: Mapping[TimeUnit, int] = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999, in microseconds


def microseconds_in(unit: TimeUnit) -> int:
    """Return how many microseconds a unit has; 0 for nanoseconds, of which a microsecond has 1,000.

    >>> microseconds_in("ms"), microseconds_in("ns")
    (1000, 0)
    """
    if unit not in NANOSECONDS:
        raise DataError(f"the time unit is {unit!r}; it must be one of {', '.join(NANOSECONDS)}")
    return NANOSECONDS[unit] // 1_000
