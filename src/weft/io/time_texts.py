"""Read text as times, as Spark does: ISO 8601, with much left out, and with an offset or a zone or in UTC."""

import re
from datetime import UTC, datetime
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UTC_TIME = pa.timestamp("us", "UTC")
NUMBER = r"^\s*[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\s*$"
DATE_FIRST = r"^\s*\d{4}-?\d\d"  # Spark would read a lone `10:00` as a time of today
# ISO 8601 spellings Spark does not know, turned one after the other into the one it knows.
ISO_SPELLINGS = (
    (r"^\s*(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)", "$1-$2-$3T$4:$5"),  # 20260131T1200.. to 2026-01-31T12:00..
    (r"(T\d\d:\d\d)(\d\d)", "$1:$2"),  # ..T12:0059 to ..T12:00:59
    (r"([T ]\d\d:\d\d)(Z|[+-]|\s*$)", "$1:00$2"),  # ..T12:00Z to ..T12:00:00Z
    (",", "."),  # ..T12:00:59,5 to ..T12:00:59.5
)

_SECOND = r"(?P<second>\d{1,2})(?:\.(?P<fraction>\d*))?(?P<zone>\D.*)?"
_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::" + _SECOND + ")?)?"
_TEXT = (
    r"^\s*(?P<year>[+-]?\d{4,6})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})(?:[ T]" + _CLOCK + r")?)?)?\s*$"
)
_CLOCK_ONLY = r"^\s*T?(\d{1,2}:\d)"
_FAR_OFFSET = r"[+-](19|2[0-9])(:?[0-9]{2})?$"  # there is no such, but Arrow would take it
_OFFSETS = (
    re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::(\d{1,2}))?(?::(\d\d))?"),
    re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d)(\d\d)(\d\d)?"),
)
# What Java means by short names, of which some have other meanings elsewhere.
_SHORT_ZONES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "Etc/GMT+5",
    "HST": "Etc/GMT+10",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "Etc/GMT+7",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
_HOURS = np.timedelta64(3, "h").astype("timedelta64[us]").astype(np.int64)
_Longs: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def times_of_text(texts: pa.Array) -> pa.Array:
    """Return text as times in UTC, NULL where it is none; a time of day alone is one of today.

    >>> times_of_text(pa.array(["2026-01-31", "2026-01-31T12:00:00.5+01:00", "soon"])).cast(
    ...     "int64"
    ... ).to_pylist()
    [1769817600000000, 1769857200500000, None]
    """
    quickly = _times_of_usual_text(texts)
    if quickly is not None:
        return quickly
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), UTC_TIME)
    today = datetime.now(UTC).date().isoformat()
    parts = pc.extract_regex(pc.replace_substring_regex(texts, _CLOCK_ONLY, rf"{today}T\1"), _TEXT)
    years, months, days = (_numbers(parts, name, 1) for name in ("year", "month", "day"))
    hours, minutes, seconds = (_numbers(parts, name, 0) for name in ("hour", "minute", "second"))
    fractions = pc.utf8_rpad(pc.utf8_slice_codeunits(parts.field("fraction"), 0, 6), 6, "0")
    in_range = (months >= 1) & (months <= 12) & (days >= 1) & (hours < 24) & (minutes < 60) & (seconds < 60)
    month = ((years - 1970) * 12 + np.where(in_range, months - 1, 0)).astype("datetime64[M]")
    day = month.astype("datetime64[D]") + (np.where(in_range, days, 1) - 1)
    is_good = (
        in_range & (day.astype("datetime64[M]") == month) & parts.is_valid().to_numpy(zero_copy_only=False)
    )
    clock = (hours * 60 + minutes) * 60 + seconds
    moments = (day.astype(np.int64) * 86_400 + clock) * 1_000_000 + _whole(fractions, 0)
    return _in_zones(moments, is_good, pc.utf8_trim_whitespace(parts.field("zone")))


