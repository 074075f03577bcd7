"""Evaluate what a site has to find at a level: its own events and the matches it received in, matches out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.kernels.matches.identity import hash_bindings
from weft.plan.nodes import Await, Branch, Output, Plan
from weft.plan.sites import SITE, Among, Finding, Origins, SiteWork
from weft.runtime.budget import Budget, Meter
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.merge import extended, in_pool_of, merge_events, recoded, undelivered
from weft.runtime.matches.execute import Executor, Found, Program
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.table import Lists, flattened
from weft.runtime.stages.site_wire import Bindings, Wire

SEEDS = np.array([1, 2])


class SiteEvaluator:
    """Runs the plan of a site at a level: over all events at once, or step by step.

    What must be among the matches that other sites have checked can be told `lag` microseconds after its
    last event, when all of these are there.
    """

    def __init__(self, work: SiteWork, wire: Wire, budget: Budget | None = None, lag: int = 0) -> None:
        self.work = work
        self.program = program_of(work, lag)
        self._wire = wire
        self._budget = budget or Budget()
        self._executor = Executor(self.program, self._budget)

    @property
    def is_waiting(self) -> bool:
        """Whether time alone, without further events, may bring matches."""
        return self._executor.is_waiting

    def run(self, own: Events, received: Mapping[int, pa.Array]) -> Iterator[tuple[Finding, Found]]:
        """Yield what each output finds in all events there are; `received` are matches by stream."""
        read = {stream: received[stream] for stream in self.work.reads if stream in received}
        events = own
        for matches in read.values():
            events = united(events, self._wire.read(matches)[0])
        yield from self.step(events, read)

    def step(
        self,
        new: Events,
        received: Mapping[int, pa.Array],
        frontier: int = END_OF_TIME,
        oldest: int | None = None,
    ) -> Iterator[tuple[Finding, Found]]:
        """Take new events, and yield what they complete or time has decided, as far as findings want it.

        `received` are all matches that the site remembers. `frontier` and `oldest` promise what they do
        where a plan is executed.
        """
        self._executor.meter = Meter(self._budget, self.program.readers)
        known = _Known(self._wire, received)
        for found in self._executor.run(in_pool_of(self._executor, new), frontier, oldest):
            finding = self.work.findings[found.output]
            kept = _kept(found, finding, known)
            if kept.table.n_rows:
                yield finding, kept


class _Known:
    """The matches that a site has received, told by the rows that their events have at the site."""

    def __init__(self, wire: Wire, received: Mapping[int, pa.Array]) -> None:
        self._wire = wire
        self._received = received
        self._bound: dict[int, Bindings] = {}

    def has(self, among: Among, found: Found) -> Array:
        """Say of each row whether its columns are a match of one of the streams."""
        keys = [
            _received_keys(self._bindings(stream), found.events)
            for stream in among.channels
            if stream in self._received
        ]
        if not keys:
            return np.zeros(found.table.n_rows, np.bool_)
        return np.isin(_found_keys(found, among.columns), np.concatenate(keys))

    def _bindings(self, stream: int) -> Bindings:
        if stream not in self._bound:
            self._bound[stream] = self._wire.read(self._received[stream])[1]
        return self._bound[stream]


def united(known: Events, came: Events) -> Events:
    """Return events with further ones, of which some may be known."""
    pool, codes = extended(known.strings, came.strings)
    known = replace(known, strings=pool)
    return merge_events(known, undelivered(recoded(came, pool, codes), [known]))[0]


def _kept(found: Found, finding: Finding, known: _Known) -> Found:
    """Return the rows that a finding wants."""
    kept = np.ones(found.table.n_rows, np.bool_)
    for group in finding.among:
        kept &= np.any([known.has(among, found) for among in group], axis=0)
    if finding.within:
        kept &= np.any([_come_from(found, origins) for origins in finding.within], axis=0)
    for origins in finding.elsewhere:
        kept &= ~_come_from(found, origins)
    return found if kept.all() else replace(found, table=found.table.take(np.flatnonzero(kept)))


def _come_from(found: Found, origins: Origins) -> Array:
    """Say of each row whether the events of every column come from the sites given for it."""
    sites = found.events.columns[SITE].values
    inside = np.ones(found.table.n_rows, np.bool_)
    for column, allowed in zip(found.table.columns, origins, strict=True):
        if isinstance(column, Lists):
            owners = np.repeat(np.arange(found.table.n_rows), column.lengths)
            inside[owners[~np.isin(sites[column.rows], allowed)]] = False
        else:
            inside &= np.isin(sites[column], allowed)
    return inside


def _found_keys(found: Found, columns: tuple[int, ...]) -> Array:
    offsets, numbers, rows = flattened(found.table, columns)
    places = np.zeros(len(found.table.columns), np.uint64)
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


def program_of(work: SiteWork, lag: int = 0) -> Program:
    """Make the plan of some work ready once per process; sites with the same work share it."""
    awaited = tuple(bool(finding.among) for finding in work.findings)
    return _program(work.plan, awaited, lag)


@lru_cache(maxsize=64)
def _program(plan: Plan, awaited: tuple[bool, ...], lag: int) -> Program:
    pairs = zip(plan.outputs, awaited, strict=True)
    return Program(Plan(tuple(_awaited(output, lag) if waits else output for output, waits in pairs)))


def _awaited(output: Output, lag: int) -> Output:
    def after(branch: Branch) -> Branch:
        return replace(branch, node=Await(branch.node, lag))

    return replace(output, branches=tuple(map(after, output.branches)))
