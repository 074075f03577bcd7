"""What a person should know of a run: types that no event has, queries that found nothing, odd times."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from weft.hosts.host import InputCounts
from weft.notices import Notice
from weft.pattern.nodes import Event, Negation, Query
from weft.tree import find

EARLIEST, LATEST = (np.datetime64(str(year), "us") for year in (2000, 2100))
MOST_NAMED = 5
NONE_DERIVED: Mapping[str, object] = MappingProxyType({})
EMPTY = Notice(
    kind="no events",
    reason="the input has no rows",
    remedy="is it the right one, and is there more in its files than a header?",
)


def types_in(queries: Sequence[Query]) -> set[str]:
    """Return the types that queries mention."""
    return {event.type for query in queries for event in find(query.pattern, Event)}


def run_notices(
    queries: Sequence[Query],
    counted: Mapping[str, int],
    rows: InputCounts,
    derived: Mapping[str, object] = NONE_DERIVED,
) -> Iterator[Notice]:
    """Yield what there is to tell of queries that found so many results each in some rows.

    `derived` has the conditions of types that are derived from other columns.

    >>> from weft.language.parser import parse
    >>> rows = InputCounts(3, 0, {"Tranfser": "Transfer"})
    >>> for notice in run_notices(parse("QUERY q PATTERN Tranfser t"), {}, rows):
    ...     print(notice)
    no event is a Tranfser, which query q asks for
      hint: did you mean Transfer?
    query q: no match in 3 events
      hint: weft why, or detection.why("q"), tells how far it gets
    """
    if rows.n_rejected:
        yield _rejected(rows)
    if not rows.n_events + rows.n_rejected:
        yield EMPTY
    if not rows.n_events:
        return
    yield from _odd_times(rows)
    yield from absent_types(queries, rows.absent, derived)
    idle = [query.name for query in queries if not counted.get(query.name)]
    if idle:
        yield _without_results(idle, len(queries), rows.n_events)


def _rejected(rows: InputCounts) -> Notice:
    n_rows = rows.n_events + rows.n_rejected
    verb = "is no event" if rows.n_rejected == 1 else "are no events"
    remedy = "detection.rejected has them, each with the reason"
    if not rows.n_events:
        remedy += "; is the time the right column, in its unit (time_unit, --time-unit) or as ISO 8601?"
    return Notice(
        kind="rejected rows",
        reason=f"{rows.n_rejected:,} of {n_rows:,} rows {verb}, and left out",
        remedy=remedy,
    )


def _odd_times(rows: InputCounts) -> Iterator[Notice]:
    if rows.earliest is None or rows.latest is None:
        return
    first, last = (np.datetime64(moment, "us") for moment in (rows.earliest, rows.latest))
    if first < EARLIEST or last > LATEST:
        yield Notice(
            kind="odd times",
            reason=f"there are events from {_shown(first)} to {_shown(last)}",
            remedy="is that the time of the events, and are its numbers in the unit that was said?",
        )


def _shown(moment: np.datetime64) -> str:
    """Return a time as text, also one that is beyond the calendar of Python."""
    return str(np.datetime_as_string(moment, unit="s")).replace("T", " ")


def absent_types(
    queries: Sequence[Query],
    absent: Mapping[str, str | None],
    derived: Mapping[str, object] = NONE_DERIVED,
) -> Iterator[Notice]:
    """Yield what to say of types that no event has, each given with the nearest one that events have."""
    for name, near in absent.items():
        asking = [query for query in queries if any(own.type == name for own in find(query.pattern, Event))]
        if not asking:
            continue
        needed = [query.name for query in asking if name in _positive_types(query)]
        named = _names(needed or [query.name for query in asking])
        asked = f"which {named} {'asks' if len(needed or asking) == 1 else 'ask'} for"
        yield Notice(
            kind="unknown type",
            reason=f"no event is a {name}, {asked}{'' if needed else ' in NOT: it never rejects a match'}",
            remedy=_remedy(near, derived.get(name)),
        )


def _remedy(near: str | None, condition: object) -> str:
    """Return what to do about a type that no event has; one that is derived has a condition."""
    if condition is not None:
        return f"no event satisfies its condition{f': {condition}' if isinstance(condition, str) else ''}"
    return f"did you mean {near}?" if near else "types are spelled as in the events, case included"


def _positive_types(query: Query) -> set[str]:
    negated = {id(event) for part in find(query.pattern, Negation) for event in find(part, Event)}
    return {event.type for event in find(query.pattern, Event) if id(event) not in negated}


def _without_results(idle: Sequence[str], n_queries: int, n_events: int) -> Notice:
    events = f"{n_events:,} {'event' if n_events == 1 else 'events'}"
    if len(idle) == 1:
        return Notice(
            kind="no matches",
            query=idle[0],
            reason=f"no match in {events}",
            remedy=f'weft why, or detection.why("{idle[0]}"), tells how far it gets',
        )
    return Notice(
        kind="no matches",
        reason=f"{len(idle)} of {n_queries} queries have no match in {events}: {_names(idle)}",
        remedy="weft why, or detection.why(name), tells how far one gets",
    )


def _names(names: Sequence[str]) -> str:
    further = len(names) - MOST_NAMED
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {further} more" if further > 0 else "")
    return shown if len(names) > 1 else f"query {shown}"
