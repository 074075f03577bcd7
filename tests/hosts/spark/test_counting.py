"""Spark counts events by kind, and tells why as the local host does; analyze counts the whole input."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.local_cases import table_of

import weft
from weft.errors import WeftError
from weft.plan.dag import topological_order
from weft.plan.nodes import Filter, Scan

ROWS = [
    (0, "A", 1, 1, 10),
    (20, "B", 3, 1, 15),
    (20, "B", 3, 1, 15),
    (30, "B", 4, 2, 15),
    (35, "N", 5, 2, 7),
    (40, "C", 6, 1, 99),
    (4000, "B", 7, 1, 50),
]
RULES = """
QUERY own    PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 60 WITHIN 1 minute
QUERY agree  PATTERN SEQ(A a, N n) WHERE [k] WITHIN 1 minute
QUERY absent PATTERN SEQ(B b, NOT N n, C c) WHERE b.x * 1.5 < 100 WITHIN 20 seconds RETURN c.x
QUERY early  PATTERN SEQ(A a, B b, C c) WHERE c.x < b.x WITHIN 1 minute
QUERY found  PATTERN SEQ(A a, B+ b[]) WHERE [k] WITHIN 2 hours STRATEGY NEXT
QUERY typo   PATTERN SEQ(A a, Bb b)
"""


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table_of(ROWS))


@pytest.mark.spark
def test_both_hosts_tell_the_same(frame: DataFrame) -> None:
    there = weft.prepare(frame, RULES, time="ts", type="type", id="id")
    here = weft.prepare(table_of(ROWS), RULES, time="ts", type="type", id="id")
    assert there.host.count_types() == here.host.count_types() == {"A": 1, "B": 3, "N": 1, "C": 1}
    for name in ("own", "agree", "absent", "early", "found", "typo"):
        assert there.why(name).as_dict() == here.why(name).as_dict(), name


@pytest.mark.spark
def test_derived_types_and_rows_without_an_id(frame: DataFrame) -> None:
    columns = weft.Columns(types={"Large": "x > 14", "Any": "true"})
    detection = weft.prepare(frame, "PATTERN SEQ(Large l, Any o)", time="ts", columns=columns)
    assert detection.host.count_types() == {"Large": 5, "Any": 7}


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [1, 3, None])
def test_analyze_counts_the_input_whatever_is_pushed_or_divided(
    frame: DataFrame, partitions: int | None
) -> None:
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE b.x > 60 WITHIN 1 hour"
    for events in (frame, table_of(ROWS)):
        detection = weft.prepare(events, text, time="ts", type="type", id="id", partitions=partitions)
        (analyzed,) = detection.analyze().plans
        rows = {node: analyzed.metrics[node].rows for node in topological_order(analyzed.plan)}
        assert {node.type: count for node, count in rows.items() if isinstance(node, Scan)} == {
            "A": 1,
            "B": 3,
        }
        assert [count for node, count in rows.items() if isinstance(node, Filter)] == [0]


@pytest.mark.spark
def test_a_stream_is_asked_on_past_events(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    columns = weft.Columns(types={"Odd": "value % 2 = 1"})
    detection = weft.prepare(
        stream,
        "QUERY q PATTERN Odd o WITHIN 1 second",
        time="timestamp",
        id="value",
        watermark="1 second",
        columns=columns,
    )
    with pytest.raises(WeftError, match="or run the queries on past events"):
        detection.why("q")
