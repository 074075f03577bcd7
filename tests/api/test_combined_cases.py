"""Many cases in one job on Spark, and in one stream: those written as text, and random ones."""

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from tests.helpers.case_files import TextCase, load_cases
from tests.helpers.combined_cases import ORDER, STRETCH, combined_random, combined_texts
from tests.helpers.engine import is_supported
from tests.helpers.frames import with_plain_times
from tests.helpers.random_policies import policy_case
from tests.helpers.strategies import Case, matching_case
from tests.helpers.stream_files import BATCH, Files, run
from tests.helpers.streams import never_settled
from tests.helpers.tally import Count, seed_blocks

import weft
from weft.optimizer.planning import Strategy
from weft.pattern.nodes import CountWindow

CASES = load_cases()
SIMPLE = [
    case for case in CASES if case.order is None and all(len(event.types) == 1 for event in case.case.events)
]
SPECIAL = [case for case in CASES if case not in SIMPLE]
SEARCH = weft.Planning(plan="share")
HOUR = 3_600_000_000


def is_stream(case: TextCase) -> bool:
    """Whether a stream takes a case; of results of trend queries, it does not remember which were kept."""
    if case.bound.window is None:
        return False
    return case.bound.policy.suppression is None if case.is_trend else not never_settled(case.case)


@pytest.mark.parametrize("is_simple", [True, False], ids=["one type each", "several types, and an order"])
def test_all_cases_in_one_job(spark: SparkSession, is_simple: bool) -> None:
    together = combined_texts(SIMPLE if is_simple else SPECIAL)
    assert len(together.cases) > (200 if is_simple else 10)
    columns = weft.Columns() if is_simple else weft.Columns(types=together.types, order_by=ORDER)
    kind = "__type" if is_simple else None
    frame = together.frame(spark).repartition(3)
    detection = weft.prepare(
        frame, together.text, time="ts", type=kind, id="__id", columns=columns, planning=SEARCH
    )
    matches = with_plain_times(detection.matches).collect()
    trends = with_plain_times(detection.trends).collect()
    found = together.found(matches, detection.return_columns)
    found |= together.trends(trends, detection.trend_names)
    assert found == together.expected


PLANS: list[tuple[int, Strategy]] = [(1, "auto"), (2, "mcep"), (7, "reorder")]


def is_combinable(case: Case) -> bool:
    """Say whether a case is the same among others, which have one order and count no events."""
    counts = any(isinstance(query.window, CountWindow) for query in case.queries)
    return not counts and case.order_by in (None, ORDER) and is_supported(case)


def is_alike_among_others(case: Case) -> bool:
    """Say whether which matches count depends on the events of the case alone, and not on their ids."""
    policies = [query.policy for query in case.queries]
    return is_combinable(case) and not any(own.strategy == "strict" or own.walks for own in policies)


@pytest.mark.parametrize("seeds", seed_blocks(50_000, 32, soak=480, block=32))
def test_random_cases_in_one_job(spark: SparkSession, seeds: range, count: Count) -> None:
    """Whatever the partitions and the plan, and with strategies."""
    cases = [
        policy_case(seed, accepts=is_alike_among_others)
        if seed % 2
        else matching_case(seed, accepts=is_combinable)
        for seed in seeds
    ]
    together = combined_random(cases)
    frame = together.frame(spark).repartition(3).cache()
    columns = weft.Columns(types=together.types, order_by=ORDER)
    for partitions, plan in PLANS:
        detection = weft.prepare(
            frame,
            together.text,
            time="ts",
            id="__id",
            partitions=partitions,
            columns=columns,
            planning=weft.Planning(plan=plan, search_seconds=0.2),
        )
        matches = with_plain_times(detection.matches).collect()
        assert together.found(matches, detection.return_columns) == together.expected, (partitions, plan)
    frame.unpersist()
    count(cases_on_spark=len(cases), matches=sum(case.n_matches for case in cases))


def test_all_cases_in_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    """The events of each case come in three micro-batches, in any order; then time passes."""
    together = combined_texts([case for case in SIMPLE if is_stream(case)])
    assert len(together.cases) > 180
    dice, files = random.Random(5), Files(tmp_path)
    later = {"__type": "Z", "letters": ";Z;"}
    ends = [
        {"ts": 2 * STRETCH * len(together.cases) + n * HOUR, "__id": -1 - n, "batch": 3, **later}
        for n in range(3)
    ]
    arrived = [{**event, "batch": dice.randrange(3)} for event in together.events] + ends
    frame = together.frame(spark, arrived, ("batch", pa.int32())).withColumnRenamed("batch", BATCH)
    files.add(frame)
    detection = weft.prepare(
        files.stream(spark).drop(BATCH),
        together.text,
        time="ts",
        type="__type",
        id="__id",
        watermark=f"{STRETCH * len(together.cases) // HOUR} hours",
        planning=SEARCH,
        streaming=weft.Streaming(checkpoint=str(tmp_path / "checkpoint")),
    )
    start = F.unix_micros("trend.window_start").alias("start_of_window")
    done = run(detection.outcomes.select("*", start), tmp_path / "checkpoint")
    assert done.total("late") == 0
    found = together.found((row for row in done.rows if row["kind"] == "match"), detection.return_columns)
    trends = [
        Row(query=row["query"], **{**row["trend"].asDict(), "window_start": row["start_of_window"]})
        for row in done.rows
        if row["kind"] == "trend"
    ]
    found |= together.trends(trends, detection.trend_names)
    assert found == together.expected
