"""Plans of different strategies for one workload, on the same events, one after the other."""

import gc
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from one_core import CoreRun, layout_of, run_plan

from weft.cost.model import CostModel
from weft.expressions import Attribute
from weft.language.read import read_queries
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.pipeline import Optimized, choose_plan, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.stored_plan import StoredPlan
from weft.optimizer.trees import order_tree
from weft.pattern.nodes import Event, Query
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.execute import BATCH_EVENTS
from weft.schema import Schema
from weft.statistics.model import Statistics
from weft.tree import find

BUDGET = Budget(partial_matches=50_000_000, held=50_000_000)
ROWS_PER_BATCH = 30_000_000  # that all nodes of a plan may be expected to build: some 2 GB
SHORTEST_BATCH = 1_000  # events
WARM_EVENTS = 20_000
SLOW_SECONDS = 2.0  # a run this long is measured once a round, shorter ones five times

Say = Callable[[str], None]


@dataclass(frozen=True)
class Arena:
    """Queries, what is known of the events, and the events."""

    text: str
    schema: Schema
    statistics: Statistics
    events: pa.Table

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        return tuple(read_queries(self.text, self.schema))

    @cached_property
    def types(self) -> tuple[str, ...]:
        return tuple(sorted({event.type for query in self.queries for event in find(query, Event)}))

    @cached_property
    def layout(self) -> Layout:
        names = {attribute.name for query in self.queries for attribute in find(query, Attribute)}
        return layout_of(self.schema, sorted(names), self.types)

    @cached_property
    def rows(self) -> pa.Table:
        """The events that Spark would hand to Python: those of types that a query names."""
        return self.events.filter(pc.is_in(self.events["type"], pa.array(self.types)))

    def plan(self, settings: Planning) -> Optimized:
        """Return the plan that the settings ask for, with the statistics of this arena."""
        return choose_plan(self.queries, self.schema, settings)

    def cost(self, choice: StoredPlan, model: CostModel) -> float:
        """Return what a plan costs under a model."""
        weave = weave_for(self.schema, Planning(statistics=self.statistics, cost=model))
        for query in self.queries:
            weave.add(query, lambda pattern: order_tree(pattern_order(pattern.shape)))
        weave.adopt(choice)
        return weave.cost if choice.is_shared else weave.cost_unshared

    def run(
        self, optimized: Optimized, n_rows: int | None = None, *, batch_events: int | None = None
    ) -> CoreRun:
        """Run a plan on the first rows, or on all."""
        rows = self.rows if n_rows is None else self.rows.slice(0, n_rows)
        batch = batch_events or events_per_batch(optimized, self.rows.num_rows / self.seconds)
        return run_plan(optimized.plan, rows, self.layout, budget=BUDGET, batch_events=batch)

    @cached_property
    def seconds(self) -> float:
        """How long the events last."""
        ends = pc.min_max(self.events["ts"].cast(pa.int64())).as_py()
        return float(ends["max"] - ends["min"]) / 1e6


def events_per_batch(optimized: Optimized, events_per_second: float) -> int:
    """Return how many events a batch may have.

    All rows that a batch adds are in memory together. The executor bounds those of each node and redoes
    what was too large; here the batches are small enough to begin with, so no plan does anything twice.
    """
    rows_per_event = sum(optimized.expected.values()) / events_per_second
    return int(min(BATCH_EVENTS, max(SHORTEST_BATCH, ROWS_PER_BATCH / max(rows_per_event, 1e-9))))


def race(
    arena: Arena,
    plans: Mapping[str, Optimized],
    repeat: int,
    say: Say,
    name: str = "",
    *,
    runs_singly: bool = False,
) -> dict[str, list[CoreRun]]:
    """Run all plans in turn, several rounds after one that warms the kernels; all find the same matches.

    In a round, a quick plan runs five times and the median counts, unless each plan runs singly.

    What the planner left in memory is kept from the garbage collector, which a worker of Spark would not
    have to look through either.
    """
    for optimized in plans.values():
        arena.run(optimized, WARM_EVENTS)
    gc.collect()
    gc.freeze()
    runs: dict[str, list[CoreRun]] = {plan_name: [] for plan_name in plans}
    for number in range(repeat):
        for plan_name, optimized in plans.items():
            run = arena.run(optimized) if runs_singly else _typical_run(arena, optimized)
            runs[plan_name].append(run)
        last = {plan_name: own[-1] for plan_name, own in runs.items()}
        check_matches(last)
        seconds = ", ".join(f"{plan_name} {run.seconds:.2f} s" for plan_name, run in last.items())
        say(f"{name} {number + 1}/{repeat}: {seconds}")
    gc.unfreeze()
    return runs


def _typical_run(arena: Arena, optimized: Optimized) -> CoreRun:
    """Return the median of five runs, or the only one of a plan that is slow enough to average the noise."""
    first = arena.run(optimized)
    if first.seconds >= SLOW_SECONDS:
        return first
    return sorted([first, *(arena.run(optimized) for _ in range(4))], key=lambda run: run.seconds)[2]


def fastest_ratio(
    over: Iterable[CoreRun],
    under: Iterable[CoreRun],
    seconds_of: Callable[[CoreRun], float] = lambda run: run.seconds,
) -> float:
    """Return the ratio of the fastest runs of two plans: what disturbs a run only ever makes it slower."""
    return min(map(seconds_of, over)) / min(map(seconds_of, under))


def check_matches(runs: Mapping[str, CoreRun]) -> None:
    """Raise when two plans found different numbers of matches for a query."""
    (first, expected), *others = runs.items()
    for name, run in others:
        if run.matches != expected.matches:
            differing = sorted((run.matches - expected.matches) + (expected.matches - run.matches))
            raise RuntimeError(f"{first} and {name} disagree on the matches of {', '.join(differing[:5])}")


def median_ratio(
    over: Sequence[CoreRun],
    under: Sequence[CoreRun],
    seconds_of: Callable[[CoreRun], float] = lambda run: run.seconds,
) -> float:
    """Return the median over rounds of the ratio of two plans, whose runs met the same conditions."""
    pairs: Iterable[tuple[CoreRun, CoreRun]] = zip(over, under, strict=True)
    return statistics.median(seconds_of(one) / seconds_of(other) for one, other in pairs)
