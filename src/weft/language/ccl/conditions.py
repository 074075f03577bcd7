"""The conditions of a CCL statement: chains of equalities, as keys where they tie all events together."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from weft.expressions import And, Attribute, Comparison, Equivalence, Expression, Predicate, variables_of
from weft.language.scope import Scope, in_different_negations, never_together, scope_of
from weft.pattern.nodes import Pattern


def conditions_of(
    expressions: Iterable[Predicate], chains: Mapping[int, Sequence[Expression]], pattern: Pattern
) -> tuple[Predicate, ...]:
    """Return the conjuncts of ON and WHERE.

    A chain `a.k = b.k = c.k` of every event of the pattern is the equivalence `[k]`. Any other says that
    every two of its values are equal, of events that some combination has together.
    """
    scope = scope_of(pattern)
    conditions: list[Predicate] = []
    for part in (part for expression in expressions for part in _top_level(expression, chains)):
        sides = chains.get(id(part)) or _sides(part)
        key = _key(sides, scope)
        if key is not None:
            conditions.append(Equivalence((key,), part.span))
        elif id(part) in chains and isinstance(part, And):
            conditions += _applicable(part, scope)
        else:
            conditions.append(part)
    return tuple(dict.fromkeys(conditions))


def _top_level(expression: Predicate, chains: Mapping[int, Sequence[Expression]]) -> list[Predicate]:
    """Return the conjuncts of an expression, a chain being one."""
    if isinstance(expression, And) and id(expression) not in chains:
        return [part for operand in expression.operands for part in _top_level(operand, chains)]
    return [expression]


def _sides(part: Predicate) -> Sequence[Expression]:
    return (part.left, part.right) if isinstance(part, Comparison) and part.operator == "=" else ()


def _key(sides: Sequence[Expression], scope: Scope) -> str | None:
    """Return the attribute that ties every event of the pattern together, if that is what a chain does."""
    attributes = [side for side in sides if isinstance(side, Attribute) and side.place == "each"]
    names = {attribute.name for attribute in attributes}
    is_whole = len(attributes) == len(sides) == len(scope) and len(names) == 1
    return names.pop() if is_whole and {each.variable for each in attributes} == scope.keys() else None


def _applicable(chain: And, scope: Scope) -> list[Expression]:
    """Return the equalities of a chain without those between events that no combination has together."""
    kept = [part for part in chain.operands if not _is_apart(part, scope)]
    return kept or list(chain.operands)


def _is_apart(part: Expression, scope: Scope) -> bool:
    mentioned = [scope[name] for name in variables_of(part) if name in scope]
    return any(
        in_different_negations(first, second) or never_together(first, second)
        for first, second in combinations(mentioned, 2)
    )
