"""The definition of a trend query's results: every trend of every window and group, one by one.

A trend is a match whose events lie in one window and agree on the keys. Its bindings are searched for as the
pattern is written, predicates and negations are checked on the whole trend, and aggregates are taken of all
trends that remain.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from weft.expressions import Aggregate, Attribute, CountTrends, Expression, variables_of
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, CountWindow, Event, Kleene, Negation, Pattern, Query
from weft.testing.clauses import clauses_of, positive_variables
from weft.testing.evaluate import holds
from weft.testing.events import ReferenceEvent, agree
from weft.testing.exact import canonical, exact_average, exact_sum
from weft.testing.stream import Stream, prepare
from weft.testing.values import Value, greatest, least

TrendResults: TypeAlias = dict[tuple[int | None, tuple[Value, ...]], dict[str, Value]]


@dataclass(frozen=True, slots=True)
class Trend:
    """A match of a pattern, which is the whole one or the operand of a repeated group.

    `clause` is the alternative that it takes, `lists` are the events of each variable, in order, and
    `repeats` the matches that a repeated group is made of. What is absent is in neither.
    """

    clause: Pattern
    lists: dict[str, tuple[ReferenceEvent, ...]] = field(default_factory=dict)
    repeats: dict[Kleene, tuple["Trend", ...]] = field(default_factory=dict)

    @property
    def identity(self) -> Hashable:
        """The bindings: two trends with the same ones are one trend."""
        rows = {(variable, tuple(event.row for event in bound)) for variable, bound in self.lists.items()}
        lists = {(group, tuple(part.identity for part in parts)) for group, parts in self.repeats.items()}
        return frozenset(rows), frozenset(lists)

    @property
    def events(self) -> list[ReferenceEvent]:
        """All events of the trend."""
        own = [event for bound in self.lists.values() for event in bound]
        return own + [event for parts in self.repeats.values() for part in parts for event in part.events]

    def bound_to(self, variable: str) -> tuple[ReferenceEvent, ...]:
        """Return the events bound to a variable, in a repeated group those of all its matches."""
        within = [part.bound_to(variable) for parts in self.repeats.values() for part in parts]
        return self.lists.get(variable, ()) + tuple(event for bound in within for event in bound)


def find_trend_results(
    query: Query, events: Sequence[ReferenceEvent], *, tie_break: bool = False
) -> TrendResults:
    """Return the RETURN columns of each window start and group that has a trend of a bound query.

    Without a window the start is None. The order of `events` does not matter.

    >>> pattern = nodes.Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None)))
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
    found: dict[tuple[int | None, tuple[Value, ...]], list[Trend]] = {}
    for start, inside in _windows(query, stream.events):
        for part in _partitions(inside, stream.keys):
            group = tuple(canonical(part[0].value(name)) for name in query.group_by)
            found.setdefault((start, group), []).extend(find_trends(part, stream))
    return {
        (start, group): _returned(query, group, trends) for (start, group), trends in found.items() if trends
    }


def find_trends(events: Sequence[ReferenceEvent], stream: Stream) -> list[Trend]:
    """Return the trends of a query among `events`: those of one window that agree on the keys."""
    pattern = stream.query.pattern
    positive = positive_variables(pattern)
    conditions = [conjunct for conjunct in stream.conjuncts if variables_of(conjunct) <= positive]
    for conjunct in stream.conjuncts:
        if conjunct not in conditions and len(variables_of(conjunct)) > 1:
            raise ValueError(
                f"a negated variable of a trend query has conditions of its own only: {conjunct}"
            )
    trends = {
        trend.identity: trend
        for trend in _matches(pattern, events, stream)
        if all(_satisfies(trend, condition) for condition in conditions)
        and not _is_negated(trend, {event.row for event in trend.events}, events, stream)
    }
    return list(trends.values())


# Windows and partitions.


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


# Bindings that satisfy types and order.


def _matches(pattern: Pattern, events: Sequence[ReferenceEvent], stream: Stream) -> Iterator[Trend]:
    """Yield the matches of a pattern, each of at least one event."""
    for clause in clauses_of(pattern):
        if clause.pattern is not None and positive_variables(clause.pattern):
            yield from _bindings(clause.pattern, events, stream)


def _bindings(clause: Pattern, events: Sequence[ReferenceEvent], stream: Stream) -> Iterator[Trend]:
    match clause:
        case Event():
            rows = {event.row for event in events}
            for event in stream.candidates[clause]:
                if event.row in rows:
                    yield Trend(clause, {clause.variable: (event,)})
        case Kleene(operand=operand, least=fewest, most=most):
            for parts in _lists(operand, events, len(events) if most is None else most, stream):
                if len(parts) < fewest:
                    continue
                if isinstance(operand, Event):
                    run = tuple(event for part in parts for event in part.events)
                    yield Trend(clause, {operand.variable: run})
                else:
                    yield Trend(clause, repeats={clause: parts})
        case nodes.Sequence(operands=operands) | Conjunction(operands=operands):
            positive = [operand for operand in operands if not isinstance(operand, Negation)]
            for parts in _combined(positive, events, stream, ordered=isinstance(clause, nodes.Sequence)):
                lists = {name: bound for part in parts for name, bound in part.lists.items()}
                repeats = {group: found for part in parts for group, found in part.repeats.items()}
                yield Trend(clause, lists, repeats)
        case _:
            raise ValueError(f"not part of a clause: {clause}")


