"""One shard: a step takes what came and a watermark, and gives matches, trends or rows for other sites.

The state is what a restart needs and nothing else: the events that some match to come may still refer to,
or that a window still open has, and at sites the matches that came from others, in logs of segments.
Partial matches are not stored. They follow from the events, whatever the plan: a process that has not seen
the shard before, or an older step of it, runs the plan over the events it lacks and throws away what it
finds, which was emitted already.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from uuid import uuid4

import numpy as np
import pyarrow as pa

from weft.errors import BudgetError
from weft.plan.nodes import Plan
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import divide_at
from weft.runtime.columns.merge import drop_delivered, in_pool_of, renumber_repeats
from weft.runtime.matches.execute import Found
from weft.runtime.matches.walk import Walker, new_walker, owner_of
from weft.runtime.stages.match_codec import MATCHES, last_times
from weft.runtime.stages.pane_log import panes_to_log, restore_panes
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard_executor import Arrivals, Result, ShardExecutor, is_timeout
from weft.runtime.stages.shard_program import Arrived, ShardPlan, ShardProgram, StepOutcome
from weft.runtime.stages.site_executor import SitePlan
from weft.runtime.stages.step_adapter import StepAdapter, forget_text
from weft.runtime.stages.walk_log import rows_to_log, stored_walker
from weft.runtime.state.journal import MILLISECOND, Journal, ServedQuery, Store, journal_in
from weft.runtime.state.log import EVENTS, LogWriter, read_log
from weft.runtime.state.segments import (
    TIME_COLUMN,
    arrivals_of,
    table_from_bytes,
    to_table,
    with_arrival,
)
from weft.runtime.trends.executor import TrendExecutor

MOST_REMEMBERED = 1_024  # shards and sites of which a process remembers the executor


@dataclass(frozen=True)
class _Remembered:
    executor: ShardExecutor
    walker: Walker | None
    plan: ShardPlan
    step: int
    token: str
    fingerprints: Mapping[str, str]
    is_adaptable: bool


class Memory:
    """The executors of shards that a process has at hand, the least recently used of which go first.

    What a step takes is gone until it is kept again: an attempt that fails leaves an executor that nobody can
    use.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()

    def pop(self, name: str) -> _Remembered | None:
        return self._remembered.pop(name, None)

    def keep(self, name: str, remembered: _Remembered) -> None:
        self._remembered[name] = remembered
        while len(self._remembered) > self._most:
            self._remembered.popitem(last=False)


