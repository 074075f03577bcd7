"""Bound how deeply patterns and expressions nest, so that walking them never exhausts the stack."""

from weft.schema import Type
from weft.tree import children

MAX_NESTING = 100


def is_nested_too_deeply(node: object) -> bool:
    """Return whether a pattern or an expression has more than MAX_NESTING levels.

    >>> from weft.expressions import Literal, Not
    >>> from weft.schema import BOOLEAN
    >>> is_nested_too_deeply(Not(Literal(True, BOOLEAN)))
    False
    """
    level = [node]
    for _ in range(MAX_NESTING):
        level = [child for parent in level for child in children(parent) if type(child) is not Type]
        if not level:
            return False
    return True
