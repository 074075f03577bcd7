"""One workload of all kinds of queries, on Spark and in this process: the same results, row by row."""

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.helpers.local_results import squeeze

import weft
from weft.api.detection import Detection
from weft.api.options import PlacementName
from weft.hosts.local.result_table import ResultTable
from weft.placement.site_statistics import SiteStatistics

N_EVENTS = 1_200
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SITES = {"A": ("r1", "r2", "r3"), "B": ("r2", "r3"), "C": ("r1",), "D": ("r1", "r2")}
MATCHES = """
QUERY keyed   PATTERN SEQ(A a, NOT D d, B b) WHERE [k] AND a.x <= b.x WITHIN 20 seconds
              RETURN a.k AS k, b.amount - a.amount AS more, b.ts - a.ts AS took, a.name AS name, b.day AS day
QUERY timed   PATTERN SEQ(A a, AND(B b, C c)) WHERE a.x = b.x WITHIN 2 seconds RETURN c.ts AS x, a.flag
QUERY listed  PATTERN SEQ(C c, A+ a[], D d) WHERE a[i].x > a[i-1].x WITHIN 3 seconds
              RETURN COUNT(a) AS n, AVG(a.y) AS mean, MAX(a.amount) AS most, LAST(a.name) AS last
QUERY either  PATTERN OR(SEQ(C c, D d), SEQ(D e, C f)) WITHIN 1 second
QUERY chained PATTERN SEQ(A a, B+ b[], C c) WHERE [k] WITHIN 30 seconds STRATEGY NEXT RETURN SUM(b.x) AS x
QUERY strict  PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 minute STRATEGY STRICT
QUERY skipped PATTERN SEQ(A a, B b) WITHIN 1 second AFTER MATCH SKIP PAST LAST
QUERY quiet   PATTERN SEQ(B b, C c) WHERE [k] WITHIN 5 seconds SUPPRESS 20 seconds RETURN SUPPRESSED() AS n
QUERY awaited PATTERN SEQ(C c, D d, B b) WHERE c.x < d.x WITHIN 4 seconds TIMEOUTS RETURN d.x - c.x AS gap
"""
UNPLACED = """
QUERY ever    PATTERN SEQ(C c, D d) WHERE [k] AND c.y > d.y RETURN c.y AS x
QUERY nearby  PATTERN SEQ(A a, B b, C c) WITHIN 5 EVENTS
QUERY near    PATTERN SEQ(A a, B b) PARTITION BY k WITHIN 3 EVENTS RETURN b.x AS n
QUERY grouped PATTERN SEQ(A a, B+ b) WITHIN 30 seconds SLIDE 10 seconds GROUP BY a.k
              RETURN a.k, COUNT(*) AS trends, AVG(b.y) AS mean, MAX(b.ts) AS latest
QUERY moving  PATTERN SEQ(C c, NOT D d, B b) WHERE [name] WITHIN 10 seconds SLIDE 5 seconds
              RETURN COUNT(*) AS trends, SUM(b.amount) AS total, MIN(c.x) AS least
QUERY whole   PATTERN A+ a RETURN COUNT(*) AS trends, COUNT(a) AS events
"""


def drawn_events(seed: int) -> pa.Table:
    """Return events in no order; some come twice, and some have no time, no type or no key."""
    dice = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(N_EVENTS):
        kind = dice.choices("ABCD", [5, 5, 2, 1])[0]
        rows.append(
            {
                "id": f"e{number}",
                "ts": START + dt.timedelta(milliseconds=dice.randrange(400_000)),
                "type": kind,
                "node": dice.choice(SITES[kind]),
                "k": dice.choice([1, 2, 3, None]),
                "name": dice.choice(["ann", "bob", "zoé", "", None]),
                "x": dice.choice([-1, 0, 1, 2, 2**40, None]),
                "y": dice.choice([0.5, -0.0, 0.0, float("nan"), float("inf"), None]),
                "flag": dice.choice([True, False, None]),
                "amount": dice.choice([Decimal("1.25"), Decimal("-0.50"), None]),
                "day": dice.choice([dt.date(2026, 1, 1), None]),
            }
        )
    rows += dice.sample(rows, 20)
    rows += [{**rows[0], "id": f"bad {name}", name: None} for name in ("ts", "type")] + [
        {**rows[1], "id": None}
    ]
    dice.shuffle(rows)
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("ts", pa.timestamp("us", "UTC")),
            ("type", pa.string()),
            ("node", pa.string()),
            ("k", pa.int32()),
            ("name", pa.string()),
            ("x", pa.int64()),
            ("y", pa.float64()),
            ("flag", pa.bool_()),
            ("amount", pa.decimal128(9, 2)),
            ("day", pa.date32()),
        ]
    )
    return pa.Table.from_pylist(rows, schema)


