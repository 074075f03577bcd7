"""Evaluate bound expressions on whole columns at once, with SQL's three-valued logic."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from weft.expressions import (
    EVENT,
    RANK,
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    ComparisonOperator,
    CountTrends,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Suppressed,
    type_of,
)
from weft.kernels.trends.segments import (
    extreme_segments,
    multiply_checked,
    sum_double_segments,
    sum_segments,
)
from weft.runtime.columns.events import Array, Column, Events, comparable
from weft.runtime.matches.table import Lists, Table, as_lists, first_rows, has_absent, last_rows, ranges
from weft.schema import BOOLEAN, DOUBLE, LONG, Type
from weft.tree import find

SMALLEST = np.iinfo(np.int64).min
MICROSECONDS_PER_DAY = 86_400_000_000

COMPARE: dict[ComparisonOperator, Callable[[Array, Array], Array]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Where variables get their events: a table, or chosen elements of its lists.

    `selected` gives the table row of each evaluated row (None: all rows, once); `elements` and
    `previous` give, for a list column, the event row that stands for `v` or `v[i]`, and for `v[i-1]`.
    """

    events: Events
    table: Table
    selected: Array | None = None
    elements: Mapping[int, Array] = field(default_factory=dict)
    previous: Mapping[int, Array] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows if self.selected is None else int(self.selected.size)

    def per_row(self, values: Array) -> Array:
        return values if self.selected is None else values[self.selected]


def evaluate(expression: Expression, scope: Scope) -> Column:
    """Return the value of an expression for every row of a scope."""
    match expression:
        case Literal():
            return _literal(expression, scope)
        case Attribute():
            return _attribute(expression, scope)
        case Aggregate():
            lists = as_lists(scope.table.columns[column_number(expression.variable)])
            column = _aggregate_lists(expression, lists, scope.events)
            return column if scope.selected is None else column.take(scope.selected)
        case Cast(operand=operand, to=to):
            return _cast(evaluate(operand, scope), to)
        case Negate(operand=operand) | Absolute(operand=operand):
            column = evaluate(operand, scope)
            values = -column.values if isinstance(expression, Negate) else np.abs(column.values)
            failed = column.values == SMALLEST if column.values.dtype == np.int64 else None
            return Column(column.type, values, _where_valid(column, failed=failed))
        case Arithmetic():
            return _arithmetic(expression, scope)
        case Comparison():
            return _comparison(expression, scope)
        case And(operands=operands):
            return _logical(operands, scope, decisive=False)
        case Or(operands=operands):
            return _logical(operands, scope, decisive=True)
        case Not(operand=operand):
            column = evaluate(operand, scope)
            return Column(BOOLEAN, ~column.values, column.valid)
        case IsNull(operand=operand):
            column = evaluate(operand, scope)
            return Column(BOOLEAN, ~column.validity)
        case InList(operand=operand, values=values):
            return _in_list(operand, values, scope)
        case Like(operand=operand, pattern=pattern):
            return _by_string(operand, _like_test(pattern), scope)
        case CountTrends() | Suppressed():
            raise TypeError("COUNT(*) and SUPPRESSED() are values of all matches together, not of one")


def holds_everywhere(predicate: Expression, events: Events, table: Table) -> Array:
    """Return which rows satisfy a predicate for every combination of elements of the lists it mentions.

    A predicate that mentions `v[i-1]` speaks of every pair of consecutive elements of v.
    """
    each: set[int] = set()
    paired: set[int] = set()
    for attribute in find(predicate, Attribute):
        column = column_number(attribute.variable)
        if isinstance(table.columns[column], Lists):
            if attribute.place == "previous":
                paired.add(column)
            elif attribute.place in ("each", "current"):
                each.add(column)
    if not each and not paired:
        return is_true(evaluate(predicate, Scope(events, table)))
    scope = _element_scope(events, table, each - paired, paired)
    holds = np.ones(table.n_rows, np.bool_)
    selected = scope.selected
    if selected is not None and selected.size:
        holds[selected[~is_true(evaluate(predicate, scope))]] = False
    return holds


