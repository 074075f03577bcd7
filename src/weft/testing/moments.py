"""Times of small tables: clock times, times in ISO 8601, and offsets from the start of the day."""

import re
from datetime import UTC, datetime, timedelta

from weft.io.units import NANOSECONDS, TimeUnit
from weft.language.literals import EPOCH, parse_date, parse_duration, parse_timestamp

DAY = "2026-01-01"  # of clock times and offsets; like the epoch, it begins a week of windows
EXPECTED = "expected a time: 09:00, 09:00:30.5, 2026-01-01 09:00, or an offset such as +5m, 90s, 1 hour"

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,6}))?)?", re.ASCII)
_DATED = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_DAY = 86_400_000_000


def start_of(day: str) -> int | None:
    """Return the microseconds at which a day begins, in UTC, or None.

    >>> start_of("1970-01-02"), start_of("tomorrow")
    (86400000000, None)
    """
    days = parse_date(day) if _DATED.fullmatch(day.strip()) else None
    return None if days is None else days * _DAY


def parse_moment(text: str, start: int, time_unit: TimeUnit | None = None) -> int | None:
    """Return the microseconds of a time as people write it, or None.

    Clock times and offsets count from `start`; a number without a unit is an offset in `time_unit`, which
    only 0 does without.

    >>> parse_moment("00:01", 0), parse_moment("+90s", 0), parse_moment("1970-01-01 00:00:02", 0)
    (60000000, 90000000, 2000000)
    >>> parse_moment("0", 5), parse_moment("7", 5), parse_moment("7", 5, "ms")
    (5, None, 7005)
    """
    written = text.strip()
    clock = _CLOCK.fullmatch(written)
    if clock is not None:
        hours, minutes, seconds, fraction = clock.groups(default="0")
        if int(hours) > 23:
            return None
        whole = 3600 * int(hours) + 60 * int(minutes) + int(seconds)
        return start + 1_000_000 * whole + int(fraction.ljust(6, "0"))
    if _DATED.match(written):
        return parse_timestamp(written)
    if _NUMBER.fullmatch(written):
        if time_unit is None:
            return start if int(written) == 0 else None
        return start + int(written) * NANOSECONDS[time_unit] // 1000
    offset = parse_duration(written)
    return None if offset is None else start + offset


def offset_text(microseconds: int) -> str:
    """Return the time since another one as a clock shows it.

    >>> offset_text(3_723_500_000), offset_text(-60_000_000)
    ('+1:02:03.500', '-0:01:00')
    """
    seconds, rest = divmod(abs(microseconds), 1_000_000)
    hours, seconds = divmod(seconds, 3600)
    digits = f"{rest:06d}"
    fraction = "" if not rest else f".{digits[:3] if digits.endswith('000') else digits}"
    sign = "-" if microseconds < 0 else "+"
    return f"{sign}{hours}:{seconds // 60:02d}:{seconds % 60:02d}{fraction}"


def microseconds_since_epoch(moment: object) -> int | None:
    """Return the microseconds of a time as Arrow and Spark give it, None for what is no time.

    >>> from datetime import UTC, datetime
    >>> microseconds_since_epoch(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    if not isinstance(moment, datetime):
        return None
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (known - EPOCH) // timedelta(microseconds=1)
