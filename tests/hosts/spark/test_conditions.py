"""Derived types and times without a zone on Spark: as our language and the docs have them, in any session."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import weft
from weft.errors import DataError, QueryError
from weft.hosts.meaning import EventRoles
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.schemas import column_kinds
from weft.hosts.spark.zones import in_utc
from weft.language.conditions import CONDITION_VARIABLE, parse_condition
from weft.reference.evaluate import holds
from weft.reference.events import ReferenceEvent
from weft.schema import Schema, Type

pytestmark = pytest.mark.spark

COLUMNS = "n long, at timestamp, wall timestamp_ntz, volume long, share double, price decimal(10,2), \
up boolean, name string, day date, took interval day to second"


def clock(*parts: int) -> datetime:
    """Return what a clock shows, wherever it is."""
    return datetime(*parts, tzinfo=UTC).replace(tzinfo=None)  # type: ignore[arg-type,misc]


EPOCH = clock(1970, 1, 1)
CONDITIONS = [
    "volume > 10",
    "up",
    "NOT up",
    "NULL",
    "volume + 2000000000 + 2000000000 > 4000000000",
    "volume BETWEEN -5 AND 5 OR name LIKE 'b%'",
    r"name LIKE 'a\_%' OR name LIKE '%\%' OR name LIKE '\b_'",
    "name IN ('a_c', 'bb') AND name != 'bb'",
    "name > 'b' OR name IS NULL",
    "price > 10.5",
    "price IN (0.25, 12.34) OR price * 2 = 0.5",
    "price + price > 24.6 AND -price < 0",
    "ABS(price) = 0.25",
    "price * share > 1",
    "price / 2 < volume",
    "ABS(volume) % 3 = 1",
    "-volume > 3",
    "volume / 0 IS NULL AND volume IS NOT NULL",
    "share > 1 OR share = share",
    "day = '2026-03-08'",
    "at > day",
    "at > '2026-03-08 02:30:00'",
    "wall > '2026-03-08 02:30:00'",
    "wall = at",
    "at - wall < 1 hour AND wall - at < 1 hour",
    "took > 5 minutes OR -took > 5 minutes",
    "took + took = 2 seconds",
]


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose clocks are not in UTC."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def rows() -> list[tuple[Any, ...]]:
    """Return rows of all types, with NULLs, times around a change of the clocks, NaN and odd texts."""
    dice = random.Random(3)
    moments = [
        clock(2026, 3, 8, 2, 30, 0, 123456),  # clocks in New York show no such time
        clock(2026, 3, 8, 2, 30),
        clock(2026, 3, 8, 7, 0, 0, 1),
        clock(2026, 11, 1, 1, 30),  # and this one twice
        clock(1969, 12, 31, 23, 59, 59, 999999),
    ]
    choices: list[list[Any]] = [
        [moment.replace(tzinfo=UTC) for moment in moments],
        moments,
        [-7, 4, 11, 2**62],
        [0.5, 2.0, float("nan"), -0.0],
        [Decimal("12.34"), Decimal("-0.25"), Decimal("0.25"), Decimal("99999999.99")],
        [True, False],
        ["a_c", "abc", "bb", "100%", "b\nb", "é"],
        [date(2026, 3, 8), date(2026, 11, 1)],
        [timedelta(minutes=6), timedelta(seconds=1), timedelta(minutes=-6)],
    ]
    return [
        (n, *(None if dice.random() < 0.1 else dice.choice(values) for values in choices)) for n in range(60)
    ]


def value_of(value: Any, kind: Type) -> Any:
    """Return a value as the reference has it."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return value // timedelta(microseconds=1) if kind.kind == "duration" and value is not None else value


def test_conditions_mean_the_same_as_for_the_reference(new_york: SparkSession) -> None:
    events = new_york.createDataFrame(rows(), COLUMNS)
    types = {f"t{number}": text for number, text in enumerate(CONDITIONS)}
    frame = EventFrame.open(events, EventRoles(time="wall", types=types))
    shown = frame.events.select("n", *(frame.types[name].alias(name) for name in types)).collect()
    expected = [expected_of(row, frame.schema, types) for row in rows()]
    assert [row.asDict() for row in sorted(shown)] == expected
    holding = {name for row in expected for name, holds_here in row.items() if holds_here is True}
    assert holding >= {name for name in types if types[name] != "NULL"}