def _times_of_usual_text(texts: pa.Array) -> pa.Array | None:
    """Return text as times when all of it is spelled alike, by Arrow: much faster; otherwise None."""
    hour_ends = pc.utf8_slice_codeunits(texts, 13, 14)
    second_begins = pc.utf8_slice_codeunits(texts, 16, 17)
    lengths = pc.min_max(pc.utf8_length(texts))
    if lengths["min"].as_py() is None:
        return None
    is_date = lengths["min"].as_py() == lengths["max"].as_py() == 10
    is_clock = lengths["min"].as_py() >= 19 and _all_are(hour_ends, ":") and _all_are(second_begins, ":")
    if not (is_date or is_clock) or pc.any(pc.match_substring_regex(texts, _FAR_OFFSET)).as_py():
        return None
    for kind in (UTC_TIME, pa.timestamp("us")):
        try:
            return texts.cast(kind).cast(UTC_TIME)
        except pa.ArrowInvalid:
            continue
    return None


def _all_are(characters: pa.Array, expected: str) -> bool:
    return pc.all(pc.equal(characters, expected)).as_py() is not False


def _numbers(parts: pa.Array, name: str, missing: int) -> _Longs:
    return _whole(parts.field(name), missing)


def _whole(texts: pa.Array, missing: int) -> _Longs:
    """Return digits as numbers, and what is missing as the number given for it."""
    filled = pc.if_else(pc.fill_null(pc.equal(texts, ""), True), str(missing), texts)  # noqa: FBT003
    numbers = pc.replace_substring_regex(filled, r"^\+", "").cast(pa.int64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


def _in_zones(moments: _Longs, is_good: np.ndarray[Any, Any], zones: pa.Array) -> pa.Array:
    """Return moments that were read as if in UTC as what they are in their zones."""
    named = pc.unique(zones).drop_null().to_pylist()
    result = moments.copy()
    for zone in named:
        if zone in ("", "Z"):
            continue
        here = np.asarray(pc.fill_null(pc.equal(zones, zone), False).to_numpy(zero_copy_only=False))  # noqa: FBT003
        shift = _shift_of(zone)
        if shift is None:
            is_good = is_good & ~here
        elif isinstance(shift, str):
            result[here] = _in_zone(moments[here], shift)
        else:
            result[here] -= shift
    return pa.array(result, mask=~is_good).cast(UTC_TIME)


def _in_zone(moments: _Longs, zone: str) -> _Longs:
    """Return the moments of local times; those skipped when summer begins count from what was before."""

    def moved(local: _Longs) -> pa.Array:
        times = pa.array(local).cast(pa.timestamp("us"))
        return pc.assume_timezone(times, zone, ambiguous="earliest", nonexistent="latest")

    plain = moved(moments)
    exists = pc.local_timestamp(plain).cast(pa.int64()).to_numpy() == moments
    before = np.asarray(moved(moments - _HOURS).cast(pa.int64()), np.int64) + _HOURS
    return np.where(exists, np.asarray(plain.cast(pa.int64()), np.int64), np.asarray(before, np.int64))


def _shift_of(zone: str) -> int | str | None:
    """Return the offset of a zone in microseconds, or the name of one whose offset changes, if there is such.

    >>> _shift_of("+01:30"), _shift_of("Europe/Paris"), _shift_of("UTC"), _shift_of("Mars")
    (5400000000, 'Europe/Paris', 0, None)
    """
    offset = _OFFSETS[0].fullmatch(zone) or _OFFSETS[1].fullmatch(zone)
    if offset is not None:
        hours, minutes, seconds = (int(part or 0) for part in offset.groups()[1:])
        if hours > 18 or minutes > 59 or seconds > 59:
            return None
        return (-1 if offset[1] == "-" else 1) * ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
    if zone in ("UTC", "GMT", "UT"):
        return 0
    try:
        return ZoneInfo(_SHORT_ZONES.get(zone, zone)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
