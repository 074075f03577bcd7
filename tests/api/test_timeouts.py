"""TIMEOUTS on Spark: rows of their own beside the matches, in batch and on streams."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.helpers.engine import Timeouts, bindings_of, expected_timeouts, plain
from tests.helpers.frames import bound_ids, detection_of, events_frame, matches_by_query, with_plain_times
from tests.helpers.stream_files import BATCH, Files, run, write
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.timeout_cases import filled, timeout_case

import weft
from weft.api.detection import Detection
from weft.api.options import PlacementName
from weft.errors import WeftError

COLUMNS = {"time": "ts", "type": "kind", "id": "n"}
STEPS = "QUERY steps PATTERN SEQ(A a, B b, C c) WHERE [user] WITHIN 10 seconds TIMEOUTS"
PAIR = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 10 seconds"


def timeouts_by_query(detection: Detection) -> dict[str, Timeouts]:
    """Collect the timeouts of a detection; one that comes twice is an error."""
    found: dict[str, Timeouts] = {}
    for row in with_plain_times(detection.timeouts).collect():
        own = found.setdefault(row["query"], {})
        chain = bindings_of([event.asDict() for event in row["events"]]), row["missing"]
        assert chain not in own, "a timeout was emitted twice"
        own[chain] = {
            name: plain(row[column]) for name, column in detection.return_columns[row["query"]].items()
        }
    return found


@pytest.mark.parametrize("seeds", seed_blocks(160_000, 2, soak=60, block=2))
def test_any_number_of_partitions_gives_the_reference_result(
    spark: SparkSession, seeds: range, count: Count
) -> None:
    """By key, by slices of time, and all in one shard."""
    for seed in seeds:
        case = timeout_case(seed)
        expected = filled(expected_timeouts(case))
        for partitions in (1, 4):
            assert timeouts_by_query(detection_of(spark, case, partitions)) == expected, (partitions, case)
        count(cases_on_spark=1, timeouts=sum(map(len, expected.values())))


def events(spark: SparkSession) -> DataFrame:
    """Of user 1, A and B without a C, and later all three; of user 2 an A alone."""
    rows = [(0, "A", 0, 1), (2, "B", 1, 1), (4, "A", 2, 2), (40, "A", 3, 1), (41, "B", 4, 1), (42, "C", 5, 1)]
    return events_frame(spark, rows, "at int, kind string, n long, user long")


def test_a_timeout_has_the_columns_of_a_match_and_what_is_missing(spark: SparkSession) -> None:
    text = f"{STEPS} RETURN b.n - a.n AS gap, c.n AS last\n{PAIR} RETURN a.n AS first"
    detection = weft.prepare(events(spark), text, **COLUMNS)
    assert detection.timeouts.columns == [*detection.matches.columns, "missing"]
    first, second = with_plain_times(detection.timeouts).orderBy("start").collect()
    assert (first["query"], bound_ids(first), first["missing"]) == ("steps", {"a": [0], "b": [1]}, "c")
    assert (first["start"], first["end"]) == (0, 2_000_000)
    assert (first["gap"], first["last"], first["first"]) == (1, None, None)
    assert (bound_ids(second), second["missing"], second["gap"]) == ({"a": [2]}, "b", None)
    assert len({first["match_id"], second["match_id"]}) == 2
    assert matches_by_query(detection)["steps"] == {
        frozenset({("a", (3,)), ("b", (4,)), ("c", (5,))}): {"gap": 1, "last": 5}
    }


def test_all_kinds_in_one_run(spark: SparkSession) -> None:
    trends = "QUERY counted PATTERN SEQ(A a, B b) WITHIN 10 seconds RETURN COUNT(*) AS n"
    detection = weft.prepare(events(spark), f"{STEPS}\n{PAIR}\n{trends}", **COLUMNS)
    outcomes = detection.outcomes
    kinds = [(row["kind"], row["query"], row["missing"]) for row in outcomes.collect()]
    expected = [("match", "pair", None)] * 2 + [("match", "steps", None)] + [("trend", "counted", None)] * 2
    assert sorted(kinds, key=str) == [
        *expected[:3],
        ("timeout", "steps", "b"),
        ("timeout", "steps", "c"),
        *expected[3:],
    ]
    told = weft.Outcomes(outcomes)
    assert told.timeouts.columns == detection.timeouts.columns
    assert sorted(row["missing"] for row in told.timeouts.collect()) == ["b", "c"]
    assert told.matches.columns == detection.matches.columns
    assert told.matches.count() == 3
    analysis = detection.analyze()
    assert (analysis.matches, analysis.timeouts) == ({"pair": 2, "steps": 1}, {"steps": 2})
    assert "timeouts with a, b and no c" in detection.explain()


def test_what_has_no_timeouts_says_so(spark: SparkSession) -> None:
    detection = weft.prepare(events(spark), PAIR, **COLUMNS)
    with pytest.raises(WeftError, match=r"none of the queries asks for timeouts\n.*add TIMEOUTS"):
        _ = detection.timeouts
    with pytest.raises(WeftError, match="none of the queries asks for TIMEOUTS"):
        _ = weft.Outcomes(detection.outcomes).timeouts
    taken = weft.prepare(events(spark), f"{STEPS} RETURN a.n AS Missing", **COLUMNS)
    with pytest.raises(WeftError, match="returns a column Missing, which says what is missing"):
        _ = taken.timeouts


@pytest.mark.parametrize("placement", ["muse", "central"])
def test_one_site_evaluates_a_query_with_timeouts(spark: SparkSession, placement: PlacementName) -> None:
    """It has them though no D arises anywhere; the same query without them is placed freely."""
    lacking = "QUERY lacking PATTERN SEQ(A a, D d) WITHIN 10 seconds SUPPRESS 1 hour TIMEOUTS"
    free = STEPS.replace("steps", "free").removesuffix("TIMEOUTS")
    text = f"{STEPS} RETURN b.n - a.n AS gap\n{lacking}\n{free}"
    sited = events(spark).withColumn("site", F.expr("case when n = 5 then 'far' else concat('s', n % 2) end"))
    alone = weft.prepare(sited, text, **COLUMNS)
    placed = weft.prepare(sited, text, **COLUMNS, sites=weft.Sites(column="site", placement=placement))
    assert timeouts_by_query(placed) == timeouts_by_query(alone)
    assert matches_by_query(placed) == matches_by_query(alone)
    analysis = placed.analyze()
    assert (analysis.matches, analysis.timeouts) == ({"free": 1, "steps": 1}, {"lacking": 3, "steps": 2})
    explained = placed.explain()
    for query in ("steps", "lacking"):
        assert f"at one site  {query}: for its TIMEOUTS, all of its events come to" in explained
    assert "free: for its TIMEOUTS" not in explained


def test_a_stream_tells_a_timeout_once_the_window_is_over(spark: SparkSession, tmp_path: Path) -> None:
    """Though no later event comes to its shard, and over a restart."""
    files, checkpoint = Files(tmp_path), tmp_path / "checkpoint"
    told = []
    for batches in (
        [[(100.0, "A", 0, 1), (102.0, "B", 1, 1), (104.0, "A", 2, 2)]],
        [[(109.0, "C", 3, 2)], [(111.0, "B", 4, 3)]],
        [[(130.0, "A", 5, 3)], [(131.0, "B", 6, 4)], [(160.0, "A", 7, 1)], [(161.0, "B", 8, 4)]],
    ):
        write(spark, files, [[*batch] for batch in batches])
        detection = weft.prepare(
            files.stream(spark).drop(BATCH),
            STEPS,
            **COLUMNS,
            watermark="0 seconds",
            partitions=3,
            streaming=weft.Streaming(checkpoint=str(checkpoint)),
        )
        done = run(detection.timeouts, checkpoint)
        told.append({(row["missing"], *map(tuple, bound_ids(row).values())) for row in done.rows})
        assert len(told[-1]) == len(done.rows)
        assert sum(sum(report["timeouts"].values()) for report in done.reports) == len(done.rows)  # type: ignore[attr-defined]
    assert told == [set(), {("c", (0,), (1,))}, {("b", (2,)), ("b", (5,))}]
