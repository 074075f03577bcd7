"""Expressions on the aggregates of results: what RETURN calculates, and what HAVING asks.

Numbers are exact where all of a comparison, or of a column, have 64 bits; elsewhere it is worked out in
doubles.
"""

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from weft.expressions import (
    Absolute,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Expression,
    Literal,
    Negate,
    Not,
    Or,
    type_of,
)
from weft.plan.template import EVENT, TrendColumn
from weft.runtime.columns.evaluate import Scope, evaluate, is_true
from weft.runtime.columns.events import Array, Column, Events
from weft.runtime.matches.emit import to_arrow
from weft.runtime.matches.table import Table
from weft.runtime.trends.numbers import DIGITS, Integers, Rounded, Shown
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.selected_rows import SelectedRows, type_of_column
from weft.schema import BOOLEAN, DOUBLE, LONG, Type
from weft.tree import find, transform_up, walk

EXACT = ("long", "decimal")
LEAST, MOST = -(1 << 63), (1 << 63) - 1
AS_DOUBLE = " as double"


def passing_rows(results: TrendRows, events: Events) -> Array:
    """Return the rows of results of which all that HAVING asks is true."""
    rows = np.arange(results.n_rows)
    if not results.template.thresholds or not rows.size:
        return rows
    calculated = CalculatedRows(SelectedRows(results, events, rows))
    return rows[reduce(np.logical_and, map(calculated.holds, results.template.thresholds))]


class CalculatedRows:
    """The values of expressions for chosen rows of the results of one query."""

    def __init__(self, selected: SelectedRows) -> None:
        n_rows = selected.rows.size
        self.strings = selected.events.strings
        self._columns: dict[str, Column] = {}
        self._fits: dict[str, Array] = {}
        for column in selected.results.template.inputs:
            self._add_input(column, selected)
        events = Events(
            times=np.zeros(n_rows, np.int64),
            type_codes=np.zeros(n_rows, np.int64),
            type_names=(),
            columns=self._columns,
            ids=pa.nulls(n_rows),
            strings=self.strings,
        )
        rows = np.arange(n_rows)
        self._scope = Scope(events, Table((rows,), rows, rows))

    def holds(self, predicate: Expression) -> Array:
        """Return where a predicate is true."""
        return is_true(self._value(predicate)[0])

    def shown(self, expression: Expression) -> Shown:
        """Return the values of an expression as a column of results."""
        column, doubles = self._value(expression)
        beyond = {}
        if doubles is not None:
            rows = np.flatnonzero(doubles.validity).tolist()
            beyond = {row: _digits(float(doubles.values[row])) for row in rows}
        return Shown(to_arrow(column, self.strings), beyond)

    def _add_input(self, column: TrendColumn, selected: SelectedRows) -> None:
        """Add a column of aggregates as it is, where it fits, and of numbers as doubles too."""
        name = column.column
        fits = np.ones(selected.rows.size, np.bool_)
        match column.function:
            case None | "min" | "max":
                values = selected.values(column)
                doubles = values.values / 10.0**values.type.scale if values.type.kind in EXACT else None
            case "count" | "distinct":
                values, doubles, fits = _exact(selected.counts(column), fits, LONG)
            case "sum" if type_of_column(column).kind in EXACT:
                values, doubles, fits = _exact(*selected.totals(column), type_of_column(column))
            case _:
                values, doubles = _double_column(selected.column(column)), None
        self._columns[name], self._fits[name] = values, fits
        if doubles is not None:
            self._columns[name + AS_DOUBLE] = Column(DOUBLE, doubles, values.valid)

    def _value(self, expression: Expression) -> tuple[Column, Column | None]:
        """Return the values of an expression, and doubles for those that do not fit a column of its type."""
        match expression:
            case And(operands=operands) | Or(operands=operands):
                parts = tuple(map(self._part, operands))
                return evaluate(type(expression)(parts), self._scope), None
            case Not(operand=operand):
                return evaluate(Not(self._part(operand)), self._scope), None
        exact, fits = evaluate(expression, self._scope), self._all_fit(expression)
        if fits.all():
            return exact, None
        doubles = evaluate(transform_up(expression, _in_doubles), self._scope)
        if doubles.type == exact.type:
            valid = np.where(fits, exact.validity, doubles.validity)
            return Column(exact.type, np.where(fits, exact.values, doubles.values), valid), None
        return (
            Column(exact.type, exact.values, exact.validity & fits),
            Column(DOUBLE, doubles.values, doubles.validity & ~fits),
        )

    def _part(self, operand: Expression) -> Attribute:
        """Return an attribute that stands for the truth of an operand."""
        name = f"part {len(self._columns)}"
        self._columns[name] = self._value(operand)[0]
        return Attribute(EVENT, name, "each", BOOLEAN)

    def _all_fit(self, expression: Expression) -> Array:
        """Return where all whole numbers and decimals of an expression have 64 bits."""
        fits = np.ones(self._scope.n_rows, np.bool_)
        for attribute in find(expression, Attribute):
            fits &= self._fits[attribute.name]
        for node in walk(expression):
            match node:
                case Cast(operand=operand) | Negate(operand=operand) | Absolute(operand=operand):
                    operands = [operand]
                case Arithmetic(operator="+" | "-" | "*", left=left, right=right):
                    operands = [left, right]
                case _:
                    continue
            if type_of(node).kind in EXACT:
                known = [evaluate(operand, self._scope).validity for operand in operands]
                fits &= evaluate(node, self._scope).validity | ~np.logical_and.reduce(known)
        return fits


