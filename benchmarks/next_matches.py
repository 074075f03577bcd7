"""Queries that want the next event, and one match at a time: how time grows, and what the clauses cost."""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from floor import move_rows
from generate import events_parquet
from logins import letter_events, login_events
from measures import Measure
from next_queries import NEXT, ONE_BY_ONE, as_chains, letters_workload, login_workload, with_clauses
from one_core import plan_for, run_on_one_core
from pyspark.sql import SparkSession
from ratios import cost_of, count_matches, seconds_to_discard
from result_tables import Row, report_table
from workloads import Workload, queries20, queries100

STEPS = 4  # sizes, each ten times the one before; the largest is a fifth of the events of a run
STEEPEST = 1.15
MOST_SECONDS = 60.0  # of a run by the engine; sizes that would take longer are left out
OVER_CHAINS, OVER_FLOOR = 1.2, 1.3

Say = Callable[[str], None]
Shape = tuple[str, Workload, Callable[[int], pa.Table]]

SHAPES: tuple[Shape, ...] = (
    ("failures, one login", login_workload("1 day"), login_events),
    ("20 failures, a login", login_workload("1 day"), lambda n: login_events(n, failures=20)),
    ("A, B, C", letters_workload(), letter_events),
)


def measure_next(session: Callable[[], SparkSession], n_events: int, repeat: int, say: Say) -> list[Measure]:
    """Return how time grows with the events of one window, and ratios to chains of NOT and to the floor."""
    found = window_growth(session(), n_events, repeat, say)
    for workload in (queries20(), queries100()):
        found += clause_costs(session(), n_events, workload, repeat, say)
    return found


def growth_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the power of the size that times grow with, by least squares on logarithms.

    >>> round(growth_exponent([10, 100, 1000], [0.2, 2, 20]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def takes_too_long(sizes: Sequence[int], seconds: Sequence[float], size: int) -> bool:
    """Say whether a run on more events would take longer than there is time, as times have grown of late.

    >>> takes_too_long([100, 1000], [0.03, 3], 10_000), takes_too_long([100, 1000], [0.3, 3], 10_000)
    (True, False)
    """
    if len(seconds) < 2:
        return False
    power = max(1.0, growth_exponent(sizes[-2:], seconds[-2:]))
    return seconds[-1] * (size / sizes[-1]) ** power > MOST_SECONDS


def window_growth(spark: SparkSession, n_events: int, repeat: int, say: Say) -> list[Measure]:
    """Return how time grows for each shape, over all sizes and at the end, where fixed costs matter least."""
    rows: list[Row] = []
    found: list[Measure] = []
    for name, workload, events in SHAPES:
        done: list[int] = []
        engine: list[float] = []
        for size in _sizes(n_events):
            if takes_too_long(done, engine, size):
                break
            own = _times(spark, workload, events(size), repeat)
            done.append(size)
            engine.append(own["engine, seconds"])
            rows.append({"events": name, "number": size, **own})
            say(f"next: {rows[-1]}")
        grows, at_end = growth_exponent(done, engine), growth_exponent(done[-2:], engine[-2:])
        found += [
            Measure("next", f"{name}: largest number of events", done[-1], at_least=size),
            Measure("next", f"{name}: growth of the engine's time", grows, "", STEEPEST),
            Measure("next", f"{name}: growth between the two largest", at_end),
        ]
    report_table("next-growth", rows)
    return found


def _sizes(n_events: int) -> list[int]:
    return [max(10, n_events // 5000) * 10**step for step in range(STEPS)]


def _times(spark: SparkSession, workload: Workload, rows: pa.Table, repeat: int) -> dict[str, float]:
    """Return the best times for rows, by the engine alone and from Parquet through Spark."""
    plan = plan_for(rows, workload)
    runs = [run_on_one_core(rows, workload, plan) for _ in range(1 + repeat)]
    with tempfile.TemporaryDirectory(prefix="weft-next-") as place:
        path = Path(place) / "events.parquet"
        pq.write_table(rows, path)
        events = spark.read.parquet(str(path))
        matches = count_matches(events, workload)
        seconds = min(seconds_to_discard(events, workload) for _ in range(repeat))
    if any(run.matches != matches for run in runs):
        raise RuntimeError(f"Spark and one core disagree on the matches of {workload.name}")
    return {
        "matches": matches.total(),
        "engine, seconds": min(run.seconds for run in runs),
        "Spark, seconds": seconds,
    }


def clause_costs(
    spark: SparkSession, n_events: int, workload: Workload, repeat: int, say: Say
) -> list[Measure]:
    """Compare a workload with the same one in chains, and with the floor; the three run by turns."""
    events = spark.read.parquet(str(events_parquet(n_events)))
    chains, ours = as_chains(workload), with_clauses(workload, ONE_BY_ONE)
    if count_matches(events, with_clauses(workload, NEXT)) != count_matches(events, chains):
        raise RuntimeError(f"NEXT and chains disagree on the matches of {workload.name}")
    kept = count_matches(events, ours)
    move_rows(events, workload)
    rounds = []
    for number in range(repeat):
        floor = cost_of(lambda: move_rows(events, workload)).seconds
        rounds.append((floor, seconds_to_discard(events, chains), seconds_to_discard(events, ours)))
        say(
            "next, {} {}/{}: floor {:.2f} s, chains {:.2f} s, NEXT {:.2f} s".format(
                workload.name, number + 1, repeat, *rounds[-1]
            )
        )
    floor, chained, seconds = (min(times) for times in zip(*rounds, strict=True))
    over_chains = statistics.median(own / other for _, other, own in rounds)
    over_floor = statistics.median(own / other for other, _, own in rounds)
    name = workload.name
    return [
        Measure("next", f"{name}: floor", floor, "s"),
        Measure("next", f"{name}: as chains of NOT", chained, "s"),
        Measure("next", f"{name}: NEXT, SKIP PAST LAST", seconds, "s"),
        Measure("next", f"{name}: ratio to chains, median of the rounds", over_chains, "", OVER_CHAINS),
        Measure("next", f"{name}: ratio to the floor, median of the rounds", over_floor, "", OVER_FLOOR),
        Measure("next", f"{name}: matches", kept.total()),
    ]
