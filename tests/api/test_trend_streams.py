"""Trend queries on streams: beside queries for matches, over a restart, with late rows, as in batch."""

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from tests.helpers.stream_files import SECOND, Files, late_by_hand, run, scattered, write

import weft
from weft.api.detection import Detection
from weft.errors import WeftError

MATCHES = """
QUERY keyed PATTERN SEQ(A a, B b) WHERE [user] WITHIN 10 seconds RETURN a.user AS user
QUERY alone PATTERN SEQ(A a, NOT B b) WITHIN 2 seconds
"""
TRENDS = """
QUERY grouped PATTERN SEQ(A a, B+ b[]) WITHIN 10 seconds SLIDE 4 seconds GROUP BY user
              RETURN user, COUNT(*) AS n, SUM(b.n) AS total
QUERY many    PATTERN B b WITHIN 10 seconds SLIDE 4 seconds GROUP BY user
              HAVING COUNT(*) > 2 AND MAX(b.n) - MIN(b.n) > 3 AND STDDEV(b.n) > 1
              RETURN user, COUNT(*) AS n, COUNT(DISTINCT b.n) * 10 AS latest
QUERY every   PATTERN SEQ(A+ a[], NOT B b) WITHIN 5 seconds RETURN COUNT(*) AS n, MAX(a.n) AS latest
"""
OPTIONS = {"time": "ts", "type": "kind", "id": "n"}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def prepared(spark: SparkSession, files: Files, text: str, **more: object) -> Detection:
    options = {**OPTIONS, "watermark": "2 seconds"}
    options |= {"streaming": weft.Streaming(checkpoint=str(files.folder / "state")), **more}
    return weft.prepare(files.stream(spark), text, **options)  # type: ignore[arg-type]


def results(rows: Iterable[Row]) -> Counter[tuple[object, ...]]:
    names = ("query", "window_start", "window_end", "user", "n", "total", "latest", "beyond")
    return Counter(tuple(row[name] for name in names) for row in rows)


def test_matches_and_trends_of_one_stream_over_a_restart(spark: SparkSession, files: Files) -> None:
    """Every window and group comes once, without the late rows, and with those that were kept."""
    batches = scattered(random.Random(7), 6, users=(1, 2, None))
    batches[-1].append((5000.0, "Z", 9999, 1))  # lets time pass, so that all windows end
    late = late_by_hand(batches, 2 * SECOND)
    assert len(late) > 20
    rows = []
    for part in (batches[:3], batches[3:]):
        write(spark, files, part)
        detection = prepared(spark, files, MATCHES + TRENDS)
        done = run(detection.outcomes, files.folder / "state")
        rows += done.rows
    assert [part.name for part in detection.assignment.members] == [
        *("by user", "together 0", "trends by user", "trends 0")
    ]
    assert sorted(row["events"][0]["id"] for row in rows if row["kind"] == "late") == late
    timely = files.read(spark).where(~F.col("n").isin(late))
    expected = weft.prepare(timely, MATCHES + TRENDS, **OPTIONS)  # type: ignore[arg-type]
    found = results(
        Row(query=row["query"], **row["trend"].asDict()) for row in rows if row["kind"] == "trend"
    )
    assert found == results(expected.trends.collect())
    assert {key[0] for key in found} == {"grouped", "many", "every"}
    assert Counter((row["query"], row["match_id"]) for row in rows if row["kind"] == "match") == Counter(
        (row["query"], row["match_id"]) for row in expected.matches.collect()
    )
    counted: Counter[str] = Counter()
    for report in done.reports:
        counted.update(report["matches"])  # type: ignore[arg-type]
    assert counted == Counter(row["query"] for row in done.rows if row["kind"] in ("match", "trend"))


def test_trends_alone_are_what_detect_returns(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    batches = [*scattered(random.Random(8), 2, users=(1, 2)), [(5000.0, "Z", 9999, 1)]]
    write(spark, files, batches)
    options = {**OPTIONS, "watermark": "30 seconds"}
    stream = weft.detect(
        files.stream(spark), TRENDS, partitions=3, **options, planning=weft.Planning(sharing="static")
    )  # type: ignore[arg-type]
    batch = weft.detect(files.read(spark), TRENDS, **OPTIONS)  # type: ignore[arg-type]
    assert stream.schema == batch.schema
    done = run(stream, tmp_path / "state")
    plain = [F.unix_micros(name).alias(name) for name in ("window_start", "window_end")]
    others = [name for name in batch.columns if not name.startswith("window_")]
    assert results(done.rows) == results(batch.select(*others, *plain).collect())


def test_outcomes_without_trend_queries_have_no_column_for_them(spark: SparkSession, files: Files) -> None:
    write(spark, files, [[(1.0, "A", 1, 1)]])
    outcomes = prepared(spark, files, MATCHES, streaming=None).outcomes
    assert outcomes.columns == [
        "kind",
        "query",
        "match_id",
        "start",
        "end",
        "events",
        "user",
        "shard",
        "report",
    ]
    both = prepared(spark, files, MATCHES + TRENDS, streaming=None)
    assert both.outcomes.columns == [*outcomes.columns[:-2], "trend", "shard", "report"]
    assert both.matches.columns == outcomes.columns[1:-2]
    assert "trends by user: 2 shards\nTrend templates" in both.explain()


def test_what_a_stream_refuses(spark: SparkSession, files: Files) -> None:
    write(spark, files, [[(1.0, "A", 1, 1)]])
    with pytest.raises(WeftError, match=r"hint: use weft\.prepare\(\.\.\.\)"):
        weft.detect(files.stream(spark), MATCHES + TRENDS, watermark="1 second", **OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(WeftError, match="query q: without WITHIN, the only window never ends"):
        prepared(spark, files, "QUERY q PATTERN A+ a[] RETURN COUNT(*) AS n")
    text = "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 second RETURN a.n AS Trend"
    with pytest.raises(WeftError, match="returns a column Trend"):
        prepared(spark, files, text + TRENDS, streaming=None).outcomes  # noqa: B018 - to look at it is to make it
    with pytest.raises(WeftError, match="none of the queries is a trend query"):
        prepared(spark, files, MATCHES).trends  # noqa: B018 - to look at it is to make it
