"""The executor of a plan as a shard of a stream uses it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from weft.plan.nodes import Plan, Scan
from weft.runtime.budget import Budget, Meter
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.execute import Executor, Found, Program
from weft.runtime.matches.table import Lists, Table
from weft.runtime.stages.shard_executor import Emitted, Holdings
from weft.runtime.state.segments import arrivals_of

MILLISECOND = 1_000


class MatchExecutor:
    """Runs a plan in a shard; a match with an event that came before its query is none."""

    def __init__(self, plan: Plan, budget: Budget) -> None:
        self.plan = plan
        self._executor = Executor(_program(plan), budget)
        self._since: Sequence[int] = [0] * len(plan.outputs)

    @property
    def meter(self) -> Meter:
        """What the plan did since the step began."""
        return self._executor.meter

    @property
    def known(self) -> tuple[Events, ...]:
        return self._executor.known

    @property
    def needs_every_event(self) -> bool:
        return self._executor.program.counts_positions

    @property
    def holdings(self) -> Holdings:
        holdings = Holdings()
        for node, names in self._executor.program.readers.items():
            counts = holdings.events if isinstance(node, Scan) else holdings.partial_matches
            for name in names:
                counts[name] = counts.get(name, 0) + self._executor.n_kept(node)
        return holdings

    def exchange(self, change: Callable[[Events], Events]) -> None:
        self._executor.exchange(change)

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        self._executor.meter = Meter(budget, self._executor.program.readers)
        self._since = [since[output.query] for output in self.plan.outputs]

    def repeat(self, events: Events, frontier: int) -> None:
        for _ in self._executor.run(events, frontier):
            pass

    def step(self, events: Events, frontier: int) -> Emitted:
        seen = map(_SeenInTime(self._since), self._executor.run(events, frontier))
        return Emitted(self.plan, [found for found in seen if found.table.n_rows])

    def wakes_at(self, frontier: int) -> int | None:
        """Return when something may be decided: at once, or when nothing is needed any more."""
        if self._executor.is_waiting:
            return max(1, frontier // MILLISECOND + 1)
        latest = max((int(events.times[-1]) for events in self.known if events.n_events), default=None)
        reach = self._executor.program.reach
        if latest is None or reach is None or reach.clock != "time":
            return None  # nothing is left, or events alone can end it
        return max(1, (max(latest, frontier) + reach.length) // MILLISECOND + 1)


@dataclass(frozen=True)
class _SeenInTime:
    """Drops matches with an event that came before their query did; `since` has a step per output."""

    since: Sequence[int]

    def __call__(self, found: Found) -> Found:
        since = self.since[found.output]
        if since == 0:
            return found
        is_early = arrivals_of(found.events) < since
        kept = np.flatnonzero(~has_any(found.table, is_early))
        return replace(found, table=found.table.take(kept))


def has_any(table: Table, is_marked: Array) -> Array:
    """Say of each row of a table whether it has a marked event."""
    found = np.zeros(table.n_rows, np.bool_)
    for column in table.columns:
        if isinstance(column, Lists):
            owners = np.repeat(np.arange(table.n_rows), column.lengths)
            found[owners[is_marked[column.rows]]] = True
        else:
            found |= is_marked[column]
    return found


@lru_cache(maxsize=16)
def _program(plan: Plan) -> Program:
    """Make a plan ready once per process; its shards share it."""
    return Program(plan)
