"""The meaning of expressions on aggregates: exact where all numbers have 64 bits, else in doubles."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from weft.expressions import (
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    CountTrends,
    Expression,
    Literal,
    Negate,
    Not,
    Or,
    type_of,
)
from weft.reference.evaluate import evaluate
from weft.reference.values import Value, fit
from weft.schema import BOOLEAN, DOUBLE, Type
from weft.tree import children, transform_up, walk

EXACT = ("long", "decimal")


def result_value(expression: Expression, values: Mapping[Expression, Value]) -> Value:
    """Return the value of an expression on aggregates and attributes of the group, given theirs.

    What AND, OR and NOT join is judged part by part: a part in which some number has more than 64 bits is
    worked out in doubles.

    >>> from weft.expressions import Comparison, CountTrends
    >>> from weft.schema import LONG
    >>> count = CountTrends()
    >>> double = Arithmetic("*", count, Literal(2, LONG))
    >>> result_value(double, {count: 3}), result_value(double, {count: 2**70})
    (6, 2.3611832414348226e+21)
    >>> result_value(Comparison(">", count, Literal(3, LONG)), {count: 2**70})
    True
    """
    if isinstance(expression, Aggregate | Attribute | CountTrends):
        return values[expression]
    match expression:
        case And(operands=operands) | Or(operands=operands):
            parts = tuple(_truth(result_value(operand, values)) for operand in operands)
            return evaluate(type(expression)(parts), {})
        case Not(operand=operand):
            return evaluate(Not(_truth(result_value(operand, values))), {})

    def filled(node: Any) -> Any:
        is_known = isinstance(node, Aggregate | Attribute | CountTrends)
        return Literal(values[node], type_of(node)) if is_known else node

    whole = transform_up(expression, filled)
    return evaluate(whole if is_exact(whole) else transform_up(whole, _in_doubles), {})


def is_exact(expression: Expression) -> bool:
    """Say whether all whole numbers and decimals of an expression without variables have 64 bits."""
    for node in walk(expression):
        match node:
            case Literal(value=value, type=kind):
                if kind.kind in EXACT and value is not None and fit(cast(int, value), kind) is None:
                    return False
            case Cast() | Negate() | Absolute() | Arithmetic(operator="+" | "-" | "*"):
                operands = [evaluate(cast(Expression, child), {}) for child in _operands(node)]
                is_known = all(value is not None for value in operands)
                if type_of(node).kind in EXACT and is_known and evaluate(node, {}) is None:
                    return False
    return True


def _operands(node: Cast | Negate | Absolute | Arithmetic) -> list[object]:
    return [child for child in children(node) if isinstance(child, Expression)]


def _truth(value: Value) -> Literal:
    return Literal(value, BOOLEAN)


def _in_doubles(node: Any) -> Any:
    """Return a node of an expression in which every whole number and decimal is a double."""
    match node:
        case Literal(value=value, type=kind) if kind.kind in EXACT:
            return Literal(None if value is None else _double(value, kind), DOUBLE)
        case Cast(operand=operand, to=to) if to.kind in ("double", *EXACT) and type_of(operand) == DOUBLE:
            return operand
    return node


def _double(value: Any, kind: Type) -> float:
    """Return a number as a double, infinite where it is beyond all doubles."""
    try:
        return float(Fraction(value) * 10**kind.scale) / 10.0**kind.scale  # as a cast does
    except OverflowError:
        return math.inf if value > 0 else -math.inf
