"""Many queries with one shared plan on a stream, on one core, adapted as a shard of a stream adapts it.

What is remembered from step to step is the text that a journal would hold, so its cost is part of the time.
"""

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from time import thread_time as clock

from contest import BUDGET, Arena, Say
from estimates import estimated_statistics

from weft.adaptation.adapter import StreamAdapter
from weft.adaptation.deferred import DeferredAdapter
from weft.adaptation.migration import MigratingExecutor
from weft.adaptation.settings import Adaptation
from weft.cost.measured import Measured
from weft.optimizer.pipeline import Optimized
from weft.optimizer.planning import Planning
from weft.runtime.columns.events import Events
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.stages.shard import count_by_query
from weft.runtime.stages.shard_executor import Adapter, Arrivals
from weft.runtime.state.segments import with_arrival

EVENTS_PER_BATCH = 5_000
HINDSIGHT = "static, with hindsight"


@dataclass
class SharedRun:
    """What a run took, in seconds of the processor, and what it did."""

    n_events: int = 0
    seconds: float = 0.0
    adapting_seconds: float = 0.0
    switching_seconds: float = 0.0
    n_changes: int = 0
    n_kept: int = 0  # alarms after which the plan stays
    found: list[Counter[str]] = field(default_factory=list)  # the matches of each step

    @property
    def matches(self) -> Counter[str]:
        """All matches, by query."""
        return sum(self.found, Counter())

    @property
    def throughput(self) -> float:
        """Events per second of the whole time."""
        return self.n_events / self.seconds

    def row(self, method: str, static: "SharedRun") -> dict[str, str | float]:
        """Return a line of a table."""
        return {
            "method": method,
            "events": self.n_events,
            "events/s": round(self.throughput),
            "gain over static": round(self.throughput / static.throughput, 3),
            "changes": self.n_changes,
            "adapting %": round(100 * self.adapting_seconds / self.seconds, 2),
            "switching %": round(100 * self.switching_seconds / self.seconds, 2),
            "matches": sum(self.matches.values()),
        }


def cut(events: Events, events_per_batch: int) -> list[Events]:
    """Return sorted events in batches."""
    starts = range(0, events.n_events, events_per_batch)
    return [events.take(slice(start, start + events_per_batch)) for start in starts]


def run_shared(
    arena: Arena,
    optimized: Optimized,
    batches: Sequence[Events],
    adaptation: Adaptation | None,
    most_seconds: float = inf,
    *,
    waits: bool = False,
) -> SharedRun:
    """Run the queries of an arena; without an adaptation, with the plan that is given.

    A run that takes longer than `most_seconds` is stopped after the batch in which it does. An adapter that
    `waits` has its first look when a stream of Spark has it, and not before.
    """
    given = optimized.plan
    adapter = None if adaptation is None else _adapter(arena, optimized, adaptation, waits=waits)
    executor = MigratingExecutor(given, BUDGET)
    since = {output.query: 0 for output in given.outputs}
    run = SharedRun()
    state = None
    gc.collect()
    started = clock()
    for number, batch in enumerate(batches):
        is_last = number + 1 == len(batches)
        frontier = END_OF_TIME if is_last else int(batches[number + 1].times[0])
        executor.begin(BUDGET, since)
        found = executor.step(Arrivals(with_arrival(batch, number)), frontier)
        run.found.append(Counter(count_by_query(list(found))))
        run.n_events += batch.n_events
        if clock() - started > most_seconds:
            break
        if adapter is None or is_last:
            continue
        begun = clock()
        observation = adapter.observe(state, executor, batch, frontier)
        state = observation.state
        run.n_kept += sum(change.kept is not None for change in observation.changes)
        plan = adapter.plan(state, given)
        observed = clock()
        run.adapting_seconds += observed - begun
        if plan != executor.plan:
            run.n_changes += 1
            adapter.switch(executor, plan, state)
            run.switching_seconds += clock() - observed
    run.seconds = clock() - started
    return run


def _adapter(arena: Arena, optimized: Optimized, adaptation: Adaptation, *, waits: bool) -> Adapter:
    def make() -> StreamAdapter:
        return StreamAdapter(arena.queries, arena.schema, optimized.stored, arena.statistics, adaptation)

    return DeferredAdapter(adaptation, optimized.cost, make) if waits else make()


def race_shared(
    arena: Arena,
    optimized: Optimized,
    events: Events,
    methods: Mapping[str, Adaptation | None],
    search_seconds: float,
    say: Say,
    name: str,
    most_seconds: float = inf,
) -> dict[str, SharedRun]:
    """Run all methods once, with the plan of an arena in the beginning; they find the same matches.

    Last comes the plan that one would choose, had one known the statistics of all the events. A run that
    takes too long is stopped: its throughput is that of the events until then.
    """
    batches = cut(events, EVENTS_PER_BATCH)
    run_shared(arena, optimized, batches[:2], Adaptation("unconditional"))
    hindsight = replace(arena, statistics=estimated_statistics(arena.queries, events))
    model = Measured().at_rate(hindsight.statistics.events_per_second)
    known = hindsight.plan(
        Planning(plan="auto", statistics=hindsight.statistics, cost=model, search_seconds=search_seconds)
    )
    contestants = {**{name: (optimized, one) for name, one in methods.items()}, HINDSIGHT: (known, None)}
    runs = {}
    for method, (plan, adaptation) in contestants.items():
        runs[method] = run = run_shared(arena, plan, batches, adaptation, most_seconds)
        say(
            f"{name}: {method} {run.throughput:,.0f} events/s, {run.n_changes} changes, "
            f"{run.n_events:,} events in {run.seconds:.1f} s"
        )
    check_found(name, runs)
    return runs


def check_found(name: str, runs: Mapping[str, SharedRun]) -> None:
    """Raise an error unless runs find the same matches, as far as all of them came."""
    n_steps = min(len(run.found) for run in runs.values())
    first, *others = ((method, sum(run.found[:n_steps], Counter())) for method, run in runs.items())
    for method, found in others:
        if found != first[1]:
            raise RuntimeError(f"{name}: {method} finds other matches than {first[0]}")
