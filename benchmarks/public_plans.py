"""What strategies gain a user: `weft.prepare(...).matches` with its own statistics, with and without Spark.

Everything counts: the look at the events, the search, the run, and the matches as they are handed over. The
patterns are those of `weave100` and `traffic`; nothing is given but the strategy.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from contest import Say
from measures import Measure
from pyspark.sql import SparkSession
from stocks import stocks_parquet
from traffic import traffic_events, traffic_queries, why_not
from weave100 import BASELINES, VARIANTS

import weft
from weft.optimizer.planning import Strategy

STRATEGIES: tuple[Strategy, ...] = (*BASELINES, "auto")
N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES = 100, 5, 60  # on traffic
GAINS = {"stocks": {"reorder": 1.5, "trivial": 10.0}, "traffic": {"reorder": 1.5, "trivial": 3.0}}

Detect = Callable[[Strategy], weft.Detection]
Deliver = Callable[[weft.Detection], int | None]


@dataclass(frozen=True)
class Run:
    """The seconds of a run, those of them that choosing the plan takes, and the matches where counted."""

    seconds: float
    planning: float
    n_matches: int | None


def measure_public_plans(
    start_spark: Callable[[], SparkSession], seconds: float, days: float, repeat: int, say: Say
) -> list[Measure]:
    """Compare the strategies on stocks and on real traffic, in this process and on Spark."""
    with tempfile.TemporaryDirectory(prefix="weft-traffic-") as directory:
        workloads = {"stocks": (stocks_parquet(seconds), VARIANTS[0].text)}
        reason = why_not()
        if reason is None:
            workloads["traffic"] = _traffic(Path(directory), days)
        found = [] if reason is None else [Measure("public-plans, traffic", "the observations", reason)]
        for name, (place, text) in workloads.items():
            local = partial(_prepared, str(place), text)
            runs = _race(local, lambda own: len(own.matches), repeat, say, f"{name}, local")
            if len({own.n_matches for of_one in runs.values() for own in of_one}) != 1:
                raise RuntimeError(f"strategies find different matches of {name}")
            found += _measures(name, "local", runs, local("auto"))
        spark = start_spark()
        for name, (place, text) in workloads.items():
            on_spark = partial(_prepared, spark.read.parquet(str(place)), text)
            found += _measures(name, "Spark", _race(on_spark, _discard, repeat, say, f"{name}, Spark"))
    return found


def _traffic(directory: Path, days: float) -> tuple[Path, str]:
    events: pa.Table = traffic_events(days=days)
    pq.write_table(events, directory / "traffic.parquet")
    return directory, traffic_queries(N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES, events=events)


def _prepared(events: object, text: str, strategy: Strategy) -> weft.Detection:
    planning = weft.Planning(plan=strategy)
    return weft.prepare(
        events,  # type: ignore[arg-type]
        text,
        time="ts",
        type="type",
        id="id",
        planning=planning,
        notices=False,
    )


def _discard(detection: weft.Detection) -> None:
    detection.matches.write.format("noop").mode("overwrite").save()


def _race(detect: Detect, deliver: Deliver, repeat: int, say: Say, name: str) -> dict[Strategy, list[Run]]:
    """Run all strategies by turns, after a round that warms up."""
    runs: dict[Strategy, list[Run]] = {strategy: [] for strategy in STRATEGIES}
    for number in range(repeat + 1):
        for strategy in STRATEGIES:
            own = _timed(detect, deliver, strategy)
            if number:
                runs[strategy].append(own)
        if number:
            times = ", ".join(f"{strategy} {own[-1].seconds:.2f}" for strategy, own in runs.items())
            say(f"public-plans, {name} {number}/{repeat}: {times} s")
    return runs


def _timed(detect: Detect, deliver: Deliver, strategy: Strategy) -> Run:
    started = time.perf_counter()
    detection = detect(strategy)
    detection.choose_plans()
    planned = time.perf_counter()
    n_matches = deliver(detection)
    return Run(time.perf_counter() - started, planned - started, n_matches)


def _measures(
    name: str, host: str, runs: Mapping[Strategy, Sequence[Run]], detection: weft.Detection | None = None
) -> list[Measure]:
    section = f"public-plans, {name}, {host}"
    found = []
    for strategy, own in runs.items():
        best = min(own, key=lambda run: run.seconds)
        found.append(Measure(section, f"{strategy}, in all", best.seconds, "s"))
        found.append(Measure(section, f"{strategy}, planning of that", best.planning, "s"))
    for strategy in BASELINES:
        pairs = zip(runs[strategy], runs["auto"], strict=True)
        ratio = median(one.seconds / auto.seconds for one, auto in pairs)
        least = GAINS[name].get(strategy)
        found.append(Measure(section, f"{strategy} / auto, in all", ratio, "times", at_least=least))
        pairs = zip(runs[strategy], runs["auto"], strict=True)
        ratio = median((one.seconds - one.planning) / (auto.seconds - auto.planning) for one, auto in pairs)
        found.append(Measure(section, f"{strategy} / auto, without planning", ratio, "times"))
    search = None if detection is None else detection.search
    if search is not None:
        found.append(Measure(section, "steps of the search", search.steps))
        found.append(Measure(section, "seconds of the search", search.seconds, "s"))
    return found
