"""Sample events on Spark and estimate statistics from them; count the events of each kind at each site.

Time is cut into slices of several windows, and the slices are dealt to buckets by a hash. A first job
counts the events of each bucket; it reads hardly more than the times and types. A second job fetches the
events of as many buckets as are wanted: whole slices from all over the data, so that the events within
a window of each other come together. Where a few slices hold too many events already, a random part of
their events is fetched. Both jobs are plain scans, and neither is larger for more data or skewed data
in anything but what it reads.

Where the first rows come in order of time, they are a stretch of the stream, and a job that ends as soon
as it has them is enough to choose a plan. So are all rows, where there are few.

Sites are counted by one more scan: what is rare at one site may be missed by a sample.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, and_

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.errors import DataError
from weft.hosts.demand import Demand
from weft.hosts.meaning import CONTENT, TIME, require_column
from weft.hosts.spark.frame import EventFrame, select_columns, wire_columns
from weft.hosts.spark.pushdown import column_of, to_column
from weft.placement.site_statistics import SiteCounts
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.statistics.measure import measure
from weft.statistics.model import Inquiry, ItemKey, Statistics
from weft.statistics.sampling import MICROSECONDS

ROWS = 100_000  # events that a sample holds at most, about
WINDOWS_PER_SLICE = 8
SHORTEST_SLICE, LONGEST_SLICE = 20, 62  # as powers of two of a microsecond: a second, and all of time
BUCKET_BITS, PART_BITS = 12, 20  # of the hash of a slice, and of the hash of a row
LEAST_IN_ORDER = 0.95  # of the pairs of neighbors among the first rows, to be a stretch of the stream
LEAST_BUCKETS = 8  # of few slices, so that the sample is not of one moment
BUCKET, N_EVENTS, EARLIEST, LATEST = "bucket", "n_events", "earliest", "latest"
SITE, BYTES, KIND = "weft_site", "weft_bytes", "weft_kind"
NUMBER_BYTES = 8  # of a number, and of a time


@dataclass(frozen=True)
class Sample:
    """Events of slices of time.

    `duration` are the seconds in which the complete stream has as many events. Slices without events
    do not count: what matters is how many events meet in a window while there are events at all.
    `span` are the seconds from the first to the last event of the complete stream, where that is known.
    """

    events: Events
    duration: float
    span: float | None


@dataclass(frozen=True)
class BucketDraw:
    """The buckets up to `last` hold `n_events`, of which a random `part` of 2^PART_BITS is fetched."""

    last: int
    n_events: int
    part: int


def estimate(
    source: EventFrame,
    inquiry: Inquiry,
    *,
    counts_all: bool = False,
    is_quick: bool = False,
    rows: int = ROWS,
    seed: int = 0,
) -> Statistics:
    """Return what a sample of the events says of items, predicate groups and keys.

    The largest window of the inquiry gives the length of the slices that are drawn. With `counts_all`,
    events of all types are sampled, and `total_rate` is that of all of them, which turns a window of so
    many events into one of time. Without any events, nothing is known. To be quick is to be content with
    the first events, if they come in order of time; how long the stream lasts is not known then.
    """
    types = {item.type for item in inquiry.every_item}
    sampler = EventSampler(source, types, inquiry.attributes, counts_all, rows, seed)
    sample = sampler.first_events() if is_quick else None
    sample = sample or sampler.sample_events(inquiry.largest_window)
    if sample is None:
        return Statistics()
    measured = measure(sample.events, inquiry, duration=sample.duration, seed=seed)
    return replace(measured, duration=None if sample.span is None else max(sample.span, sample.duration))


@dataclass(frozen=True)
class EventSampler:
    """Draws about `rows` events of the given types, or with `counts_all` of all, with some attributes."""

    source: EventFrame
    types: Collection[str]
    attributes: Collection[str] = ()
    counts_all: bool = False
    rows: int = ROWS
    seed: int = 0

    def sample_events(self, window: float | None) -> Sample | None:
        """Return events of whole slices, or all there are; None when there are none.

        A slice lasts at least WINDOWS_PER_SLICE times the window, given in seconds; without a window all
        of time is one slice.
        """
        slice_bits = slice_bits_for(window)
        time = F.unix_micros(self.source.time_column)
        number = F.shiftright(time, slice_bits)
        bucket = F.shiftrightunsigned(F.xxhash64(number, F.lit(self.seed)), 64 - BUCKET_BITS)
        extent = F.min(time).alias(EARLIEST), F.max(time).alias(LATEST)
        grouped = self._rows.groupBy(bucket.alias(BUCKET))
        counted = grouped.agg(F.count(F.lit(1)).alias(N_EVENTS), *extent).collect()
        drawn = choose_buckets([(row[BUCKET], row[N_EVENTS]) for row in counted], self.rows)
        if drawn is None:
            return None
        columns, layout = self._columns
        fetched = self._rows.where(bucket <= drawn.last)
        if drawn.part < 1 << PART_BITS:
            part = F.shiftrightunsigned(F.xxhash64(*columns.values(), F.lit(self.seed)), 64 - PART_BITS)
            fetched = fetched.where(part < drawn.part)
        table = select_columns(fetched, columns).toArrow()
        events = _identified_events(table, layout)
        if not events.n_events:
            return None
        seconds = table.num_rows / drawn.n_events * _covered_time(events, slice_bits) / MICROSECONDS
        latest, earliest = max(row[LATEST] for row in counted), min(row[EARLIEST] for row in counted)
        return Sample(events, seconds, float(latest - earliest) / MICROSECONDS)

    def first_events(self) -> Sample | None:
        """Return the first events; None when they are no stretch of the stream.

        They are if they come in order of time, but for a few, or if there are no others.
        """
        columns, layout = self._columns
        table = select_columns(self._rows.limit(self.rows), columns).toArrow()
        is_complete = table.num_rows < self.rows
        times = table[TIME].to_numpy()
        if not is_complete and np.mean(times[1:] >= times[:-1]) < LEAST_IN_ORDER:
            return None
        events = _identified_events(table, layout)
        if not events.n_events:
            return None
        seconds = (float(events.times[-1] - events.times[0]) or MICROSECONDS) / MICROSECONDS
        return Sample(events, seconds, seconds if is_complete else None)

    @property
    def _rows(self) -> DataFrame:
        """The rows that count: with a time, and of the types that are asked for."""
        timed = self.source.events.where(self.source.time_column.isNotNull())
        if not self.counts_all:
            return timed.where(self.source.is_of_type(sorted(self.types)))
        return timed if self.source.type is None else timed.where(column_of(self.source.type).isNotNull())

    @property
    def _columns(self) -> tuple[dict[str, Column], Layout]:
        """The columns to fetch; the identity of an event without an id, a hash of all columns, is none."""
        demand = Demand(frozenset(self.types), frozenset(self.attributes))
        columns, layout = wire_columns(demand, self.source)
        columns.pop(CONTENT, None)
        return columns, replace(layout, content=None)


def _identified_events(table: pa.Table, layout: Layout) -> Events:
    """Return the events of rows with an id; dropped only here, so that a count need not read ids."""
    return ingest(table if layout.id is None else table.filter(table[layout.id].is_valid()), layout)


def slice_bits_for(window: float | None) -> int:
    """Return the length of a slice for a window in seconds: the power of two of a microsecond.

    >>> [slice_bits_for(window) for window in (0.001, 1.0, 3600.0, None)]
    [20, 23, 35, 62]
    """
    if window is None:
        return LONGEST_SLICE
    length = max(WINDOWS_PER_SLICE * window * MICROSECONDS, 1.0)
    return min(max(math.ceil(math.log2(length)), SHORTEST_SLICE), LONGEST_SLICE)


def choose_buckets(counted: Iterable[tuple[int, int]], rows: int) -> BucketDraw | None:
    """Choose buckets, given as (number, events), in the order of their numbers, which are hashes.

    As many as hold `rows` events together. If these were too few, the number of buckets has
    precedence, and a part of the events is drawn. Where no bucket is empty, slices are many, and one
    bucket holds enough of them.

    >>> choose_buckets([(7, 30), (2, 40), (9, 50)], rows=1_000)
    BucketDraw(last=9, n_events=120, part=1048576)
    >>> choose_buckets([(7, 30), (2, 40), (9, 50)], rows=60)
    BucketDraw(last=9, n_events=120, part=524288)
    """
    ordered = sorted(counted)
    if not ordered:
        return None
    sums = np.cumsum([n_events for _, n_events in ordered])
    least = 1 if len(ordered) == 1 << BUCKET_BITS else LEAST_BUCKETS
    n_buckets = min(max(int(np.searchsorted(sums, rows, side="right")), least), len(ordered))
    n_events = int(sums[n_buckets - 1])
    part = min(1 << PART_BITS, math.ceil(rows / n_events * (1 << PART_BITS)))
    return BucketDraw(ordered[n_buckets - 1][0], n_events, part)


def _covered_time(events: Events, slice_bits: int) -> float:
    """Return the microseconds that the slices of a sample last; those at the ends count in part."""
    n_slices = np.unique(events.times >> slice_bits).size
    between = float(events.times[-1] - events.times[0]) or MICROSECONDS  # one moment counts as a second
    return min(between, float(n_slices) * 2.0**slice_bits)


def site_counts(
    source: EventFrame, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]
) -> SiteCounts:
    """Return how many events of each kind there are at each site; rows without a site do not count.

    Without events that a query looks at there are no sites, but it is an error if none of them has one.
    A condition that Spark might read in another way is left out, and the kind counted among the bounds.
    `attributes` are those that queries mention: what an event takes is its time, its id and these.
    """
    require_column(source.events.columns, site, "the site")
    types = sorted({key.type for key in kinds.values()})
    conditions = {kind: kind_condition(source, key) for kind, key in kinds.items()}
    rows, has_site = source.events.where(source.is_of_type(types)), column_of(site).isNotNull()
    counted = (
        rows.where(source.is_good & has_site)
        .groupBy(column_of(site).cast("string").alias(SITE))
        .agg(
            F.avg(_size(source, attributes)).alias(BYTES),
            *(
                F.count_if(condition).alias(f"{KIND}{number}")
                for number, (condition, _) in enumerate(conditions.values())
            ),
        )
        .collect()
    )
    if not counted and not rows.where(~has_site).isEmpty():
        raise DataError(f"no event that a query looks at has a site: column {site!r} is NULL in all of them")
    counted.sort(key=lambda row: _rank(row[SITE]))
    counts = {
        kind: np.array([row[f"{KIND}{number}"] for row in counted], np.float64)
        for number, kind in enumerate(conditions)
    }
    return SiteCounts(
        sites=tuple(row[SITE] for row in counted),
        counts=counts,
        bounds=frozenset(kind for kind, (_, is_exact) in conditions.items() if not is_exact),
        event_bytes=float(np.mean([row[BYTES] for row in counted])) if counted else 0.0,
    )


def _rank(site: str) -> tuple[bool, int, str]:
    """Order sites by their names, numbers as numbers."""
    return (not site.isdigit(), len(site) if site.isdigit() else 0, site)


def kind_condition(source: EventFrame, key: ItemKey) -> tuple[Column, bool]:
    """Return when a row is an event of a kind, and whether that is exact."""
    columns = [to_column(predicate) for predicate in key.predicates]
    known = [column for column in columns if column is not None]
    return reduce(and_, known, source.is_of_type([key.type])), len(known) == len(columns)


def _size(source: EventFrame, attributes: Collection[str]) -> Column:
    """Return the bytes of an event: numbers take 8, texts what they have."""
    names = [name for name in (source.id, *sorted(attributes)) if name is not None and name != source.time]
    fields = {field.name: field.dataType for field in source.events.schema.fields}
    texts = [name for name in names if isinstance(fields.get(name), T.StringType)]
    lengths = [F.coalesce(F.octet_length(column_of(name)), F.lit(0)) for name in texts]
    plain = NUMBER_BYTES * (1 + len(names) - len(texts))
    return reduce(add, lengths, F.lit(plain)).cast("double")
