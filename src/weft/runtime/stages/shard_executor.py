"""What a shard asks of its executor: of a plan for matches, of templates for trends, of a site's work."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from weft.codec import stored
from weft.plan.nodes import Plan
from weft.plan.sites import Finding
from weft.runtime.budget import Budget, NodeMetrics, Stopped
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.execute import Found, Skipped
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.shared import Counters
from weft.runtime.trends.suppression import kept_rows
from weft.runtime.trends.thresholds import passing_rows


@dataclass(frozen=True)
class Arrivals:
    """What is new in a step: events, each for the first time, and the matches that came by channel."""

    events: Events
    received: Mapping[int, pa.Array] = field(default_factory=dict)


@dataclass(frozen=True)
class FoundTrends:
    """Results of one trend query, those of `rows` among all, and the events that they refer to."""

    results: TrendRows
    events: Events
    rows: Array

    @property
    def query(self) -> str:
        return self.results.template.query

    @property
    def n_rows(self) -> int:
        return int(self.rows.size)

    @property
    def moments(self) -> Array | None:
        """When the window of each result begins; None where there is one window for all time."""
        slide = self.results.template.slide
        return None if slide is None else self.results.windows[self.rows] * slide

    def take(self, rows: Array) -> "FoundTrends":
        """Return some of the results."""
        return FoundTrends(self.results, self.events, self.rows[rows])


def found_trends(results: TrendRows, events: Events) -> FoundTrends:
    """Return the results of a trend query, those that HAVING asks for and SUPPRESS keeps."""
    return FoundTrends(results, events, kept_rows(results, events, passing_rows(results, events)))


@dataclass(frozen=True, slots=True)
class FoundAtSite:
    """Rows of a plan at a site, and what becomes of them: matches of a query, or rows for other sites."""

    finding: Finding
    found: Found

    @property
    def query(self) -> str | None:
        return self.finding.query

    @property
    def n_rows(self) -> int:
        return self.found.n_rows

    @property
    def moments(self) -> Array:
        """When each row begins."""
        return self.found.moments

    def take(self, rows: Array) -> "FoundAtSite":
        """Return some of the rows."""
        return FoundAtSite(self.finding, self.found.take(rows))


Result = Found | FoundTrends | FoundAtSite


def is_timeout(result: Result) -> bool:
    """Say whether results are timeouts, and no matches."""
    found = result.found if isinstance(result, FoundAtSite) else result
    return isinstance(found, Found) and found.is_timeout


@dataclass(frozen=True)
class Holdings:
    """How many events and partial matches are kept for each query, and bytes where they are known."""

    events: dict[str, int] = field(default_factory=dict)
    partial_matches: dict[str, int] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)


@stored
class Activity:
    """What an executor did in a step: the nodes of a plan, in topological order; the sharing of trends."""

    nodes: tuple[NodeMetrics, ...] = ()
    sharing: Counters | None = None


class ShardExecutor(Protocol):
    """Runs the queries of a shard step by step, and keeps what later steps need.

    In the one step of a batch, a query that exceeds its budget is `stopped`: nothing more of it is found, and
    everything of the others. Where this is None, the error is raised, and the step gave nothing that counts.

    Where matches are walked, `skipped` says what of them is of no use any more.
    """

    stopped: Stopped | None
    skipped: Skipped | None

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept."""

    @property
    def needs_every_event(self) -> bool:
        """Whether also events that were given up since matter to an executor that lags behind."""

    @property
    def holdings(self) -> Holdings:
        """What is kept, for people to watch."""

    @property
    def activity(self) -> Activity:
        """What was done since the step began."""

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        """Begin a step, of which nothing is counted yet; each query sees the events since a step."""

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        """Take what came in steps that are over; what it gave is out already."""

    def step(self, arrivals: Arrivals, frontier: int) -> Iterator[Result]:
        """Take what is new and yield what that gives; no later events are before the frontier."""

    def wakes_at(self, frontier: int) -> int | None:
        """Return the milliseconds from which on time alone may change something, or None."""


@stored
class PlanChange:
    """An alarm in a step of a shard, what raised it, and the version of the plan that runs since.

    `kept` says why the plan stays; where it is None, the shard goes on with another one. `predicted` is the
    share of the cost of the queries that the new trees save by the statistics; `measured` is the share of the
    counted work per event that the plan did save, in the steps since against those before, once known.
    `shard` is its name, where changes of several are told.
    """

    step: int
    version: int
    reason: str
    queries: tuple[str, ...]
    way: str
    predicted: float
    measured: float | None = None
    shard: str | None = None
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class AdapterState:
    """What an adapter remembers of a shard: a little that every step changes, and a text that few steps do.

    The values of the former are those of JSON, its `token` tells the state from any other. The text is read
    only where a process has not got the state at hand.
    """

    passing: Mapping[str, Any]
    text: Callable[[], str]

    @property
    def token(self) -> str:
        return str(self.passing["token"])


@dataclass(frozen=True, slots=True)
class Observation:
    """An adapter's state after a step, whether its text is another than before, and what alarms came to."""

    state: AdapterState
    is_rewritten: bool
    changes: tuple[PlanChange, ...] = ()


class Adapter(Protocol):
    """Changes the plan of a shard while it runs; its state is part of the journal.

    It decides by that state and by the events alone: a step may be repeated, by a process that knows
    nothing else.
    """

    def plan(self, state: AdapterState | None, given: Plan) -> Plan:
        """Return the plan to run now; in the beginning, without a state, the one given."""

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""

    def switch(self, executor: ShardExecutor, plan: Plan, state: AdapterState | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""

    def observe(
        self, state: AdapterState | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step that took new events."""
