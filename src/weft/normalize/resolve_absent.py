"""Adapt expressions to an alternative in which some variables are not bound."""

from collections.abc import Set

from weft.expressions import Aggregate, Attribute, Expression, Literal, type_of, variables_of
from weft.schema import LONG
from weft.tree import find, transform_up


def resolve_absent(predicate: Expression, bound: Set[str], empty: Set[str]) -> Expression | None:
    """Return what a predicate says when only `bound` variables have events, or None when it is void.

    A predicate on a branch not taken does not apply; one that speaks of each element of an empty
    list holds vacuously. What remains speaks of empty lists as a whole: COUNT is 0, the rest NULL.
    """
    missing = variables_of(predicate) - bound
    if not missing:
        return predicate
    if missing - empty:
        return None
    if any(
        attribute.variable in missing and attribute.place not in ("first", "last")
        for attribute in find(predicate, Attribute)
    ):
        return None
    return substitute_absent(predicate, bound)


def substitute_absent(expression: Expression, bound: Set[str]) -> Expression:
    """Replace every mention of an unbound variable by its value on the empty list.

    >>> substitute_absent(Aggregate("count", "v"), set())
    Literal(value=0, type=Type(kind='long', scale=0))
    """

    def substitute(node: object) -> object:
        if isinstance(node, Attribute | Aggregate) and node.variable not in bound:
            is_count = isinstance(node, Aggregate) and node.function == "count"
            return Literal(0, LONG) if is_count else Literal(None, type_of(node))
        return node

    return transform_up(expression, substitute)
