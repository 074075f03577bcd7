"""Times in any usual form as timestamps of Arrow: those that Spark makes of them."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from weft.errors import DataError
from weft.io.arrow_times import event_times, time_type

NOON = 1_767_268_800_000_000  # 2026-01-01 12:00 in UTC, in microseconds


def microseconds(values: pa.Array, unit: str = "ms") -> list[int | None]:
    times = event_times(values, unit)  # type: ignore[arg-type]
    return times.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_numbers_count_units_from_the_epoch(unit: str, factor: int) -> None:
    whole = NOON * factor // 10**6
    for values in (
        pa.array([whole, None]),
        pa.array([float(whole), None]),
        pa.array([Decimal(whole), None], pa.decimal128(38, 5)),
        pa.array([str(whole), "soon"]),
        pa.array([f" +{whole}.0 ", "soon"]),
    ):
        assert microseconds(values, unit) == [NOON, None]


def test_fractions_are_rounded_and_nanoseconds_rounded_down() -> None:
    values = [0.0005, -0.0005, 0.0004, 1.5, -1.5]
    assert microseconds(pa.array(values)) == [1, -1, 0, 1500, -1500]
    assert microseconds(pa.array([Decimal(str(own)) for own in values])) == [1, -1, 0, 1500, -1500]
    assert microseconds(pa.array([999, -1, -1000, -1001]), "ns") == [0, -1, -1, -2]
    assert microseconds(pa.array([999.5, -0.5]), "ns") == [0, -1]
    assert microseconds(pa.array([Decimal("999.5"), Decimal("-0.5")]), "ns") == [0, -1]
    assert microseconds(pa.array(["9223372036854775807", "-1"]), "ns") == [9_223_372_036_854_775, -1]


def test_numbers_beyond_any_calendar_are_no_times() -> None:
    assert microseconds(pa.array([2**63 - 1, -(2**63), 253_402_300_800, 0]), "s") == [None, None, None, 0]
    assert microseconds(pa.array([2**64 - 1, 1], pa.uint64()), "s") == [None, 1_000_000]
    assert microseconds(pa.array([1e300, float("nan"), float("-inf"), 0.0])) == [None, None, None, 0]
    assert microseconds(pa.array([Decimal(10**37), Decimal(1)], pa.decimal128(38, 0))) == [None, 1000]
    assert microseconds(pa.array(["1" * 40, "1e300", "253402300800000", "0"])) == [None, None, None, 0]


@pytest.mark.parametrize(
    ("text", "shift"),
    [
        ("2026-01-01T12:00:00Z", 0),
        ("2026-01-01 12:00:00", 0),
        ("2026-01-01T12:00:00.25", 250_000),
        ("2026-01-01T12:00:00.000001999Z", 1),
        ("2026-01-01T14:30:00+02:30", 0),
        ("2026-01-01T11:00:00-0100", 0),
        ("2026-01-01T13:00:00+01", 0),
        ("2026-01-01T12:00", 0),
        ("2026-01-01T12:00Z", 0),
        ("2026-01-01T12", 0),
        (" 2026-01-01T12:00:00 ", 0),
        ("20260101T120000Z", 0),
        ("20260101T130000+0100", 0),
        ("2026-01-01T12:00:00,5Z", 500_000),
        ("2026-01-01T12:0000", 0),
        ("2026-01-01T13:00:00 Europe/Paris", 0),
        ("2026-01-01T21:00:00JST", 0),
        ("2026-01-01T12:00:00UTC", 0),
        ("2026-01-01T13:00:00 UTC+1", 0),
        ("2026-01", -43_200_000_000),
        ("2026-01-01", -43_200_000_000),
    ],
)
def test_text_is_iso_8601(text: str, shift: int) -> None:
    assert microseconds(pa.array([text])) == [NOON + shift]
    assert microseconds(pa.array([text, "soon", None, "7"])) == [NOON + shift, None, None, 7000]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "12:00:00",
        "2026-1-1",
        "2026-02-30",
        "2026-13-01",
        "2026-001",
        "2026-01-01T",
        "2026-01-01T24:00:00",
        "2026-01-01T12:60",
        "2026-01-01T12:00:00+19:00",
        "2026-01-01T12:00:00+130",
        "2026-01-01T12:00:00 Mars/Olympus",
        "2026-01-01t12:00:00",
        "0x10",
        "1_0",
        "NaN",
        "Infinity",
        "5d",
        "99999999999999999999",
    ],
)
def test_other_text_is_no_time(text: str) -> None:
    assert microseconds(pa.array([text])) == [None]
    assert microseconds(pa.array(["2026-01-01T12:00:00Z", text])) == [NOON, None]


def test_local_times_that_summer_skips_or_repeats() -> None:
    texts = pa.array(["2024-03-31T02:30:00 Europe/Paris", "2024-10-27T02:30:00 Europe/Paris"])
    moments = [datetime(2024, 3, 31, 1, 30, tzinfo=UTC), datetime(2024, 10, 27, 0, 30, tzinfo=UTC)]
    assert event_times(texts, "ms").to_pylist() == moments


def test_timestamps_stay_and_dates_are_midnights() -> None:
    naive = pa.array([NOON * 1000 + 999, -1], pa.timestamp("ns"))
    assert event_times(naive, "ms").type == pa.timestamp("us") == time_type(naive.type)
    assert microseconds(naive) == [NOON, -1]
    paris = pa.array([NOON // 1_000_000], pa.timestamp("s", "Europe/Paris"))
    assert event_times(paris, "ms").type == pa.timestamp("us", "UTC") == time_type(paris.type)
    assert microseconds(pa.array([20_454], pa.date32())) == [NOON - 43_200_000_000]
    assert microseconds(pa.nulls(2)) == [None, None]
    assert microseconds(pa.array([], pa.string())) == []


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(DataError, match="time unit is 'days'; it must be one of s, ms, us, ns"):
        microseconds(pa.array([1]), "days")
