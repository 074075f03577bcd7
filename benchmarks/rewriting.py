"""A hundred queries with MOTTO's seven types of sharing: what the strategies gain over no sharing.

The experiment of figure 13 in section VII-B of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex
Event Processing in SAP ESP. ICDE 2017, on one core: the throughput of the plans of all strategies, normalized
to that of the trivial plan, as the share of basic queries grows.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contest import Arena, Say, fastest_ratio, race
from measures import Measure
from one_core import CoreRun
from plots import Panel, plot_panels
from result_tables import Row, report_table
from rewriting_streams import SCENARIOS, SCHEMA, STOCKS, Scenario, scenario_events, scenario_statistics
from rewriting_workloads import SharingQuery, mixed_workload, workload_text

from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.optimizer.pipeline import Optimized
from weft.optimizer.planning import Planning, Strategy
from weft.plan.nodes import Plan

METHODS: tuple[Strategy, ...] = ("trivial", "mst", "lcse", "motto", "mcep", "auto")
BASELINE, UNION = "trivial", "auto"
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
LOW_RATIOS = (0.0, 0.25)  # where most queries share what only some strategies see
MOST_BEHIND, LEAST_AHEAD = 1.02, 1.001
BASELINE_ROUNDS, ROUNDS = 4, 40  # for each that is asked for: with the baseline, and without it


@dataclass(frozen=True)
class Point:
    """One workload: the plan of each strategy, the seconds that planning took, and the runs."""

    n_queries: int
    plans: Mapping[str, Optimized]
    planning: Mapping[str, float]
    runs: Mapping[str, Sequence[CoreRun]]

    def throughput(self, method: str) -> float:
        """The throughput of a plan over that of the trivial one."""
        return fastest_ratio(self.runs[BASELINE], self.runs[method])

    def executing(self, method: str) -> float:
        """The same without ingest and emit, which are alike for all plans."""
        return fastest_ratio(self.runs[BASELINE], self.runs[method], lambda run: run.execute_seconds)

    @property
    def best_other(self) -> float:
        """The throughput of the best of the other strategies over that of the union."""
        others = [method for method in self.plans if method != UNION]
        return max(fastest_ratio(self.runs[UNION], self.runs[method]) for method in others)

    @property
    def n_matches(self) -> int:
        return sum(self.runs[BASELINE][0].matches.values())


def events_of(scenario: Scenario, n_trades: int) -> int:
    """Return the events of a scenario: as many times more than there are trades as in the paper.

    >>> [events_of(one, 200_000) for one in SCENARIOS]
    [200000, 400000]
    """
    return n_trades * scenario.events_in_paper // STOCKS.events_in_paper


def arena_of(scenario: Scenario, queries: tuple[SharingQuery, ...], n_trades: int) -> Arena:
    """Return the queries with the events and the exact rates of their scenario."""
    n_events = events_of(scenario, n_trades)
    known = scenario_statistics(scenario, n_events)
    return Arena(workload_text(queries), SCHEMA, known, scenario_events(scenario, n_events))


def measured_cost(arena: Arena) -> CostModel:
    """Return the measured cost with the prices for the rate of the events."""
    return Measured().at_rate(arena.statistics.events_per_second)


def plan_with(arena: Arena, method: Strategy, search_seconds: float) -> tuple[Optimized, float]:
    """Return the plan of a strategy under the measured cost, and how long planning took."""
    start = time.perf_counter()
    plan = arena.plan(
        Planning(
            plan=method, statistics=arena.statistics, cost=measured_cost(arena), search_seconds=search_seconds
        )
    )
    return plan, time.perf_counter() - start


def measure_point(arena: Arena, methods: Mapping[Strategy, float], repeat: int, say: Say, name: str) -> Point:
    """Plan a workload with strategies and run the plans in turn; all find the same matches.

    Each strategy comes with the seconds that its search may take. Strategies that find the same plan share
    its runs, so that they do not differ by noise.
    """
    planned = {method: plan_with(arena, method, limit) for method, limit in methods.items()}
    plans = {method: plan for method, (plan, _) in planned.items()}
    seconds = {method: own for method, (_, own) in planned.items()}
    firsts: dict[Plan, str] = {}
    for method, one in plans.items():
        firsts.setdefault(one.plan, method)
    distinct = {method: plans[method] for method in firsts.values()}
    raced = race(arena, distinct, BASELINE_ROUNDS * repeat, say, name, runs_singly=True)
    others = {method: one for method, one in distinct.items() if method != BASELINE}
    for method, runs in race(arena, others, ROUNDS * repeat, _silent, name, runs_singly=True).items():
        raced[method] += runs
    runs = {method: raced[firsts[one.plan]] for method, one in plans.items()}
    return Point(len(arena.queries), plans, seconds, runs)


def _silent(text: str) -> None:
    """Say nothing."""


def point_rows(place: Mapping[str, str | float], point: Point) -> list[Row]:
    """Return a line for every strategy; times are those of the fastest runs."""
    return [
        {
            **place,
            "strategy": method,
            "planning seconds": round(point.planning[method], 2),
            "measured cost": round(plan.cost, 1),
            "seconds": round(min(run.seconds for run in point.runs[method]), 3),
            "of these execute": round(min(run.execute_seconds for run in point.runs[method]), 3),
            "rows built": point.runs[method][0].n_built,
            "matches": point.n_matches,
            "normalized throughput": round(point.throughput(method), 2),
            "executing alone": round(point.executing(method), 2),
            "cost of trivial / this": round(point.plans[BASELINE].cost / plan.cost, 2),
        }
        for method, plan in point.plans.items()
    ]


def measure_rewriting(n_trades: int, search_seconds: float, repeat: int, say: Say) -> list[Measure]:
    """Compare the strategies on both streams; print one table and draw figure 13."""
    rows: list[Row] = []
    found: list[Measure] = []
    panels = []
    for scenario in SCENARIOS:
        points = {}
        for ratio in RATIOS:
            arena = arena_of(scenario, mixed_workload(scenario, ratio), n_trades)
            name = f"rewriting, {scenario.name}, {ratio:.0%},"
            methods = dict.fromkeys(METHODS, search_seconds)
            points[ratio] = measure_point(arena, methods, repeat, say, name)
            rows += point_rows({"stream": scenario.name, "basic": f"{ratio:.0%}"}, points[ratio])
            found += _measures(scenario, ratio, arena, points[ratio])
        panels.append(
            Panel(
                scenario.name,
                "basic queries",
                "normalized throughput",
                tuple(f"{ratio:.0%}" for ratio in RATIOS),
                {method: [point.throughput(method) for point in points.values()] for method in METHODS},
            )
        )
    report_table("rewriting", rows)
    say(plot_panels("rewriting", panels))
    return found


def _measures(scenario: Scenario, ratio: float, arena: Arena, point: Point) -> list[Measure]:
    section = f"rewriting, {scenario.name}"
    found = [
        Measure(section, f"{ratio:.0%} basic: matches per event", point.n_matches / arena.events.num_rows),
        Measure(section, f"{ratio:.0%} basic: union / trivial", point.throughput(UNION)),
        Measure(
            section, f"{ratio:.0%} basic: best of the others / union", point.best_other, at_most=MOST_BEHIND
        ),
    ]
    if ratio in LOW_RATIOS:
        what = f"{ratio:.0%} basic: union / best of the others"
        found.append(Measure(section, what, 1 / point.best_other, at_least=LEAST_AHEAD))
    return found
