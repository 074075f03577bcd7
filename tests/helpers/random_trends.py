"""Trend queries and events drawn at random, and the engine's results in the reference's form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from weft.expressions import (
    OF_SINGLE_EVENTS,
    Aggregate,
    Attribute,
    Comparison,
    CountTrends,
    Equivalence,
    Expression,
    Literal,
    type_of,
)
from weft.pattern.nodes import (
    Conjunction,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    Sequence,
    TimeWindow,
)
from weft.plan.template import TrendColumn
from weft.reference.events import ReferenceEvent
from weft.reference.trends import TrendResults, find_trend_results
from weft.runtime.columns.events import Column, Events, StringPool
from weft.runtime.stages.shard_executor import found_trends
from weft.runtime.trends.measures import Extreme, Lane
from weft.runtime.trends.numbers import Shown
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.selected_rows import SelectedRows
from weft.runtime.trends.thresholds import CalculatedRows
from weft.schema import DOUBLE, LONG, Type

TYPES = ("A", "B", "C", "D")
OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
INTEGERS = ("x", "g", "k")
MOST_DRAWS = 10


@dataclass
class Variables:
    """Names for the events of a pattern, and what is known of each."""

    lists: list[str]
    singles: list[str]
    negated: list[str]

    @property
    def positive(self) -> list[str]:
        return self.lists + self.singles

    def new(self) -> str:
        return f"v{len(self.lists) + len(self.singles) + len(self.negated)}"


@st.composite
def events(draw: st.DrawFn, most: int = 9) -> list[ReferenceEvent]:
    """Events with ties in time and NULLs among their attributes."""
    kinds = st.sampled_from("ABBBCD")
    small = st.one_of(st.integers(-1, 2), st.none())
    drawn = []
    for row in range(draw(st.integers(0, most))):
        attributes = {
            "x": draw(small),
            "g": draw(st.sampled_from([0, 0, 1, None])),
            "k": draw(st.sampled_from([0, 0, 0, 1])),
            "y": draw(st.sampled_from([0.1, 0.5, -2.0, None])),
        }
        time = draw(st.integers(-3, 9))
        drawn.append(ReferenceEvent(row, frozenset(draw(kinds)), time, attributes=attributes))
    return drawn


@st.composite
def queries(draw: st.DrawFn, name: str = "q") -> Query:
    """A trend query of any shape that the engine takes."""
    variables = Variables([], [], [])
    pattern = draw(patterns(variables))
    where: list[Expression | Equivalence] = []
    if draw(st.integers(0, 3)) == 0:
        where.append(Equivalence(("k",)))
    for variable in variables.positive + variables.negated:
        if draw(st.integers(0, 4)) == 0:
            where.append(
                Comparison(
                    draw(st.sampled_from(OPERATORS)), x_of(variable), Literal(draw(st.integers(-1, 1)), LONG)
                )
            )
    for variable in variables.lists:
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
            sides = [x_of(variable, "previous"), x_of(variable, "current")]
            where.append(Comparison(draw(st.sampled_from(OPERATORS)), *draw(st.permutations(sides))))
    length = draw(st.one_of(st.none(), st.integers(2, 8)))
    slide = None if length is None else draw(st.one_of(st.none(), st.integers(1, length + 2)))
    return Query(
        name,
        pattern,
        tuple(where),
        None if length is None else TimeWindow(length),
        returns=tuple(draw(columns(variables))),
        slide=slide,
        group_by=draw(st.sampled_from([(), (), ("g",)])),
    )


@st.composite
def related_queries(draw: st.DrawFn) -> list[Query]:
    """Queries that repeat B, most of them with predicates of their own on it, and have the same keys."""
    has_window = draw(st.booleans())
    group_by = draw(st.sampled_from([(), ("g",)]))
    drawn = []
    for number in range(draw(st.integers(2, 5))):
        variables = Variables([], [], [])
        middle = Kleene(single(variables, "B", is_list=True), 1, None)
        before = draw(st.lists(elements(variables, "ACD", depth=0), max_size=1))
        after = draw(st.lists(elements(variables, "CD", depth=0), max_size=1))
        where = []
        if draw(st.booleans()):
            bound = Literal(draw(st.integers(-1, 1)), LONG)
            where.append(Comparison(draw(st.sampled_from(["<", ">=", "!="])), x_of("v0"), bound))
        length = draw(st.integers(2, 8)) if has_window else None
        drawn.append(
            Query(
                f"q{number}",
                draw(with_negations(variables, [*before, middle, *after], at_ends=True)),
                tuple(where),
                None if length is None else TimeWindow(length),
                returns=tuple(draw(columns(variables))),
                slide=None if length is None else draw(st.integers(1, length)),
                group_by=group_by,
            )
        )
    return drawn


@st.composite
def bursts(draw: st.DrawFn) -> list[ReferenceEvent]:
    """Runs of events of one type, most of them at times of their own."""
    drawn: list[ReferenceEvent] = []
    time = draw(st.integers(-3, 3))
    for kind in draw(st.lists(st.sampled_from(["A", "BB", "BBB", "BBBB", "C", "D"]), min_size=1, max_size=5)):
        for name in kind:
            time += draw(st.sampled_from([0, 1, 1, 1]))
            x, y = draw(st.integers(-1, 2)), draw(st.sampled_from([0.1, -2.0]))
            attributes = {"x": x, "g": draw(st.sampled_from([0, 0, 0, 1])), "k": 0, "y": y}
            drawn.append(ReferenceEvent(len(drawn), frozenset(name), time, attributes=attributes))
    return drawn


@st.composite
def with_results(
    draw: st.DrawFn,
    workloads: st.SearchStrategy[list[Query]],
    streams: st.SearchStrategy[list[ReferenceEvent]],
    *,
    tie_break: bool = False,
) -> tuple[list[Query], list[ReferenceEvent]]:
    """The first draw of a few of which at least half of the queries have results, or the last of them."""
    for _ in range(MOST_DRAWS):
        drawn, stream = draw(workloads), draw(streams)
        n_found = sum(bool(find_trend_results(query, stream, tie_break=tie_break)) for query in drawn)
        if 2 * n_found >= len(drawn):
            break
    return drawn, stream


def x_of(variable: str, place: str = "each") -> Attribute:
    return Attribute(variable, "x", place, LONG)  # type: ignore[arg-type]


@st.composite
def columns(draw: st.DrawFn, variables: Variables) -> list[ReturnColumn]:
    chosen = [CountTrends()]
    if variables.positive:
        for _ in range(draw(st.integers(0, 3))):
            variable = draw(st.sampled_from(variables.positive))
            chosen.append(
                draw(
                    st.sampled_from(
                        [
                            Aggregate("count", variable),
                            Aggregate("count", variable, "x", LONG),
                            Aggregate("sum", variable, "x", LONG),
                            Aggregate("avg", variable, "y", DOUBLE),
                            Aggregate("sum", variable, "y", DOUBLE),
                            Aggregate("min", variable, "x", LONG),
                            Aggregate("max", variable, "x", LONG),
                        ]
                    )
                )
            )
    return [ReturnColumn(f"c{place}", expression) for place, expression in enumerate(chosen)]


@st.composite
def patterns(draw: st.DrawFn, variables: Variables) -> Pattern:
    """A pattern: most often a sequence around a repetition of B, which queries then share."""
    shape = draw(st.sampled_from(["around", "around", "around", "any", "and", "or"]))
    if shape == "around":
        before = draw(st.lists(elements(variables, "ACD", depth=0), max_size=1))
        middle = Kleene(single(variables, "B", is_list=True), 1, None)
        after = draw(st.lists(elements(variables, "ACD", depth=0), max_size=1))
        return draw(with_negations(variables, [*before, middle, *after], at_ends=True))
    if shape == "and":
        parts = [draw(elements(variables, "AB", depth=1))]
        has_more = draw(st.booleans())
        if has_more:
            parts.append(draw(elements(variables, "C", depth=1)))
        if not has_more or draw(st.booleans()):
            event = Event("D", variables.new())
            variables.negated.append(event.variable)
            parts.insert(draw(st.integers(0, len(parts))), Negation(event))
        return Conjunction(tuple(parts))
    if shape == "or":
        return Disjunction(
            (draw(elements(variables, TYPES, depth=1)), draw(elements(variables, TYPES, depth=1)))
        )
    return draw(sequences(variables, TYPES, depth=2, at_ends=True))


def single(variables: Variables, kind: str, *, is_list: bool) -> Event:
    event = Event(kind, variables.new())
    (variables.lists if is_list else variables.singles).append(event.variable)
    return event


@st.composite
def elements(draw: st.DrawFn, variables: Variables, types: str | tuple[str, ...], depth: int) -> Pattern:
    choice = draw(st.sampled_from(["event", "event", "list", *(["group", "or", "seq"] if depth else [])]))
    if choice == "event":
        return single(variables, draw(st.sampled_from(types)), is_list=False)
    if choice == "list":
        least, most = draw(st.sampled_from([(1, None), (1, None), (0, None), (0, 1), (1, 2), (2, None)]))
        return Kleene(single(variables, draw(st.sampled_from(types)), is_list=True), least, most)
    if choice == "or":
        return Disjunction(
            (draw(elements(variables, types, depth - 1)), draw(elements(variables, types, depth - 1)))
        )
    inner = draw(sequences(variables, types, depth - 1, at_ends=False))
    return inner if choice == "seq" else Kleene(inner, *draw(st.sampled_from([(1, None), (1, 2), (0, 1)])))


@st.composite
def sequences(
    draw: st.DrawFn, variables: Variables, types: str | tuple[str, ...], depth: int, *, at_ends: bool
) -> Pattern:
    operands = [draw(elements(variables, types, depth)) for _ in range(draw(st.integers(1, 3)))]
    return draw(with_negations(variables, operands, at_ends=at_ends))


@st.composite
def with_negations(
    draw: st.DrawFn, variables: Variables, operands: list[Pattern], *, at_ends: bool
) -> Pattern:
    """Put negations between operands, and at the ends where that is allowed."""
    parts: list[Pattern] = []
    for place in range(len(operands) + 1):
        is_end = place in (0, len(operands))
        is_possible = at_ends if is_end else not any(map(_is_optional, operands))
        if is_possible and draw(st.integers(0, 4)) == 0:
            event = Event(draw(st.sampled_from("ACD")), variables.new())
            variables.negated.append(event.variable)
            parts.append(Negation(event))
        if place < len(operands):
            parts.append(operands[place])
    return parts[0] if len(parts) == 1 and not isinstance(parts[0], Negation) else Sequence(tuple(parts))


def _is_optional(pattern: Pattern) -> bool:
    match pattern:
        case Kleene(operand=operand, least=least):
            return least == 0 or _is_optional(operand)
        case Disjunction(operands=operands):
            return any(map(_is_optional, operands))
        case Sequence(operands=operands):
            return all(map(_is_optional, operands))
        case _:
            return False


def engine_events(given: list[ReferenceEvent]) -> Events:
    """Return events as the engine has them, sorted by time."""
    ordered = sorted(given, key=lambda event: event.time)
    own: dict[str, Column] = {}
    for name in (*INTEGERS, "y"):
        values = [event.attributes[name] for event in ordered]
        valid = np.array([value is not None for value in values], np.bool_)
        dtype, kind = (np.float64, DOUBLE) if name == "y" else (np.int64, LONG)
        own[name] = Column(kind, np.array([value or 0 for value in values], dtype), valid)
    return Events(
        times=np.array([event.time for event in ordered], np.int64),
        type_codes=np.array([TYPES.index(next(iter(event.types))) for event in ordered], np.int64),
        type_names=TYPES,
        columns=own,
        ids=pa.array([event.row for event in ordered], pa.int64()),
        strings=StringPool(pa.array([], pa.string())),
    )


def results_of(
    rows: TrendRows, given: Events
) -> dict[tuple[int | None, tuple[object, ...]], dict[str, object]]:
    """Return the engine's results in the reference's form, numbers beyond their columns as they are shown."""
    template, chosen = rows.template, found_trends(rows, given).rows
    calculated = CalculatedRows(SelectedRows(rows, given, chosen))
    shown = {
        column.column: calculated.shown(column.expression)
        for column in template.columns
        if column.expression is not None
    }
    numbers = {lane: rows.numbers(place) for place, lane in enumerate(rows.measures.lanes, start=1)}
    results = {}
    for place, row in enumerate(chosen.tolist()):
        start = None if template.slide is None else int(rows.windows[row]) * template.slide
        example = int(rows.examples[row])
        group = tuple(int(given.columns[name].values[example]) for name in template.group_by)
        results[start, group] = {
            column.column: _value(column, rows, given, numbers, row)
            if column.expression is None
            else _calculated(shown[column.column], place)
            for column in template.columns
            if not column.is_group
        }
    return results


def expected_results(query: Query, events: list[ReferenceEvent], *, tie_break: bool = False) -> TrendResults:
    """Return what the reference finds, numbers beyond their columns as they are shown."""
    kinds = {
        column.name: type_of(column.expression)
        for column in query.returns
        if not isinstance(column.expression, Aggregate | Attribute | CountTrends)
    }
    return {
        key: {
            name: _as_shown(value, kinds[name]) if name in kinds else value for name, value in values.items()
        }
        for key, values in find_trend_results(query, events, tie_break=tie_break).items()
    }


def _as_shown(value: object, kind: Type) -> object:
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return "NaN"
    if kind == DOUBLE:
        return value
    return f"{value:.10e}" if math.isfinite(value) else f"{'-' if value < 0 else ''}Infinity"


def _calculated(shown: Shown, row: int) -> object:
    value = shown.values[row].as_py()
    is_nan = isinstance(value, float) and math.isnan(value)
    return shown.beyond.get(row, "NaN" if is_nan else value)


def _value(
    column: TrendColumn, rows: TrendRows, given: Events, numbers: dict[Lane, list[int]], row: int
) -> object:
    variable, name = column.variable, column.name
    if variable is None:
        return rows.numbers(0)[row]
    if column.function in OF_SINGLE_EVENTS:
        value = SelectedRows(rows, given, np.array([row])).column(column).values[0].as_py()
        return int(value) if column.function == "distinct" else value
    if name is None:
        return numbers[Lane(variable, None, "one")][row]
    if column.function in ("min", "max"):
        place = rows.measures.extremes.index(Extreme(variable, name, column.function == "max"))
        best = int(rows.best[row, place])
        return (~best if column.function == "max" else best) if rows.has[row, place] else None
    counted = numbers[Lane(variable, name, "valid")][row]
    if column.function == "count":
        return counted
    if counted == 0:
        return None
    less = numbers.get(Lane(variable, name, "negative"))
    whole = numbers[Lane(variable, name, "positive")][row] - (0 if less is None else less[row])
    total = whole * Fraction(2) ** rows.exponents[name]
    if column.function == "avg":
        return float(total / counted)
    return float(total) if column.type == DOUBLE else int(total)
