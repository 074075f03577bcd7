"""The variables of a pattern: what each may be, and which can be bound together."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from weft.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Comparison,
    Equivalence,
    Literal,
    Or,
    Predicate,
)
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Sequence


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a pattern.

    `negations` numbers the NOTs around it, from the outside in; `branches` says which operand of
    which OR it lies in. `always` means that every match binds it.
    """

    event: Event
    is_list: bool
    negations: tuple[int, ...]
    branches: tuple[tuple[int, int], ...]
    always: bool


Scope = dict[str, Variable]


def variables_in(pattern: Pattern) -> Iterator[Variable]:
    """Yield the variables of a pattern in the order written.

    >>> [v.is_list for v in variables_in(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None))))]
    [False, True]
    """
    return _visit(pattern, (), (), None, count())


def _visit(
    node: Pattern,
    negations: tuple[int, ...],
    branches: tuple[tuple[int, int], ...],
    least: int | None,
    numbers: Iterator[int],
) -> Iterator[Variable]:
    match node:
        case Event():
            always = not negations and not branches and least != 0
            yield Variable(node, least is not None, negations, branches, always)
        case Kleene(operand=operand):
            yield from _visit(operand, negations, branches, node.least, numbers)
        case Negation(operand=operand):
            yield from _visit(operand, (*negations, next(numbers)), branches, least, numbers)
        case Disjunction(operands=operands):
            number = next(numbers)
            for branch, operand in enumerate(operands):
                yield from _visit(operand, negations, (*branches, (number, branch)), least, numbers)
        case Sequence(operands=operands) | Conjunction(operands=operands):
            for operand in operands:
                yield from _visit(operand, negations, branches, least, numbers)


def never_together(one: Variable, other: Variable) -> bool:
    """Return whether two variables lie in different operands of one OR."""
    if not one.branches or not other.branches:
        return False
    taken = dict(one.branches)
    return any(taken.get(number, branch) != branch for number, branch in other.branches)


def in_different_negations(one: Variable, other: Variable) -> bool:
    """Return whether two variables lie in two NOTs, neither inside the other."""
    return any(mine != theirs for mine, theirs in zip(one.negations, other.negations, strict=False))


def mentions(expression: Predicate) -> list[Attribute | Aggregate]:
    """Return the places where an expression mentions a variable, in the order written.

    >>> [found.variable for found in mentions(Comparison("<", Attribute("a", "x"), Attribute("b", "y")))]
    ['a', 'b']
    """
    found: list[Attribute | Aggregate] = []
    stack: list[Predicate] = [expression]
    while stack:
        node = stack.pop()
        kind = type(node)
        if kind is Attribute or kind is Aggregate:
            found.append(node)  # type: ignore[arg-type]
        elif kind is Comparison or kind is Arithmetic:
            stack += (node.right, node.left)  # type: ignore[union-attr]
        elif kind is And or kind is Or:
            stack += reversed(node.operands)  # type: ignore[union-attr]
        elif kind is not Literal and kind is not Equivalence:
            stack.append(node.operand)  # type: ignore[union-attr]
    return found
