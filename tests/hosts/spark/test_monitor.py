"""What a stream tells of itself: batches, totals, notices."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import QueryProgressEvent, StreamingQueryProgress

import weft
from weft.hosts.spark.monitor import (
    STILL_BATCHES,
    BatchMetrics,
    QueryMetrics,
    StreamMonitor,
    StreamTotals,
)
from weft.runtime.stages.shard import Report

RUN = "00000000-0000-0000-0000-000000000001"
EPOCH = "1970-01-01T00:00:00.000Z"


def progress(
    batch: int,
    *,
    rows: int = 0,
    watermark: str = EPOCH,
    run: str = RUN,
    name: str | None = None,
    **reports: Report | None,
) -> StreamingQueryProgress:
    """The progress of a batch, as Spark gives it; the reports of shards by the shards' names."""
    shards = {shard: None if one is None else one.to_json() for shard, one in reports.items()}
    return StreamingQueryProgress.fromJson(
        {
            "id": str(UUID(int=7)),
            "runId": run,
            "name": name,
            "timestamp": EPOCH,
            "batchId": batch,
            "batchDuration": 500,
            "eventTime": {"watermark": watermark},
            "stateOperators": [],
            "sources": [],
            "sink": {"description": "", "numOutputRows": 0, "metrics": {}},
            "numInputRows": rows,
            "observedMetrics": {"weft": shards} if shards else {},
        }
    )


def told(monitor: StreamMonitor, *steps: StreamingQueryProgress) -> list[tuple[int, str]]:
    """The notices that come of these batches."""
    for one in steps:
        monitor.onQueryProgress(QueryProgressEvent(one))
    return [(notice.batch, notice.text) for notice in monitor.notices]


def test_a_batch_is_the_sum_of_its_shards() -> None:
    one = Report(
        late=1,
        rejected=2,
        duplicates=3,
        buffered=10,
        state_bytes=100,
        matches={"a": 1, "b": 2},
        partial_matches={"a": 5},
        query_bytes={"a": 60, "b": 40},
    )
    two = Report(late=4, buffered=1, state_bytes=7, matches={"b": 5}, query_bytes={"b": 7})
    found = StreamTotals().add(progress(0, rows=50, watermark="2026-01-01T12:00:00.500Z", one=one, two=two))
    assert found == BatchMetrics(
        batch=0,
        seconds=0.5,
        rows=50,
        rejected=2,
        late=5,
        duplicates=3,
        watermark=datetime(2026, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC),
        queries={"a": QueryMetrics(1, 5, 60), "b": QueryMetrics(7, 0, 47)},
        state_bytes=107,
        buffered=11,
        stopped={},
        started=(),
        ended=(),
    )
    assert found.rows_per_second == 100


def test_what_is_kept_is_that_of_the_latest_report_of_each_shard() -> None:
    totals = StreamTotals()
    kept = Report(
        matches={"a": 1}, partial_matches={"a": 5}, query_bytes={"a": 50}, state_bytes=50, buffered=3
    )
    less = Report(
        matches={"a": 2}, partial_matches={"a": 1}, query_bytes={"a": 10}, state_bytes=10, buffered=1
    )
    totals.add(progress(0, rows=4, one=kept, two=kept))
    second = totals.add(progress(1, rows=2, one=less, two=None))
    assert second is not None
    assert second.queries == {"a": QueryMetrics(2, 6, 60)}
    assert (second.state_bytes, second.buffered) == (60, 4)
    silent = totals.add(progress(2, one=None, two=None))
    assert silent is not None
    assert silent.queries == {"a": QueryMetrics(0, 6, 60)}
    assert (totals.batches, totals.rows, totals.matches, totals.seconds) == (3, 6, {"a": 4}, 1.5)


def test_shards_that_are_gone_keep_nothing() -> None:
    totals = StreamTotals()
    totals.add(progress(0, one=Report(state_bytes=50), two=Report(state_bytes=7)))
    found = totals.add(progress(1, two=None, three=Report(state_bytes=1)))
    assert found is not None
    assert found.state_bytes == 8


def test_a_batch_counts_once_and_other_streams_not_at_all() -> None:
    totals = StreamTotals()
    assert totals.add(progress(0, rows=3, one=None)) is not None
    assert totals.add(progress(0, rows=3, one=None)) is None  # Spark may say it twice
    assert totals.add(progress(9, rows=99)) is None  # no stream of ours
    assert totals.add(progress(0, rows=3, run=str(UUID(int=2)), one=None)) is not None  # after a restart
    assert (totals.batches, totals.rows, totals.events) == (2, 6, 6)


def test_there_is_no_watermark_at_first() -> None:
    found = StreamTotals().add(progress(0, one=None))
    assert found is not None
    assert found.watermark is None


