"""A hundred patterns on the stock stream: what ordering and sharing gain, in cost and on the clock."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from contest import Arena, Say, median_ratio, race
from measures import Measure
from one_core import CoreRun
from pyspark.sql import SparkSession
from result_tables import Row, report_table
from stock_statistics import stock_statistics
from stocks import MOST_MATCHES, SCHEMA, stock_events, stock_queries, stocks_parquet

import weft
from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Shape
from weft.optimizer.pipeline import Optimized
from weft.optimizer.planning import Planning, Strategy


class JoinsAlone(PartialMatches):
    """The papers' cost without the single events, which plans that share nothing keep for each pattern."""

    __slots__ = ()

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        return super().node(shape, step, window) if step.left else 0.0


N_PATTERNS, AVERAGE_SIZE, DENSITY = 100, 5, 0.3
MODELS: dict[str, CostModel] = {"the papers' cost": PartialMatches(), "the measured cost": Measured()}
PAPERS, MEASURED = MODELS
REPORTED: dict[str, CostModel] = {**MODELS, "the papers' cost, joins alone": JoinsAlone()}
BASELINES: tuple[Strategy, ...] = ("trivial", "reorder", "share")


@dataclass(frozen=True)
class Variant:
    """How the patterns are drawn; the first variant is the one with targets."""

    name: str
    window_seconds: float
    most_matches: float = MOST_MATCHES

    def arena(self, seconds: float) -> Arena:
        """Return the patterns, the events of so many seconds, and exact statistics."""
        return Arena(self.text, SCHEMA, stock_statistics(seconds), stock_events(seconds))

    @cached_property
    def text(self) -> str:
        return stock_queries(
            N_PATTERNS, AVERAGE_SIZE, self.window_seconds, density=DENSITY, most_matches=self.most_matches
        )


VARIANTS = (
    Variant("0.6 s", 0.6),
    Variant("0.1 s", 0.1),
    Variant("0.1 s, all patterns kept", 0.1, math.inf),
)


def plans_of(arena: Arena, search_seconds: float) -> dict[str, Optimized]:
    """Return the plans to compare: three baselines, and the result of the search under either cost."""
    known = arena.statistics
    plans: dict[str, Optimized] = {
        name: arena.plan(Planning(plan=name, statistics=known, cost="partial-matches")) for name in BASELINES
    }
    for name, model in MODELS.items():
        plans[f"auto, {name}"] = arena.plan(
            Planning(plan="auto", statistics=known, cost=priced(model, arena), search_seconds=search_seconds)
        )
    return plans


def priced(model: CostModel, arena: Arena) -> CostModel:
    """Return a model with the prices for the rate of the events, as Weft uses it."""
    return model.at_rate(arena.statistics.events_per_second) if isinstance(model, Measured) else model


def costs_of(arena: Arena, plans: Mapping[str, Optimized]) -> dict[str, dict[str, float]]:
    """Return what each plan costs under each model."""
    return {
        model_name: {name: arena.cost(one.stored, priced(model, arena)) for name, one in plans.items()}
        for model_name, model in REPORTED.items()
    }


def measure_weave(
    start_spark: Callable[[], SparkSession], seconds: float, search_seconds: float, repeat: int, say: Say
) -> list[Measure]:
    """Compare the plans of all variants on one core, and of the first on Spark; print one table."""
    found: list[Measure] = []
    rows: list[Row] = []
    matches: dict[str, Counter[str]] = {}
    for variant in VARIANTS:
        say(f"weave100, {variant.name}: drawing patterns, searching for {search_seconds:g} s")
        arena = variant.arena(seconds)
        plans = plans_of(arena, search_seconds)
        costs = costs_of(arena, plans)
        runs = race(arena, plans, repeat, say, f"weave100, {variant.name},")
        matches[variant.name] = runs["trivial"][0].matches
        rows += plan_rows(variant.name, costs, runs)
        found += _measures(variant, arena, costs, runs, is_target=variant is VARIANTS[0])
    report_table("weave100", rows)
    first = VARIANTS[0]
    return found + measure_on_spark(
        start_spark(), first, seconds, search_seconds, expected=matches[first.name], say=say
    )