def _element_scope(events: Events, table: Table, each: set[int], paired: set[int]) -> Scope:
    selected = np.arange(table.n_rows)
    elements: dict[int, Array] = {}
    previous: dict[int, Array] = {}
    for number in sorted(each | paired):
        column = table.columns[number]
        if not isinstance(column, Lists):
            raise TypeError(f"column {number} holds no lists")
        skipped = 1 if number in paired else 0
        starts = column.starts[selected] + skipped
        lengths = np.maximum(column.lengths[selected] - skipped, 0)
        selected = np.repeat(selected, lengths)
        elements = {other: np.repeat(rows, lengths) for other, rows in elements.items()}
        previous = {other: np.repeat(rows, lengths) for other, rows in previous.items()}
        places = ranges(starts, lengths)
        elements[number] = column.rows[places]
        if number in paired:
            previous[number] = column.rows[places - 1]
    return Scope(events, table, selected, elements, previous)


def column_number(variable: str) -> int:
    """Return the table column that a plan variable such as `$2` names."""
    return int(variable[1:])


def is_true(column: Column) -> Array:
    """Return where a boolean column is true, neither false nor NULL."""
    return column.values if column.valid is None else column.values & column.valid


def _literal(literal: Literal, scope: Scope) -> Column:
    n_rows = scope.n_rows
    kind = literal.type.kind
    dtype = {"double": np.float64, "boolean": np.bool_}.get(kind, np.int64)
    if literal.value is None:
        return Column(literal.type, np.zeros(n_rows, dtype), np.zeros(n_rows, np.bool_))
    if kind == "string":
        codes = np.flatnonzero(scope.events.strings.holds(lambda text: text == literal.value))
        code = int(codes[0]) if codes.size else -1
        return Column(literal.type, np.full(n_rows, code, np.int64))
    value = int(literal.value.scaleb(literal.type.scale)) if kind == "decimal" else literal.value  # type: ignore[union-attr]
    return Column(literal.type, np.full(n_rows, value, dtype))


def _attribute(attribute: Attribute, scope: Scope) -> Column:
    number = column_number(attribute.variable)
    column = scope.table.columns[number]
    if attribute.place == "previous":
        rows = scope.previous[number]
    elif not isinstance(column, Lists):
        rows = scope.per_row(column)
    elif attribute.place == "first":
        rows = scope.per_row(first_rows(column))
    elif attribute.place == "last":
        rows = scope.per_row(last_rows(column))
    else:
        rows = scope.elements[number]
    if attribute.name == RANK:
        return Column(LONG, scope.events.ranks[rows])
    if attribute.name == EVENT:
        return Column(LONG, rows)
    found = scope.events.columns[attribute.name].take(rows)
    return replace(found, valid=found.validity & (rows >= 0)) if has_absent(rows) else found


def _aggregate_lists(aggregate: Aggregate, lists: Lists, events: Events) -> Column:
    if aggregate.name is None:
        return Column(LONG, lists.lengths)
    argument = events.columns[aggregate.name].take(lists.elements)
    values, valid = argument.values, argument.validity
    if aggregate.function == "count":
        return Column(LONG, sum_segments(valid.astype(np.int64), np.ones_like(valid), lists.offsets)[0])
    if aggregate.function in ("min", "max"):
        ordered = comparable(argument, events.strings, ordered=True)
        best = extreme_segments(ordered, valid, lists.offsets, aggregate.function == "max")
        return Column(
            argument.type, values[best] if values.size else np.zeros(best.size, values.dtype), best >= 0
        )
    if aggregate.function == "avg":
        sums, counts = sum_double_segments(_cast(argument, DOUBLE).values, valid, lists.offsets)
        return Column(DOUBLE, sums / np.maximum(counts, 1), counts > 0)
    if argument.type == DOUBLE:
        sums, counts = sum_double_segments(values, valid, lists.offsets)
        return Column(DOUBLE, sums, counts > 0)
    totals, exists = sum_segments(values, valid, lists.offsets)
    return Column(argument.type, totals, exists)


def _cast(column: Column, to: Type) -> Column:
    origin = column.type
    if origin == to:
        return column
    if to.kind == "double":
        values = column.values.astype(np.float64)
        return Column(to, values / 10.0**origin.scale if origin.kind == "decimal" else values, column.valid)
    if to.kind == "decimal":
        factor = np.full(column.values.size, 10 ** (to.scale - origin.scale), np.int64)
        values, fits = multiply_checked(column.values, factor)
        return Column(to, values, _where_valid(column, failed=~fits))
    if origin.kind == "date" and to.kind == "timestamp":
        return Column(to, column.values * MICROSECONDS_PER_DAY, column.valid)
    raise TypeError(f"no cast from {origin} to {to}")


