"""Evaluate what a site has to find at a level: its own events and the matches it received in, matches out."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.kernels.identity import hash_bindings
from weft.plan.serialize import from_json
from weft.plan.sites import SITE, Among, Finding, Origins, SiteWork
from weft.runtime.budget import Budget
from weft.runtime.columns import Array, Column, Events
from weft.runtime.execute import Executor, Found, Program
from weft.runtime.merge import extended, merge_events, recoded, undelivered
from weft.runtime.site_wire import Bindings, Wire
from weft.runtime.table import Lists, flattened
from weft.schema import LONG

NUMBER = "\0number"  # the attribute that tells an event from all others at a site
SEEDS = np.array([1, 2])


class SiteEvaluator:
    """Runs the plan of a site at a level."""

    def __init__(self, work: SiteWork, wire: Wire, budget: Budget | None = None) -> None:
        self.work = work
        self.program = program_of(work.plan)
        self._wire = wire
        self._budget = budget or Budget()

    def run(self, own: Events, received: Mapping[int, pa.Array]) -> Iterator[tuple[Finding, Found]]:
        """Yield what each output finds, as far as its finding wants it; `received` are matches by stream."""
        read = {stream: received[stream] for stream in self.work.reads if stream in received}
        events, bound = self._gathered(own, read)
        known = _Known(bound, events) if any(finding.among for finding in self.work.findings) else None
        for found in Executor(self.program, self._budget).run(events):
            finding = self.work.findings[found.output]
            kept = _kept(found, finding, known)
            if kept.table.n_rows:
                yield finding, kept

    def _gathered(self, own: Events, received: Mapping[int, pa.Array]) -> tuple[Events, dict[int, Bindings]]:
        """Return all events that the site knows, numbered, and what the received matches bind."""
        events, bound = own, dict[int, Bindings]()
        for stream, matches in received.items():
            came, bound[stream] = self._wire.read(matches)
            events = united(events, came)
        numbers = Column(LONG, np.arange(events.n_events))
        return replace(events, columns={**events.columns, NUMBER: numbers}), bound


class _Known:
    """The matches that a site has received, told by the numbers of their events."""

    def __init__(self, bound: Mapping[int, Bindings], events: Events) -> None:
        self._keys = {stream: _received_keys(bindings, events) for stream, bindings in bound.items()}

    def has(self, among: Among, found: Found) -> Array:
        """Say of each row whether its columns are a match of one of the streams."""
        keys = [self._keys[stream] for stream in among.streams if stream in self._keys]
        if not keys:
            return np.zeros(found.table.n_rows, np.bool_)
        return np.isin(_found_keys(found, among.columns), np.concatenate(keys))


def united(known: Events, came: Events) -> Events:
    """Return events with further ones, of which some may be known."""
    pool, codes = extended(known.strings, came.strings)
    known = replace(known, strings=pool)
    return merge_events(known, undelivered(recoded(came, pool, codes), [known]))[0]


def _kept(found: Found, finding: Finding, known: _Known | None) -> Found:
    """Return the rows that a finding wants."""
    kept = np.ones(found.table.n_rows, np.bool_)
    if known is not None:
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
    ids = found.events.columns[NUMBER].values.astype(np.uint64)
    return _as_keys(hash_bindings(offsets, places, numbers, ids, rows, SEEDS))


def _received_keys(bindings: Bindings, events: Events) -> Array:
    ids = bindings.rows_in(events).astype(np.uint64)
    n_places = int(bindings.places.max(initial=-1)) + 1
    places = np.arange(n_places, dtype=np.uint64)
    rows = np.arange(ids.size)
    return _as_keys(hash_bindings(bindings.offsets, places, bindings.places, ids, rows, SEEDS))


def _as_keys(lanes: Array) -> Array:
    """Return pairs of 64 bits as one value each."""
    return np.asarray(lanes).view([("high", np.uint64), ("low", np.uint64)]).reshape(-1)


@lru_cache(maxsize=64)
def program_of(plan: str) -> Program:
    """Make a plan ready once per process; sites with the same work share it."""
    return Program(from_json(plan))
