"""Bind predicates to the kernels: what compares a left with a right value becomes a row of int64 tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

import numpy as np

from weft.expressions import (
    FLIPPED,
    Aggregate,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    flip,
    variables_of,
)
from weft.kernels.arrays import mix_hashes
from weft.kernels.trends.segments import extreme_segments
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, holds_everywhere
from weft.runtime.columns.events import Array, Events, comparable
from weft.runtime.matches.state import Step
from weft.runtime.matches.table import Lists, Table, as_lists, first_rows, last_rows
from weft.tree import find, transform_up

MASKS: dict[ComparisonOperator, int] = {"<": 1, "=": 2, "<=": 3, ">": 4, "!=": 5, ">=": 6}

Reduction = OneOf["min", "max"]


@dataclass(frozen=True, slots=True)
class Value:
    """A number per row of a table: an expression, the rank or the row of a column's event.

    Where the expression speaks of each element of a list, `reduction` picks the element that decides.
    """

    expression: Expression | None = None
    ordered: bool = False
    reduction: Reduction | None = None
    rank_of: tuple[int, OneOf["first", "last"]] | None = None
    row_of: int | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """left `operator` right, for a row of the left and a row of the right table."""

    left: Value
    operator: ComparisonOperator
    right: Value

    @property
    def flipped(self) -> "Test":
        return Test(self.right, FLIPPED[self.operator], self.left)


@dataclass(frozen=True, slots=True)
class Operands:
    """The values of one side of all tests, for the rows of a table that have no NULL among them.

    `kept` are the numbers of these rows, None where all are.
    """

    rows: Table
    kept: Array | None
    values: Array
    hashes: Array


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What is asked of a pair of a left and a right row: tests for a kernel, the rest for pairs it found.

    `distinct` are pairs of columns, one of lists at least, that hold no event in common.
    """

    tests: tuple[Test, ...]
    residual: tuple[Expression, ...]
    distinct: tuple[tuple[int, int], ...]

    @property
    def is_for_kernel(self) -> bool:
        """Whether a kernel alone decides."""
        return not self.residual and not self.distinct

    @property
    def masks(self) -> Array:
        """The sign mask of each test."""
        return masks_of(test.operator for test in self.tests)

    @property
    def flipped(self) -> "Comparisons":
        return replace(self, tests=tuple(test.flipped for test in self.tests))

    def left(self, table: Table, step: Step) -> Operands:
        """Evaluate the left side of the tests."""
        return self._operands([test.left for test in self.tests], table, step)

    def right(self, table: Table, step: Step) -> Operands:
        """Evaluate the right side of the tests."""
        return self._operands([test.right for test in self.tests], table, step)

    def _operands(self, values: Sequence[Value], table: Table, step: Step) -> Operands:
        """Evaluate one side of the tests; rows with a NULL are left out, they satisfy nothing."""
        matrix = np.empty((len(values), table.n_rows), np.int64)
        kept: Array | None = None
        for number, value in enumerate(values):
            matrix[number], valid = _evaluate_once(value, table, step)
            if valid is not None:
                kept = valid if kept is None else kept & valid
        selected = None if kept is None or kept.all() else np.flatnonzero(kept)
        if selected is not None:
            matrix, table = matrix.take(selected, axis=1), table.take(selected)
        equal = [number for number, test in enumerate(self.tests) if test.operator == "="]
        hashes = mix_hashes(matrix[equal]) if equal else np.empty(0, np.int64)
        return Operands(table, selected, matrix, hashes)

    def holds(self, pairs: Table, events: Events) -> Array:
        """Return which pairs, as rows, satisfy what the kernel does not look at."""
        holds = np.ones(pairs.n_rows, np.bool_)
        for predicate in self.residual:
            holds &= holds_everywhere(predicate, events, pairs)
        for a, b in self.distinct:
            holds &= ~_share_events(pairs, a, b)
        return holds

    def confirm(self, pairs: Table, events: Events) -> Table:
        """Return the pairs that satisfy what the kernel does not look at."""
        return pairs if self.is_for_kernel else pairs.take(np.flatnonzero(self.holds(pairs, events)))


def compare_columns(
    predicates: Sequence[Expression],
    distinct: Sequence[tuple[int, int]],
    n_left: int,
    is_list: Sequence[bool],
) -> Comparisons:
    """Divide what is asked of the first `n_left` columns and the others into tests and the rest."""
    tests: list[Test] = []
    residual: list[Expression] = []
    for predicate in predicates:
        own = _tests_of(predicate, n_left, is_list)
        if own is None:
            residual.append(predicate)
        else:
            tests += own
    with_lists = tuple((a, b) for a, b in distinct if is_list[a] or is_list[b])
    tests += [
        Test(Value(row_of=a), "!=", Value(row_of=b - n_left)) for a, b in distinct if (a, b) not in with_lists
    ]
    return Comparisons(tuple(tests), tuple(residual), with_lists)


def renumber_columns(expression: Expression, offset: int) -> Expression:
    """Subtract an offset from the column numbers of an expression."""

    def moved(node: object) -> object:
        if isinstance(node, Attribute):
            return Attribute(f"${column_number(node.variable) - offset}", node.name, node.place, node.type)
        if isinstance(node, Aggregate):
            variable = f"${column_number(node.variable) - offset}"
            return Aggregate(node.function, variable, node.name, node.argument_type)
        return node

    return transform_up(expression, moved)


