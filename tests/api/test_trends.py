"""Trend queries on Spark: the reference's results whatever the shards and the sharing."""

import math
import random
from collections.abc import Sequence
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.frames import events_frame, with_plain_times

import weft
from weft.api.detection import Detection
from weft.errors import WeftError
from weft.plan.trend_sets import Sharing
from weft.reference.events import ReferenceEvent
from weft.reference.trends import TrendResults, find_trend_results
from weft.reference.values import Value

FIGURE_1 = """
q1: RETURN T.district, COUNT(*), SUM(T.duration)
    PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
    WHERE [driver, rider] GROUP-BY T.district
    WITHIN 30 min SLIDE 1 min
q2: RETURN T.district, COUNT(*), AVG(T.speed)
    PATTERN SEQ(Request R, Travel T+, Dropoff D)
    WHERE [driver, rider] AND R.type=Pool GROUP-BY T.district
    WITHIN 30 min SLIDE 5 min
q3: RETURN T.district, COUNT(*), SUM(T.duration)
    PATTERN SEQ(Request R, Travel T+, Cancel C)
    WHERE [driver, rider] AND T.speed<10 GROUP-BY T.district
    WITHIN 20 min SLIDE 1 min
"""
RIDES = (
    "at long, kind string, id long, driver int, rider int, district string, type string, speed double, "
    "duration int"
)
COUNTED = """
QUERY sliding PATTERN SEQ(Request R, NOT Cancel C, Travel+ T) WHERE [driver] WITHIN 3 min SLIDE 40 sec
              RETURN COUNT(*) AS n, MAX(T.speed) AS fastest, MIN(T.ts) AS earliest
QUERY gaps    PATTERN Travel+ T WHERE T[i-1].speed < T[i].speed WITHIN 1 min SLIDE 2 min
              RETURN COUNT(*) AS n, COUNT(T) AS travels
QUERY busy    PATTERN Travel T WITHIN 2 min SLIDE 40 sec
              HAVING COUNT(*) > 2 AND AVG(T.speed) < 3 * MIN(T.speed)
              RETURN COUNT(*) / 2 AS per_minute, MAX(T.duration) - MIN(T.duration) AS span,
                     COUNT(DISTINCT T.driver) AS drivers, STDDEV(T.speed) AS spread
QUERY calm    PATTERN Travel T WITHIN 2 min SLIDE 40 sec SUPPRESS 3 min RETURN COUNT(*) AS n
QUERY quiet   PATTERN Travel T WITHIN 2 min SLIDE 40 sec GROUP BY district, driver HAVING COUNT(*) > 1
              SUPPRESS 3 min PER driver RETURN district, driver, COUNT(*) AS n
QUERY whole   PATTERN SEQ(Pickup P, Dropoff D) RETURN COUNT(*) AS n, SUM(D.duration) AS total
"""
SLICE = 48 * 60  # seconds: sixteen times the longest window of these
CASES = {
    "figure 1": (FIGURE_1, range(45 * 60), 130),
    "counted": (COUNTED, [SLICE * n + second for n in range(4) for second in range(-90, 90)], 100),
}
ALL_SHARING: Sequence[tuple[Sharing, int | None]] = [("dynamic", None), ("static", 3), ("none", 1)]

Ride = tuple[int, str, int, int | None, int, str, str | None, float | None, int | None]


