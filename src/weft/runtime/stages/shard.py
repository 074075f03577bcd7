"""One shard of a stream: events in, matches or results of trend queries out; its state is a log of events.

The state is what a restart needs and nothing else: the events that some match to come may still
refer to, or that a window still open has, in segments that are written once. Partial matches are not
stored. They follow from the events, whatever the plan: a process that has not seen the shard before, or
an older step of it, runs the plan over the events it lacks and throws away what it finds, which was
emitted already.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import pyarrow as pa

from weft.errors import BudgetError, DataError
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import divided_at, ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.columns.merge import in_pool_of, renumbered, undelivered
from weft.runtime.matches.execute import Found
from weft.runtime.matches.executor import MatchExecutor
from weft.runtime.stages.shard_executor import Adapter, Emitted, FoundTrends, PlanChange, ShardExecutor
from weft.runtime.state.journal import BEGINNING, Journal, Segment, Served, merging
from weft.runtime.state.segments import Reader, arrivals_of, to_bytes, with_arrival
from weft.runtime.trends.executor import TrendExecutor, TrendPlan

MILLISECOND = 1_000
FAN = 16  # segments of one level that become one of the next
MOST_CACHED = 64  # shards that a process remembers


class Store(Protocol):
    """Where the state of a shard lives."""

    def journal(self) -> str | None: ...
    def set_journal(self, text: str) -> None: ...
    def segment(self, number: int) -> bytes: ...
    def set_segment(self, number: int, content: bytes) -> None: ...
    def remove_segment(self, number: int) -> None: ...


@dataclass(frozen=True)
class Work:
    """What a shard does: a plan or trend queries, the meaning of the columns, and the queries' fingerprints.

    `delay` is how many microseconds events may come late; `n_shards` is fixed with the first step. Where
    a row is sent to several shards, the column `owner` is true in the one that accounts for it. An
    `adapter` may run other plans of the same queries, each shard its own.
    """

    plan: Plan | TrendPlan
    layout: Layout
    id_type: pa.DataType
    fingerprints: Mapping[str, str]
    budget: Budget
    delay: int
    n_shards: int
    owner: str | None = None
    adapter: Adapter | None = None


@dataclass
class Report:
    """What a step did, for people to watch."""

    step: int = 0
    seconds: float = 0.0
    adapting: float = 0.0  # of these seconds, with the statistics of the moment and new plans
    events: int = 0
    late: int = 0
    rejected: int = 0
    duplicates: int = 0
    repeated: int = 0  # events run again because this process had not seen them
    buffered: int = 0
    state_bytes: int = 0
    matches: dict[str, int] = field(default_factory=dict)
    partial_matches: dict[str, int] = field(default_factory=dict)
    query_bytes: dict[str, int] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)
    changes: list[PlanChange] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)  # to other sites, where queries are placed


@dataclass(frozen=True)
class Outcome:
    """The matches of a step, or the results of trend queries, the rows that came too late, and when to wake.

    `wake` is a time in milliseconds, or None: then nothing is left that time alone would change. Until
    now, the shard was to be woken at `previous_wake`.
    """

    found: Sequence[Found]
    plan: Plan
    late: pa.Table | None
    report: Report
    wake: int | None
    previous_wake: int | None
    trends: Sequence[FoundTrends] = ()


@dataclass(frozen=True)
class _Remembered:
    executor: ShardExecutor
    plan: Plan | TrendPlan
    step: int
    token: str
    fingerprints: Mapping[str, str]
    is_adaptable: bool


class Memory:
    """The executors of shards that a process has at hand, the least recently used of which go first."""

    def __init__(self, most: int = MOST_CACHED) -> None:
        self._most = most
        self._found: OrderedDict[str, _Remembered] = OrderedDict()

    def pop(self, name: str) -> _Remembered | None:
        return self._found.pop(name, None)

    def keep(self, name: str, remembered: _Remembered) -> None:
        self._found[name] = remembered
        while len(self._found) > self._most:
            self._found.popitem(last=False)


class Shard:
    """The steps of one shard; all that lasts is in its store."""

    def __init__(self, name: str, work: Work, store: Store, memory: Memory) -> None:
        self.name = name
        self.work = work
        self.store = store
        self.memory = memory
        self.reader = Reader(replace(work.layout, keeps_tie=True), work.id_type)

    def step(self, tables: Sequence[pa.Table], watermark: int, n_rejected: int = 0) -> Outcome | None:
        """Take the rows of a micro-batch; return None when there was nothing to do.

        `watermark` is in milliseconds; as in Spark, zero means that there is none yet. `n_rejected`
        rows came that were no events.

        Rows before the watermark are late. Those to come are not before the latest time in this
        shard less the delay, nor before the watermark: so far the shard can decide.
        """
        started = perf_counter()
        journal, report = self._journal(), Report(rejected=n_rejected)
        limit = max(watermark * MILLISECOND if watermark > 0 else BEGINNING, journal.frontier)
        if not tables and limit == journal.frontier:
            return None
        journal = self._adopted(journal, report)
        table = pa.concat_tables(tables) if tables else None
        timely, late = divided_at(table, self.work.layout.time, limit)
        if late is not None and self.work.owner is not None:
            late = late.filter(late[self.work.owner])
        report.late = 0 if late is None else late.num_rows
        report.events = 0 if timely is None else timely.num_rows
        frontier = limit
        if timely is not None and timely.num_rows:
            latest = int(np.max(timely[self.work.layout.time].to_numpy()))
            frontier = max(limit, latest // MILLISECOND * MILLISECOND - self.work.delay)
        while True:
            plan = self._running(journal)
            try:
                executor = self._executor(journal, plan, report)
                new = self._new_events(timely, executor, journal.step + 1, report)
                emitted = executor.step(new, frontier)
                break
            except BudgetError as error:
                journal = self._without(journal, error, report)
        token = uuid4().hex
        previous_wake = journal.wake
        journal = self._store(journal.advanced(token, frontier), executor, new)
        journal = replace(journal, wake=executor.wakes_at(frontier))
        adapter = self.work.adapter
        if adapter is not None and isinstance(plan, Plan):
            begun = perf_counter()
            observed = adapter.observe(journal.adaptation, executor, new, frontier)
            report.adapting = perf_counter() - begun
            report.changes = list(observed.changes)
            journal = replace(journal, adaptation=observed.state)
        self.store.set_journal(journal.to_json())
        asked = self.work.fingerprints, adapter is not None
        self.memory.keep(self.name, _Remembered(executor, plan, journal.step, token, *asked))
        _fill(report, journal, executor, emitted)
        report.seconds = perf_counter() - started
        wakes = journal.wake, previous_wake
        return Outcome(emitted.found, emitted.plan, late, report, *wakes, emitted.trends)

    def _journal(self) -> Journal:
        text = self.store.journal()
        if text is None:
            return Journal(n_shards=self.work.n_shards)
        journal = Journal.from_json(text)
        if journal.n_shards != self.work.n_shards:
            raise DataError(
                f"the checkpoint was written with {journal.n_shards} shards, the stream now has "
                f"{self.work.n_shards}; set partitions={journal.n_shards}, or start with a new checkpoint"
            )
        return journal

    def _adopted(self, journal: Journal, report: Report) -> Journal:
        """Return the journal for the queries of today: new and changed ones start empty.

        So does a query that was stopped, once its budget is another.
        """
        known, wanted = journal.queries, self.work.fingerprints
        is_first = journal.step == 0
        queries: dict[str, Served] = {}
        for name, fingerprint in wanted.items():
            served = known.get(name)
            if (
                served is None
                or served.fingerprint != fingerprint
                or (served.stopped and served.limits != str(self.work.budget))
            ):
                served = Served(fingerprint, since=0 if is_first else journal.step + 1)
                if not is_first:
                    report.started.append(name)
            queries[name] = served
        report.ended = [name for name in known if name not in wanted]
        report.stopped = {name: served.stopped for name, served in queries.items() if served.stopped}
        is_same = {name: served.fingerprint for name, served in known.items()} == dict(wanted)
        is_adapted = is_same and self.work.adapter is not None
        return replace(journal, queries=queries, adaptation=journal.adaptation if is_adapted else None)

    def _without(self, journal: Journal, error: BudgetError, report: Report) -> Journal:
        """Return the journal without the queries that exceeded their budget."""
        offenders = {name: journal.queries[name] for name in error.queries if name in journal.queries}
        if not offenders:
            raise error
        report.stopped |= dict.fromkeys(offenders, str(error))
        stopped = {
            name: replace(served, stopped=str(error), limits=str(self.work.budget))
            for name, served in offenders.items()
        }
        return replace(journal, queries={**journal.queries, **stopped})

    def _running(self, journal: Journal) -> Plan | TrendPlan:
        plan, adapter = self.work.plan, self.work.adapter
        if adapter is not None and isinstance(plan, Plan):
            plan = adapter.plan(journal.adaptation, plan)
        stopped = frozenset(name for name, served in journal.queries.items() if served.stopped)
        return plan.without(stopped) if stopped else plan

    def _executor(self, journal: Journal, plan: Plan | TrendPlan, report: Report) -> ShardExecutor:
        """Return the executor after the last step: the one at hand, brought up to date, or a new one."""
        remembered = self.memory.pop(self.name)
        since, running = 0, plan
        if remembered is not None and self._serves(remembered, plan) and _leads_to(remembered, journal):
            executor, since, running = remembered.executor, remembered.step, remembered.plan
        else:
            executor = self._executor_of(plan)
        first_steps = {name: served.since for name, served in journal.queries.items()}
        executor.begin(self.work.budget, first_steps)
        missed = [segment for segment in journal.segments if segment.last_step > since]
        if missed:
            events = self.reader.read([self.store.segment(segment.number) for segment in missed])
            is_missed = (arrivals_of(events) > since) & (events.times >= journal.oldest)
            events = events.take(np.flatnonzero(is_missed))
            report.repeated += events.n_events
            executor.repeat(in_pool_of(executor, events), journal.frontier)
        elif since < journal.step:  # time alone has passed
            executor.repeat(self._nothing(executor), journal.frontier)
        if self.work.adapter is not None and isinstance(plan, Plan) and running != plan:
            self.work.adapter.switch(executor, plan, journal.adaptation)
        executor.begin(self.work.budget, first_steps)
        return executor

    def _executor_of(self, plan: Plan | TrendPlan) -> ShardExecutor:
        if isinstance(plan, TrendPlan):
            return TrendExecutor(plan, self.work.budget)
        adapter = self.work.adapter
        make = MatchExecutor if adapter is None else adapter.executor
        return make(plan, self.work.budget)

    def _serves(self, remembered: _Remembered, plan: Plan | TrendPlan) -> bool:
        """Say whether an executor runs a plan, or another of the same queries that it can exchange for it."""
        if remembered.is_adaptable != (self.work.adapter is not None):
            return False
        if remembered.plan == plan or not remembered.is_adaptable:
            return remembered.plan == plan
        is_same = dict(remembered.fingerprints) == dict(self.work.fingerprints)
        return is_same and _answered(remembered.plan) == _answered(plan)

    def _nothing(self, executor: ShardExecutor) -> Events:
        return in_pool_of(executor, self.reader.nothing())

    def _new_events(
        self, timely: pa.Table | None, executor: ShardExecutor, step: int, report: Report
    ) -> Events:
        if timely is None:
            return self.reader.nothing()
        layout = replace(self.work.layout, keeps_tie=True)
        events = with_arrival(ingest(timely, layout), step)
        if layout.id is None:
            events = renumbered(events, executor.known)
        else:
            events = undelivered(events, executor.known)
            report.duplicates = timely.num_rows - events.n_events
        return in_pool_of(executor, events)

    def _store(self, journal: Journal, executor: ShardExecutor, new: Events) -> Journal:
        """Write the new events that are still needed, and give up segments that are not."""
        needed = [int(events.times[0]) for events in executor.known if events.n_events]
        oldest = min([journal.frontier, *needed])
        segments = []
        for segment in journal.segments:
            if segment.last_time < oldest:
                self.store.remove_segment(segment.number)
            else:
                segments.append(segment)
        kept = new.take(slice(int(np.searchsorted(new.times, oldest, side="left")), None))
        number = journal.next_number
        if kept.n_events:
            segments.append(self._written(kept, number, journal.step, journal.step, 0))
            number += 1
        group = merging(segments, FAN)
        if group:
            events = self.reader.read([self.store.segment(one.number) for one in group])
            events = events.take(slice(int(np.searchsorted(events.times, oldest, side="left")), None))
            for one in group:
                self.store.remove_segment(one.number)
            place = segments.index(group[0])
            steps = group[0].first_step, group[-1].last_step
            merged = self._written(events, number, *steps, group[0].level + 1)
            segments[place : place + len(group)] = [merged]
            number += 1
        if executor.needs_every_event:
            journal = replace(journal, oldest=max(journal.oldest, oldest))
        return replace(journal, segments=tuple(segments), next_number=number)

    def _written(self, events: Events, number: int, first_step: int, last_step: int, level: int) -> Segment:
        content = to_bytes(events)
        self.store.set_segment(number, content)
        last_time = int(events.times[-1]) if events.n_events else BEGINNING
        return Segment(number, events.n_events, len(content), last_time, first_step, last_step, level)


def _answered(plan: Plan | TrendPlan) -> frozenset[str] | None:
    return frozenset(output.query for output in plan.outputs) if isinstance(plan, Plan) else None


def _fill(report: Report, journal: Journal, executor: ShardExecutor, emitted: Emitted) -> None:
    report.step = journal.step
    report.buffered = sum(segment.n_events for segment in journal.segments)
    report.state_bytes = sum(segment.n_bytes for segment in journal.segments)
    report.matches = emitted.counts
    holdings = executor.holdings
    per_event = report.state_bytes / report.buffered if report.buffered else 0.0
    report.query_bytes = {name: int(amount * per_event) for name, amount in holdings.events.items()}
    report.partial_matches = holdings.partial_matches


def _leads_to(remembered: _Remembered, journal: Journal) -> bool:
    """Say whether the events that are stored bring an executor up to date.

    What was stored since and given up again does not matter to windows of time, which are over. But
    where positions count, every event does.
    """
    is_latest = remembered.step == journal.step
    is_enough = is_latest or not remembered.executor.needs_every_event
    return journal.has_passed(remembered.step, remembered.token) and is_enough
