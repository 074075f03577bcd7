"""Detection on Spark: the reference's matches whatever the partitions, and what surrounds them."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.frames import bound_ids, detection_of, events_frame, matches_by_query
from tests.helpers.strategies import Case, matching_case
from tests.helpers.tally import Count, seed_blocks

import weft
from weft.errors import DataError, QueryError, WeftError
from weft.expressions import Attribute
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
    with pytest.warns(weft.NoticeWarning, match="query many: .* matches are expected for one event") as told:
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
    with pytest.raises(DataError, match="the time column 'n' is long, expected timestamp"):
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


FINE = "QUERY fine PATTERN SEQ(A a, B b) WHERE [n] WITHIN 2 seconds"
BOOM = f"QUERY boom PATTERN A{{2,}} a[] WHERE [n] WITHIN 1 hour\n{FINE}"
SMALL = weft.Budget(partial_matches=100)


def keyed_events(spark: SparkSession) -> DataFrame:
    """Return events of six keys: the first has forty A, the others later three A and three B each."""
    rows = [(second, "A", 0) for second in range(40)]
    rows += [(100 + second, "AB"[second % 2], n) for n in range(1, 6) for second in range(6)]
    return events_frame(spark, [*rows, (40, "B", 0)], "at int, kind string, n long")


def found_by_query(matches: DataFrame) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in matches.select("query", "match_id").collect():
        found.setdefault(row["query"], Counter())[row["match_id"]] += 1
    return found


@pytest.mark.parametrize("partitions", [1, 6])
def test_a_query_that_explodes_is_stopped_alone(spark: SparkSession, partitions: int) -> None:
    """In one shard, and in the shard of its key alone where there are several."""
    frame = keyed_events(spark)
    detection = weft.prepare(frame, BOOM, time="ts", type="kind", budget=SMALL, partitions=partitions)
    kept: list[dict[str, Counter[str]]] = []
    counted = detection.run(lambda matches: kept.append(found_by_query(matches)))
    alone = weft.detect(frame, FINE, time="ts", type="kind")
    assert kept[0]["fine"] == found_by_query(alone)["fine"]
    assert counted.counts == {name: own.total() for name, own in kept[0].items()}
    ((name, reasons),) = counted.stopped.items()
    assert (name, len(reasons)) == ("boom", 1)
    (shard,) = reasons
    assert reasons[shard].startswith(
        "query boom: more than 100 partial matches for the group of events up to"
    )
    assert "budget=weft.Budget(partial_matches=...)" in reasons[shard]
    elsewhere = keys_elsewhere(frame, partitions)
    assert bool(elsewhere) == (partitions > 1)
    others = weft.prepare(frame.where(F.col("n").isin(elsewhere)), BOOM, time="ts", type="kind").matches
    n_early = 2**7 - 1 - 7  # lists of the exploding key, up to the event that ends 127 more
    assert kept[0]["boom"].total() == n_early + 4 * len(elsewhere)
    assert found_by_query(others).get("boom", Counter()) <= kept[0]["boom"]


def keys_elsewhere(frame: DataFrame, partitions: int) -> list[int]:
    """Return the keys that are not in the partition of the first."""
    placed = frame.repartition(partitions, "n").select("n", F.spark_partition_id().alias("place")).distinct()
    places = {row["n"]: row["place"] for row in placed.collect()}
    return [n for n, place in places.items() if place != places[0]]


def test_who_was_stopped_is_known_after_any_action(spark: SparkSession) -> None:
    options = {"time": "ts", "type": "kind", "budget": SMALL, "partitions": 1}
    observation = Observation()
    matches = weft.detect(keyed_events(spark), BOOM, observation=observation, **options)
    assert matches.where("query = 'fine'").count() == 17
    ((name, shard, reason),) = observation.get["stopped"]
    assert (name, shard, reason.split(":")[0]) == ("boom", "partition 0", "query boom")
    detection = weft.prepare(keyed_events(spark), BOOM, **options)
    assert [tuple(row) for row in detection.stopped.collect()] == [(name, shard, reason)]
    analysis = detection.analyze()
    assert analysis.stopped == {"boom": {"partition 0": reason}}
    assert f"query boom was stopped in 1 shard (partition 0), the others go on: {reason}" in str(analysis)


def test_an_exploding_query_ends_it_all_if_asked_to(spark: SparkSession) -> None:
    options = {"time": "ts", "type": "kind", "budget": SMALL, "on_budget": "error"}
    matches = weft.detect(keyed_events(spark), BOOM, **options)
    with pytest.raises(weft.BudgetError) as caught, weft.plain_failures():
        matches.count()
    assert caught.value.queries == ("boom",)
    assert str(caught.value).startswith(
        "query boom: more than 100 partial matches for the group of events up to"
    )
    assert str(caught.value).endswith("or raise the budget (budget=weft.Budget(partial_matches=...))")
    with pytest.raises(weft.BudgetError, match="query boom: more than 100 partial matches"):
        weft.prepare(keyed_events(spark), BOOM, **options).run()
    with pytest.raises(WeftError, match="on_budget is 'warn'; expected 'stop' or 'error'"):
        weft.detect(keyed_events(spark), BOOM, **options | {"on_budget": "warn"})


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
