"""Walks on Spark: slices of time meet, and what is asked of the plan is told."""

import pytest
from pyspark.sql import SparkSession
from tests.helpers.frames import bound_ids, events_frame

import weft
from weft.errors import WeftError

QUERY = """
QUERY quiet PATTERN SEQ(A a, B b) WITHIN 2 seconds
AFTER MATCH SKIP PAST LAST
SUPPRESS 90 seconds
RETURN SUPPRESSED() AS n
QUERY plain PATTERN SEQ(A a, B b) WITHIN 1 second
"""


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_walk_goes_from_one_slice_of_time_to_the_next(spark: SparkSession, partitions: int) -> None:
    """Slices are of 64 seconds; in every second an event, and a match of each pair of seconds."""
    rows = [(second, "AB"[second % 2], second) for second in range(600)]
    frame = events_frame(spark, rows, "at int, kind string, n long")
    detection = weft.prepare(frame, QUERY, time="ts", type="kind", id="n", partitions=partitions)
    found = detection.matches_of("quiet").collect()
    kept = sorted((bound_ids(row)["a"], row["n"]) for row in found)
    assert kept == [([start], 0 if start == 0 else 44) for start in range(0, 600, 90)]
    analysis = detection.analyze()
    assert analysis.matches == {"quiet": 7, "plain": 300}
    assert "await the time of the last event" in str(analysis)


def test_what_only_the_end_of_all_events_decides_is_refused_on_a_stream(spark: SparkSession) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'A' AS kind", "value AS k")
    text = "PATTERN SEQ(A a, A b, NOT A c) PARTITION BY k WITHIN 3 EVENTS SUPPRESS 1 s PER a.kind"
    with pytest.raises(WeftError, match="each partition counts its own events"):
        weft.detect(frame, text, time="ts", type="kind", watermark="1 s")