def expected_of(row: tuple[Any, ...], schema: Schema, types: dict[str, str]) -> dict[str, Any]:
    """Return for which types the reference takes a row."""
    kinds = schema.attributes
    values = {name: value_of(value, kinds[name]) for name, value in zip(kinds, row, strict=True)}
    bound = {CONDITION_VARIABLE: (ReferenceEvent(0, frozenset(), 0, attributes=values),)}
    conditions = {name: parse_condition(text, schema, origin=name) for name, text in types.items()}
    return {"n": row[0]} | {name: holds(condition, bound) for name, condition in conditions.items()}


def small_frame(spark: SparkSession) -> DataFrame:
    wall = [clock(2026, 3, 8, 2, 30), clock(2026, 3, 8, 2, 30, 1), clock(2026, 3, 8, 3, 30)]
    rows = [Row(ts=ts, kind=kind, n=n, seen=ts) for n, (ts, kind) in enumerate(zip(wall, "ABB", strict=True))]
    schema = "ts timestamp_ntz, kind string, n long, seen timestamp_ntz"
    return spark.createDataFrame(rows, schema)


def test_times_without_a_zone_are_in_utc_in_any_session(new_york: SparkSession) -> None:
    frame = small_frame(new_york)
    text = "PATTERN SEQ(A a, B b) WHERE a.ts >= '2026-03-08 02:30:00' AND b.seen < '2026-03-08 03:00:00' \
        RETURN a.ts AS first, b.ts - a.ts AS took"
    detection = weft.prepare(frame, text, time="ts", type="kind", id="n")
    (match,) = detection.matches.withColumn("micros", F.unix_micros("start")).collect()
    assert match["micros"] == (clock(2026, 3, 8, 2, 30) - EPOCH) // timedelta(microseconds=1)
    assert [event["id"] for event in match["events"]] == [0, 1]
    assert match["took"] == timedelta(seconds=1)
    of_columns, of_query = (notice for notice in detection.notices if notice.kind == "time zone")
    assert of_columns.reason.endswith("not in America/New_York, the zone of the session: columns seen, ts")
    assert (of_query.query, str(of_query.remedy)[:16]) == ("query", "write the offset")


def test_columns_without_a_zone_become_timestamps(new_york: SparkSession) -> None:
    frame = small_frame(new_york)
    assert [kind.kind for kind in column_kinds(in_utc(frame).schema).values()] == [  # type: ignore[union-attr]
        *("timestamp", "string", "long", "timestamp")
    ]
    assert in_utc(frame).schema["ts"].dataType == T.TimestampType()


def test_a_condition_may_be_a_column_or_spark_sql(spark: SparkSession) -> None:
    frame = small_frame(spark)
    types = {
        "First": F.col("n") < 1,
        "Second": "contains(kind, 'B') AND n = cast('1' AS int)",
        "Any": "n >= 0",
    }
    opened = EventFrame.open(frame, EventRoles(time="ts", types=types))
    shown = opened.events.select(*(opened.types[name] for name in types)).collect()
    assert [tuple(row) for row in shown] == [(True, False, True), (False, True, True), (False, False, True)]


def test_a_condition_that_nobody_understands_is_explained_in_our_language(spark: SparkSession) -> None:
    frame = small_frame(spark)
    columns = weft.Columns(types={"Big": "volume > 3"})
    with pytest.raises(QueryError, match=r"^type Big:1:1: unknown attribute volume\n  volume > 3\n"):
        weft.prepare(frame, "PATTERN Big b", time="ts", columns=columns)
    with pytest.raises(DataError, match=r"the condition of the type Big is 3\n  hint: give a text"):
        weft.prepare(frame, "PATTERN Big b", time="ts", columns=weft.Columns(types={"Big": 3}))  # type: ignore[dict-item]


def test_columns_of_one_name_are_refused(spark: SparkSession) -> None:
    frame = small_frame(spark)
    twice = frame.select("*", F.col("n"))
    with pytest.raises(DataError, match="several columns 'n'"):
        weft.prepare(twice, "PATTERN A a", time="ts", type="kind")
    with pytest.raises(DataError, match="columns 'n' and 'N', which differ in case alone"):
        weft.prepare(
            frame.withColumn("seen", F.col("n")).withColumnRenamed("seen", "N"),
            "PATTERN A a",
            time="ts",
            type="kind",
        )
