"""The program of a shard, what comes to it, and the one step of a batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from weft.plan.nodes import Plan
from weft.plan.sites import SITE
from weft.runtime.budget import Budget, OnBudget, Stopped
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.columns.merge import drop_delivered
from weft.runtime.matches.execute import Found
from weft.runtime.matches.executor import MatchExecutor
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.walk import new_walker, walk_steps
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard_executor import Adapter, Arrivals, Result, ShardExecutor
from weft.runtime.stages.site_executor import SiteExecutor, SitePlan, add_events
from weft.runtime.state.segments import Reader, with_arrival
from weft.runtime.trends.executor import TrendExecutor, TrendPlan
from weft.schema import LONG

ShardPlan = Plan | TrendPlan | SitePlan


@dataclass(frozen=True)
class ShardProgram:
    """What a shard runs: a plan, the meaning of the columns, and the queries' fingerprints.

    `assignment` tells how events are assigned to shards, which is fixed with the first step. Events may come
    `delay` microseconds late; without a delay, the watermark alone says how far time has come. Where a row is
    sent to several shards, the column `owner` is true in the one that accounts for it. An `adapter` may run
    other plans of the same queries, each shard its own. A query that exceeds its budget is stopped by itself,
    or with `on_budget` "error" ends it all.
    """

    plan: ShardPlan
    layout: Layout
    id_type: pa.DataType
    budget: Budget
    assignment: str = ""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    delay: int | None = None
    owner: str | None = None
    adapter: Adapter | None = None
    on_budget: OnBudget = "stop"

    @property
    def reader(self) -> Reader:
        """What reads the events of a log."""
        attributes = dict(self.layout.attributes)
        if isinstance(self.plan, SitePlan):
            attributes[SITE] = (SITE, LONG)
        return Reader(replace(self.layout, attributes=attributes, keeps_tie=True), self.id_type)

    def executor(self, plan: ShardPlan) -> ShardExecutor:
        """Return what runs a plan, with nothing seen yet."""
        match plan:
            case TrendPlan():
                return TrendExecutor(plan, self.budget)
            case SitePlan():
                return SiteExecutor(plan, self.budget)
        make = MatchExecutor if self.adapter is None else self.adapter.executor
        return make(plan, self.budget)

    def own_events(self, rows: pa.Table | None, passed: Sequence[bytes], *, keeps_tie: bool) -> Events:
        """Return rows, or what a lower level passed on, as events; those of a site know where they arose."""
        if rows is None:
            return self.reader.read(passed) if passed else self.reader.nothing()
        if isinstance(self.plan, SitePlan):
            return self.plan.codec.own(rows, self.plan.site)
        return ingest(rows, replace(self.layout, keeps_tie=keeps_tie))

    def add_received(
        self, own: Events, matches: Mapping[int, pa.Array], step: int, known: Sequence[Events] = ()
    ) -> Events:
        """Add the events of matches that came in a step, those that are not known yet, to the shard's own."""
        events = own
        if isinstance(self.plan, SitePlan):
            for received in matches.values():
                within = with_arrival(self.plan.codec.read(received)[0], step)
                events = add_events(events, drop_delivered(within, known))
        return events


@dataclass(frozen=True)
class Arrived:
    """What came to a shard: rows as they arose, events that a lower level passed on, matches by channel."""

    rows: Sequence[pa.Table] = ()
    passed: Sequence[bytes] = ()
    received: Mapping[int, Sequence[pa.Array]] = field(default_factory=dict)
    n_rejected: int = 0

    def __bool__(self) -> bool:
        return bool(self.rows or self.passed or self.received)

    @property
    def table(self) -> pa.Table | None:
        """The rows in one table."""
        return pa.concat_tables(self.rows) if self.rows else None

    @property
    def matches(self) -> dict[int, pa.Array]:
        """The matches of each channel in one array."""
        return {channel: pa.concat_arrays(own) for channel, own in self.received.items()}


@dataclass(frozen=True)
class StepOutcome:
    """What a step found, the shard's own new events, and rows that came too late."""

    found: Sequence[Result]
    own: Events
    late: pa.Table | None
    report: Report


def run_once(
    program: ShardProgram, arrived: Arrived, *, is_walked: bool = True
) -> tuple[ShardExecutor, Events, Iterator[Result]]:
    """Run the one step of a batch, to the end of time: the executor, own events, and what it finds.

    Unless it `is_walked`, that is all there is to choose from. When all is found, the executor knows which
    queries were stopped.
    """
    own, matches = program.own_events(arrived.table, arrived.passed, keeps_tie=False), arrived.matches
    if isinstance(program.plan, SitePlan):
        own = with_arrival(own, 1)
    executor = program.executor(program.plan)
    executor.stopped = None if program.on_budget == "error" else Stopped()
    found = executor.step(Arrivals(program.add_received(own, matches, 1), matches), END_OF_TIME)
    if isinstance(program.plan, Plan) and is_walked:
        walker = new_walker()
        executor.skipped = walker.skipped
        found = walk_steps((one for one in found if isinstance(one, Found)), walker)
    return executor, own, found