def _measures(
    variant: Variant,
    arena: Arena,
    costs: Mapping[str, Mapping[str, float]],
    runs: Mapping[str, list[CoreRun]],
    *,
    is_target: bool,
) -> list[Measure]:
    section = f"weave100, {variant.name}"
    first = next(iter(runs.values()))[0]
    found = [
        Measure(section, "events, of all types", arena.events.num_rows),
        Measure(section, "events of the types in the patterns", arena.rows.num_rows),
        Measure(section, "matches", sum(first.matches.values())),
    ]
    for model, own in costs.items():
        auto_cost = own[f"auto, {model if model in MODELS else PAPERS}"]
        ratio = auto_cost / min(own["reorder"], own["share"])
        what = f"{model}: auto / the better of reorder and share"
        found.append(Measure(section, what, ratio, at_most=0.75 if is_target and model == PAPERS else None))
    for model in MODELS:
        auto = runs[f"auto, {model}"]
        for name in BASELINES:
            least = 20.0 if is_target and name == "trivial" else None
            what = f"run time: {name} / auto, {model}"
            found.append(Measure(section, what, median_ratio(runs[name], auto), at_least=least))
        inner = median_ratio(runs["trivial"], auto, lambda run: run.execute_seconds)
        found.append(Measure(section, f"without ingest and emit: trivial / auto, {model}", inner))
    return found


def plan_rows(
    patterns: str, costs: Mapping[str, Mapping[str, float]], runs: Mapping[str, list[CoreRun]]
) -> list[Row]:
    """Return a line for every plan; times are those of its fastest run."""
    found: list[Row] = []
    for name, own in runs.items():
        best = min(own, key=lambda run: run.seconds)
        found.append(
            {
                "patterns": patterns,
                "plan": name,
                **{model: round(of_plan[name], 1) for model, of_plan in costs.items()},
                "seconds": round(best.seconds, 2),
                "of these execute": round(best.execute_seconds, 2),
                "of these emit": round(best.emit_seconds, 2),
                "rows built": best.n_built,
                "candidates": best.n_examined,
                "trivial / this": round(median_ratio(runs["trivial"], own), 2),
            }
        )
    return found


def measure_on_spark(
    spark: SparkSession,
    variant: Variant,
    seconds: float,
    search_seconds: float,
    *,
    expected: Counter[str],
    say: Say,
) -> list[Measure]:
    """Run a workload once on Spark with each strategy, after a run that counts the matches."""
    events = spark.read.parquet(str(stocks_parquet(seconds)))
    section = "weave100, Spark"
    found, detections = [], {}
    for strategy in (*BASELINES, "auto"):  # all count before any is timed: a warm JVM for all
        start = time.perf_counter()
        detection = weft.prepare(
            events,
            variant.text,
            time="ts",
            type="type",
            id="id",
            planning=weft.Planning(
                plan=strategy, statistics=stock_statistics(seconds), search_seconds=search_seconds
            ),
        )
        detection.choose_plans()
        found.append(Measure(section, f"{strategy}, planning", time.perf_counter() - start, "s"))
        counted = detection.matches.groupBy("query").count().collect()
        if Counter({row["query"]: row["count"] for row in counted}) != expected:
            raise RuntimeError(f"{strategy} finds other matches on Spark than on one core")
        detections[strategy] = detection
    times = {}
    for strategy, detection in detections.items():
        start = time.perf_counter()
        detection.matches.write.format("noop").mode("overwrite").save()
        times[strategy] = time.perf_counter() - start
        say(f"{section}: {strategy} {times[strategy]:.2f} s")
        found.append(Measure(section, f"{strategy}, run", times[strategy], "s"))
    return found + [
        Measure(section, f"run time: {strategy} / auto", times[strategy] / times["auto"])
        for strategy in BASELINES
    ]