def _arithmetic(expression: Arithmetic, scope: Scope) -> Column:
    left, right = evaluate(expression.left, scope), evaluate(expression.right, scope)
    a, b = left.values, right.values
    failed: Array | None = None
    with np.errstate(all="ignore"):
        match expression.operator:
            case "/":
                failed, values = b == 0, a / np.where(b == 0, 1, b)
            case "%":
                failed = b == 0
                safe = np.where(failed | (b == -1), 1, b) if a.dtype == np.int64 else np.where(failed, 1, b)
                values = np.fmod(a, safe)
            case "*" if a.dtype == np.int64:
                values, fits = multiply_checked(a, b)
                failed = ~fits
            case "*":
                values = a * b
            case "+":
                values = a + b
                failed = ((a ^ values) & (b ^ values)) < 0 if a.dtype == np.int64 else None
            case "-":
                values = a - b
                failed = ((a ^ b) & (a ^ values)) < 0 if a.dtype == np.int64 else None
    return Column(type_of(expression), values, _where_valid(left, right, failed=failed))


def _comparison(comparison: Comparison, scope: Scope) -> Column:
    if isinstance(comparison.right, Literal) and isinstance(comparison.right.value, str):
        literal, compare = comparison.right.value, COMPARE[comparison.operator]
        return _by_string(comparison.left, lambda text: bool(compare(text, literal)), scope)  # type: ignore[arg-type]
    left, right = evaluate(comparison.left, scope), evaluate(comparison.right, scope)
    ordered = comparison.operator not in ("=", "!=")
    strings = scope.events.strings
    values = COMPARE[comparison.operator](
        comparable(left, strings, ordered=ordered), comparable(right, strings, ordered=ordered)
    )
    return Column(BOOLEAN, values, _where_valid(left, right))


def _logical(operands: tuple[Expression, ...], scope: Scope, *, decisive: bool) -> Column:
    """AND (decisive False) or OR (decisive True): one decisive operand decides, else NULL wins."""
    decided = np.zeros(scope.n_rows, np.bool_)
    unknown = np.zeros(scope.n_rows, np.bool_)
    for operand in operands:
        column = evaluate(operand, scope)
        decided |= (column.values == decisive) & column.validity
        unknown |= ~column.validity
    return Column(BOOLEAN, decided if decisive else ~decided, decided | ~unknown)


def _in_list(operand: Expression, values: tuple[Literal, ...], scope: Scope) -> Column:
    if type_of(operand).kind == "string":
        wanted = {literal.value for literal in values}
        return _by_string(operand, lambda text: text in wanted, scope)
    column = evaluate(operand, scope)
    strings = scope.events.strings
    one_row = Scope(scope.events, Table((), np.zeros(1, np.int64), np.zeros(1, np.int64)))
    options = [comparable(_literal(literal, one_row), strings)[0] for literal in values]
    is_listed = np.isin(comparable(column, strings), np.array(options, np.int64))
    return Column(BOOLEAN, is_listed, column.valid)


def _by_string(operand: Expression, test: Callable[[str], bool], scope: Scope) -> Column:
    """Apply a test once to each distinct string, then look the rows up."""
    if isinstance(operand, Literal) and isinstance(operand.value, str):
        return Column(BOOLEAN, np.full(scope.n_rows, test(operand.value)))
    column = evaluate(operand, scope)
    holds = scope.events.strings.holds(test)
    passes = holds[column.values] if holds.size else np.zeros(column.values.size, np.bool_)
    return Column(BOOLEAN, passes, column.valid)


def _like_test(pattern: str) -> Callable[[str], bool]:
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            parts.append(re.escape(next(characters, "\\")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    compiled = re.compile("".join(parts), re.DOTALL)
    return lambda text: compiled.fullmatch(text) is not None


def _where_valid(*operands: Column, failed: Array | None = None) -> Array | None:
    """Return where a result is valid: no operand is NULL, and nothing failed. None means everywhere."""
    valid = [column.valid for column in operands if column.valid is not None]
    if failed is not None and failed.any():
        valid.append(~failed)
    return reduce(np.logical_and, valid) if valid else None
