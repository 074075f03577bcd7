"""Queries placed on the sites of a stream: the matches of a batch, each once, also over a restart."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.helpers.frames import events_frame
from tests.helpers.stream_files import BATCH, Files, run

import weft
from weft.api.detection import Detection
from weft.api.options import PlacementName
from weft.errors import WeftError
from weft.runtime.matches.emit import ROWS_PER_BATCH

COLUMNS = f"at double, kind string, n long, user long, node string, {BATCH} int"
SITES = ("north", "south", "west")
RATES = {"A": (3.0, 3.0, 3.0), "B": (0.3, 0.3, 0.1), "C": (0.2, 0.1, 0.1), "D": (0.2, 0.0, 0.0)}
QUERIES = """
QUERY   pair
PATTERN SEQ(A a, B b)
WHERE   a.user = b.user
WITHIN  10 seconds
RETURN  a.user AS user

QUERY   quiet
PATTERN SEQ(A a, NOT C c, B b, D d)
WHERE   a.user = b.user AND b.user = c.user
WITHIN  10 seconds

QUERY   after
PATTERN SEQ(B b, D d, NOT C c)
WHERE   b.user = d.user
WITHIN  5 seconds
"""
EITHER = """
QUERY   either
PATTERN OR(SEQ(A a, B b), AND(A a, B b))
WITHIN  4 seconds
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def scattered(dice: random.Random, n_batches: int) -> list[tuple]:
    """Return rows whose times scatter by nine seconds; one of the sites is idle in each micro-batch."""
    rows = []
    for number in range(n_batches):
        idle = dice.choice(SITES)
        for row in range(30):
            at = 1000 + 5 * number + dice.randint(-4 * 8, 5 * 8) / 8
            kind = dice.choices("ABCD", (8, 3, 1, 2))[0]
            node = dice.choice([site for site in SITES if site != idle])
            rows.append((at, kind, 100 * number + row, dice.choice([1, 2]), node, number))
    return rows


def prepared(
    events: DataFrame, checkpoint: Path, queries: str = QUERIES, placement: PlacementName = "muse"
) -> Detection:
    detection = weft.prepare(
        events,
        queries,
        time="ts",
        type="kind",
        id="n",
        watermark="9 seconds",
        streaming=weft.Streaming(checkpoint=str(checkpoint)),
        sites=weft.Sites(
            column="node",
            placement=placement,
            network=weft.Network(SITES, {kind: np.array(rates) for kind, rates in RATES.items()}),
        ),
    )
    assert isinstance(detection, Detection)
    return detection


def found_in_batch(frame: DataFrame, queries: str) -> Counter[tuple[str, str]]:
    rows = weft.detect(frame.drop(BATCH), queries, time="ts", type="kind", id="n").collect()
    return Counter((row["query"], row["match_id"]) for row in rows)


def test_a_restart_in_the_middle_gives_the_matches_of_the_batch(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    """Rows that are late, or of no known site, are counted; D arises where none was expected."""
    frame = events_frame(spark, scattered(random.Random(5), 3), COLUMNS)
    others = [
        (900.0, "A", 901, 1, "north", 2),  # before the watermark
        (1015.0, "A", 902, 1, None, 2),
        (1015.0, "A", 903, 1, "east", 2),
        (2000.0, "E", 904, 1, "north", 2),  # lets time pass
    ]
    parts = (
        frame.where(F.col(BATCH) < 1),
        frame.where(F.col(BATCH) >= 1).union(events_frame(spark, others, COLUMNS)),
    )
    found: Counter[tuple[str, str]] = Counter()
    reports = []
    for part in parts:
        files.add(part)
        detection = prepared(files.stream(spark), tmp_path / "checkpoint")
        done = run(detection.matches, tmp_path / "checkpoint")
        found += done.match_ids
        reports += done.reports
    expected = found_in_batch(frame, QUERIES)
    assert {query for query, _ in expected} == {"pair", "quiet", "after"}
    assert found == expected
    assert sum(report["late"] for report in reports) == 1
    assert sum(report["rejected"] for report in reports) == 2
    program = detection.site_program
    sites = program.sites
    known = {(one.projection, sites[one.source], sites[one.target]): one for one in program.channels}
    sent = [one for report in reports for one in report["sent"]]
    assert sum(one["rows"] for one in sent) > 0
    for one in sent:
        stream = known[one["projection"], one["source"], one["target"]]
        assert one["bytes"] >= 16 * len(stream.types) * one["rows"]  # a time and an id for each event
    assert "north -> west" in detection.explain()


def test_a_match_of_two_alternatives_comes_once(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    frame = events_frame(spark, scattered(random.Random(6), 1), COLUMNS)
    files.add(frame)
    detection = prepared(files.stream(spark), tmp_path / "checkpoint", EITHER, "single-sink")
    assert detection.site_program.repeated == ("either",)
    assert run(detection.matches, tmp_path / "checkpoint").match_ids == found_in_batch(frame, EITHER)


def test_many_matches_of_one_step_leave_in_several_packs(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    """Both alternatives of each pair are found; it comes once, and the reports count it once."""
    rows = [(1000 + n / 1000, "A", n, 1, "north", 0) for n in range(260)]
    rows += [(1001 + n / 1000, "B", 1000 + n, 1, "south", 0) for n in range(260)]
    files.add(events_frame(spark, rows, COLUMNS))
    detection = prepared(files.stream(spark), tmp_path / "checkpoint", EITHER, "central")
    done = run(detection.matches.drop("events"), tmp_path / "checkpoint")
    assert len(done.match_ids) == len(done.rows) == 260 * 260 > ROWS_PER_BATCH
    assert sum(report["matches"].get("either", 0) for report in done.reports) == 260 * 260


def test_what_cannot_be_placed_is_refused(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    files.add(events_frame(spark, [(1000.0, "A", 1, 1, "north", 0)], COLUMNS))
    events = files.stream(spark)
    with pytest.raises(WeftError, match="a window that counts events cannot be placed on sites"):
        prepared(events, tmp_path / "other", "QUERY q PATTERN SEQ(A a, B b) WITHIN 5 EVENTS")
    with pytest.raises(WeftError, match="expected 'muse', 'single-sink', 'central'"):
        prepared(events, tmp_path / "other", placement="best")  # type: ignore[arg-type]
    with pytest.raises(
        WeftError,
        match="needs `network`: there are no events to look at before it starts\n  hint: give network=",
    ):
        weft.detect(
            events, EITHER, time="ts", type="kind", watermark="9 seconds", sites=weft.Sites(column="node")
        )
    options: dict[str, Any] = {"time": "ts", "type": "kind", "watermark": "9 seconds"}
    with pytest.raises(WeftError, match="`adapt` cannot be combined with `sites`"):
        weft.detect(
            events,
            EITHER,
            **options,
            sites=weft.Sites(column="node"),
            streaming=weft.Streaming(adapt="invariants"),
        )
    checkpoint = tmp_path / "checkpoint"
    assert prepared(events, checkpoint).matches.isStreaming
    with pytest.raises(WeftError, match="the stream has started with other queries or other sites"):
        prepared(events, checkpoint, EITHER).matches  # noqa: B018 - asking for it is what fails
