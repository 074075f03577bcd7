"""An adapter that is made when it is needed: once a shard has run for so long that watching is little of it.

Until then events are counted by their types, and nothing else. What watches and plans takes a tenth of a
second to be there, which a short stream does not get back.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from uuid import uuid4

from weft.adaptation.migration import MigratingExecutor
from weft.adaptation.reckoning import cost_of, work_of
from weft.adaptation.settings import Adaptation
from weft.cost.measured import Measured
from weft.plan.dag import topological_order
from weft.plan.nodes import Plan, Scan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.stages.shard_executor import Adapter, AdapterState, Observation, ShardExecutor
from weft.statistics.sliding_counts import UnwatchedSteps

FIRST_LOOK = 1e8  # nanoseconds that it takes a process to watch a step for the first time
WAITS = "waits"


class DeferredAdapter:
    """Adapts the plans of shards as what it `makes` does, once they have run for long enough.

    `cost` is what the plan costs in a shard, in nanoseconds for a second of events, where that is known.
    """

    def __init__(self, adaptation: Adaptation, cost: float | None, make: Callable[[], Adapter]) -> None:
        self._adaptation, self._cost, self._make = adaptation, cost or 0.0, make

    @cached_property
    def _made(self) -> Adapter:
        return self._make()

    def plan(self, state: AdapterState | None, given: Plan) -> Plan:
        """Return the plan to run now; the one given until another was chosen."""
        if state is None or not state.passing["version"]:
            return given
        return self._made.plan(state, given)

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, state: AdapterState | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""
        self._made.switch(executor, plan, state)

    def observe(
        self, state: AdapterState | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step: its events are counted, or it is watched."""
        if not isinstance(executor, MigratingExecutor) or not (state is None or WAITS in state.passing):
            return self._made.observe(state, executor, events, frontier)
        passing = {} if state is None else state.passing
        unwatched = UnwatchedSteps.from_json(passing["unwatched"]) if passing else UnwatchedSteps()
        cost = cost_of(events, self._cost, work_of(executor.meter, Measured()))
        share = self._adaptation.watched_share
        if share >= 1 or share * (unwatched.cost + cost) >= FIRST_LOOK:
            return self._made.observe(state, executor, events, frontier)
        unwatched.add(events, _types_of(executor.plan), cost)
        waiting = {
            "token": uuid4().hex,
            "step": passing.get("step", 0) + 1,
            "version": 0,
            "unwatched": unwatched.to_json(),
            WAITS: True,
        }
        return Observation(AdapterState(waiting, str), is_rewritten=False)


@lru_cache(maxsize=16)
def _types_of(plan: Plan) -> frozenset[str]:
    """Return the types of the events that a plan has."""
    return frozenset(node.type for node in topological_order(plan) if isinstance(node, Scan))
