"""A site of a placed stream at one level: events and matches of other sites in, matches out.

The state is a log of the events that the site knows, whether they arose there or came within matches, and
of the matches whose negations other sites have checked. Partial matches are not stored. They follow from the
events: a process that does not know what the last step left runs the plans over the log, and throws away
what it finds, which went out already.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.plan.sites import SITE, Finding, SiteWork
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import divided_at
from weft.runtime.columns.merge import compacted, recoded, renumbered, undelivered
from weft.runtime.matches.execute import Found
from weft.runtime.stages.shard import MILLISECOND, Report, Store
from weft.runtime.stages.site_evaluator import SiteEvaluator, united
from weft.runtime.stages.site_timing import SiteTiming, work_timing
from weft.runtime.stages.site_wire import TIME, Wire
from weft.runtime.state.journal import BEGINNING
from weft.runtime.state.segments import (
    TIME_COLUMN,
    Reader,
    arrivals_of,
    table_from_bytes,
    to_table,
    with_arrival,
)
from weft.runtime.state.site_log import EVENTS, LogWriter, SiteJournal
from weft.schema import LONG

MATCHES = "matches"  # the column of a log of matches
MOST_SITES = 1_024  # at all levels, that a process remembers


@dataclass(frozen=True)
class LevelWork:
    """What a site does at a level; `program` tells the whole program from any other."""

    site: int
    works: tuple[SiteWork, ...]
    wire: Wire
    budget: Budget
    timing: SiteTiming
    program: str

    @property
    def remembered(self) -> frozenset[int]:
        """The streams whose matches are kept: their senders have checked negations."""
        return frozenset(
            stream
            for work in self.works
            for finding in work.findings
            for group in finding.among
            for among in group
            for stream in among.channels
        )

    @property
    def horizon(self) -> int:
        """How long events matter; where they are only passed on, not at all."""
        is_plain = all(not work.reads and not work_timing(work.plan).horizon for work in self.works)
        return 0 if is_plain else self.timing.horizon

    def oldest(self, frontier: int) -> int:
        """Return the time before which no event matters once the frontier has come to a time."""
        return max(frontier, BEGINNING + self.horizon) - self.horizon

    def evaluators(self) -> tuple[SiteEvaluator, ...]:
        """Return what evaluates each work, with nothing seen yet."""
        return tuple(SiteEvaluator(work, self.wire, self.budget, self.timing.lag) for work in self.works)


@dataclass(frozen=True)
class Arrived:
    """What came to a site: events as they arose, or as a lower level has passed them on, and matches."""

    raw: Sequence[pa.Table] = ()
    own: Sequence[bytes] = ()
    received: Mapping[int, Sequence[pa.Array]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.raw or self.own or self.received)


@dataclass(frozen=True)
class SiteOutcome:
    """What a step of a site found, its own new events, rows that came too late, and when to wake it.

    `wake` is a time in milliseconds, or None: then nothing is left that time alone would change. Until now,
    the site was to be woken at `previous_wake`.
    """

    found: Sequence[tuple[SiteWork, Finding, Found]]
    own: Events
    late: pa.Table | None
    report: Report
    wake: int | None
    previous_wake: int | None


@dataclass(frozen=True)
class Known:
    """All that a site remembers: events, matches by stream, and what evaluates each of its works."""

    events: Events
    matches: Mapping[int, pa.Array]
    evaluators: tuple[SiteEvaluator, ...]

    @property
    def is_waiting(self) -> bool:
        """Whether time alone may bring matches."""
        return any(evaluator.is_waiting for evaluator in self.evaluators)


class SiteMemory:
    """What a process knows of sites, with the token of the step after which it did.

    What a step takes is gone until it is kept again: an attempt that fails leaves evaluators that nobody can
    use.
    """

    def __init__(self, most: int = MOST_SITES) -> None:
        self._most = most
        self._found: OrderedDict[str, tuple[str, Known]] = OrderedDict()

    def pop(self, name: str, token: str) -> Known | None:
        """Return what is known of a site after a step, which is forgotten here."""
        found = self._found.pop(name, None)
        return found[1] if found is not None and found[0] == token else None

    def keep(self, name: str, token: str, known: Known) -> None:
        self._found[name] = (token, known)
        while len(self._found) > self._most:
            self._found.popitem(last=False)


class SiteShard:
    """The steps of a site at a level; all that lasts is in its store."""

    def __init__(self, name: str, task: LevelWork, store: Store, memory: SiteMemory) -> None:
        self.name = name
        self.task = task
        self.store = store
        self.memory = memory
        layout = task.wire.layout
        attributes = {**layout.attributes, SITE: (SITE, LONG)}
        self.reader = Reader(replace(layout, attributes=attributes, keeps_tie=True), task.wire.id_type)

    def step(self, arrived: Arrived, watermark: int) -> SiteOutcome | None:
        """Take what came in a micro-batch; return None when there was nothing to do.

        `watermark` is in milliseconds; as in Spark, zero means that there is none yet. Events before it are
        late when they arise; those within matches are not.
        """
        started = perf_counter()
        journal = self._journal()
        previous_wake = journal.wake
        frontier = max(watermark * MILLISECOND if watermark > 0 else BEGINNING, journal.frontier)
        if not arrived and frontier == journal.frontier:
            return None
        before = self._known(journal)
        journal = replace(journal, step=journal.step + 1, frontier=frontier, token=uuid4().hex)
        report = Report(step=journal.step)
        timely, late = divided_at(_united_rows(arrived.raw), self.task.wire.layout.time, frontier)
        own = with_arrival(self._own(timely, arrived.own, before.events), journal.step)
        report.late = 0 if late is None else late.num_rows
        report.events = own.n_events
        report.duplicates = 0 if timely is None else timely.num_rows - own.n_events
        known = self._added(before, own, arrived.received, journal.step)
        found = list(self._found(known, journal.step, frontier))
        known, journal = self._stored(known, journal, arrived.received)
        journal = replace(journal, wake=self._wakes_at(known, frontier))
        self.store.set_journal(journal.to_json())
        self.memory.keep(self.name, journal.token, known)
        for _, finding, matches in found:
            if finding.query is not None:
                report.matches[finding.query] = report.matches.get(finding.query, 0) + matches.table.n_rows
        report.buffered = known.events.n_events
        report.state_bytes = sum(segment.n_bytes for segment in journal.segments)
        report.seconds = perf_counter() - started
        return SiteOutcome(found, own, late, report, journal.wake, previous_wake)

    def _journal(self) -> SiteJournal:
        text = self.store.journal()
        if text is None:
            return SiteJournal(self.task.program)
        journal = SiteJournal.from_json(text)
        if journal.program != self.task.program:
            raise DataError(
                "the checkpoint was written for another placement of the queries, and its state is divided "
                "so; give the queries and the checkpoint= of the first start, or start with a new checkpoint"
            )
        return journal

    def _known(self, journal: SiteJournal) -> Known:
        """Return what the site knew after a step, from memory or from its log."""
        remembered = self.memory.pop(self.name, journal.token)
        if remembered is not None:
            return remembered
        contents = {
            name: [self.store.segment(segment.number) for segment in log]
            for name, log in journal.logs.items()
        }
        stored = contents.pop(EVENTS, [])
        events = self.reader.read(stored) if stored else self.reader.nothing()
        matches = {
            int(name): _one_array(pa.concat_tables([table_from_bytes(content) for content in own])[MATCHES])
            for name, own in contents.items()
        }
        evaluators = self.task.evaluators()
        if events.n_events:
            oldest = self.task.oldest(journal.frontier)
            for evaluator in evaluators:
                for _ in evaluator.step(events, matches, journal.frontier, oldest):
                    pass
        return Known(events, matches, evaluators)

    def _own(self, timely: pa.Table | None, passed: Sequence[bytes], known: Events) -> Events:
        """Return the new events of the site itself."""
        if passed:
            return self.reader.read(passed)
        if timely is None:
            return self.reader.nothing()
        events = self.task.wire.own(timely, self.task.site)
        return (renumbered if self.task.wire.layout.id is None else undelivered)(events, [known])

    def _added(
        self, known: Known, own: Events, received: Mapping[int, Sequence[pa.Array]], step: int
    ) -> Known:
        """Return what is known with what came in a step."""
        events = united(known.events, own)
        matches = dict(known.matches)
        for stream, arrays in received.items():
            came = pa.concat_arrays(arrays)
            events = united(events, with_arrival(self.task.wire.read(came)[0], step))
            if stream in self.task.remembered:
                matches[stream] = pa.concat_arrays([matches[stream], came]) if stream in matches else came
        return Known(events, matches, known.evaluators)

    def _found(self, known: Known, step: int, frontier: int) -> Iterator[tuple[SiteWork, Finding, Found]]:
        """Yield the matches that a step decides."""
        new = known.events.take(np.flatnonzero(arrivals_of(known.events) == step))
        oldest = self.task.oldest(frontier)
        for evaluator in known.evaluators:
            if new.n_events or evaluator.is_waiting:
                for finding, found in evaluator.step(new, known.matches, frontier, oldest):
                    yield evaluator.work, finding, found

    def _stored(
        self, known: Known, journal: SiteJournal, received: Mapping[int, Sequence[pa.Array]]
    ) -> tuple[Known, SiteJournal]:
        """Write what is new, and give up what no match to come refers to."""
        oldest = self.task.oldest(journal.frontier)
        is_new = arrivals_of(known.events) == journal.step
        new = {EVENTS: to_table(known.events.take(np.flatnonzero(is_new)))}
        for stream in self.task.remembered & received.keys():
            came = pa.concat_arrays(received[stream])
            new[str(stream)] = pa.table({TIME_COLUMN: _last_times(came), MATCHES: came})
        journal = LogWriter(self.store, journal, oldest).write(new)
        start = int(np.searchsorted(known.events.times, oldest, side="left"))
        events = known.events.take(slice(start, None))
        matches = {
            stream: own.filter(pc.greater_equal(_last_times(own), oldest))
            for stream, own in known.matches.items()
        }
        events = recoded(events, *compacted([events]))
        evaluators = known.evaluators if events.n_events else self.task.evaluators()
        return Known(events, matches, evaluators), journal

    def _wakes_at(self, known: Known, frontier: int) -> int | None:
        """Return when something may be decided, or else when nothing is needed any more."""
        if not known.events.n_events:
            return None
        if known.is_waiting:
            return max(1, frontier // MILLISECOND + 1)
        latest = int(known.events.times[-1])
        return max(1, (max(latest, frontier) + self.task.horizon) // MILLISECOND + 1)


def _united_rows(tables: Sequence[pa.Table]) -> pa.Table | None:
    return pa.concat_tables(tables) if tables else None


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)


def _last_times(matches: pa.Array) -> pa.Array:
    """Return the time of the last event of each match."""
    times = matches.flatten().field(TIME).to_numpy(zero_copy_only=False)
    starts = np.zeros(len(matches), np.int64)
    np.cumsum(matches.value_lengths().to_numpy(zero_copy_only=False)[:-1], out=starts[1:])
    return pa.array(np.maximum.reduceat(times, starts) if len(matches) else times)
