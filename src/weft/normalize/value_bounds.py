"""Comparisons as bounds on differences of values, as far as they are such."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from weft.expressions import (
    Absolute,
    Aggregate,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Expression,
    Literal,
    Negate,
    type_of,
)
from weft.normalize.differences import DifferenceBound, Number
from weft.schema import DURATION, TIMESTAMP
from weft.tree import find, transform_up

TIME = "\0time"  # the name of the event time in values
MICROSECONDS_PER_DAY = 86_400_000_000
MOST_EXACT = 2**53  # up to this a double tells whole numbers apart
_EXACT = frozenset({"long", "timestamp", "date", "duration", "decimal"})
_WHOLE = frozenset({"long", "timestamp", "duration"})
_MAYBE_TIME = re.compile(r"\s*[+-]?(?:\d|P)")  # of a text: it may be read as a time, a date or a duration

Bounds: TypeAlias = tuple[
    list[DifferenceBound], list[DifferenceBound]
]  # those that hold, those that must not
Sum: TypeAlias = tuple[Mapping[Expression, int], Number]


class BoundReader:
    """Reads comparisons as bounds; `times` are the names of the event time, `texts` all texts compared with.

    A value is an expression: two that are written alike are equal. Values of a type are only compared with
    values of the same, so each type may have numbers of its own: a text is its place among all texts.

    >>> from weft.schema import LONG
    >>> x = Attribute("a", "x", type=LONG)
    >>> held, _ = BoundReader((), ()).bounds_of(Comparison("<", x, Literal(5, LONG)))
    >>> held[0].limit, held[0].is_strict
    (4, False)
    """

    def __init__(self, times: Collection[str], texts: Iterable[str]) -> None:
        self.times = times
        self.ranks = {text: rank for rank, text in enumerate(sorted(set(texts)))}

    def bounds_of(self, comparison: Comparison) -> Bounds:
        """Return the bounds that a comparison sets, and the differences that it excludes."""
        left, right = self._value(comparison.left), self._value(comparison.right)
        left, right = _without_cast(left, right), _without_cast(right, left)
        if self._is_unclear(left, right) or self._is_unclear(right, left):
            return [], []
        has_types = None not in (_kind_of(left), _kind_of(right))
        is_of_times = not has_types and self._is_of_times(left, right)
        total = self._difference(left, right, is_of_times=is_of_times)
        if total is None:
            return [], []
        values, constant = total
        plus = [value for value, factor in values.items() if factor == 1]
        minus = [value for value, factor in values.items() if factor == -1]
        above, below = (plus[0] if plus else None), (minus[0] if minus else None)
        is_whole = all(_is_whole(value) for value in values) and constant == int(constant)
        return _bounds(comparison.operator, above, below, -constant, is_whole=is_whole)

    def _value(self, expression: Expression) -> Expression:
        """Return an expression in which the event time has one name and one type."""

        def renamed(node: object) -> object:
            if isinstance(node, Attribute) and node.name in self.times:
                return replace(node, name=TIME, type=TIMESTAMP)
            return node

        changed: Expression = transform_up(expression, renamed)
        return changed

    def _is_unclear(self, side: Expression, other: Expression) -> bool:
        """Return whether a text may yet be read as a time, as the type of the other side is not known."""
        if not isinstance(side, Literal) or not isinstance(side.value, str):
            return False
        return _kind_of(other) != "string" and _MAYBE_TIME.match(side.value) is not None

    def _is_of_times(self, left: Expression, right: Expression) -> bool:
        """Return whether a comparison of values without types can only be one of times and durations."""
        constants = [literal for side in (left, right) for literal in find(side, Literal)]
        attributes = [attribute for side in (left, right) for attribute in find(side, Attribute)]
        has_length = any(literal.type in (DURATION, TIMESTAMP) for literal in constants)
        return has_length or all(attribute.name == TIME for attribute in attributes)

    def _difference(self, left: Expression, right: Expression, *, is_of_times: bool) -> Sum | None:
        """Return the difference of two sides as a sum of at most two values and a constant."""
        sides = self._sum(left, is_of_times=is_of_times), self._sum(right, is_of_times=is_of_times)
        total = _added(sides[0], sides[1], -1)
        if sorted(total[0].values()) in ([], [1], [-1], [-1, 1]):
            return total
        total = _added(self._whole(left), self._whole(right), -1)
        return total if sorted(total[0].values()) in ([], [1], [-1], [-1, 1]) else None

    def _whole(self, side: Expression) -> Sum:
        """Return a side as one value, or as a constant."""
        return ({}, self._number(side)) if isinstance(side, Literal) else ({side: 1}, 0)

    def _sum(self, side: Expression, *, is_of_times: bool) -> Sum:
        """Return a side as a sum, as far as it is calculated exactly."""
        match side:
            case Literal():
                return {}, self._number(side)
            case Cast(operand=operand, to=to) if to == TIMESTAMP:
                return self._sum(operand, is_of_times=is_of_times)
            case Arithmetic(operator="+" | "-" as operator, left=left, right=right) if self._is_exact(
                side, is_of_times=is_of_times
            ):
                sides = self._sum(left, is_of_times=is_of_times), self._sum(right, is_of_times=is_of_times)
                return _added(*sides, 1 if operator == "+" else -1)
            case Negate(operand=operand) if self._is_exact(side, is_of_times=is_of_times):
                return _added(({}, 0), self._sum(operand, is_of_times=is_of_times), -1)
        return {side: 1}, 0

    def _is_exact(self, expression: Expression, *, is_of_times: bool) -> bool:
        kind = _kind_of(expression)
        return is_of_times if kind is None else kind in _EXACT

    def _number(self, literal: Literal) -> Number:
        value = literal.value
        if isinstance(value, str):
            return self.ranks[value]
        if literal.type.kind == "date":
            return int(value or 0) * MICROSECONDS_PER_DAY
        if isinstance(value, float):
            return Fraction(Decimal(repr(value)))
        return Fraction(value) if isinstance(value, Decimal) else int(value or 0)


def _bounds(
    operator: str, above: Expression | None, below: Expression | None, limit: Number, *, is_whole: bool
) -> Bounds:
    """Return what `above - below operator limit` says."""
    match operator:
        case "<" | "<=":
            return [bound_on(above, below, limit, is_strict=operator == "<", is_whole=is_whole)], []
        case ">" | ">=":
            return [bound_on(below, above, -limit, is_strict=operator == ">", is_whole=is_whole)], []
        case "=":
            return [bound_on(above, below, limit), bound_on(below, above, -limit)], []
    return [], [bound_on(above, below, limit)]


def bound_on(
    left: Expression | None,
    right: Expression | None,
    limit: Number,
    *,
    is_strict: bool = False,
    is_whole: bool = False,
) -> DifferenceBound:
    """Return a bound; between whole numbers, less than 5 is at most 4."""
    if is_strict and is_whole:
        return DifferenceBound(left, right, limit - 1)
    return DifferenceBound(left, right, limit, is_strict)


def _added(left: Sum, right: Sum, factor: int) -> Sum:
    values = dict(left[0])
    for value, count in right[0].items():
        values[value] = values.get(value, 0) + factor * count
    return {value: count for value, count in values.items() if count}, left[1] + factor * right[1]


def _without_cast(side: Expression, other: Expression) -> Expression:
    """Return a long for a long made a double, where it is compared with a constant that is no larger."""
    match side, other:
        case Cast(operand=operand), Literal(value=float(value)):
            if _kind_of(operand) == "long" and abs(value) < MOST_EXACT:
                return operand
    return side


def _kind_of(expression: Expression) -> str | None:
    """Return the kind of a value, None where its attributes have no types."""
    try:
        return type_of(expression).kind
    except ValueError:
        return None


def _is_whole(value: Expression) -> bool:
    return _kind_of(value) in _WHOLE


def attributes_needed(side: Expression) -> Sequence[Attribute]:
    """Return the attributes without which a value is NULL.

    >>> x, y = Attribute("a", "x"), Attribute("a", "y")
    >>> [own.name for own in attributes_needed(Arithmetic("+", x, Negate(y)))]
    ['x', 'y']
    """
    match side:
        case Attribute():
            return [side]
        case Cast(operand=operand) | Negate(operand=operand) | Absolute(operand=operand):
            return attributes_needed(operand)
        case Arithmetic(left=left, right=right):
            return [*attributes_needed(left), *attributes_needed(right)]
    return []


def counts_of(side: Expression) -> Sequence[Aggregate]:
    """Return the numbers of elements of lists that a value speaks of."""
    return [aggregate for aggregate in find(side, Aggregate) if aggregate.function == "count"]
