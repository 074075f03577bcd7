"""Queries placed on the sites of a stream: the matches of a batch, each once, also over a restart."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from tests.spark.frames import events_frame
from tests.spark.stream_files import BATCH, Files, run

import weft
from weft.placed_stream_detection import PlacedStreamDetection
from weft.placement.network import Network

COLUMNS = f"at double, kind string, n long, user long, node string, {BATCH} int"
SITES = ("north", "south", "west")
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


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def scattered(dice: random.Random, n_batches: int) -> list[tuple]:
    """Return rows whose times scatter by four seconds; a site has no events in some micro-batches."""
    rows = []
    for number in range(n_batches):
        quiet = dice.choice(SITES)
        for row in range(30):
            at = 1000 + 5 * number + dice.randint(-4 * 8, 5 * 8) / 8
            kind = dice.choices("ABCD", (8, 3, 1, 2))[0]
            node = dice.choice([site for site in SITES if site != quiet])
            rows.append((at, kind, 100 * number + row, dice.choice([1, 2]), node, number))
    return rows


def prepared(events: DataFrame, checkpoint: Path, placement: str = "muse") -> PlacedStreamDetection:
    rates = {"A": np.array([3.0, 3.0, 3.0]), "B": np.array([1.0, 1.0, 0.1]), "C": np.array([0.2, 0.1, 0.0])}
    detection = weft.prepare_stream(
        events,
        QUERIES,
        time="ts",
        type="kind",
        id="n",
        watermark="9 seconds",
        checkpoint=str(checkpoint),
        site="node",
        placement=placement,
        network=Network(SITES, rates),
    )
    assert isinstance(detection, PlacedStreamDetection)
    return detection


def test_a_restart_in_the_middle_gives_the_matches_of_the_batch(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    rows = scattered(random.Random(5), 4)
    frame = events_frame(spark, rows, COLUMNS)
    later = [(2000.0, "E", 900, 1, "north", 4), (3000.0, "A", 901, 1, "south", 5)]
    found: Counter[tuple[str, str]] = Counter()
    sent = 0
    for part in (
        frame.where(F.col(BATCH) < 2),
        frame.where(F.col(BATCH) >= 2).union(events_frame(spark, later, COLUMNS)),
    ):
        files.add(part)
        detection = prepared(files.stream(spark), tmp_path / "checkpoint")
        done = run(detection.matches, tmp_path / "checkpoint")
        found += done.match_ids
        assert done.total("late") == 0
        sent += sum(one["rows"] for report in done.reports for one in report["sent"])  # type: ignore[attr-defined]
    expected = weft.detect(frame.drop(BATCH), QUERIES, time="ts", type="kind", id="n").collect()
    assert found == Counter((row["query"], row["match_id"]) for row in expected)
    assert {row["query"] for row in expected} == {"pair", "quiet", "after"}
    assert sent > 0
