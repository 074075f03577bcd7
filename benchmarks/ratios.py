"""Weft against the floor, in one run and alternating, so that the ratio means the same on any machine."""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from floor import move_rows
from measures import Measure
from one_core import read_rows, run_on_one_core
from processes import cpu_seconds
from pyspark.sql import DataFrame, SparkSession
from workloads import Workload

import weft
from weft.api.detection import Detection


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and of processor time in the JVM and in Python workers."""

    seconds: float
    jvm: float
    workers: float

    @property
    def processor(self) -> float:
        return self.jvm + self.workers


def cost_of(run: Callable[[], object]) -> Cost:
    """Run something and return what it cost."""
    jvm, workers = cpu_seconds()
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    jvm_after, workers_after = cpu_seconds()
    return Cost(seconds, jvm_after - jvm, workers_after - workers)


def prepared(events: DataFrame, workload: Workload) -> Detection:
    """Bind a workload to events."""
    return weft.prepare(events, workload.text, time="ts", type="type", id="id")


def count_matches(events: DataFrame, workload: Workload) -> Counter[str]:
    """Return how many matches Weft finds for each query."""
    counted = prepared(events, workload).matches.groupBy("query").count().collect()
    return Counter({row["query"]: row["count"] for row in counted})


def discard_matches(events: DataFrame, workload: Workload) -> None:
    """Plan anew, find all matches and throw them away."""
    prepared(events, workload).matches.write.format("noop").mode("overwrite").save()


def seconds_to_discard(events: DataFrame, workload: Workload) -> float:
    """Return how long it takes to plan, to find all matches and to throw them away."""
    return cost_of(lambda: discard_matches(events, workload)).seconds


def measure_ratio(
    spark: SparkSession,
    place: Path,
    n_events: int,
    workload: Workload,
    *,
    target: float,
    repeat: int,
    say: Callable[[str], None],
) -> list[Measure]:
    """Return the best costs of the floor and of Weft, their ratio, and what Weft built and found."""
    events = spark.read.parquet(str(place))
    if move_rows(events, workload) != n_events:
        raise RuntimeError(f"the floor of {workload.name} lost rows")
    matches = count_matches(events, workload)
    floors, runs = [], []
    for number in range(repeat):
        floors.append(cost_of(lambda: move_rows(events, workload)))
        runs.append(cost_of(lambda: discard_matches(events, workload)))
        pair = f"floor {floors[-1].seconds:.2f} s, Weft {runs[-1].seconds:.2f} s"
        say(f"{workload.name} {number + 1}/{repeat}: {pair}")
    filtered = cost_of(lambda: move_rows(events, workload, only_its_types=True))
    planning = cost_of(lambda: prepared(events, workload).matches)
    core = run_on_one_core(read_rows(place, workload), workload)
    if core.matches != matches:
        raise RuntimeError(f"Spark and one core disagree on the matches of {workload.name}")
    name = workload.name
    return [
        *_compared(name, floors, runs, target),
        Measure(name, "floor, only rows of its types", filtered.seconds, "s"),
        Measure(name, "Weft, planning alone", planning.seconds, "s"),
        Measure(name, "partial matches per event", core.n_built / n_events),
        Measure(name, "candidates examined per event", core.n_examined / n_events),
        Measure(name, "matches", sum(matches.values())),
    ]


def _best(costs: list[Cost]) -> Cost:
    return min(costs, key=lambda cost: cost.seconds)


def _compared(name: str, floors: list[Cost], runs: list[Cost], target: float) -> list[Measure]:
    """Compare the two sides; the runs of a pair follow each other, so they met the same conditions."""
    floor, ours = _best(floors), _best(runs)
    pairs = [run.seconds / one.seconds for one, run in zip(floors, runs, strict=True)]
    measures = [
        Measure(name, "floor", floor.seconds, "s"),
        Measure(name, "Weft", ours.seconds, "s"),
        Measure(name, "ratio to the floor, median of the pairs", statistics.median(pairs), "", target),
        Measure(name, "ratio of the best runs", ours.seconds / floor.seconds),
    ]
    for side, cost in (("floor", floor), ("Weft", ours)):
        measures += [
            Measure(name, f"{side}, processor time of the JVM", cost.jvm, "s"),
            Measure(name, f"{side}, processor time of Python", cost.workers, "s"),
        ]
    return [*measures, Measure(name, "ratio of processor time", ours.processor / floor.processor)]