def _exact(numbers: Integers, is_known: Array, kind: Type) -> tuple[Column, Array, Array]:
    """Return numbers as a column of a type, as doubles, and where they fit the former."""
    values, doubles = numbers.small.copy(), numbers.small.astype(np.float64)
    fits = np.ones(values.size, np.bool_)
    for row, value in numbers.large.items():  # few, or many digits each
        fits[row] = isinstance(value, int) and LEAST <= value <= MOST
        values[row] = value if fits[row] else 0
        doubles[row] = _nearest(value)
    fits |= ~is_known
    return Column(kind, values, is_known), doubles / 10.0**kind.scale, fits


def _nearest(value: int | Rounded) -> float:
    """Return the double nearest to a number, infinite where it is beyond all doubles."""
    try:
        return float(value) if isinstance(value, int) else value.as_double(0)
    except OverflowError:
        is_positive = value > 0 if isinstance(value, int) else value.mantissa > 0
        return np.inf if is_positive else -np.inf


def _double_column(shown: Shown) -> Column:
    """Return a column of doubles; those that are beyond all doubles are infinite."""
    values = shown.values.to_numpy(zero_copy_only=False).copy()
    valid = shown.values.is_valid().to_numpy(zero_copy_only=False).copy()
    for row, digits in shown.beyond.items():
        values[row], valid[row] = (-np.inf if digits.startswith("-") else np.inf), True
    return Column(DOUBLE, values, valid)


def _digits(value: float) -> str:
    """Return a double that is shown beside its column as a rounded number is."""
    if np.isfinite(value):
        return f"{value:.{DIGITS - 1}e}"
    return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _in_doubles(node: Any) -> Any:
    """Return a node of an expression in which every whole number and decimal is a double."""
    match node:
        case Attribute(name=name, type=Type(kind=kind)) if kind in EXACT:
            return Attribute(EVENT, name + AS_DOUBLE, "each", DOUBLE)
        case Literal(value=value, type=kind) if kind.kind in EXACT:
            return Literal(None if value is None else float(value), DOUBLE)
        case Cast(operand=operand, to=to) if to.kind in ("double", *EXACT) and type_of(operand) == DOUBLE:
            return operand
    return node
