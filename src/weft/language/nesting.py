"""Bound how deeply patterns and expressions nest, so that walking them never exhausts the stack."""

from typing import Any

from weft.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Comparison,
    CountTrends,
    Equivalence,
    Literal,
    Or,
)
from weft.language.ccl.steps import Combined, Named
from weft.pattern.nodes import Conjunction, Disjunction, Event, ReturnColumn, Sequence, Some

MAX_NESTING = 100

_LEAVES = frozenset({Literal, Attribute, Aggregate, CountTrends, Equivalence, Event, Named})
_WITH_OPERANDS = frozenset({And, Or, Sequence, Conjunction, Disjunction, Some, Combined})
_WITH_SIDES = frozenset({Comparison, Arithmetic})


def is_nested_too_deeply(node: Any) -> bool:
    """Return whether a pattern, a step of CCL, an expression or a column has more than MAX_NESTING levels.

    >>> from weft.expressions import Not
    >>> from weft.schema import BOOLEAN
    >>> is_nested_too_deeply(Not(Literal(True, BOOLEAN)))
    False
    """
    level: list[Any] = [node.expression if type(node) is ReturnColumn else node]
    for _ in range(MAX_NESTING):
        below: list[Any] = []
        for parent in level:
            kind = type(parent)
            if kind in _LEAVES:
                continue
            if kind in _WITH_SIDES:
                below += (parent.left, parent.right)
            elif kind in _WITH_OPERANDS:
                below += parent.operands
            else:
                below.append(parent.operand)
        if not below:
            return False
        level = below
    return True
