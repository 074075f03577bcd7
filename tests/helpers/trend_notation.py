"""Short notations for trend queries, built from nodes, and their streams."""

from collections import Counter
from dataclasses import replace

from weft.expressions import Aggregate, AggregateFunction, Attribute, Comparison, CountTrends, Predicate
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query, ReturnColumn, Sequence, TimeWindow
from weft.reference.events import ReferenceEvent
from weft.reference.stream import prepare
from weft.reference.trends import TrendResults, find_trend_results, find_trends
from weft.reference.values import Value
from weft.schema import LONG, Type


def item(type: str) -> Event:
    """Return an event whose variable is its type in small letters."""
    return Event(type, type.lower())


def plus(pattern: Pattern) -> Kleene:
    return Kleene(pattern, 1, None)


def repeated(pattern: Pattern, least: int, most: int | None) -> Kleene:
    return Kleene(pattern, least, most)


def seq(*operands: Pattern) -> Sequence:
    return Sequence(operands)


def no(type: str) -> Negation:
    return Negation(item(type))


A, B, C, D = map(item, "ABCD")


def trend_query(
    pattern: Pattern,
    *where: Predicate,
    length: int | None = None,
    slide: int | None = None,
    group_by: tuple[str, ...] = (),
    columns: tuple[ReturnColumn, ...] = (),
) -> Query:
    """Return a query that counts trends, with more columns if there are any."""
    counted = ReturnColumn("trends", CountTrends())
    window = None if length is None else TimeWindow(length)
    return Query("q", pattern, where, window, (), (counted, *columns), None, slide, group_by)


def aggregate(function: AggregateFunction, variable: str, name: str = "x", type: Type = LONG) -> ReturnColumn:
    return ReturnColumn(function, Aggregate(function, variable, name, type))


def rises(variable: str) -> Comparison:
    """Return v[i-1].x < v[i].x."""
    return Comparison(
        "<", Attribute(variable, "x", "previous", LONG), Attribute(variable, "x", "current", LONG)
    )


def arrivals(text: str) -> list[ReferenceEvent]:
    """Read "a1 b1 b2" as events of types A, B, B at times 1, 2, 3; "a1@7" is at time 7."""
    events: list[ReferenceEvent] = []
    for row, word in enumerate(text.split()):
        name, _, time = word.partition("@")
        events.append(ReferenceEvent(row, frozenset(name[0].upper()), int(time or row + 1), name))
    return events


def with_values(events: list[ReferenceEvent], name: str, values: list[Value]) -> list[ReferenceEvent]:
    """Give an attribute to the events, one value to each."""
    return [
        replace(event, attributes={**event.attributes, name: value})
        for event, value in zip(events, values, strict=True)
    ]


def count(query: Query, events: list[ReferenceEvent], *, tie_break: bool = False) -> int:
    """Return the number of trends of a query without windows and groups."""
    results = find_trend_results(query, events, tie_break=tie_break)
    return results[None, ()]["trends"] if results else 0  # type: ignore[return-value]


def counts(results: TrendResults) -> dict[object, Value]:
    """Return the number of trends by window start, and by group where there is one."""
    return {(key if key[1] else key[0]): values["trends"] for key, values in results.items()}


def ending_at(query: Query, events: list[ReferenceEvent]) -> dict[str, int]:
    """Return how many trends end at each event."""
    stream = prepare(query, events, tie_break=False)
    last = [max(trend.events, key=lambda event: event.time).id for trend in find_trends(stream)]
    return {str(name): number for name, number in Counter(last).items()}
