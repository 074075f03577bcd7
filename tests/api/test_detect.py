"""Detection on Spark: the reference's matches whatever the partitions, and what surrounds them."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.frames import bound_ids, detection_of, events_frame, matches_by_query
from tests.helpers.strategies import Case, matching_case
from tests.helpers.tally import Count, seed_blocks

import weft
from weft.errors import BudgetError, DataError, QueryError, WeftError
from weft.expressions import Attribute
from weft.hosts.spark.failures import failure_of
from weft.optimizer.planning import Strategy
from weft.pattern.nodes import CountWindow
from weft.pattern.policies import Policy, Suppression
from weft.schema import LONG

PAIR = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 10 seconds"


@pytest.mark.parametrize("seeds", seed_blocks(10_000, 3, soak=60, block=3))
def test_any_number_of_partitions_gives_the_reference_result(
    spark: SparkSession, seeds: range, count: Count
) -> None:
    """With windows of events; cases without them are many in one job, in test_combined_cases.py."""
    plans: list[tuple[int, Strategy]] = [(1, "auto"), (2, "share"), (7, "reorder")]
    for seed in seeds:
        case = matching_case(seed, accepts=lambda case: counts_events(case) and is_supported(case))
        statistics = detection_of(spark, case, 1).sample_statistics()
        for partitions, plan in plans:
            detection = detection_of(spark, case, partitions, plan=plan, statistics=statistics)
            found = matches_by_query(detection)
            assert found == expected_outcome(case), f"{partitions} partitions, plan {plan}: {case}"
        count(cases_on_spark=1, matches=case.n_matches)


def counts_events(case: Case) -> bool:
    return any(isinstance(query.window, CountWindow) for query in case.queries)


def test_output_has_the_documented_columns(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A", 7), (2, "B", 8)], "at int, kind string, n long")
    matches = weft.detect(frame, PAIR + " RETURN a.n + b.n AS total", time="ts", type="kind", id="n")
    assert matches.columns == ["query", "match_id", "start", "end", "events", "total"]
    row = matches.collect()[0]
    assert (row["query"], row["total"], len(row["match_id"])) == ("pair", 15, 32)
    one, two = (dt.datetime(1970, 1, 1, 0, 0, second) for second in (1, 2))  # noqa: DTZ001 - as Spark does
    assert (row["start"], row["end"]) == (one, two)
    assert [event.asDict() for event in row["events"]] == [
        {"variable": "a", "type": "A", "ts": one, "id": 7},
        {"variable": "b", "type": "B", "ts": two, "id": 8},
    ]


def test_which_matches_count_where_queries_do_not_say(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A", 7), (2, "B", 8)], "at int, kind string, n long")
    columns = {"time": "ts", "type": "kind", "id": "n"}
    text = f"{PAIR}\nQUERY all PATTERN SEQ(A a, B b) STRATEGY ANY AFTER MATCH SKIP NONE SUPPRESS 1 s PER b.n"
    hour = Suppression(3_600_000_000)
    detection = weft.prepare(frame, text, **columns, strategy="next", skip="past last", suppress="1 hour")
    pair, every = (query.policy for query in detection.queries)
    assert pair == Policy("next", "past last", suppression=hour)
    per = (Attribute("b", "n", type=LONG),)
    assert every == Policy("any", "none", suppression=Suppression(1_000_000, per))
    with pytest.raises(WeftError, match="skip is 'last'; expected 'none', 'to next', 'past last'"):
        weft.detect(frame, PAIR, **columns, skip="last")


def test_what_is_likely_to_explode_is_told_before_it_runs(spark: SparkSession) -> None:
    rows = [(second // 10, "ABC"[second % 3], second) for second in range(600)]
    frame = events_frame(spark, rows, "at int, kind string, n long")
    text = (
        "QUERY many PATTERN SEQ(A a, B b, C c) WITHIN 30 seconds\nQUERY few PATTERN SEQ(A a, B b) WITHIN 1 s"
    )
    with pytest.warns(weft.CautionWarning, match="query many: .* matches are expected for one event") as told:
        weft.detect(frame, text, time="ts", type="kind", id="n")
    assert len(told) == 1
    assert "Cautions\n  query many: " in weft.prepare(frame, text, time="ts", type="kind", id="n").explain()


def test_typed_frame_of_one_query(spark: SparkSession) -> None:
    """Queries may give one name to values of different types."""
    frame = events_frame(spark, [(1, "A", 7, "x"), (2, "B", 8, "y")], "at int, kind string, n long, s string")
    text = PAIR + " RETURN a.n AS v\nQUERY other PATTERN B b RETURN b.s AS v, b.ts - b.ts AS none"
    detection = weft.prepare(frame, text, time="ts", type="kind", id="n")
    assert detection.matches_of("pair").select("v").dtypes == [("v", "bigint")]
    assert detection.matches_of("other").select("v").collect()[0]["v"] == "y"
    assert detection.matches_of("other").select("none").collect()[0]["none"] == dt.timedelta(0)
    assert set(detection.matches.columns) >= {"pair_v", "other_v", "none"}
    with pytest.raises(WeftError, match="no query named 'othr'; did you mean 'other'"):
        detection.matches_of("othr")


def test_bad_rows_are_rejected_with_a_reason_and_counted(spark: SparkSession) -> None:
    rows = [(1, "A", 1), (None, "A", 2), (2, None, 3), (None, None, 4), (3, "B", 5)]
    frame = events_frame(spark, rows, "at int, kind string, n long")
    detection = weft.prepare(frame, PAIR, time="ts", type="kind", id="n")
    assert detection.input_counts() == (2, 3)
    reasons = {row["n"]: row["reason"] for row in detection.rejected.collect()}
    assert reasons == {2: "ts is not a time", 3: "kind is NULL", 4: "ts is not a time"}
    assert [bound_ids(row) for row in detection.matches.collect()] == [{"a": [1], "b": [5]}]


def test_derived_types(spark: SparkSession) -> None:
    """One row may be of several types, and is still bound once; a NULL condition is no membership."""
    rows = [(1, 20_000, True), (2, 20_000, None), (3, 5, True)]
    frame = events_frame(spark, rows, "at int, volume long, up boolean")
    types = {"BigTrade": "volume > 10000", "UpTrade": "up"}
    text = "PATTERN AND(BigTrade b, UpTrade u) WITHIN 1 minute RETURN b.volume AS v"
    found = weft.detect(frame, text, time="ts", columns=weft.Columns(types=types)).collect()
    bound = sorted((row["events"][0]["ts"].second, row["events"][1]["ts"].second) for row in found)
    assert bound == [(1, 2), (1, 3), (2, 3)]
    with pytest.raises(QueryError, match="BigTrades"):
        weft.detect(frame, "PATTERN BigTrades b", time="ts", columns=weft.Columns(types=types))


def test_without_an_id_the_content_is_the_identity(spark: SparkSession) -> None:
    """Equal rows are two events; their match ids do not depend on the partitioning."""
    rows = [(1, "A", 5), (1, "A", 5), (2, "B", 5)]
    frame = events_frame(spark, rows, "at int, kind string, n long")
    found = [
        sorted(
            row["match_id"]
            for row in weft.detect(frame.repartition(n), PAIR, time="ts", type="kind").collect()
        )
        for n in (1, 3)
    ]
    assert len(set(found[0])) == 2
    assert found[0] == found[1]


def test_repeated_deliveries_count_once(spark: SparkSession) -> None:
    rows = [(1, "A", "x"), (1, "A", "x"), (2, "B", "y"), (2, "B", "y")]
    frame = events_frame(spark, rows, "at int, kind string, name string")
    found = weft.detect(frame.repartition(4), PAIR, time="ts", type="kind", id="name").collect()
    assert [bound_ids(row) for row in found] == [{"a": ["x"], "b": ["y"]}]


def test_every_value_type_passes_through(spark: SparkSession) -> None:
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678)  # noqa: DTZ001 - a time without zone
    day = dt.date(2026, 1, 2)
    rows = [(1, "A", 1, 2.5, True, "s", moment, day, Decimal("1.25"), dt.timedelta(seconds=3))]
    columns = (
        "at int, kind string, l int, d float, b boolean, s string, t timestamp_ntz, day date, "
        "m decimal(10,2), i interval day to second"
    )
    frame = events_frame(spark, rows, columns)
    text = """PATTERN A a WHERE a.l = 1 AND a.d < 3 AND a.b AND a.s LIKE 's%' AND a.t > '2026-01-01' AND
        a.day = DATE '2026-01-02' AND a.m = 1.25 AND a.i < 5 seconds
        RETURN a.l, a.d, a.b, a.s, a.t, a.day, a.m, a.i"""
    row = weft.detect(frame, text, time="ts", type="kind").collect()[0]
    values = [row[f"a_{name}"] for name in ("l", "d", "b", "s", "t", "day", "m", "i")]
    assert values == [1, 2.5, True, "s", moment, day, Decimal("1.25"), dt.timedelta(seconds=3)]


def test_odd_column_names(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A", 1), (2, "B", 1)], "at int, kind string, n long")
    frame = frame.withColumnRenamed("n", "odd `name.x").withColumnRenamed("ts", "when.at")
    text = 'PATTERN SEQ(A a, B b) WHERE ["odd `name.x"] AND a."odd `name.x" = 1'
    assert weft.detect(frame, text, time="when.at", type="kind").count() == 1


def test_bad_arguments_say_what_is_there(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A", 1)], "at int, kind string, n long")
    with pytest.raises(
        DataError, match=r"no column 'tss' for the event time; did you mean 'ts'\? The columns are"
    ):
        weft.detect(frame, PAIR, time="tss", type="kind")
    with pytest.raises(DataError, match="the time column 'n' is bigint, expected timestamp"):
        weft.detect(frame, PAIR, time="n", type="kind")
    with pytest.raises(DataError, match="neither a type column"):
        weft.detect(frame, PAIR, time="ts")
    with pytest.raises(DataError, match="no column 'nn' for the order"):
        weft.detect(frame, PAIR, time="ts", type="kind", columns=weft.Columns(order_by="nn"))
    with pytest.raises(WeftError, match="partitions is 0"):
        weft.detect(frame, PAIR, time="ts", type="kind", partitions=0)
    with pytest.raises(WeftError, match="no query was given"):
        weft.detect(frame, "  ", time="ts", type="kind")


def test_an_unusable_column_is_an_error_only_when_mentioned(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A", 1), (2, "B", 1)], "at int, kind string, n long")
    frame = frame.withColumn("wide", F.col("n").cast("decimal(38,4)")).withColumn(
        "m", F.create_map("kind", "n")
    )
    assert weft.detect(frame, PAIR, time="ts", type="kind").count() == 1
    with pytest.raises(QueryError, match=r"decimal\(38,4\) has more than 18 digits"):
        weft.detect(frame, "PATTERN A a WHERE a.wide > 1", time="ts", type="kind")


def test_an_exploding_query_names_itself_and_the_remedy(spark: SparkSession) -> None:
    frame = events_frame(spark, [(second, "A") for second in range(40)], "at int, kind string")
    text = "QUERY boom PATTERN A{2,} a[] WITHIN 1 hour"
    matches = weft.detect(frame, text, time="ts", type="kind", budget=weft.Budget(partial_matches=10_000))
    with pytest.raises(Exception, match="BudgetError") as caught:
        matches.count()
    failure = failure_of(caught.value)
    assert isinstance(failure, BudgetError)
    assert "query boom: more than 10,000 partial matches for the group of events up to 1970-01-01" in str(
        failure
    )
    assert "Shorten WITHIN" in str(failure)


def test_an_empty_input_has_no_matches(spark: SparkSession) -> None:
    frame = events_frame(spark, [(1, "A")], "at int, kind string").where("false")
    text = PAIR + "\nQUERY keyed PATTERN SEQ(A a, B b) WHERE [kind] WITHIN 5 EVENTS"
    detection = weft.prepare(frame, text, time="ts", type="kind")
    assert detection.matches.count() == 0
    assert detection.input_counts() == (0, 0)


def test_rows_that_no_query_wants_do_not_reach_python(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """The physical plan filters by type and by single-event predicates below the Python step."""
    rows = [(second, kind, 3 * second + number) for second in range(7) for number, kind in enumerate("ABC")]
    frame = events_frame(spark, rows, "at int, kind string, n long").withColumn("unused", F.lit("u"))
    text = "PATTERN SEQ(A a, B b) WHERE a.n > 14 AND b.n IN (19, 4) WITHIN 10 seconds"
    matches = weft.detect(frame, text, time="ts", type="kind", id="n")
    assert sorted(tuple(bound_ids(row)["a"]) for row in matches.collect()) == [(15,)]
    matches.explain()
    plan = capsys.readouterr().out
    below_python = plan[plan.index("MapInArrow") :]
    assert "= A) AND (cast(n" in below_python or "= A) AND (n" in below_python
    assert "> 14" in below_python
    assert "unused" not in below_python.split("Scan", maxsplit=1)[0]
