"""Plans by turns as users get them: `weft.prepare`, the plan, the matches, in processor time of the process.

Nothing is given but how to plan. The first round plans; later ones run the plan that was found then, through
`weft.Planning(plan=...)` as well. The clock is kept beside the processor time, which other work on the
machine disturbs less.
"""

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import pyarrow as pa
from contest import Say

import weft
from weft.language.read import read_queries
from weft.optimizer.pipeline import choose_plan
from weft.schema import Schema
from weft.statistics.model import Statistics

BASELINE = "trivial"
SLOW_SECONDS = 1.5  # of runs of one method in all, after which it has no further one
FIRST_PART = 32  # of the stream; a run on it tells how much more the baseline can have

Within = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True)
class Workload:
    """Queries as text, and events."""

    text: str
    schema: Schema
    events: pa.Table

    def prepare(self, planning: weft.Planning, n_events: int | None = None) -> weft.Detection:
        """Return the queries bound to the events, or to the first of them."""
        events = self.events if n_events is None else self.events.slice(0, n_events)
        return weft.prepare(
            events, self.text, time="ts", type="type", id="id", planning=planning, notices=False
        )

    def cost(self, plan: weft.StoredPlan, known: Statistics) -> float:
        """Return the measured cost of a plan."""
        queries = tuple(read_queries(self.text, self.schema))
        return choose_plan(queries, self.schema, weft.Planning(plan=plan, statistics=known)).cost


@dataclass(frozen=True)
class Spent:
    """Seconds of the processor, and of the clock."""

    processor: float
    clock: float


@dataclass
class Outcome:
    """How a method planned, its runs, the matches of each query, and what the plan is expected to cost."""

    planning: Spent
    plan: weft.StoredPlan
    matches: Mapping[str, int]
    runs: list[Spent] = field(default_factory=list)
    cost: float = 0.0

    @property
    def running(self) -> float:
        """Processor seconds of the fastest run: what disturbs one only ever makes it slower."""
        return min(run.processor for run in self.runs)

    @property
    def everything(self) -> float:
        return self.planning.processor + self.running


def affordable(workload: Workload, seconds: float) -> int:
    """Return how many of the events the baseline handles in so many seconds, about.

    It runs on more and more of them; what the last of them added tells what more would.
    """
    most = workload.events.num_rows
    n_events, before, taken = most // FIRST_PART, 0, 0.0
    while True:
        took = _run(workload.prepare(weft.Planning(plan=BASELINE), n_events))[0].processor
        if n_events == most or (before and took > seconds / 3):
            per_event = max(took - taken, took / 10) / (n_events - before)
            return max(before, min(most, 4 * n_events, int(n_events + (seconds - took) / per_event)))
        before, taken, n_events = n_events, took, min(most, 2 * n_events)


def race(
    workload: Workload,
    methods: Mapping[str, weft.Planning],
    rounds: int,
    say: Say,
    name: str,
    within: Within = lambda method: nullcontext(),  # noqa: ARG005 - in what a method plans and runs
) -> dict[str, Outcome]:
    """Plan with all methods and run the plans by turns; all find the same matches."""
    outcomes: dict[str, Outcome] = {}
    known = None
    for method, planning in methods.items():
        gc.collect()
        with within(method):
            started = _now()
            detection = workload.prepare(planning)
            detection.choose_plans()
            planned = _since(started)
            spent, matches = _run(detection)
        outcomes[method] = Outcome(planned, detection.plan, matches, [spent])
        known = detection.sample_statistics() if planning.plan == "auto" else known
    for _ in range(rounds - 1):
        for method, outcome in outcomes.items():
            if sum(run.processor for run in outcome.runs) < SLOW_SECONDS:
                with within(method):
                    detection = workload.prepare(weft.Planning(plan=outcome.plan))
                    detection.choose_plans()
                    outcome.runs.append(_run(detection)[0])
    check(outcomes)
    for outcome in outcomes.values():
        outcome.cost = workload.cost(outcome.plan, known or Statistics())
    shown = ", ".join(
        f"{method} {own.everything:.2f} ({own.running:.2f})" for method, own in outcomes.items()
    )
    say(f"{name}: {shown} s")
    return outcomes


def check(outcomes: Mapping[str, Outcome]) -> None:
    """Raise when two methods found different numbers of matches for a query."""
    (first, expected), *others = outcomes.items()
    for name, outcome in others:
        if outcome.matches != expected.matches:
            raise RuntimeError(f"{first} and {name} find different matches")


def _run(detection: weft.Detection) -> tuple[Spent, Mapping[str, int]]:
    """Run once, to a table of matches; no query may be stopped."""
    detection.choose_plans()
    started = _now()
    counted = detection.run(len)
    spent = _since(started)
    if counted.stopped:
        raise RuntimeError(f"queries were stopped: {counted.stopped}")
    return spent, dict(counted.counts)


def _now() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(started: tuple[float, float]) -> Spent:
    processor, clock = _now()
    return Spent(processor - started[0], clock - started[1])