def _tests_of(predicate: Expression, n_left: int, is_list: Sequence[bool]) -> list[Test] | None:
    if not isinstance(predicate, Comparison):
        return None
    sides = [_side(predicate.left, n_left), _side(predicate.right, n_left)]
    if set(sides) != {"left", "right"}:
        return None
    comparison = predicate if sides[0] == "left" else flip(predicate)
    operator = comparison.operator
    ordered = operator not in ("=", "!=")
    lefts = _values(comparison.left, operator, 0, is_list, ordered=ordered)
    rights = _values(comparison.right, FLIPPED[operator], n_left, is_list, ordered=ordered)
    if lefts is None or rights is None:
        return None
    return [Test(left, operator, right) for left in lefts for right in rights]


def _side(expression: Expression, n_left: int) -> str:
    columns = {column_number(variable) for variable in variables_of(expression)}
    if not columns:
        return "none"
    if all(column < n_left for column in columns):
        return "left"
    return "right" if all(column >= n_left for column in columns) else "both"


def _values(
    expression: Expression,
    operator: ComparisonOperator,
    offset: int,
    is_list: Sequence[bool],
    *,
    ordered: bool,
) -> list[Value] | None:
    """Return the values to test; for each element of a list, its largest or smallest element decides."""
    own = renumber_columns(expression, offset)
    each = [
        attribute
        for attribute in find(expression, Attribute)
        if is_list[column_number(attribute.variable)] and attribute.place not in ("first", "last")
    ]
    if not each:
        return [Value(own, ordered)]
    if len(variables_of(expression)) > 1 or any(attribute.place != "each" for attribute in each):
        return None
    if any(find(expression, Aggregate)) or operator == "!=":
        return None
    reductions: dict[ComparisonOperator, tuple[Reduction, ...]] = {
        "<": ("max",),
        "<=": ("max",),
        ">": ("min",),
        ">=": ("min",),
        "=": ("min", "max"),
    }
    return [Value(own, ordered, reduction) for reduction in reductions[operator]]


def _evaluate_once(value: Value, table: Table, step: Step) -> tuple[Array, Array | None]:
    """Evaluate a value; on single events, which many nodes read, only once per step."""
    if len(table.columns) > 1:
        return evaluate_value(value, table, step.events)
    key = (value, id(table))
    if key not in step.evaluated:
        step.evaluated[key] = (table, evaluate_value(value, table, step.events))
    evaluated: tuple[Array, Array | None] = step.evaluated[key][1]
    return evaluated


def evaluate_value(value: Value, table: Table, events: Events) -> tuple[Array, Array | None]:
    """Return a number for each row of a table, and where it is valid; None means everywhere."""
    if value.rank_of is not None:
        number, place = value.rank_of
        column = table.columns[number]
        return events.ranks[first_rows(column) if place == "first" else last_rows(column)], None
    if value.row_of is not None:
        rows = table.columns[value.row_of]
        if isinstance(rows, Lists):
            raise TypeError("a list has no single row")
        return rows, None
    if value.expression is None:
        raise ValueError("a value is an expression, a rank or a row")
    if value.reduction is None:
        column_values = evaluate(value.expression, Scope(events, table))
        return comparable(column_values, events.strings, ordered=value.ordered), column_values.valid
    return _evaluate_reduction(value, value.expression, table, events)


def _evaluate_reduction(
    value: Value, expression: Expression, table: Table, events: Events
) -> tuple[Array, Array | None]:
    number = column_number(next(iter(variables_of(expression))))
    lists = table.columns[number]
    if not isinstance(lists, Lists):
        raise TypeError(f"column {number} holds no lists")
    selected = lists.owners
    column = evaluate(expression, Scope(events, table, selected, {number: lists.elements}))
    numbers = comparable(column, events.strings, ordered=value.ordered)
    best = extreme_segments(numbers, np.ones(numbers.size, np.bool_), lists.offsets, value.reduction == "max")
    if column.valid is None:
        return numbers[best], None
    valid = np.ones(table.n_rows, np.bool_)
    valid[selected[~column.valid]] = False
    return numbers[best], valid


def masks_of(operators: Iterable[ComparisonOperator]) -> Array:
    """Return the sign mask of each operator."""
    return np.array([MASKS[operator] for operator in operators], np.int64)


def hash_runs(rows: Operands, elements: Operands) -> tuple[Array, Array]:
    """Group the elements by hash; return their order and the run of each row."""
    n_rows, n_elements = rows.values.shape[1], elements.values.shape[1]
    if not elements.hashes.size:
        runs = np.zeros((n_rows, 2), np.int64)
        runs[:, 1] = n_elements
        return np.arange(n_elements), runs
    order = np.argsort(elements.hashes, kind="stable")
    hashes = elements.hashes[order]
    runs = np.stack(
        [np.searchsorted(hashes, rows.hashes, "left"), np.searchsorted(hashes, rows.hashes, "right")], axis=1
    )
    return order, runs.astype(np.int64)


def grows_in_runs(clocks: Array, elements: Operands, order: Array) -> bool:
    """Whether a clock never falls inside the runs that `hash_runs` makes of elements.

    A clock that counts inside partitions does not grow with time, but it does inside each partition.
    """
    falls = np.diff(clocks) < 0
    if elements.hashes.size:
        falls &= np.diff(elements.hashes[order]) == 0
    return not falls.any()


def _share_events(table: Table, a: int, b: int) -> Array:
    """Return which rows hold some event in both of two columns."""
    left, right = as_lists(table.columns[a]), as_lists(table.columns[b])
    n_events = int(max(left.rows.max(initial=0), right.rows.max(initial=0))) + 1
    owners = left.owners
    is_shared = np.isin(owners * n_events + left.elements, right.owners * n_events + right.elements)
    shared = np.zeros(table.n_rows, np.bool_)
    shared[owners[is_shared]] = True
    return shared
