"""Many queries with one shared plan on a stream, on one core, adapted as a shard of a stream adapts it.

What is remembered from step to step is the text that a journal would hold, so its cost is part of the time.
"""

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time as clock

from contest import BUDGET, Arena, Say

from weft.adaptation.adapter import StreamAdapter
from weft.adaptation.migration import MigratingExecutor
from weft.adaptation.settings import Adaptation
from weft.optimizer.pipeline import Optimized
from weft.runtime.columns import Events
from weft.runtime.segments import with_arrival
from weft.runtime.state import END_OF_TIME


@dataclass
class SharedRun:
    """What a run took, in seconds of the processor, and what it did."""

    n_events: int = 0
    seconds: float = 0.0
    adapting_seconds: float = 0.0
    switching_seconds: float = 0.0
    n_changes: int = 0
    matches: Counter[str] = field(default_factory=Counter)

    @property
    def throughput(self) -> float:
        """Events per second of the whole time."""
        return self.n_events / self.seconds


def cut(events: Events, events_per_batch: int) -> list[Events]:
    """Return sorted events in batches."""
    starts = range(0, events.n_events, events_per_batch)
    return [events.take(slice(start, start + events_per_batch)) for start in starts]


def run_shared(
    arena: Arena, optimized: Optimized, batches: Sequence[Events], adaptation: Adaptation | None
) -> SharedRun:
    """Run the queries of an arena; without an adaptation, with the plan that is given."""
    given = optimized.plan
    adapter = None
    if adaptation is not None:
        adapter = StreamAdapter(arena.queries, arena.schema, optimized.choice, arena.statistics, adaptation)
    executor = MigratingExecutor(given, BUDGET)
    since = {output.query: 0 for output in given.outputs}
    run = SharedRun(sum(batch.n_events for batch in batches))
    remembered = ""
    gc.collect()
    started = clock()
    for number, batch in enumerate(batches):
        is_last = number + 1 == len(batches)
        frontier = END_OF_TIME if is_last else int(batches[number + 1].times[0])
        executor.begin(BUDGET, since)
        run.matches.update(executor.step(with_arrival(batch, number), frontier).counts)
        if adapter is None or is_last:
            continue
        begun = clock()
        remembered = adapter.observe(remembered, executor, batch, frontier)
        plan = adapter.plan(remembered, given)
        observed = clock()
        run.adapting_seconds += observed - begun
        if plan != executor.plan:
            run.n_changes += 1
            adapter.switch(executor, plan, remembered)
            run.switching_seconds += clock() - observed
    run.seconds = clock() - started
    return run


def race_shared(
    arena: Arena,
    optimized: Optimized,
    batches: Sequence[Events],
    methods: Mapping[str, Adaptation | None],
    say: Say,
    name: str,
) -> dict[str, SharedRun]:
    """Run all methods once; they find the same matches."""
    run_shared(arena, optimized, batches[:2], Adaptation("unconditional"))
    runs = {}
    for method, adaptation in methods.items():
        runs[method] = run = run_shared(arena, optimized, batches, adaptation)
        say(f"{name}: {method} {run.throughput:,.0f} events/s, {run.n_changes} changes")
    expected = next(iter(runs.values())).matches
    for method, run in runs.items():
        if run.matches != expected:
            raise RuntimeError(f"{name}: {method} finds other matches")
    return runs
