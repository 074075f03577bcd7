"""Bring predicates to one spelling: NOT pushed inward, AND and OR flat and sorted, comparisons oriented."""

from collections.abc import Iterable

from weft.expressions import (
    FLIPPED,
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    Literal,
    Not,
    Or,
    conjuncts,
)
from weft.tree import find, transform_up

OPPOSITE: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


def simplify_predicates(predicates: Iterable[Expression]) -> tuple[Expression, ...]:
    """Return the conjuncts of the predicates, each in canonical form, each once, in first-seen order.

    >>> from weft.expressions import Attribute
    >>> from weft.schema import LONG
    >>> a, b = Attribute("a", "x", type=LONG), Attribute("b", "x", type=LONG)
    >>> less = Comparison("<", a, b)
    >>> simplify_predicates([Not(Comparison(">=", a, b)), Comparison(">", b, a)]) == (less,)
    True
    """
    found: dict[Expression, None] = {}
    for predicate in predicates:
        for part in _separable(canonical(predicate)):
            if not (isinstance(part, Literal) and part.value is True):
                found.setdefault(part)
    return tuple(found)


def _separable(predicate: Expression) -> tuple[Expression, ...]:
    """Split at the ANDs, unless that would let a part speak of more elements than the whole did.

    With `v[i-1]` the whole speaks of pairs of consecutive elements, of which a short list has none;
    a part without `v[i-1]` would speak of every element.
    """
    parts = conjuncts(predicate)
    speaks_of_pairs = [any(a.place == "previous" for a in find(part, Attribute)) for part in parts]
    return parts if all(speaks_of_pairs) or not any(speaks_of_pairs) else (predicate,)


def canonical(expression: Expression) -> Expression:
    """Return the canonical spelling of an expression; equal meanings spelled alike become equal."""
    return transform_up(expression, _canonical_node)


def _canonical_node(node: Expression) -> Expression:
    match node:
        case Not(operand=operand):
            return _negated(operand)
        case And(operands=operands):
            return _flat(And, operands)
        case Or(operands=operands):
            return _flat(Or, operands)
        case Comparison():
            return _oriented(node)
    return node


def _negated(operand: Expression) -> Expression:
    match operand:
        case Not(operand=inner):
            return inner
        case And(operands=operands):
            return _flat(Or, tuple(map(_negated, operands)))
        case Or(operands=operands):
            return _flat(And, tuple(map(_negated, operands)))
        case Comparison(operator=operator, left=left, right=right):
            return Comparison(OPPOSITE[operator], left, right)
    return Not(operand)


def _flat(kind: type[And] | type[Or], operands: tuple[Expression, ...]) -> Expression:
    members: dict[Expression, None] = {}
    for operand in operands:
        for member in operand.operands if isinstance(operand, kind) else (operand,):
            members.setdefault(member)
    ordered = sorted(members, key=repr)
    return ordered[0] if len(ordered) == 1 else kind(tuple(ordered))


def _oriented(comparison: Comparison) -> Comparison:
    """Put the smaller operand (by its text) on the left, a literal always on the right."""
    left, right = comparison.left, comparison.right
    left_key = (isinstance(left, Literal), repr(left))
    right_key = (isinstance(right, Literal), repr(right))
    if left_key <= right_key:
        return comparison
    return Comparison(FLIPPED[comparison.operator], right, left)
