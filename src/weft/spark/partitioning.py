"""How the events are divided into shards: by key where queries agree on one, else by time with overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from weft.normalize.pipeline import normalize
from weft.pattern.nodes import CountWindow, Query, TimeWindow
from weft.pattern.normal_form import NormalForm

ROWS_PER_SHARD = 2_000_000  # at most, where time slices decide
ROWS_WORTH_A_SHARD = 100_000
OVERLAP_ALLOWED = 4  # a slice is at least this many windows long


@dataclass(frozen=True, slots=True)
class ByKey:
    """Events with equal values of the attributes meet in one shard."""

    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ByTime:
    """Slices of time; each sees `lead` more before its start and `reach` more after its end."""

    reach: int
    lead: int


@dataclass(frozen=True, slots=True)
class Together:
    """All events in one shard."""


Division: TypeAlias = ByKey | ByTime | Together


@dataclass(frozen=True, slots=True)
class Share:
    """Queries that run on one division of the events."""

    queries: tuple[Query, ...]
    division: Division


@dataclass(frozen=True, slots=True)
class Slices:
    """`n_slices` slices of `width` microseconds from `start`; the first and last are open-ended."""

    start: int
    width: int
    n_slices: int

    def owned(self, number: int) -> tuple[int, int]:
        """Return the half-open range of times whose matches begin in a slice."""
        low = -(1 << 62) if number == 0 else self.start + number * self.width
        high = 1 << 62 if number == self.n_slices - 1 else self.start + (number + 1) * self.width
        return low, high


@dataclass(frozen=True, slots=True)
class _Traits:
    query: Query
    keys: frozenset[str]
    reach: int | None  # how far apart in time the events of a match may be; None: any distance
    lead: int


def divide(queries: Sequence[Query]) -> tuple[Share, ...]:
    """Return the queries in groups, each with the division that keeps all its matches whole.

    One common key serves all; otherwise queries with a time window go by time; the rest by their own
    keys, or together where they have none.
    """
    traits = [_traits(query) for query in queries]
    if not traits:
        return ()
    common = frozenset.intersection(*(one.keys for one in traits))
    if common:
        return (Share(tuple(queries), ByKey(tuple(sorted(common)))),)
    by_time = [one for one in traits if one.reach is not None]
    shares: list[Share] = []
    if by_time:
        reach, lead = max(one.reach or 0 for one in by_time), max(one.lead for one in by_time)
        shares.append(Share(tuple(one.query for one in by_time), ByTime(reach, lead)))
    unbounded: dict[Division, list[Query]] = {}
    for one in traits:
        if one.reach is None:
            division = ByKey(tuple(sorted(one.keys))) if one.keys else Together()
            unbounded.setdefault(division, []).append(one.query)
    return (*shares, *(Share(tuple(members), division) for division, members in unbounded.items()))


def _traits(query: Query) -> _Traits:
    forms = normalize(query)
    keys = frozenset.intersection(*map(_keys, forms)) if forms else frozenset()
    reaches = [_reach(form) for form in forms]
    known = [reach for reach in reaches if reach is not None]
    reach = max(known, default=0) if len(known) == len(reaches) else None
    leads = any(negation.before and not negation.after for form in forms for negation in form.negations)
    return _Traits(query, keys, reach, (reach or 0) if leads else 0)


def _keys(form: NormalForm) -> frozenset[str]:
    """The attributes whose values divide the events without touching a match or a position."""
    return frozenset(form.partition_by if isinstance(form.window, CountWindow) else form.keys)


def _reach(form: NormalForm) -> int | None:
    if isinstance(form.window, TimeWindow):
        return form.window.length
    alone = len(form.items) == 1 and form.items[0].most == 1 and not form.negations
    return 0 if alone else None


def slice_times(first: int, last: int, n_events: int, division: ByTime, *, most: int) -> Slices:
    """Cut the time from first to last into slices of equal width.

    As many as there are shards worth their rows, yet so long that the overlap stays small.

    >>> slice_times(0, 1000, 10_000_000, ByTime(reach=50, lead=0), most=200)
    Slices(start=0, width=201, n_slices=5)
    """
    span = last - first + 1
    needed = math.ceil(n_events / ROWS_PER_SHARD)
    useful = min(most, math.ceil(n_events / ROWS_WORTH_A_SHARD))
    overlap = OVERLAP_ALLOWED * (division.reach + division.lead)
    affordable = span // overlap if overlap else span
    n_slices = max(1, min(max(needed, useful), affordable))
    width = -(-span // n_slices)
    return Slices(first, width, n_slices)