def test_a_stopped_query_is_told_once_and_stays_stopped() -> None:
    seen: list[BatchMetrics] = []
    monitor = StreamMonitor(seen.append)
    stopped = Report(stopped={"boom": "too many partial matches"})
    notices = told(
        monitor,
        progress(0, rows=1, one=Report(), two=Report()),
        progress(1, rows=1, one=stopped, two=None),
        progress(2, rows=1, one=None, two=stopped),
        progress(3, rows=1, one=stopped, two=None),
    )
    assert notices == [(1, "query boom was stopped, the others go on: too many partial matches")]
    assert [bool(metrics.stopped) for metrics in seen] == [False, True, True, True]
    assert monitor.totals.stopped == {"boom": "too many partial matches"}
    assert monitor.last is seen[-1]


def test_a_changed_workload_is_told() -> None:
    changed = Report(started=["new"], ended=["old"])
    notices = told(StreamMonitor(), progress(5, one=changed, two=changed), progress(6, one=changed))
    assert [batch for batch, _ in notices] == [5, 5]
    assert notices[0][1].startswith("query new is new or changed: it starts empty")
    assert notices[1][1].startswith("query old is no longer asked")


@pytest.mark.parametrize("watermark", [EPOCH, "2026-01-01T12:00:00.000Z"])
def test_a_watermark_that_stands_still_is_told_once(watermark: str) -> None:
    still = [progress(n, rows=1, watermark=watermark, one=None) for n in range(2 * STILL_BATCHES)]
    ((batch, text),) = told(StreamMonitor(), *still)
    assert batch == STILL_BATCHES
    assert "the watermark stands still" in text
    assert ("no watermark yet" if watermark == EPOCH else "2026-01-01 12:00:00") in text
    assert "is the time column the right one" in text


def test_a_watermark_that_moves_or_has_no_rows_to_move_it_is_fine() -> None:
    moving = [progress(n, rows=1, watermark=f"2026-01-01T12:0{n // 4}:00.000Z", one=None) for n in range(20)]
    idle = [progress(100 + n, watermark="2026-01-01T12:04:00.000Z", one=None) for n in range(20)]
    assert told(StreamMonitor(), *moving, *idle) == []


def test_many_late_rows_are_told_when_they_begin() -> None:
    rows = [(100, 10), (100, 11), (100, 60), (0, 0), (100, 0), (10, 2)]
    steps = [
        progress(n, rows=n_rows, watermark=f"2026-01-01T12:0{n}:00.000Z", one=Report(late=late))
        for n, (n_rows, late) in enumerate(rows)
    ]
    notices = told(StreamMonitor(), *steps)
    assert [batch for batch, _ in notices] == [1, 5]
    assert "11 of 100 rows" in notices[0][1]
    assert "longer watermark" in notices[0][1]


def test_a_monitor_can_follow_one_stream_of_several() -> None:
    monitor = StreamMonitor(name="mine")
    told(monitor, progress(0, rows=1, name="mine", one=None), progress(1, rows=1, name="other", one=None))
    assert monitor.totals.batches == 1


def test_a_stream_that_runs_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [
        "1,2026-01-01 12:00:00,A,ann",
        "2,2026-01-01 12:00:10,B,ann",
        "3,2026-01-01 12:00:20,A,bob",
        "4,,A,bob",
        "2,2026-01-01 12:00:10,B,ann",
    ]
    (tmp_path / "in" / "1.csv").write_text("\n".join(lines) + "\n")
    events = spark.readStream.schema("id long, ts timestamp, type string, user string").csv(f"{tmp_path}/in")
    query = "QUERY q PATTERN SEQ(A a, B b) WHERE [user] WITHIN 1 minute"
    matches = weft.detect(
        events,
        query,
        time="ts",
        type="type",
        id="id",
        watermark="5 seconds",
        streaming=weft.Streaming(checkpoint=f"{tmp_path}/cp"),
    )
    batches: list[BatchMetrics] = []
    monitor = weft.StreamMonitor(batches.append)
    spark.streams.addListener(monitor)
    try:
        running = (
            matches.writeStream.format("noop")
            .option("checkpointLocation", f"{tmp_path}/cp")
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        assert monitor.wait_for_end(30)
    finally:
        spark.streams.removeListener(monitor)
    first = batches[0]
    assert (first.batch, first.rows, first.rejected, first.late, first.duplicates) == (0, 5, 1, 0, 1)
    assert first.queries["q"].matches == 1
    assert first.queries["q"].state_bytes > 0
    assert first.seconds > 0
    assert batches[-1].watermark == datetime(2026, 1, 1, 12, 0, 15, tzinfo=UTC)
    assert (monitor.totals.events, monitor.totals.matches) == (4, {"q": 1})
    assert monitor.notices == []
