"""A stream on Spark whose rates change: its plan follows, the matches are those of the batch."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from tests.helpers.stream_files import Files, write

import weft
from weft.errors import WeftError
from weft.statistics.model import ItemKey

QUERIES = """
QUERY p PATTERN SEQ(A a, B b, C c) WITHIN 2 seconds
QUERY q PATTERN SEQ(A a, B b, D d) WITHIN 2 seconds
"""
PHASES = ({"A": 1, "B": 8, "C": 8, "D": 2}, {"A": 10, "B": 8, "C": 1, "D": 2})
COLUMNS = {"time": "ts", "type": "kind", "id": "n"}


def drifting_batches() -> list[list[tuple]]:
    """Return a micro-batch for every four seconds; the rates change after four of them."""
    dice, batches, number = random.Random(1), [], 0
    for batch in range(9):
        rates = PHASES[batch >= 4]
        times = sorted(
            (1000 + 4 * batch + dice.random() * 4, kind)
            for kind, rate in rates.items()
            for _ in range(4 * rate)
        )
        batches.append([(at, kind, number + place, 1) for place, (at, kind) in enumerate(times)])
        number += len(times)
    return batches


KNOWN = weft.Statistics(rates={ItemKey(kind): float(rate) for kind, rate in PHASES[0].items()})


def test_a_plan_changes_and_the_matches_do_not(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path)
    write(spark, files, drifting_batches())
    found: Counter[tuple[str, str]] = Counter()
    changes: list[Row] = []

    def collect(batch: DataFrame, _number: int) -> None:
        batch.persist()  # both of the following would run it
        found.update((row["query"], row["match_id"]) for row in weft.Outcomes(batch).matches.collect())
        changes.extend(weft.Outcomes(batch).changes.collect())
        batch.unpersist()

    detection = weft.prepare(
        files.stream(spark),
        QUERIES,
        watermark="0 seconds",
        **COLUMNS,
        planning=weft.Planning(statistics=KNOWN),
        streaming=weft.Streaming(adapt=weft.Adaptation(planning=0.0, watching=1.0)),
    )
    explained = detection.explain()
    assert (
        explained.count("Planned anew ")
        == explained.count("Watched, in nanoseconds for a second of events")
        > 0
    )
    assert explained.count("Search: ") >= 1
    assert detection.search is not None
    assert detection.search.stopped_by in ("settled", "seconds")
    writer = detection.outcomes.writeStream.foreachBatch(collect)
    monitor = weft.StreamMonitor()
    spark.streams.addListener(monitor)
    try:
        running = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        running.awaitTermination()
        assert monitor.wait_for_end(30)
    finally:
        spark.streams.removeListener(monitor)
    batch = weft.detect(files.read(spark), QUERIES, **COLUMNS).collect()
    assert found == Counter((row["query"], row["match_id"]) for row in batch)
    assert len(found) > 100
    taken = [row for row in changes if row["kept"] is None and row["measured"] is None]
    assert taken
    assert [row["version"] for row in taken] == list(range(1, len(taken) + 1))
    assert taken[0]["shard"]
    assert " costs " in taken[0]["reason"]
    assert taken[0]["predicted"] >= 0.05
    notices = [notice.text for notice in monitor.notices]
    assert any("version 1 of its plan" in text for text in notices)


def test_a_plan_for_latency_stays(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path)
    write(spark, files, drifting_batches()[:1])
    explained = weft.prepare(
        files.stream(spark),
        QUERIES,
        watermark="0 seconds",
        **COLUMNS,
        planning=weft.Planning(statistics=KNOWN, objective="latency"),
        streaming=weft.Streaming(adapt=weft.Adaptation(planning=0.0, watching=1.0)),
    ).explain()
    assert "Planning: objective latency" in explained
    assert "Planned anew " not in explained


def test_what_adapt_may_be_is_said() -> None:
    with pytest.raises(WeftError, match="adapt is 'sometimes'; expected 'invariants', 'threshold'"):
        weft.Streaming(adapt="sometimes")  # type: ignore[arg-type]


KEYED = """
QUERY p PATTERN SEQ(A a, B b, C c) WHERE [user] WITHIN 4 seconds
QUERY q PATTERN SEQ(A a, B b, D d) WHERE [user] WITHIN 4 seconds
"""


def steady_batches() -> list[list[tuple[float, str, int, int]]]:
    """Return a micro-batch for every four seconds, with the same rates for a hundred keys."""
    dice, drawn = random.Random(2), []
    for kind, rate in PHASES[0].items():
        drawn += [(1000 + 40 * dice.random(), kind, dice.randrange(100)) for _ in range(40 * 8 * rate)]
    rows = [(at, kind, number, key) for number, (at, kind, key) in enumerate(sorted(drawn))]
    return [[row for row in rows if int(row[0] - 1000) // 4 == batch] for batch in range(10)]


def test_the_shards_of_a_keyed_stream_without_drift_keep_their_plan(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each of them sees a fourth of the events, as it expects."""
    files = Files(tmp_path)
    write(spark, files, steady_batches())
    known = weft.Statistics(
        rates={ItemKey(kind): 8.0 * rate for kind, rate in PHASES[0].items()}, agreements={"user": 0.01}
    )
    changes: list[Row] = []
    found: list[Row] = []

    def collect(batch: DataFrame, _number: int) -> None:
        batch.persist()  # both of the following would run it
        found.extend(weft.Outcomes(batch).matches.collect())
        changes.extend(weft.Outcomes(batch).changes.collect())
        batch.unpersist()

    detection = weft.prepare(
        files.stream(spark),
        KEYED,
        watermark="0 seconds",
        **COLUMNS,
        partitions=4,
        planning=weft.Planning(statistics=known),
        streaming=weft.Streaming(adapt=weft.Adaptation(planning=0.0, watching=1.0)),
    )
    assert "by user: 4 shards" in detection.explain()
    writer = detection.outcomes.writeStream.foreachBatch(collect)
    writer.option("checkpointLocation", str(tmp_path / "c")).trigger(
        availableNow=True
    ).start().awaitTermination()
    batch = weft.detect(files.read(spark), KEYED, **COLUMNS).collect()
    assert {row["match_id"] for row in found} == {row["match_id"] for row in batch}
    assert len(found) > 20
    assert changes == []


@pytest.mark.parametrize(
    ("adapt", "planning", "is_adapted"),
    [
        (None, {}, True),
        (None, {"plan": "mcep"}, True),
        (None, {"plan": "reorder"}, False),
        (None, {"cost": "partial-matches"}, False),
        ("invariants", {"cost": "partial-matches"}, True),
        ("off", {}, False),
    ],
)
def test_streams_adapt_plans_that_were_searched_for_unless_told_otherwise(
    spark: SparkSession, tmp_path: Path, adapt: Any, planning: Any, is_adapted: bool
) -> None:
    files = Files(tmp_path)
    write(spark, files, drifting_batches()[:1])
    detection = weft.prepare(
        files.stream(spark),
        QUERIES,
        watermark="0 seconds",
        **COLUMNS,
        planning=weft.Planning(statistics=KNOWN, **planning),
        streaming=weft.Streaming(adapt=adapt),
    )
    assert ("Planned anew when" in detection.explain()) == is_adapted
