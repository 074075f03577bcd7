"""How the events are divided into shards: by key where queries agree on one, else by time with overlap."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    """Slices of time; each sees `lead` microseconds before its start and `reach` after its end.

    Where the matches `meet`, those of all slices are walked together.
    """

    reach: int
    lead: int
    meet: bool = False


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
class QueryTraits:
    """What a query asks of the division of the events.

    The values of `keys` divide them without touching a match, a position or a group of trends. `reach` is how
    far apart in time the events of a match may be, None at any distance; `lead` is how far before its first
    event a match looks. The query `counts` events where its window is one of positions.
    """

    query: Query
    keys: frozenset[str]
    reach: int | None = None
    lead: int = 0
    counts: bool = False


def traits_of(query: Query) -> QueryTraits:
    """Return what a query asks of the division of the events."""
    if query.is_trend:
        return QueryTraits(query, frozenset(query.group_by))
    forms = normalize(query)
    counts = any(isinstance(form.window, CountWindow) for form in forms)
    all_keys = [frozenset(form.partition_by if counts else form.keys) for form in forms]
    keys = frozenset.intersection(*all_keys) if all_keys else frozenset()
    keys = _keys_of_walk(query, keys)
    windows = [_window(form) for form in forms]
    if None in windows:
        return QueryTraits(query, keys, counts=counts)
    window = max((length for length in windows if length is not None), default=0)
    depth = max(map(_negation_depth, forms), default=0)
    lead = window * depth if any(map(_looks_back, forms)) else 0
    return QueryTraits(query, keys, window * max(1, depth), lead)


def _keys_of_walk(query: Query, keys: frozenset[str]) -> frozenset[str]:
    """Return those of the keys whose values divide the walk of a query too.

    Matches that are suppressed PER attributes meet by these, whatever their keys.
    """
    suppression = query.policy.suppression
    if suppression is None or not suppression.per:
        return keys & frozenset(query.keys) if query.policy.walks else keys
    return keys & {attribute.name for attribute in suppression.per}


def divide(queries: Sequence[Query]) -> tuple[QueryGroup, ...]:
    """Return the queries in groups, each with the division that keeps all its matches whole.

    One common key serves all; otherwise queries with a time window go by time; the rest by their own keys, or
    together where they have none. Where one match decides about others, keys come first, else slices meet.
    """
    traits = [traits_of(query) for query in queries]
    common = frozenset.intersection(*(own.keys for own in traits)) if traits else frozenset()
    if common:
        return (QueryGroup(tuple(queries), ByKey(tuple(sorted(common)))),)
    timed = [own for own in traits if own.reach is not None and not own.query.policy.walks]
    meeting = [own for own in traits if own.reach is not None and own.query.policy.walks and not own.keys]
    by_time, to_meet = _time_of(timed), replace(_time_of(meeting), meet=True)
    rest = [own for own in traits if own not in timed and own not in meeting]
    return _groups(
        [
            *((by_time, own.query) for own in timed),
            *((to_meet, own.query) for own in meeting),
            *((_by_key(own.keys), own.query) for own in rest),
        ]
    )


def divide_trends(queries: Sequence[Query], templates: Sequence[Template]) -> tuple[QueryGroup, ...]:
    """Return trend queries in groups, each with the division that keeps all its results whole.

    Queries with the same groups are divided by these; those without by the time at which windows start. Where
    one result decides about others, they meet by what they have in common.
    """
    timed = [own for own in templates if not own.group_by and own.length is not None and own.quiet is None]
    by_time = ByTime(max((own.length or 0 for own in timed), default=0), lead=0)
    divided = [
        by_time if own in timed else _by_key(own.group_by if own.quiet is None else own.quiet_keys)
        for own in templates
    ]
    return _groups(zip(divided, queries, strict=True), {own.query: own for own in templates})


def _groups(
    divided: Iterable[tuple[Division, Query]], templates: Mapping[str, Template] | None = None
) -> tuple[QueryGroup, ...]:
    """Return one group for each division, with the templates of its queries, if they have any."""
    members: dict[Division, list[Query]] = {}
    for division, query in divided:
        members.setdefault(division, []).append(query)
    return tuple(
        QueryGroup(tuple(own), division, tuple(templates[query.name] for query in own) if templates else ())
        for division, own in members.items()
    )


def _by_key(keys: Collection[str]) -> Division:
    return ByKey(tuple(sorted(keys))) if keys else Together()


def time_of(queries: Sequence[Query]) -> ByTime | None:
    """Return how far matches of the queries, and what they look at, reach in time; None: without a bound."""
    traits = [traits_of(query) for query in queries]
    return None if any(own.reach is None for own in traits) else _time_of(traits)


def _time_of(traits: Sequence[QueryTraits]) -> ByTime:
    reach = max((own.reach or 0 for own in traits), default=0)
    return ByTime(reach, max((own.lead for own in traits), default=0))


def _negation_depth(form: NormalForm) -> int:
    """How deep NOTs are nested; each may look one window beyond the match it is about."""
    return max((1 + _negation_depth(negation.form) for negation in form.negations), default=0)


def _looks_back(form: NormalForm) -> bool:
    """Whether some scope begins before the match: that of a NOT first in its SEQ."""
    return any(negation.looks_back or _looks_back(negation.form) for negation in form.negations)


def _window(form: NormalForm) -> int | None:
    if isinstance(form.window, TimeWindow):
        return form.window.length
    is_one_event = len(form.items) == 1 and not form.items[0].is_list and not form.negations
    return 0 if form.window is None and is_one_event else None