def table_of(frame: Any) -> pa.Table:
    table: pa.Table = frame.arrow if isinstance(frame, ResultTable) else frame.toArrow()
    return table


def rows_of(table: pa.Table) -> list[str]:
    """Return rows as text, as NaN equals nothing."""
    return sorted(map(repr, table.to_pylist()))


def assert_same(local: pa.Table, spark: pa.Table) -> None:
    assert [(own.name, own.type) for own in local.schema] == [(own.name, own.type) for own in spark.schema]
    assert rows_of(local) == rows_of(spark)


def prepared(events: Any, text: str, id: str | None, **options: Any) -> Detection:
    options = {"planning": weft.Planning(plan="share"), **options}
    return weft.prepare(events, text, time="ts", type="type", id=id, **options)


def run_once(detection: Detection) -> tuple[Any, dict[str, pa.Table]]:
    """Return what a run counts, with the results of the same run by kind."""
    kept: dict[str, pa.Table] = {}

    def keep(matches: Any, **others: Any) -> None:
        kept.update({kind: table_of(frame) for kind, frame in {"matches": matches, **others}.items()})

    return detection.analyze(keep), kept


@pytest.mark.parametrize("id", ["id", None])
def test_all_kinds_of_queries(spark: SparkSession, id: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an id, the content of an event is its identity, and so is part of that of a match."""
    events = drawn_events(1) if id else drawn_events(1).drop_columns("id")
    n_rejected = 3 if id else 2
    local = prepared(events, MATCHES + UNPLACED, id)
    remote = prepared(spark.createDataFrame(events).repartition(2), MATCHES + UNPLACED, id)
    assert remote.input_counts()[:2] == (events.num_rows - n_rejected, n_rejected)
    assert local.input_counts() == remote.input_counts()
    assert_same(table_of(local.rejected), table_of(remote.rejected))
    analyzed, expected = run_once(remote)
    assert set(expected) == {"matches", "timeouts", "trends"}
    assert all(analyzed.counts.values())
    found, tables = run_once(local)
    assert (found.counts, found.timeouts) == (analyzed.counts, analyzed.timeouts)
    counted = local.run()
    assert (counted.counts, counted.timeouts) == (analyzed.counts, analyzed.timeouts)
    for kind, table in expected.items():
        assert_same(tables[kind], table)
        assert_same(table_of(getattr(local, kind)), table)
        for seed, partitions in enumerate([None, 1, 4, 7]):
            with monkeypatch.context() as patched:
                squeeze(patched, random.Random(seed))
                planning = weft.Planning(plan="trivial")
                again = prepared(events, MATCHES + UNPLACED, id, partitions=partitions, planning=planning)
                assert_same(table_of(getattr(again, kind)), table)
    for query in ("keyed", "timed"):
        assert_same(table_of(local.matches_of(query)), table_of(remote.matches_of(query)))


@pytest.mark.parametrize("placement", ["muse", "central"])
def test_queries_at_sites(
    spark: SparkSession, placement: PlacementName, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = drawn_events(2)
    sites = weft.Sites(column="node", placement=placement)
    remote = prepared(spark.createDataFrame(events).repartition(2), MATCHES, "id", sites=sites)
    local = prepared(events, MATCHES, "id", sites=sites)
    assert local.input_counts() == remote.input_counts()
    assert_same_sites(local.site_statistics, remote.site_statistics)
    assert local.placed.cost == pytest.approx(remote.placed.cost)
    analyzed, expected = run_once(remote)
    found, tables = run_once(local)
    assert (found.counts, found.timeouts) == (analyzed.counts, analyzed.timeouts)
    for seed, partitions in enumerate([None, 7]):
        with monkeypatch.context() as patched:
            squeeze(patched, random.Random(seed))
            again = prepared(events, MATCHES, "id", partitions=partitions, sites=sites)
            for kind, table in expected.items():
                assert_same(tables[kind], table)
                assert_same(table_of(getattr(again, kind)), table)


def assert_same_sites(local: SiteStatistics, spark: SiteStatistics) -> None:
    assert local.network.sites == spark.network.sites
    assert (local.seconds, local.event_bytes) == pytest.approx((spark.seconds, spark.event_bytes))
    assert local.network.rates.keys() == spark.network.rates.keys()
    for kind, rates in local.network.rates.items():
        assert rates.tolist() == pytest.approx(spark.network.rates[kind].tolist()), kind
