"""The definition of a trend query's results: every trend of every window and group, one by one.

A trend is a match whose events lie in one window and agree on the keys. Unlike other
matches it may repeat whole groups of events; aggregates are taken of all trends there are.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from weft.expressions import Aggregate, Attribute, CountTrends, Expression, variables_of
from weft.pattern.nodes import CountWindow, Event, Negation, Query
from weft.reference.clauses import positive_variables
from weft.reference.evaluate import aggregate_events
from weft.reference.events import ReferenceEvent, agree
from weft.reference.matcher import matching_occurrences
from weft.reference.occurrences import Occurrence
from weft.reference.stream import Stream, prepare
from weft.reference.thresholds import result_value
from weft.reference.values import ORDER, Value, exact_average, exact_sum
from weft.schema import Type
from weft.tree import find, walk

TrendResults: TypeAlias = dict[tuple[int | None, tuple[Value, ...]], dict[str, Value]]


def find_trend_results(
    query: Query, events: Sequence[ReferenceEvent], *, tie_break: bool = False
) -> TrendResults:
    """Return the RETURN columns of each window start and group that has a trend of a bound query.

    HAVING and then SUPPRESS choose among these. Without a window the start is None. The order of `events`
    does not matter.

    >>> from weft.pattern import nodes
    >>> pattern = nodes.Sequence((Event("A", "a"), nodes.Kleene(Event("B", "b"), 1, None)))
    >>> counts = (
    ...     nodes.ReturnColumn("trends", CountTrends()),
    ...     nodes.ReturnColumn("bs", Aggregate("count", "b")),
    ... )
    >>> query = Query("q", pattern, window=nodes.TimeWindow(10), returns=counts, slide=5)
    >>> arrivals = [("A", 5), ("B", 6), ("B", 9), ("B", 12)]
    >>> stream = [ReferenceEvent(row, frozenset(type), time) for row, (type, time) in enumerate(arrivals)]
    >>> find_trend_results(query, stream)
    {(0, ()): {'trends': 3, 'bs': 4}, (5, ()): {'trends': 7, 'bs': 12}}
    """
    keyed = replace(query, partition_by=(*query.partition_by, *query.group_by))
    stream = prepare(keyed, events, tie_break=tie_break)
    groups: dict[tuple[int | None, tuple[Value, ...]], list[Occurrence]] = {}
    for start, inside in _windows(query, stream.events):
        for part in _partitions(inside, stream.keys):
            group = tuple(_representative(part[0].value(name)) for name in query.group_by)
            groups.setdefault((start, group), []).extend(find_trends(replace(stream, events=part)))
    results: TrendResults = {}
    for (start, group), trends in groups.items():
        values = _values(query, group, trends)
        if trends and all(result_value(threshold, values) is True for threshold in query.having):
            results[start, group] = {
                column.name: result_value(column.expression, values) for column in query.returns
            }
    return _unsuppressed(query, results)


def find_trends(stream: Stream) -> list[Occurrence]:
    """Return the trends of a stream whose events lie in one window and agree on the keys."""
    pattern = stream.query.pattern
    positive = positive_variables(pattern)
    for conjunct in stream.conjuncts:
        if len(variables_of(conjunct)) > 1 and not variables_of(conjunct) <= positive:
            raise ValueError(
                f"a negated variable of a trend query has conditions of its own only: {conjunct}"
            )
    for negation in find(pattern, Negation):
        if not isinstance(negation.operand, Event):
            raise ValueError(f"a trend query negates single events only: {negation}")
    return list({trend.identity: trend for trend in matching_occurrences(stream)}.values())


def _windows(
    query: Query, events: Sequence[ReferenceEvent]
) -> Iterator[tuple[int | None, list[ReferenceEvent]]]:
    """Yield the start of every window [k * slide, k * slide + length) that has events, with its events."""
    if query.window is None:
        yield None, list(events)
        return
    if isinstance(query.window, CountWindow):
        raise ValueError("a trend query has a window of time: expected WITHIN a duration")
    length = query.window.length
    slide = length if query.slide is None else query.slide
    starts = {
        k * slide
        for event in events
        for k in range((event.time - length) // slide + 1, event.time // slide + 1)
    }
    for start in sorted(starts):
        yield start, [event for event in events if start <= event.time < start + length]


def _partitions(events: Iterable[ReferenceEvent], keys: Sequence[str]) -> list[list[ReferenceEvent]]:
    """Return the events, divided into those that agree on all keys."""
    partitions: list[list[ReferenceEvent]] = []
    for event in events:
        mine = next((part for part in partitions if agree(event, part[0], keys)), None)
        if mine is None:
            partitions.append([event])
        else:
            mine.append(event)
    return partitions


def _representative(value: Value) -> Value:
    """Return the value that stands for all that agree with it: one NaN, and 0.0 for -0.0."""
    if not isinstance(value, float):
        return value
    return math.nan if math.isnan(value) else value + 0.0


def _unsuppressed(query: Query, results: TrendResults) -> TrendResults:
    """Return the results that SUPPRESS keeps, walked in order of windows, in a window in order of groups."""
    suppression = query.policy.suppression
    if suppression is None:
        return results
    keys = {attribute.name for attribute in suppression.per} or set(query.group_by)
    kept: TrendResults = {}
    latest: dict[str, int] = {}
    for start, group in sorted(results, key=lambda place: (place[0], *map(ORDER, place[1]))):
        if start is None:
            raise ValueError("SUPPRESS of a trend query needs WITHIN")
        key = repr([value for name, value in zip(query.group_by, group, strict=True) if name in keys])
        if key not in latest or start - latest[key] >= suppression.length:  # so far apart are the ends, too
            latest[key] = start
            kept[start, group] = results[start, group]
    return kept


def _values(query: Query, group: Sequence[Value], trends: Sequence[Occurrence]) -> dict[Expression, Value]:
    """Return the values of all aggregates and attributes that a query shows, or asks for in HAVING."""
    shown = dict(zip(query.group_by, group, strict=True))
    nodes = [node for part in (*query.returns, *query.having) for node in walk(part)]
    values: dict[Expression, Value] = {}
    for node in nodes:
        match node:
            case CountTrends():
                values[node] = len(trends)
            case Attribute(name=name):
                if name not in shown:
                    raise ValueError(f"not a column of a trend query: {node}")
                values[node] = shown[name]
            case Aggregate(variable=variable):
                events = [event for trend in trends for event in trend.bindings.get(variable, ())]
                values[node] = aggregate_events(node, events, total=exact_sum, average=_average)
    return values


def _average(values: Sequence[Value], _: Type) -> Value:
    return exact_average(values)
