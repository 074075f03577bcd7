"""Turn a column of Arrow that holds times in any usual form into timestamps."""

from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.io.time_texts import DATE_FIRST, ISO_SPELLINGS, NUMBER, UTC_TIME, times_of_text
from weft.io.units import EARLIEST, LATEST, TimeUnit, microseconds_in

_Longs: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_LONGEST = (1 << 63) - 1


def time_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of times that a column of some type gives; None when it cannot hold any.

    >>> time_type(pa.string()), time_type(pa.timestamp("ns")), time_type(pa.bool_())
    (TimestampType(timestamp[us, tz=UTC]), TimestampType(timestamp[us]), None)
    """
    if pa.types.is_timestamp(kind):
        return UTC_TIME if kind.tz is not None else pa.timestamp("us")
    tests = (
        pa.types.is_date,
        pa.types.is_null,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
    )
    return UTC_TIME if any(test(kind) for test in tests) else None


def event_times(values: pa.Array, unit: TimeUnit) -> pa.Array:
    """Return a column whose type can hold times as timestamps, NULL where a value is no time.

    Numbers are counted from the epoch in `unit`, and nanoseconds rounded down. Text is a number or ISO 8601;
    without an offset it is in UTC.

    >>> event_times(pa.array(["2000", "1970-01-01T00:00:02Z", "soon"]), "ms").cast("int64").to_pylist()
    [2000000, 2000000, None]
    """
    kind, factor = values.type, microseconds_in(unit)
    if pa.types.is_timestamp(kind):
        floored = pc.floor_temporal(values, unit="microsecond") if kind.unit == "ns" else values
        return floored.cast(UTC_TIME if kind.tz is not None else pa.timestamp("us"))
    if pa.types.is_date(kind) or pa.types.is_null(kind):
        return values.cast(pa.timestamp("us")).cast(UTC_TIME)
    if pa.types.is_integer(kind):
        return _times_of_longs(values, factor)
    if pa.types.is_floating(kind):
        return _times_of_doubles(values, factor)
    if pa.types.is_decimal(kind):
        return _times_of_decimals(values, factor)
    return _times_of_any_text(values.cast(pa.string()), factor)


def _times_of_longs(values: pa.Array, factor: int) -> pa.Array:
    if pa.types.is_uint64(values.type):
        values = pc.if_else(pc.greater(values, pa.scalar(_LONGEST, pa.uint64())), None, values)
    numbers = values.cast(pa.int64())
    longs: _Longs = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    is_time = numbers.is_valid().to_numpy(zero_copy_only=False)
    if not factor:
        return pa.array(longs // 1_000, mask=~is_time).cast(UTC_TIME)
    is_time = is_time & (longs >= -(-EARLIEST // factor)) & (longs <= LATEST // factor)
    return pa.array(np.where(is_time, longs, 0) * factor, mask=~is_time).cast(UTC_TIME)


def _times_of_doubles(values: pa.Array, factor: int) -> pa.Array:
    numbers = np.asarray(values.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    with np.errstate(over="ignore", invalid="ignore"):
        exact = numbers * factor if factor else numbers / 1_000
        whole = np.trunc(exact) + np.sign(exact) * (np.abs(exact - np.trunc(exact)) >= 0.5)
        rounded = whole if factor else np.floor(exact)
        is_time = (rounded >= EARLIEST) & (rounded <= LATEST)  # false for NaN
    return pa.array(np.where(is_time, rounded, 0).astype(np.int64), mask=~is_time).cast(UTC_TIME)


def _times_of_decimals(values: pa.Array, factor: int) -> pa.Array:
    scale = values.type.scale
    exact = values.cast(pa.decimal256(38 + max(-scale, 0), max(scale, 0)))
    if factor:
        unit = pa.scalar(factor, pa.int64()).cast(pa.decimal256(19, 0))
        rounded = pc.round(pc.multiply(exact, unit), round_mode="half_towards_infinity")
    else:
        thousandth = pa.scalar(Decimal("0.001"), pa.decimal256(4, 3))
        rounded = pc.floor(pc.multiply(exact, thousandth))
    is_time = pc.and_(pc.greater_equal(rounded, EARLIEST), pc.less_equal(rounded, LATEST))
    return (
        pc.if_else(is_time, rounded, None)
        .cast(pa.decimal256(76, 0), safe=False)
        .cast(pa.int64())
        .cast(UTC_TIME)
    )


def _times_of_any_text(texts: pa.Array, factor: int) -> pa.Array:
    if pc.all(pc.match_substring_regex(texts, "^[0-9]{1,18}$")).as_py():
        return _times_of_longs(texts.cast(pa.int64()), factor)
    is_number = pc.match_substring_regex(texts, NUMBER)
    is_text = pc.and_not(pc.match_substring_regex(texts, DATE_FIRST), is_number)
    times = _times_of_iso(pc.if_else(is_text, texts, None))
    if pc.any(is_number).as_py():
        times = pc.coalesce(times, _times_of_numbers(pc.if_else(is_number, texts, None), factor))
    return times


def _times_of_iso(texts: pa.Array) -> pa.Array:
    times = times_of_text(texts)
    if times.null_count == texts.null_count:
        return times
    respelled = pc.if_else(times.is_null(), texts, None)
    for pattern, replacement in ISO_SPELLINGS:
        respelled = pc.replace_substring_regex(respelled, pattern, replacement.replace("$", "\\"))
    return pc.coalesce(times, times_of_text(respelled))


def _times_of_numbers(texts: pa.Array, factor: int) -> pa.Array:
    """Return the times of text that holds numbers; one that fits a long is not rounded."""
    plain = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "")
    digits = pc.if_else(pc.match_substring_regex(plain, "^-?[0-9]{1,38}$"), plain, None)
    wide = digits.cast(pa.decimal128(38, 0))
    is_long = pc.and_(pc.greater_equal(wide, -_LONGEST - 1), pc.less_equal(wide, _LONGEST))
    longs = pc.if_else(is_long, digits, None)
    others = pc.if_else(longs.is_null(), plain, None)
    by_longs = _times_of_longs(longs.cast(pa.int64()), factor)
    return pc.coalesce(by_longs, _times_of_doubles(others.cast(pa.float64()), factor))
