"""The executor of a plan as a shard of a stream uses it."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from weft.errors import BudgetError
from weft.plan.dag import topological_order
from weft.plan.nodes import Filter, Plan, Scan
from weft.runtime.budget import Budget, Meter, Stopped
from weft.runtime.columns.events import Array
from weft.runtime.matches.execute import Executor, Found
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import NodeState
from weft.runtime.matches.table import Table, as_lists, events_table, offsets_of
from weft.runtime.stages.shard_executor import Activity, Arrivals, Holdings
from weft.runtime.state.journal import wake_after
from weft.runtime.state.segments import arrivals_of


class MatchExecutor(Executor):
    """Runs a plan in a shard; a match with an event that came before its query is none.

    The meter has what the plan did since the step began.
    """

    stopped: Stopped | None = None

    def __init__(self, plan: Plan, budget: Budget) -> None:
        super().__init__(_program(plan), budget)
        self.plan = plan
        self._since: Mapping[str, int] = {}

    @property
    def activity(self) -> Activity:
        return Activity(nodes=tuple(map(self.meter.metrics_of, _program(self.plan).order)))

    @property
    def needs_every_event(self) -> bool:
        return self.program.counts_positions

    @property
    def holdings(self) -> Holdings:
        holdings = Holdings()
        for node, names in self.program.readers.items():
            counts = holdings.events if isinstance(node, Scan) else holdings.partial_matches
            n_kept = self._states[node].held.n_rows + self._states[node].pending.n_rows
            for name in names:
                counts[name] = counts.get(name, 0) + n_kept
        return holdings

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        self.meter = Meter(budget, self.program.readers)
        self._since = since

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        for _ in self.run(arrivals.events, frontier):
            pass

    def rebuilt(self, plan: Plan, frontier: int) -> "MatchExecutor | None":
        """Return an executor of another plan, which goes on with what this one has for outputs of both.

        The others are run over the events that are kept. None where that cannot be: where events wait, or
        outputs of both plans have more in common with the others than single events.
        """
        same = Plan(tuple(output for output in plan.outputs if output in self.plan.outputs))
        others = plan.without(frozenset(output.query for output in same.outputs))
        if self._events is None or self._waiting is not None or self.program.plan != self.plan:
            return None
        mine, built = topological_order(same), MatchExecutor(others, self.meter.budget)
        both = [node for node in mine if node in built._states]
        if not mine or not all(isinstance(node, Scan | Filter) for node in both):
            return None
        built.skipped = self.skipped
        built.begin(self.meter.budget, self._since)
        built.repeat(Arrivals(self._events), frontier)
        n_dropped = self._events.n_events - (0 if built._events is None else built._events.n_events)
        states = {
            node: NodeState(state.held.shifted(-n_dropped), state.pending.shifted(-n_dropped))
            for node, state in built._states.items()
        }
        for node in mine:
            own = self._states[node]
            states[node] = _with_either(states[node], own) if node in both else own
        made = MatchExecutor(plan, self.meter.budget)
        made.skipped = self.skipped
        made._events, made._states = self._events, {node: states[node] for node in made.program.order}
        return made

    def step(self, arrivals: Arrivals, frontier: int) -> Iterator[Found]:
        for matches in self.run(arrivals.events, frontier):
            own = self._drop_early(matches)
            if own.n_rows:
                yield own

    def program_after(self, error: BudgetError) -> Program:
        if self.stopped is None:
            raise error
        self.stopped.add(error)
        return _program(self.program.plan.without(frozenset(error.queries)))

    def _drop_early(self, matches: Found) -> Found:
        """Drop matches with an event that came before their query did."""
        since = self._since.get(matches.query, 0)
        if since == 0:
            return matches
        is_early = arrivals_of(matches.events) < since
        return matches.take(np.flatnonzero(~has_any(matches.table, is_early)))

    def wakes_at(self, frontier: int) -> int | None:
        """Return when something may be decided: at once, or when nothing is needed any more."""
        if self.is_waiting:
            return wake_after(frontier)
        latest = max((int(events.times[-1]) for events in self.known if events.n_events), default=None)
        reach = self.program.reach
        if latest is None or reach is None or reach.clock != "time":
            return None  # nothing is left, or events alone can end it
        return wake_after(max(latest, frontier) + reach.length)


def _with_either(one: NodeState, other: NodeState) -> NodeState:
    """Return the state of single events that one of two states has."""
    held, pending = (
        events_table(np.union1d(mine.first, theirs.first))
        for mine, theirs in ((one.held, other.held), (one.pending, other.pending))
    )
    return NodeState(held, pending)


def has_any(table: Table, is_marked: Array) -> Array:
    """Say of each row of a table whether it has a marked event."""
    has_marked = np.zeros(table.n_rows, np.bool_)
    for column in map(as_lists, table.columns):
        n_marked = offsets_of(is_marked[column.rows] & (column.rows >= 0))
        has_marked |= n_marked[column.starts + column.lengths] > n_marked[column.starts]
    return has_marked


@lru_cache(maxsize=16)
def _program(plan: Plan) -> Program:
    """Make a plan ready once per process; its shards share it."""
    return Program(plan)