def rides(seed: int, times: Sequence[int], n_rides: int) -> list[Ride]:
    """Return the events of rides of a few drivers; some come twice, some have no driver or no speed."""
    draw = random.Random(seed)
    kinds = ["Request", "Request", "Travel", "Travel", "Travel", "Pickup", "Dropoff", "Cancel"]
    found: list[Ride] = []
    for number in range(n_rides):
        driver = draw.choice([1, 2, None] if number % 5 == 0 else [1, 2])
        found.append(
            (
                draw.choice(times),
                draw.choice(kinds),
                number,
                driver,
                draw.randrange(2),
                draw.choice(["center", "harbor"]),
                draw.choice(["Pool", "Pool", "Solo", None]),
                draw.choice([3.5, 8.25, 9.875, 40.0, None]),
                draw.randrange(-5, 100),
            )
        )
    return found + found[:: n_rides // 3]


def reference_events(events: Sequence[Ride]) -> list[ReferenceEvent]:
    names = ("driver", "rider", "district", "type", "speed", "duration")
    return [
        ReferenceEvent(
            row,
            frozenset({event[1]}),
            1_000_000 * event[0],
            event[2],
            {"ts": 1_000_000 * event[0], **dict(zip(names, event[3:], strict=True))},
        )
        for row, event in enumerate(events)
    ]


def results_of(detection: Detection) -> dict[str, TrendResults]:
    """Collect results in the reference's form; a result that comes twice is an error."""
    found: dict[str, TrendResults] = {query.name: {} for query in detection.trend_queries}
    for row in with_plain_times(detection.trends).collect():
        names = detection.trend_names[row["query"]]
        own = found[row["query"]]
        place = (row["window_start"], tuple(row[column] for column in names.group.values()))
        assert place not in own, "a result was emitted twice"
        own[place] = {
            name: _plain(row[column]) for name, column in {**names.group, **names.aggregates}.items()
        }
    return found


def _plain(value: Value) -> Value:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value


def prepared(
    spark: SparkSession, events: Sequence[Ride], text: str, partitions: int | None, sharing: Sharing
) -> Detection:
    frame = events_frame(spark, list(events), RIDES)
    return weft.prepare(
        frame,
        text,
        time="ts",
        type="kind",
        id="id",
        partitions=partitions,
        planning=weft.Planning(sharing=sharing),
    )


@pytest.mark.parametrize(("sharing", "partitions"), ALL_SHARING)
@pytest.mark.parametrize("case", CASES)
def test_any_division_and_sharing_gives_the_reference_result(
    spark: SparkSession, case: str, sharing: Sharing, partitions: int | None
) -> None:
    text, times, n_rides = CASES[case]
    events = rides(7, times, n_rides)
    detection = prepared(spark, events, text, partitions, sharing)
    stream = reference_events(events)
    expected = {query.name: find_trend_results(query, stream) for query in detection.trend_queries}
    assert all(expected.values())
    assert results_of(detection) == expected


@pytest.fixture(scope="module")
def letters(spark: SparkSession) -> DataFrame:
    rows: list[tuple[object, ...]] = [(0, "A", 0, 1.5), *((n, "B", n, float(n)) for n in range(1, 201))]
    return events_frame(spark, rows, "at int, kind string, n long, x double").cache()


def test_output_has_the_documented_columns(letters: DataFrame) -> None:
    text = "QUERY q PATTERN SEQ(A a, B+ b) GROUP BY missing RETURN COUNT(*), SUM(b.n) AS total, AVG(b.x)"
    frame = letters.selectExpr("*", "date'2026-03-02' AS missing")
    trends = weft.detect(frame, text, time="ts", type="kind")
    assert trends.dtypes == [
        ("query", "string"),
        ("window_start", "timestamp"),
        ("window_end", "timestamp"),
        ("missing", "date"),
        ("COUNT(*)", "decimal(38,0)"),
        ("total", "decimal(38,0)"),
        ("AVG(b.x)", "double"),
        ("beyond", "map<string,string>"),
    ]
    (row,) = trends.collect()
    assert (row["window_start"], row["COUNT(*)"], row["total"], row["AVG(b.x)"]) == (None, None, None, 100.5)
    assert row["beyond"] == {"COUNT(*)": "1.6069380443e+60", "total": "1.6149727345e+64"}
    assert math.isclose(201 * 100 * 2**199, 1.6149727345e64, rel_tol=1e-10)


def test_typed_frame_of_one_query(letters: DataFrame) -> None:
    """Queries may give one name to values of different types."""
    text = (
        "QUERY p PATTERN B+ b RETURN COUNT(*) AS v\n"
        "QUERY q PATTERN SEQ(A a, B b) RETURN MAX(b.x) AS v, COUNT(*) AS n"
    )
    detection = weft.prepare(letters, text, time="ts", type="kind")
    assert set(detection.trends.columns) >= {"p_v", "q_v", "n"}
    (huge,) = detection.trends_of("p").collect()
    assert (huge["v"], huge["beyond"]) == (None, {"v": "1.6069380443e+60"})
    exact = weft.prepare(letters, text, time="ts", type="kind", planning=weft.Planning(exact=True))
    (huge,) = exact.trends_of("p").collect()
    assert (huge["v"], huge["beyond"]) == (None, {"v": str(2**200 - 1)})
    (pairs,) = detection.trends_of("q").collect()
    assert (pairs["v"], pairs["n"], pairs["beyond"]) == (200.0, 200, None)
    with pytest.raises(WeftError, match="no trend query named 'r'"):
        detection.trends_of("r")


def test_queries_of_both_kinds(letters: DataFrame) -> None:
    trend = "QUERY all PATTERN B+ b WITHIN 5 seconds RETURN COUNT(*) AS n"
    match = "QUERY first PATTERN SEQ(A a, B b) WITHIN 2 seconds RETURN b.n AS n"
    with pytest.raises(WeftError, match=r"weft\.prepare\(\.\.\.\): \.matches and \.trends"):
        weft.detect(letters, f"{trend}\n{match}", time="ts", type="kind")
    both = weft.prepare(letters, f"{trend}\n{match}", time="ts", type="kind", id="n")
    assert sorted(row["n"] for row in both.matches.collect()) == [1, 2]
    assert both.matches_of("first").count() == 2
    counted = [row["n"] for row in both.trends.orderBy("window_start").collect()]
    assert counted == [15, *[31] * 39, 1]
    assert "Shared plan: " in both.explain()
    assert "Trend templates" in both.explain()
    only = weft.prepare(letters, trend, time="ts", type="kind")
    assert only.matches.collect() == []
    assert weft.prepare(letters, match, time="ts", type="kind").trends.collect() == []
    analysis = both.analyze()
    assert analysis.counts == {"first": 2, "all": 41}
    assert "shared graphlets" in str(analysis)


def test_a_misspelled_sharing_is_refused(letters: DataFrame) -> None:
    text = "QUERY q PATTERN SEQ(A a, B+ b) WITHIN 1 minute RETURN COUNT(*)"
    with pytest.raises(WeftError, match="sharing is 'both'; expected 'dynamic', 'static', 'none'"):
        weft.detect(letters, text, time="ts", type="kind", planning=weft.Planning(sharing="both"))  # type: ignore[arg-type]
