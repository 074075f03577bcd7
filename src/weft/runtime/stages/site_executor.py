"""The executor of a site at a level: own events and matches of other sites in, matches out.

All sites of all levels decide up to the same watermark. In the step in which an event comes to its own site,
every match that it completes comes to every site that needs it. Only what a negation forbids has to be waited
for: a part of a match with a negation between its events comes to other sites when the watermark has passed
its last event, and a lag where a negation contains another. A match does not end before its parts, so a site
that lacks the negated events waits as long for the whole, and knows by then which parts were sent. A negation
that the window alone ends is checked where whole matches are found, and no other site waits.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import BudgetError, WeftError
from weft.kernels.matches.identity import hash_bindings
from weft.plan.lags import lags_of, settled_after
from weft.plan.nodes import Await, Extent, Filter, NegationCheck, Node, Output, Plan, Scan, inputs_of
from weft.plan.sites import SITE, Among, Finding, Origins, SiteProgram, SiteWork
from weft.runtime.budget import Budget, Meter, Stopped
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.merge import (
    compact_pool,
    drop_delivered,
    extend_pool,
    in_pool_of,
    merge_events,
    recode_strings,
)
from weft.runtime.matches.execute import Executor, Found, Skipped
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.table import Lists, flatten_events
from weft.runtime.stages.match_codec import Bindings, MatchCodec, last_times
from weft.runtime.stages.shard_executor import Activity, Arrivals, FoundAtSite, Holdings
from weft.runtime.state.journal import BEGINNING, wake_after

SEEDS = np.array([1, 2])


@dataclass(frozen=True)
class SitePlan:
    """What a site does at a level, and the timing that all sites of its program have in common."""

    site: int
    works: tuple[SiteWork, ...]
    codec: MatchCodec
    timing: "Timing"

    @property
    def remembered_channels(self) -> frozenset[int]:
        """The channels whose matches are kept: their senders have checked negations."""
        return frozenset(
            channel
            for work in self.works
            for finding in work.findings
            for group in finding.among
            for among in group
            for channel in among.channels
        )

    @property
    def horizon(self) -> int:
        """How long events matter; where they are only passed on, not at all."""
        is_plain = all(not work.reads and not timing_of(work.plan).horizon for work in self.works)
        return 0 if is_plain else self.timing.horizon

    def oldest(self, frontier: int) -> int:
        """Return the time before which no event matters once the frontier has come to a time."""
        return max(frontier, BEGINNING + self.horizon) - self.horizon

    def evaluators(self) -> tuple["WorkEvaluator", ...]:
        """Return what evaluates each work, with nothing seen yet."""
        return tuple(WorkEvaluator(work, self.codec, self.timing.lag) for work in self.works)


class SiteExecutor:
    """Runs the work of a site at a level, and keeps the events and matches that the site knows."""

    needs_every_event = True  # where an executor lags behind, which matches came since cannot be told
    stopped: Stopped | None = None
    skipped: Skipped | None = None

    def __init__(self, plan: SitePlan, budget: Budget) -> None:
        self.plan = plan
        self._budget = budget
        self._events: Events | None = None
        self._matches: dict[int, pa.Array] = {}
        self._evaluators = plan.evaluators()

    @property
    def known(self) -> tuple[Events, ...]:
        return () if self._events is None else (self._events,)

    @property
    def holdings(self) -> Holdings:
        return Holdings()

    @property
    def activity(self) -> Activity:
        return Activity()

    def exchange(self, change: Callable[[Events], Events]) -> None:
        self._events = None if self._events is None else change(self._events)

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:  # noqa: ARG002 - placements are kept
        self._budget = budget

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        for _ in self.step(arrivals, frontier):
            pass

    def step(self, arrivals: Arrivals, frontier: int) -> Iterator[FoundAtSite]:
        new = arrivals.events
        self._events = new if self._events is None else merge_events(self._events, new)[0]
        for channel in self.plan.remembered_channels & arrivals.received.keys():
            came = arrivals.received[channel]
            known = self._matches.get(channel)
            self._matches[channel] = came if known is None else pa.concat_arrays([known, came])
        oldest = None if frontier == END_OF_TIME else self.plan.oldest(frontier)
        for evaluator in self._evaluators:
            if new.n_events or evaluator.is_waiting:
                evaluator.stopped = self.stopped
                yield from evaluator.step(new, self._matches, self._budget, frontier, oldest)
        if oldest is not None:
            self._forget(oldest)

    def wakes_at(self, frontier: int) -> int | None:
        """Return when something may be decided, or else when nothing is needed any more."""
        if self._events is None or not self._events.n_events:
            return None
        if any(evaluator.is_waiting for evaluator in self._evaluators):
            return wake_after(frontier)
        return wake_after(max(int(self._events.times[-1]), frontier) + self.plan.horizon)

    def _forget(self, oldest: int) -> None:
        """Give up what no match to come refers to."""
        if self._events is None:
            return
        start = int(np.searchsorted(self._events.times, oldest, side="left"))
        events = self._events.take(slice(start, None))
        self._events = recode_strings(events, *compact_pool([events]))
        self._matches = {
            channel: own.filter(pc.greater_equal(last_times(own), oldest))
            for channel, own in self._matches.items()
        }
        if not events.n_events:
            self._evaluators = self.plan.evaluators()


class WorkEvaluator(Executor):
    """Runs the plan of some work of a site.

    What must be among the matches that other sites have checked can be told `lag` microseconds after its
    last event, when all of these are there.
    """

    stopped: Stopped | None = None

    def __init__(self, work: SiteWork, codec: MatchCodec, lag: int = 0) -> None:
        self.work = work
        self._codec = codec
        is_awaited = tuple(bool(finding.among) for finding in work.findings)
        super().__init__(_program(work.plan, is_awaited, lag))
        self._findings = work.findings

    def step(
        self,
        new: Events,
        received: Mapping[int, pa.Array],
        budget: Budget,
        frontier: int,
        oldest: int | None,
    ) -> Iterator[FoundAtSite]:
        """Take new events, and yield what they complete or time has decided, as far as findings want it.

        `received` are all matches that the site remembers. `frontier` and `oldest` promise what they do
        where a plan is executed.
        """
        self.meter = Meter(budget, self.program.readers)
        known = _KnownMatches(self._codec, received)
        for matches in self.run(in_pool_of(self, new), frontier, oldest):
            finding = self._findings[matches.place]
            kept = _select_matches(matches, finding, known)
            if finding.query is not None:
                kept = replace(kept, output=replace(kept.output, query=finding.query))
            if kept.n_rows:
                yield FoundAtSite(finding, kept)

    def program_after(self, error: BudgetError) -> Program:
        """Leave out what exceeded the budget, but never mere events: a negation elsewhere may need them."""
        outputs, findings = self.program.plan.outputs, self._findings
        goes_on = [output.query not in error.queries or _is_event(output) for output in outputs]
        lost = [finding for finding, is_kept in zip(findings, goes_on, strict=True) if not is_kept]
        told = BudgetError(error.reason, {name for finding in lost or findings for name in finding.serves})
        if self.stopped is None or not lost:
            raise told
        self.stopped.add(told)
        self._findings = tuple(compress(findings, goes_on))
        return Program(Plan(tuple(compress(outputs, goes_on))))


def _is_event(output: Output) -> bool:
    return all(isinstance(branch.node, Scan | Filter) for branch in output.branches)


class _KnownMatches:
    """The matches that a site has received, told by the rows that their events have at the site."""

    def __init__(self, codec: MatchCodec, received: Mapping[int, pa.Array]) -> None:
        self._codec = codec
        self._received = received
        self._bound: dict[int, Bindings] = {}

    def has(self, among: Among, matches: Found) -> Array:
        """Say of each row whether its columns are a match of one of the channels."""
        keys = [
            _received_keys(self._bindings(channel), matches.events)
            for channel in among.channels
            if channel in self._received
        ]
        if not keys:
            return np.zeros(matches.n_rows, np.bool_)
        return np.isin(_found_keys(matches, among.columns), np.concatenate(keys))

    def _bindings(self, channel: int) -> Bindings:
        if channel not in self._bound:
            self._bound[channel] = self._codec.read(self._received[channel])[1]
        return self._bound[channel]


def add_events(known: Events, came: Events) -> Events:
    """Return events with further ones, of which some may be known."""
    pool, codes = extend_pool(known.strings, came.strings)
    known = replace(known, strings=pool)
    return merge_events(known, drop_delivered(recode_strings(came, pool, codes), [known]))[0]


def _select_matches(matches: Found, finding: Finding, known: _KnownMatches) -> Found:
    """Return the rows that a finding wants."""
    kept = np.ones(matches.n_rows, np.bool_)
    for group in finding.among:
        kept &= np.any([known.has(among, matches) for among in group], axis=0)
    if finding.within:
        kept &= np.any([_come_from(matches, origins) for origins in finding.within], axis=0)
    for origins in finding.elsewhere:
        kept &= ~_come_from(matches, origins)
    return matches if kept.all() else matches.take(np.flatnonzero(kept))


def _come_from(matches: Found, origins: Origins) -> Array:
    """Say of each row whether the events of every column come from the sites given for it."""
    sites = matches.events.columns[SITE].values
    inside = np.ones(matches.n_rows, np.bool_)
    for column, allowed in zip(matches.table.columns, origins, strict=True):
        if isinstance(column, Lists):
            owners = np.repeat(np.arange(matches.n_rows), column.lengths)
            inside[owners[~np.isin(sites[column.elements], allowed)]] = False
        else:
            inside &= np.isin(sites[column], allowed)
    return inside


def _found_keys(matches: Found, columns: tuple[int, ...]) -> Array:
    offsets, numbers, rows = flatten_events(matches.table, columns)
    places = np.zeros(len(matches.table.columns), np.uint64)
    places[list(columns)] = np.arange(len(columns), dtype=np.uint64)
    return _keys(offsets, places, numbers, rows)


def _received_keys(bindings: Bindings, events: Events) -> Array:
    n_places = int(bindings.places.max(initial=-1)) + 1
    places = np.arange(n_places, dtype=np.uint64)
    return _keys(bindings.offsets, places, bindings.places, bindings.rows_in(events))


def _keys(offsets: Array, places: Array, numbers: Array, rows: Array) -> Array:
    """Return one value of 128 bits for the events of each match, told by their rows and places."""
    lanes = hash_bindings(offsets, places, numbers, rows.astype(np.uint64), np.arange(rows.size), SEEDS)
    return np.asarray(lanes).view([("high", np.uint64), ("low", np.uint64)]).reshape(-1)


@lru_cache(maxsize=64)
def _program(plan: Plan, is_awaited: tuple[bool, ...], lag: int) -> Program:
    """Make a plan ready once per process; some of its outputs wait `lag` microseconds.

    Sites with the same work share it.
    """
    outputs = [
        replace(
            output,
            branches=tuple(
                replace(own, node=Await(own.node, Extent("time", lag))) for own in output.branches
            ),
        )
        if waits
        else output
        for output, waits in zip(plan.outputs, is_awaited, strict=True)
    ]
    return Program(Plan(tuple(outputs)))


@dataclass(frozen=True, slots=True)
class Timing:
    """What a plan waits for, in microseconds.

    `reach` is how far back events matter to later ones, `lag` how long after its last event a match may have
    to wait, `trail` how long after its first event, for a negation that the window alone ends.
    """

    reach: int = 0
    lag: int = 0
    trail: int = 0

    @property
    def horizon(self) -> int:
        """How long an event matters at most."""
        return self.lag + max(self.trail, self.reach)


def site_timing(program: SiteProgram) -> Timing:
    """Return the timing that all sites of a program have in common: the longest of each."""
    timings = [Timing(), *(timing_of(work.plan) for work in program.works)]
    return Timing(*(max(lengths) for lengths in zip(*map(astuple, timings), strict=True)))


@lru_cache(maxsize=64)
def timing_of(plan: Plan) -> Timing:
    """Return the timing of a plan."""
    program = Program(plan)
    lags = lags_of(program.order)
    branches = [branch for output in plan.outputs for branch in output.all_branches]
    absences = [check.absence for branch in branches for check in _on_rows(branch.node)]
    trails = [_length(settled_after(absence, lags)) for absence in absences if not absence.before]
    within = [_length(settled_after(absence, lags)) for absence in absences if absence.before]
    return Timing(_length(program.reach), max(within, default=0), max(trails, default=0))


def _on_rows(node: Node) -> Iterator[NegationCheck]:
    """Yield what the rows of a node have passed; negations inside negations are their own affair."""
    if isinstance(node, NegationCheck):
        yield node
        yield from _on_rows(node.input)
    else:
        for source in inputs_of(node):
            yield from _on_rows(source)


def _length(extent: Extent | None) -> int:
    if extent is None:
        raise WeftError("a stream has to keep every event: a query has no WITHIN\n  hint: add one")
    return extent.length
