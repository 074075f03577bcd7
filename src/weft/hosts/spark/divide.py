"""How the events are divided into shards: by key where queries agree on one, else by time with overlap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from weft.normalize.pipeline import normalize
from weft.pattern.nodes import CountWindow, Query, TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.plan.template import Template


@dataclass(frozen=True, slots=True)
class ByKey:
    """Events with equal values of the attributes meet in one shard."""

    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ByTime:
    """Slices of time; each sees `lead` microseconds before its start and `reach` after its end."""

    reach: int
    lead: int


@dataclass(frozen=True, slots=True)
class Together:
    """All events in one shard."""


Division: TypeAlias = ByKey | ByTime | Together


@dataclass(frozen=True, slots=True)
class QueryGroup:
    """Queries that run on one division of the events; of trend queries, their templates."""

    queries: tuple[Query, ...]
    division: Division
    templates: tuple[Template, ...] = ()


@dataclass(frozen=True, slots=True)
class _Traits:
    query: Query
    keys: frozenset[str]
    reach: int | None  # how far apart in time the events of a match may be; None: any distance
    lead: int


def divide(queries: Sequence[Query]) -> tuple[QueryGroup, ...]:
    """Return the queries in groups, each with the division that keeps all its matches whole.

    One common key serves all; otherwise queries with a time window go by time; the rest by their own
    keys, or together where they have none.
    """
    traits = [_traits(query) for query in queries]
    if not traits:
        return ()
    common = frozenset.intersection(*(one.keys for one in traits))
    if common:
        return (QueryGroup(tuple(queries), ByKey(tuple(sorted(common)))),)
    by_time = [one for one in traits if one.reach is not None]
    groups: list[QueryGroup] = []
    if by_time:
        reach, lead = max(one.reach or 0 for one in by_time), max(one.lead for one in by_time)
        groups.append(QueryGroup(tuple(one.query for one in by_time), ByTime(reach, lead)))
    unbounded: dict[Division, list[Query]] = {}
    for one in traits:
        if one.reach is None:
            division = ByKey(tuple(sorted(one.keys))) if one.keys else Together()
            unbounded.setdefault(division, []).append(one.query)
    return (*groups, *(QueryGroup(tuple(members), division) for division, members in unbounded.items()))


def time_of(queries: Sequence[Query]) -> ByTime | None:
    """Return how far matches of the queries, and what they look at, reach in time; None: without a bound."""
    traits = [_traits(query) for query in queries]
    reaches = [one.reach for one in traits if one.reach is not None]
    if len(reaches) < len(traits):
        return None
    return ByTime(max(reaches, default=0), max((one.lead for one in traits), default=0))


def divide_trends(queries: Sequence[Query], templates: Sequence[Template]) -> tuple[QueryGroup, ...]:
    """Return trend queries in groups, each with the division that keeps all its results whole.

    Queries with the same groups are divided by these; those without by the time at which windows start.
    """
    members: dict[Division, list[tuple[Query, Template]]] = {}
    lengths = [one.length for one in templates if one.length is not None and not one.group_by]
    for query, template in zip(queries, templates, strict=True):
        division: Division = Together()
        if template.group_by:
            division = ByKey(tuple(sorted(template.group_by)))
        elif template.length is not None:
            division = ByTime(reach=max(lengths), lead=0)
        members.setdefault(division, []).append((query, template))
    return tuple(
        QueryGroup(tuple(query for query, _ in own), division, tuple(template for _, template in own))
        for division, own in members.items()
    )


def _traits(query: Query) -> _Traits:
    forms = normalize(query)
    keys = frozenset.intersection(*map(_keys, forms)) if forms else frozenset()
    windows = [_window(form) for form in forms]
    if None in windows:
        return _Traits(query, keys, None, 0)
    window = max((one for one in windows if one is not None), default=0)
    depth = max(map(_negation_depth, forms), default=0)
    lead = window * depth if any(map(_looks_back, forms)) else 0
    return _Traits(query, keys, window * max(1, depth), lead)


def _keys(form: NormalForm) -> frozenset[str]:
    """The attributes whose values divide the events without touching a match or a position."""
    return frozenset(form.partition_by if isinstance(form.window, CountWindow) else form.keys)


def _negation_depth(form: NormalForm) -> int:
    """How deep NOTs are nested; each may look one window beyond the match it is about."""
    return max((1 + _negation_depth(negation.form) for negation in form.negations), default=0)


def _looks_back(form: NormalForm) -> bool:
    """Whether some scope begins before the match: that of a NOT first in its SEQ."""
    return any(
        bool(negation.before and not negation.after) or _looks_back(negation.form)
        for negation in form.negations
    )


def _window(form: NormalForm) -> int | None:
    if isinstance(form.window, TimeWindow):
        return form.window.length
    alone = len(form.items) == 1 and form.items[0].most == 1 and not form.negations
    return 0 if alone else None
