"""Units of times that are numbers, and the calendar they must lie in."""

from collections.abc import Mapping
from typing import Literal

TimeUnit = Literal["s", "ms", "us"]

MICROSECONDS: Mapping[TimeUnit, int] = {"s": 1_000_000, "ms": 1_000, "us": 1}
EARLIEST, LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
