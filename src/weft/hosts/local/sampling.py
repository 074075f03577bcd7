"""Sample events in this process; count the events of each kind at each site."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.expressions import Aggregate, Attribute
from weft.hosts.demand import Demand
from weft.hosts.local.columns import texts_of
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.wire import Wire
from weft.hosts.meaning import ID, TIME, require_column
from weft.hosts.sampling import (
    BUCKET_BITS,
    PART_BITS,
    ROWS,
    Sample,
    choose_buckets,
    covered_time,
    first_stretch,
    identified_events,
    site_rank,
    slice_bits_for,
)
from weft.kernels.matches.identity import hash_numbers
from weft.placement.site_statistics import SiteCounts
from weft.runtime.columns.events import Array
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import to_arrow
from weft.statistics.model import ItemKey
from weft.statistics.sampling import MICROSECONDS, rows_of_item
from weft.tree import find

NUMBER_BYTES = 8  # of a number, and of a time


@dataclass(frozen=True)
class LocalSampler:
    """Draws about `rows` events of the given types, or with `counts_all` of all, with some attributes."""

    source: LocalEvents
    types: Collection[str]
    attributes: Collection[str] = ()
    counts_all: bool = False
    rows: int = ROWS
    seed: int = 0

    @cached_property
    def _wire(self) -> Wire:
        """What is read; the identity of an event without an id is not needed."""
        wire = Wire.of(
            self.source, Demand(frozenset(self.types), frozenset(self.attributes), self.counts_all)
        )
        return replace(wire, layout=replace(wire.layout, content=None))

    def _events(self) -> Iterator[pa.RecordBatch]:
        return (self._wire.events_of(rows)[0] for rows in self._wire.batches())

    def sample_events(self, window: float | None) -> Sample | None:
        """Return events of whole slices, by two passes over the rows."""
        slice_bits = slice_bits_for(window)
        counts = np.zeros(1 << BUCKET_BITS, np.int64)
        earliest, latest = [], []
        for rows in self._events():
            if rows.num_rows:
                times = rows.column(TIME).to_numpy()
                counts += np.bincount(self._buckets(times, slice_bits), minlength=counts.size)
                earliest.append(int(times.min()))
                latest.append(int(times.max()))
        known = np.flatnonzero(counts)
        drawn = choose_buckets(list(zip(known.tolist(), counts[known].tolist(), strict=True)), self.rows)
        if drawn is None:
            return None
        fetched = [self._fetch(rows, drawn.last, drawn.part, slice_bits) for rows in self._events()]
        table = pa.Table.from_batches([rows for rows in fetched if rows.num_rows], fetched[0].schema)
        events = identified_events(table, self._wire.layout)
        if not events.n_events:
            return None
        seconds = table.num_rows / drawn.n_events * covered_time(events, slice_bits) / MICROSECONDS
        return Sample(
            events, seconds, float(max(latest) - min(earliest)) / MICROSECONDS, drawn.part / (1 << PART_BITS)
        )

    def _fetch(self, rows: pa.RecordBatch, last: int, part: int, slice_bits: int) -> pa.RecordBatch:
        """Return the rows of buckets up to the last, or a random part of them."""
        times = rows.column(TIME).to_numpy()
        wanted = self._buckets(times, slice_bits) <= last
        if part < 1 << PART_BITS:
            drawn = np.random.default_rng((self.seed, int(times.sum() & 0xFFFF))).integers(
                1 << PART_BITS, size=times.size
            )
            wanted &= drawn < part
        return rows.filter(pa.array(wanted))

    def _buckets(self, times: Array, slice_bits: int) -> Array:
        """Return the bucket of the slice of each time."""
        hashes = hash_numbers((times >> slice_bits) ^ (self.seed * 0x9E3779B9))
        return np.asarray(hashes >> np.uint64(64 - BUCKET_BITS)).astype(np.int64)

    def first_events(self) -> Sample | None:
        """Return the first events; reading ends when they are there."""
        parts: list[pa.RecordBatch] = []
        n_rows, is_complete = 0, True
        for rows in self._events():
            parts.append(rows)
            n_rows += rows.num_rows
            if n_rows >= self.rows:
                is_complete = False
                break
        if not parts:
            return None
        table = pa.Table.from_batches(parts).slice(0, self.rows)
        return first_stretch(table, self._wire.layout, is_complete=is_complete)


def site_counts(
    source: LocalEvents, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]
) -> SiteCounts:
    """Return how many events of each kind there are at each site; rows without a site do not count.

    Without events that a query looks at there are no sites, but it is an error if none of them has one.
    `attributes` are those that queries mention: what an event takes is its time, its id and these.
    """
    require_column(source.rows.schema.names, site, "the site")
    types = frozenset(key.type for key in kinds.values())
    conditions = [one for kind in kinds.values() for one in kind.predicates]
    mentioned = {own.name for one in conditions for own in find(one, Attribute)}
    mentioned |= {own.name for one in conditions for own in find(one, Aggregate) if own.name is not None}
    wire = Wire.of(replace(source, site=None), Demand(types, frozenset({*mentioned, *attributes, site})))
    layout = replace(wire.layout, content=None, id=None)  # rows are counted, though events may come twice
    sized = [name for name in attributes if name != source.time]
    totals: dict[str, Array] = {}  # of each site: events of each kind, then all events, and their bytes
    n_rows = 0
    for rows in wire.batches():
        wired, _, _ = replace(wire, layout=layout).events_of(rows)
        n_rows += wired.num_rows
        sited = with_values_of(wired, layout.attributes[site][0])
        for name, counts in _count_by_site(sited, layout, site, kinds, sized).items():
            totals[name] = totals.get(name, 0) + counts
    if n_rows and not totals:
        raise DataError(f"no event that a query looks at has a site: column {site!r} is NULL in all of them")
    sites = tuple(sorted(totals, key=site_rank))
    return SiteCounts(
        sites=sites,
        counts={kind: np.array([totals[own][place] for own in sites]) for place, kind in enumerate(kinds)},
        event_bytes=float(np.mean([totals[own][-1] / totals[own][-2] for own in sites])) if sites else 0.0,
    )


def with_values_of(rows: pa.RecordBatch, name: str) -> pa.Table:
    """Return the rows that have a value in a column."""
    return pa.Table.from_batches([rows.filter(rows.column(name).is_valid())])


def _count_by_site(
    rows: pa.Table, layout: Layout, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]
) -> dict[str, Array]:
    """Return for each site its rows of each kind, all of its rows, and their bytes."""
    places, names = _coded(rows[layout.attributes[site][0]])
    sizes = np.bincount(places, _row_bytes(rows, layout, attributes), len(names))
    events = ingest(rows, layout)
    event_places, own_names = _coded(to_arrow(events.columns[site], events.strings))
    order = [own_names.index(name) for name in names]  # events are sorted, rows were not
    rows_of = [rows_of_item(key, events.rows_of_type(key.type), events) for key in kinds.values()]
    counts = [np.bincount(event_places[own], minlength=len(names))[order] for own in rows_of]
    together = np.array([*counts, np.bincount(places, minlength=len(names)), sizes], np.float64)
    return dict(zip(names, together.T, strict=True))


def _coded(values: pa.Array | pa.ChunkedArray) -> tuple[Array, list[str]]:
    """Return the number of each value, and the values as text."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    texts = texts_of(whole).dictionary_encode()
    return texts.indices.to_numpy(), texts.dictionary.to_pylist()


def _row_bytes(rows: pa.Table, layout: Layout, attributes: Collection[str]) -> Array:
    """Return the bytes of each row: of its time, its id if it has one, and attributes."""
    names = [layout.attributes[name][0] for name in attributes if name in layout.attributes]
    sizes = np.full(rows.num_rows, NUMBER_BYTES, np.float64)
    for name in [ID, *names] if ID in rows.column_names else names:
        values = rows[name]
        is_text = pa.types.is_string(values.type)
        sizes += pc.fill_null(pc.binary_length(values), 0).to_numpy() if is_text else NUMBER_BYTES
    return sizes