class Shard:
    """The steps of one shard; all that lasts is in its store."""

    def __init__(self, name: str, program: ShardProgram, store: Store, memory: Memory) -> None:
        self.name = name
        self.program = program
        self.store = store
        self.memory = memory
        self.reader = program.reader
        self._adapter = None if program.adapter is None else StepAdapter(program.adapter, store)

    def step(self, arrived: Arrived, watermark: int) -> StepOutcome | None:
        """Take what came in a micro-batch; return None when there was nothing to do.

        `watermark` is in milliseconds; as in Spark, zero means that there is none yet. Rows before it are
        late. Those to come are not before the latest time in this shard less the delay, nor before the
        watermark: so far the shard can decide.
        """
        started = perf_counter()
        journal, report = journal_in(self.store, self.program.assignment), Report(rejected=arrived.n_rejected)
        limit = journal.frontier_at(watermark)
        if not arrived and limit == journal.frontier:
            return None
        journal = self._adopt_queries(journal, report)
        timely, late = divide_at(arrived.table, self.program.layout.time, limit)
        if late is not None and self.program.owner is not None:
            late = late.filter(late[self.program.owner])
        report.late = 0 if late is None else late.num_rows
        report.events = 0 if timely is None else timely.num_rows
        frontier = self._frontier(timely, limit)
        while True:
            plan = self._current_plan(journal)
            try:
                executor, walker = self._executor(journal, plan, report)
                own, arrivals = self._arrivals(timely, arrived, executor, journal.step + 1, report)
                results: list[Result] = list(executor.step(arrivals, frontier))
                break
            except BudgetError as error:
                if self.program.on_budget == "error":
                    raise
                journal = self._stop_queries(journal, error, report)
        if walker is not None:
            found = (one for one in results if isinstance(one, Found))
            results = [*walker.walk_found(found, _first_steps(journal))]
        previous_wake = journal.wake
        journal = self._write_log(journal.next_step(uuid4().hex, frontier), executor, walker, arrivals)
        journal = replace(journal, wake=executor.wakes_at(frontier))
        if self._adapter is not None and isinstance(plan, Plan):
            journal = self._adapter.observe(journal, executor, arrivals.events, report)
        self.store.set_journal(journal.to_json())
        self.store.wake(journal.wake, previous_wake)
        asked = self.program.fingerprints, self.program.adapter is not None
        token = journal.tokens[-1]
        self.memory.keep(self.name, _Remembered(executor, walker, plan, journal.step, token, *asked))
        _fill(report, journal, executor, results)
        report.adapting = 0.0 if self._adapter is None else self._adapter.seconds
        report.seconds = perf_counter() - started
        return StepOutcome(results, own, late, report)

    def _frontier(self, timely: pa.Table | None, limit: int) -> int:
        """Return the time before which nothing timely is to come, in whole milliseconds as watermarks are."""
        if self.program.delay is None or timely is None or not timely.num_rows:
            return limit
        latest = int(np.max(timely[self.program.layout.time].to_numpy()))
        return max(limit, latest // MILLISECOND * MILLISECOND - self.program.delay)

    def _adopt_queries(self, journal: Journal, report: Report) -> Journal:
        """Return the journal for the queries of today: new and changed ones start empty.

        So does a query that was stopped, once its budget is another.
        """
        known, wanted = journal.queries, self.program.fingerprints
        is_first = journal.step == 0
        queries: dict[str, ServedQuery] = {}
        for name, fingerprint in wanted.items():
            served = known.get(name)
            if (
                served is None
                or served.fingerprint != fingerprint
                or (served.stopped and served.limits != str(self.program.budget))
            ):
                served = ServedQuery(fingerprint, since=0 if is_first else journal.step + 1)
                if not is_first:
                    report.started = [*report.started, name]
            queries[name] = served
        report.ended = [name for name in known if name not in wanted]
        report.stopped = {name: served.stopped for name, served in queries.items() if served.stopped}
        is_same = {name: served.fingerprint for name, served in known.items()} == dict(wanted)
        if not is_same or self.program.adapter is None:
            journal = replace(forget_text(self.store, journal), adaptation=None)
        return replace(journal, queries=queries)

    def _stop_queries(self, journal: Journal, error: BudgetError, report: Report) -> Journal:
        """Return the journal without the queries that exceeded their budget."""
        offenders = {name: journal.queries[name] for name in error.queries if name in journal.queries}
        if not offenders:
            raise error
        report.stopped = {**report.stopped, **dict.fromkeys(offenders, str(error))}
        stopped = {
            name: replace(served, stopped=str(error), limits=str(self.program.budget))
            for name, served in offenders.items()
        }
        return replace(journal, queries={**journal.queries, **stopped})

    def _current_plan(self, journal: Journal) -> ShardPlan:
        plan = self.program.plan
        if self._adapter is not None and isinstance(plan, Plan):
            plan = self._adapter.plan(journal, plan)
        stopped = frozenset(name for name, served in journal.queries.items() if served.stopped)
        return plan.without(stopped) if stopped and not isinstance(plan, SitePlan) else plan

    def _executor(
        self, journal: Journal, plan: ShardPlan, report: Report
    ) -> tuple[ShardExecutor, Walker | None]:
        """Return executor and walker after the last step: those at hand, brought up to date, or new ones.

        What the walker has skipped is of no use to one that is brought up to date or changes its plan either.
        """
        remembered = self.memory.pop(self.name)
        since, running, walker = 0, plan, None
        if remembered is not None and self._serves(remembered, plan) and _leads_to(remembered, journal):
            executor, since, running = remembered.executor, remembered.step, remembered.plan
            walker = remembered.walker if since == journal.step else None
        else:
            executor = self.program.executor(plan)
        first_steps = _first_steps(journal)
        walker = self._walker(journal, plan, walker)
        executor.skipped = None if walker is None else partial(walker.skipped, since=first_steps)
        executor.begin(self.program.budget, first_steps)
        if since == 0 and isinstance(executor, TrendExecutor):
            restore_panes(self.store, journal, executor, _owners(journal))
        missed = read_log(self.store, journal, EVENTS, since)
        if missed:
            events = self.reader.read(missed)
            is_missed = (arrivals_of(events) > since) & (events.times >= journal.oldest)
            events = events.take(np.flatnonzero(is_missed))
            report.repeated += events.n_events
            arrivals = Arrivals(in_pool_of(executor, events), self._remembered_matches(journal, plan))
            executor.repeat(arrivals, journal.frontier)
        elif since < journal.step:  # time alone has passed
            executor.repeat(Arrivals(in_pool_of(executor, self.reader.nothing())), journal.frontier)
        if self._adapter is not None and isinstance(plan, Plan) and running != plan:
            self._adapter.switch(executor, plan, journal)
        executor.begin(self.program.budget, first_steps)
        return executor, walker

    def _walker(self, journal: Journal, plan: ShardPlan, known: Walker | None) -> Walker | None:
        """Return what walks the matches of a plan, if any are walked: one up to date, or from the log."""
        if not isinstance(plan, Plan) or all(output.walk is None for output in plan.outputs):
            return None
        return known or stored_walker(self.store, journal)

    def _remembered_matches(self, journal: Journal, plan: ShardPlan) -> dict[int, pa.Array]:
        """Return the matches that came from other sites and are still in the log."""
        if not isinstance(plan, SitePlan):
            return {}
        logs = {channel: read_log(self.store, journal, str(channel)) for channel in plan.remembered_channels}
        return {
            channel: pa.concat_arrays(
                [chunk for content in log for chunk in table_from_bytes(content)[MATCHES].chunks]
            )
            for channel, log in logs.items()
            if log
        }

    def _serves(self, remembered: _Remembered, plan: ShardPlan) -> bool:
        """Say whether an executor runs a plan, or another of the same queries that it can exchange for it."""
        if remembered.is_adaptable != (self.program.adapter is not None):
            return False
        if remembered.plan == plan or not remembered.is_adaptable:
            return remembered.plan == plan
        is_same = dict(remembered.fingerprints) == dict(self.program.fingerprints)
        return is_same and _queries_of(remembered.plan) == _queries_of(plan)

    def _arrivals(
        self,
        timely: pa.Table | None,
        arrived: Arrived,
        executor: ShardExecutor,
        step: int,
        report: Report,
    ) -> tuple[Events, Arrivals]:
        """Return the shard's own new events, and all that is new with what came within matches."""
        own = self.program.own_events(timely, arrived.passed, keeps_tie=True)
        if timely is None:
            report.events = own.n_events
        else:
            own = (renumber_repeats if self.program.layout.id is None else drop_delivered)(
                own, executor.known
            )
            report.duplicates = timely.num_rows - own.n_events
        own, matches = with_arrival(own, step), arrived.matches
        events = self.program.add_received(own, matches, step, executor.known)
        return own, Arrivals(in_pool_of(executor, events), matches)

    def _write_log(
        self, journal: Journal, executor: ShardExecutor, walker: Walker | None, arrivals: Arrivals
    ) -> Journal:
        """Write what is new and still needed, and give up segments that are not."""
        needed = [int(events.times[0]) for events in executor.known if events.n_events]
        oldest = min([journal.frontier, *needed])
        new = {EVENTS: to_table(arrivals.events)} if arrivals.events.n_events else {}
        plan = self.program.plan
        kept = plan.remembered_channels if isinstance(plan, SitePlan) else ()
        for channel, came in arrivals.received.items():
            if channel in kept:
                new[str(channel)] = pa.table({TIME_COLUMN: last_times(came), MATCHES: came})
        owners = _owners(journal)
        journal, walked = rows_to_log(self.store, journal, walker or new_walker(), oldest, [*owners.values()])
        new |= walked
        if isinstance(executor, TrendExecutor):
            journal, panes = panes_to_log(self.store, journal, executor, owners)
            new |= panes
        journal = LogWriter(self.store, journal, oldest).write(new)
        if executor.needs_every_event:
            journal = replace(journal, oldest=max(journal.oldest, oldest))
        return journal


def _first_steps(journal: Journal) -> dict[str, int]:
    """Return the first step that each query sees."""
    return {name: served.since for name, served in journal.queries.items()}


def _owners(journal: Journal) -> dict[str, int]:
    """Return the number by which logs tell each query, as it came with its step."""
    return {name: owner_of(name, served.since) for name, served in journal.queries.items()}


def _queries_of(plan: ShardPlan) -> frozenset[str] | None:
    return frozenset(output.query for output in plan.outputs) if isinstance(plan, Plan) else None


def _fill(report: Report, journal: Journal, executor: ShardExecutor, results: Sequence[Result]) -> None:
    report.step = journal.step
    report.buffered = sum(segment.n_rows for segment in journal.logs.get(EVENTS, ()))
    report.state_bytes = sum(segment.n_bytes for segment in journal.segments)
    count_results(report, results)
    if isinstance(executor, TrendExecutor):
        report.sharing = executor.activity.sharing
    holdings = executor.holdings
    per_event = report.state_bytes / report.buffered if report.buffered else 0.0
    report.query_bytes = {
        name: int(amount * per_event) + holdings.bytes.get(name, 0)
        for name, amount in holdings.events.items()
    }
    report.partial_matches = holdings.partial_matches


def count_results(report: Report, results: Sequence[Result]) -> None:
    """Tell in a report how many matches and timeouts of each query are among results."""
    report.matches = count_by_query(result for result in results if not is_timeout(result))
    report.timeouts = count_by_query(filter(is_timeout, results))


def count_by_query(results: Iterable[Result]) -> dict[str, int]:
    """Return how many of some results each query has, if any."""
    counts: dict[str, int] = {}
    for result in results:
        if result.query is not None:
            counts[result.query] = counts.get(result.query, 0) + result.n_rows
    return counts


def _leads_to(remembered: _Remembered, journal: Journal) -> bool:
    """Say whether the events that are stored bring an executor up to date.

    What was stored since and given up again does not matter to windows of time, which are over. But
    where positions count, every event does.
    """
    is_latest = remembered.step == journal.step
    is_enough = is_latest or not remembered.executor.needs_every_event
    return journal.has_passed(remembered.step, remembered.token) and is_enough
