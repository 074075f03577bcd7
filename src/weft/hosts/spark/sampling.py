"""Sample events on Spark; count the events of each kind at each site.

Both passes of a sample are jobs that are plain scans, and neither is larger for more data or skewed data in
anything but what it reads. For the first rows, a job ends as soon as it has them.

Sites are counted by one more scan: what is rare at one site may be missed by a sample.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, and_

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.errors import DataError
from weft.hosts.demand import Demand
from weft.hosts.meaning import CONTENT, require_column
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
from weft.hosts.spark.frame import EventFrame, select_columns, wire_columns
from weft.hosts.spark.pushdown import column_of, to_column
from weft.placement.site_statistics import SiteCounts
from weft.runtime.columns.layout import Layout
from weft.statistics.model import ItemKey
from weft.statistics.sampling import MICROSECONDS

BUCKET, N_EVENTS, EARLIEST, LATEST = "bucket", "n_events", "earliest", "latest"
SITE, BYTES, KIND = "weft_site", "weft_bytes", "weft_kind"
NUMBER_BYTES = 8  # of a number, and of a time


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
        """Return events of whole slices, by two jobs."""
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
        events = identified_events(table, layout)
        if not events.n_events:
            return None
        seconds = table.num_rows / drawn.n_events * covered_time(events, slice_bits) / MICROSECONDS
        latest, earliest = max(row[LATEST] for row in counted), min(row[EARLIEST] for row in counted)
        return Sample(events, seconds, float(latest - earliest) / MICROSECONDS, drawn.part / (1 << PART_BITS))

    def first_events(self) -> Sample | None:
        """Return the first events, by a job that ends when it has them."""
        columns, layout = self._columns
        table = select_columns(self._rows.limit(self.rows), columns).toArrow()
        return first_stretch(table, layout, is_complete=table.num_rows < self.rows)

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
    counted.sort(key=lambda row: site_rank(row[SITE]))
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
