"""Samples of events, and statistics estimated from them, wherever the events lie.

Time is cut into slices of several windows, and the slices are dealt to buckets by a hash. A first pass
counts the events of each bucket; a second one fetches the events of as many buckets as are wanted: whole
slices from all over the data, so that the events within a window of each other come together. Where a few
slices hold too many events already, a random part of their events is fetched.

Where the first rows come in order of time, they are a stretch of the stream, and enough to choose a plan.
So are all rows, where there are few.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from weft.optimizer.correct_statistics import correct
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.statistics.measure import measure
from weft.statistics.model import Inquiry, Statistics
from weft.statistics.partial_matches import count_partial_matches
from weft.statistics.sampling import MICROSECONDS

ROWS = 100_000  # events that a quick look takes at most, about
MANY_ROWS = 400_000  # the same where time is taken
WINDOWS_PER_SLICE = 8
SHORTEST_SLICE, LONGEST_SLICE = 20, 62  # as powers of two of a microsecond: a second, and all of time
BUCKET_BITS, PART_BITS = 12, 20  # of the hash of a slice, and of the hash of a row
LEAST_IN_ORDER = 0.95  # of the pairs of neighbors among the first rows, to be a stretch of the stream
LEAST_BUCKETS = 8  # of few slices, so that the sample is not of one moment


@dataclass(frozen=True)
class Sample:
    """Events of slices of time.

    `duration` are the seconds in which the complete stream has as many events. Slices without events
    do not count: what matters is how many events meet in a window while there are events at all.
    `span` are the seconds from the first to the last event of the complete stream, where that is known, and
    `part` is the share of the events of the slices that were fetched.
    """

    events: Events
    duration: float
    span: float | None
    part: float = 1.0


@dataclass(frozen=True)
class BucketDraw:
    """The buckets up to `last` hold `n_events`, of which a random `part` of 2^PART_BITS is fetched."""

    last: int
    n_events: int
    part: int


class Sampler(Protocol):
    """Draws events of the types that were asked for."""

    def sample_events(self, window: float | None) -> Sample | None:
        """Return events of whole slices, or all there are; None when there are none.

        A slice lasts at least WINDOWS_PER_SLICE times the window, given in seconds; without a window all
        of time is one slice.
        """

    def first_events(self) -> Sample | None:
        """Return the first events; None when they are no stretch of the stream.

        They are if they come in order of time, but for a few, or if there are no others.
        """


def estimate(sampler: Sampler, inquiry: Inquiry, *, is_quick: bool = False, seed: int = 0) -> Statistics:
    """Return what a sample of the events says of items, predicate groups and keys.

    The largest window of the inquiry gives the length of the slices that are drawn. Without any events,
    nothing is known. To be quick is to be content with the first events, if they come in order of time; how
    long the stream lasts is not known then.
    """
    sample = sampler.first_events() if is_quick else None
    sample = sample or sampler.sample_events(inquiry.largest_window)
    if sample is None:
        return Statistics()
    measured = measure(sample.events, inquiry, duration=sample.duration, seed=seed)
    counts = count_partial_matches(sample.events, inquiry.forms, seed=seed)
    measured = correct(measured, counts, inquiry.forms, duration=sample.duration, part=sample.part)
    return replace(measured, duration=None if sample.span is None else max(sample.span, sample.duration))


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


def covered_time(events: Events, slice_bits: int) -> float:
    """Return the microseconds that the slices of a sample last; those at the ends count in part."""
    n_slices = np.unique(events.times >> slice_bits).size
    between = float(events.times[-1] - events.times[0]) or MICROSECONDS  # one moment counts as a second
    return min(between, float(n_slices) * 2.0**slice_bits)


def site_rank(site: str) -> tuple[bool, int, str]:
    """Order sites by their names, numbers as numbers."""
    return (not site.isdigit(), len(site) if site.isdigit() else 0, site)


def identified_events(table: pa.Table, layout: Layout) -> Events:
    """Return the events of rows with an id; dropped only here, so that a count need not read ids."""
    return ingest(table if layout.id is None else table.filter(table[layout.id].is_valid()), layout)


def first_stretch(table: pa.Table, layout: Layout, *, is_complete: bool) -> Sample | None:
    """Return the first rows of the events as a sample; None when they are no stretch of the stream.

    They are if they come in order of time, but for a few, or if there are no others.
    """
    times = table[layout.time].to_numpy()
    if not is_complete and np.mean(times[1:] >= times[:-1]) < LEAST_IN_ORDER:
        return None
    events = identified_events(table, layout)
    if not events.n_events:
        return None
    seconds = (float(events.times[-1] - events.times[0]) or MICROSECONDS) / MICROSECONDS
    return Sample(events, seconds, seconds if is_complete else None)