def _lists(
    pattern: Pattern, events: Sequence[ReferenceEvent], longest: int, stream: Stream
) -> Iterator[tuple[Trend, ...]]:
    """Yield every list of at most `longest` matches, each wholly before the next; the empty one too."""
    yield ()
    if longest > 0:
        for first in _matches(pattern, events, stream):
            for rest in _lists(pattern, _after(first, events, stream), longest - 1, stream):
                yield (first, *rest)


def _combined(
    operands: Sequence[Pattern], events: Sequence[ReferenceEvent], stream: Stream, *, ordered: bool
) -> Iterator[tuple[Trend, ...]]:
    """Yield the ways to match all operands: each wholly before the next if `ordered`, and no event twice."""
    if not operands:
        yield ()
        return
    for first in _bindings(operands[0], events, stream):
        bound = {event.row for event in first.events}
        left = (
            _after(first, events, stream)
            if ordered
            else [event for event in events if event.row not in bound]
        )
        for rest in _combined(operands[1:], left, stream, ordered=ordered):
            yield (first, *rest)


def _after(trend: Trend, events: Sequence[ReferenceEvent], stream: Stream) -> list[ReferenceEvent]:
    return [event for event in events if all(stream.is_before(other, event) for other in trend.events)]


# Conditions.


def _satisfies(trend: Trend, condition: Expression) -> bool:
    """Say whether a condition holds for every combination of the events that it speaks of.

    When all its variables are in one repeated group, it is a condition on each match of the group.
    """
    variables = variables_of(condition)
    for group, parts in trend.repeats.items():
        if variables and variables <= positive_variables(group):
            return all(_satisfies(part, condition) for part in parts)
    return holds(condition, {variable: trend.bound_to(variable) for variable in variables})


def _is_negated(trend: Trend, bound: set[int], events: Sequence[ReferenceEvent], stream: Stream) -> bool:
    """Say whether a negated event, not among the bound rows, lies in the scope of its negation."""
    within = [part for parts in trend.repeats.values() for part in parts]
    return _is_clause_negated(trend.clause, trend, bound, events, stream) or any(
        _is_negated(part, bound, events, stream) for part in within
    )


def _is_clause_negated(
    clause: Pattern, trend: Trend, bound: set[int], events: Sequence[ReferenceEvent], stream: Stream
) -> bool:
    if not isinstance(clause, nodes.Sequence | Conjunction):
        return False
    for index, operand in enumerate(clause.operands):
        if not isinstance(operand, Negation):
            if _is_clause_negated(operand, trend, bound, events, stream):
                return True
            continue
        if not isinstance(operand.operand, Event):
            raise ValueError(f"a trend query negates single events only: {operand}")
        negating = {event.row for event in stream.candidates[operand.operand]} - bound
        if isinstance(clause, Conjunction):
            scope = [event for event in events if stream.is_from_first(event, trend.events)]
        else:
            scope = _scope(clause.operands, index, trend, events, stream)
        if any(event.row in negating for event in scope):
            return True
    return False


def _scope(
    operands: Sequence[Pattern],
    index: int,
    trend: Trend,
    events: Sequence[ReferenceEvent],
    stream: Stream,
) -> list[ReferenceEvent]:
    """Return the events between the nearest positive operands before and after operand `index`.

    Where there is none, the scope begins or ends with the window, whose events are `events`.
    """
    previous = _nearest(operands[:index][::-1], trend)
    following = _nearest(operands[index + 1 :], trend)
    return [
        event
        for event in events
        if all(stream.is_before(other, event) for other in previous)
        and all(stream.is_before(event, other) for other in following)
    ]


def _nearest(operands: Sequence[Pattern], trend: Trend) -> list[ReferenceEvent]:
    """Return the events of the first positive operand, none if there is no such operand."""
    for operand in operands:
        if not isinstance(operand, Negation):
            return [event for name in positive_variables(operand) for event in trend.bound_to(name)]
    return []


# Aggregates.


def _returned(query: Query, group: Sequence[Value], trends: Sequence[Trend]) -> dict[str, Value]:
    shown = dict(zip(query.group_by, group, strict=True))
    return {column.name: _value(column.expression, shown, trends) for column in query.returns}


def _value(expression: Expression, group: dict[str, Value], trends: Sequence[Trend]) -> Value:
    match expression:
        case CountTrends():
            return len(trends)
        case Attribute(name=name) if name in group:
            return group[name]
        case Aggregate():
            occurrences = [event for trend in trends for event in trend.bound_to(expression.variable)]
            return _aggregate(expression, occurrences)
        case _:
            raise ValueError(f"not a column of a trend query: {expression}")


def _aggregate(aggregate: Aggregate, occurrences: Sequence[ReferenceEvent]) -> Value:
    if aggregate.name is None:
        return len(occurrences)
    values = [value for event in occurrences if (value := event.value(aggregate.name)) is not None]
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    match aggregate.function:
        case "sum":
            return exact_sum(values, aggregate.argument_type)
        case "avg":
            return exact_average(values)
        case "min":
            return least(values)
        case "max":
            return greatest(values)
