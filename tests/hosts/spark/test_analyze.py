"""What the nodes of a plan did, gathered from the shards of one run."""

from typing import TypeVar

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.frames import events_frame

import weft
from weft.api.detection import Detection
from weft.plan.dag import topological_order
from weft.plan.nodes import Filter, Join, Plan, Scan

Kind = TypeVar("Kind", Scan, Filter, Join)

KEYED = """
QUERY rising PATTERN SEQ(A a, B b) WHERE [k] AND a.n < b.n WITHIN 10 seconds RETURN b.n - a.n AS by
QUERY large PATTERN SEQ(A a, B b, C c) WHERE [k] AND c.n > 30 WITHIN 10 seconds
"""


def nodes_of(plan: Plan, kind: type[Kind]) -> list[Kind]:
    return [node for node in topological_order(plan) if isinstance(node, kind)]


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    rows: list[tuple[object, ...]] = [(second, "ABC"[second % 3], second % 2, second) for second in range(40)]
    return events_frame(spark, rows, "at int, kind string, k long, n long")


def detection_of(frame: DataFrame, text: str, partitions: int | None = None) -> Detection:
    return weft.prepare(frame, text, time="ts", type="kind", id="n", partitions=partitions)


@pytest.mark.parametrize("partitions", [1, 3, None])
def test_the_rows_of_all_shards_add_up(frame: DataFrame, partitions: int | None) -> None:
    detection = detection_of(frame, KEYED, partitions)
    analysis = detection.analyze()
    counted = {row["query"]: row["count"] for row in detection.matches.groupBy("query").count().collect()}
    assert analysis.matches == counted
    (analyzed,) = analysis.plans
    outputs = {output.query: output.branches[0].node for output in analyzed.plan.outputs}
    assert {name: analyzed.metrics[node].rows for name, node in outputs.items()} == counted
    n_events = {node.type: analyzed.metrics[node].rows for node in nodes_of(analyzed.plan, Scan)}
    assert n_events == {"A": 14, "B": 13, "C": 13}  # before the filter of C is pushed into the source
    assert [analyzed.metrics[node].rows for node in nodes_of(analyzed.plan, Filter)] == [3]
    assert all(analyzed.metrics[node].candidates > 0 for node in nodes_of(analyzed.plan, Join))
    assert all(metrics.nanoseconds > 0 for metrics in analyzed.metrics.values())
    assert 1 <= len(analyzed.shard_nanoseconds) <= min(2, partitions or 2)
    assert sum(analyzed.shard_nanoseconds.values()) == sum(
        metrics.nanoseconds for metrics in analyzed.metrics.values()
    )


def test_the_matches_of_the_same_run_can_be_written(frame: DataFrame) -> None:
    detection = detection_of(frame, KEYED)
    written: list[DataFrame] = []
    ids: list[str] = []

    def write(matches: DataFrame) -> None:
        written.append(matches)
        ids.extend(row["match_id"] for row in matches.collect())

    analysis = detection.analyze(write)
    assert written[0].schema == detection.matches.schema
    assert sorted(ids) == sorted(row["match_id"] for row in detection.matches.collect())
    assert sum(analysis.matches.values()) == len(ids)


def test_queries_on_different_divisions_are_shown_plan_by_plan(frame: DataFrame) -> None:
    text = KEYED + "QUERY counted PATTERN SEQ(A a, C c) WITHIN 3 EVENTS"
    analysis = detection_of(frame, text, 4).analyze()
    assert len(analysis.plans) == 2
    shown = str(analysis)
    assert shown.count("Shared plan: ") == shown.count("Dearest nodes: ") == 2
    assert "in the slowest of 1 shard\n" in shown
    assert "candidates" in shown


def test_nothing_is_done_where_there_are_no_events(frame: DataFrame) -> None:
    analysis = detection_of(frame.where("false"), KEYED).analyze()
    assert analysis.matches == {}
    assert "0.0 ms in the nodes, 0.0 ms in the slowest of 0 shards" in str(analysis)
