"""What a shard asks of that which runs its queries: a plan for matches, or templates for trends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.matches.execute import Found
from weft.runtime.trends.rows import TrendRows


@dataclass(frozen=True, slots=True)
class FoundTrends:
    """Results of one trend query, and the events that they refer to."""

    rows: TrendRows
    events: Events


@dataclass(frozen=True)
class Emitted:
    """What a step gave: matches of the outputs of a plan, or results of trend queries."""

    plan: Plan = field(default_factory=lambda: Plan(()))
    found: Sequence[Found] = ()
    trends: Sequence[FoundTrends] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many matches or results each query has, if any."""
        counts: dict[str, int] = {}
        for one in self.found:
            name = self.plan.outputs[one.output].query
            counts[name] = counts.get(name, 0) + one.table.n_rows
        for own in self.trends:
            name = own.rows.template.query
            counts[name] = counts.get(name, 0) + own.rows.n_rows
        return counts


@dataclass(frozen=True)
class Holdings:
    """How many events and partial matches are kept for each query."""

    events: dict[str, int] = field(default_factory=dict)
    partial_matches: dict[str, int] = field(default_factory=dict)


class ShardExecutor(Protocol):
    """Runs the queries of a shard step by step, and keeps what later steps need."""

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept."""

    @property
    def needs_every_event(self) -> bool:
        """Whether also events that were given up since matter to an executor that lags behind."""

    @property
    def holdings(self) -> Holdings:
        """What is kept, for people to watch."""

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        """Begin a step, of which nothing is counted yet; each query sees the events since a step."""

    def repeat(self, events: Events, frontier: int) -> None:
        """Take events of steps that are over; what they gave is out already."""

    def step(self, events: Events, frontier: int) -> Emitted:
        """Take new events; no later ones are before the frontier."""

    def wakes_at(self, frontier: int) -> int | None:
        """Return the milliseconds from which on time alone may change something, or None."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A shard that goes on with another version of its plan, since a step, and why.

    `predicted` is the share of the cost that the plan saves by the statistics; `measured` is the share of the
    counted work per event that it did save, in the steps since against those before, once known. `shard` is
    its name, where changes of several are told.
    """

    step: int
    version: int
    reason: str
    queries: tuple[str, ...]
    way: str
    predicted: float
    measured: float | None = None
    shard: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """An adapter's state after a step, as plain values of JSON, and the changes of the plan in that step."""

    state: Mapping[str, Any]
    changes: tuple[PlanChange, ...] = ()


class Adapter(Protocol):
    """Changes the plan of a shard while it runs; its state is part of the journal.

    It decides by that state and by the events alone: a step may be repeated, by a process that knows
    nothing else.
    """

    def plan(self, state: Mapping[str, Any] | None, given: Plan) -> Plan:
        """Return the plan to run now; in the beginning, without a state, the one given."""

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""

    def switch(self, executor: ShardExecutor, plan: Plan, state: Mapping[str, Any] | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""

    def observe(
        self, state: Mapping[str, Any] | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step that took new events."""
