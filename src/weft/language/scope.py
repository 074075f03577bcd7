"""The variables of a pattern: what each may be, and which can be bound together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from weft.expressions import Aggregate, Attribute, Predicate
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Sequence, Some
from weft.tree import walk


@dataclass(frozen=True, slots=True)
class PatternVariable:
    """A variable of a pattern.

    `negations` numbers the NOTs around it, from the outside in, `groups` the repeated groups; `branches`
    says which operand of which OR it lies in. `always` means that every match binds it. `declarations`
    are those of a variable that several operands of an OR declare, empty for any other.
    """

    event: Event
    is_list: bool
    negations: tuple[int, ...]
    branches: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]
    always: bool
    declarations: tuple["PatternVariable", ...] = ()


Scope = dict[str, PatternVariable]


@dataclass(frozen=True, slots=True)
class _Place:
    """What is around a part of a pattern."""

    negations: tuple[int, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()
    groups: tuple[int, ...] = ()
    is_optional: bool = False


def variables_in(pattern: Pattern) -> Iterator[PatternVariable]:
    """Yield the variables of a pattern in the order written.

    >>> [v.is_list for v in variables_in(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None))))]
    [False, True]
    """
    return _visit(pattern, _Place(), count())


def _visit(node: Pattern, place: _Place, numbers: Iterator[int]) -> Iterator[PatternVariable]:
    match node:
        case Event():
            yield _variable(node, place, is_list=False)
        case Kleene(operand=Event() as event, least=least):
            inside = replace(place, is_optional=place.is_optional or least == 0)
            yield _variable(event, inside, is_list=True)
        case Kleene(operand=operand, least=least):
            groups = (*place.groups, next(numbers))
            inside = replace(place, groups=groups, is_optional=place.is_optional or least == 0)
            yield from _visit(operand, inside, numbers)
        case Negation(operand=operand):
            negations = (*place.negations, next(numbers))
            yield from _visit(operand, replace(place, negations=negations), numbers)
        case Disjunction(operands=operands):
            number = next(numbers)
            for branch, operand in enumerate(operands):
                branches = (*place.branches, (number, branch))
                yield from _visit(operand, replace(place, branches=branches), numbers)
        case Some(operands=operands):
            inside = replace(place, is_optional=place.is_optional or len(operands) > 1)
            for operand in operands:
                yield from _visit(operand, inside, numbers)
        case Sequence(operands=operands) | Conjunction(operands=operands):
            for operand in operands:
                yield from _visit(operand, place, numbers)


def _variable(event: Event, place: _Place, *, is_list: bool) -> PatternVariable:
    always = not (place.negations or place.branches or place.is_optional)
    return PatternVariable(event, is_list, place.negations, place.branches, place.groups, always)


def never_together(variable: PatternVariable, other: PatternVariable) -> bool:
    """Return whether two variables lie in different operands of one OR."""
    if not variable.branches or not other.branches:
        return False
    taken = dict(variable.branches)
    return any(taken.get(number, branch) != branch for number, branch in other.branches)


def is_same_elsewhere(variable: PatternVariable, other: PatternVariable) -> bool:
    """Return whether two declarations are of one variable: alike, in different operands of one OR."""
    is_alike = variable.event.type == other.event.type and variable.is_list == other.is_list
    return is_alike and bool(variable.negations) == bool(other.negations) and never_together(variable, other)


def scope_of(pattern: Pattern) -> Scope:
    """Return the variables of a pattern by name; of several declarations, what all of them say.

    >>> sorted(scope_of(Sequence((Event("A", "a"), Event("B", "b")))))
    ['a', 'b']
    """
    scope: Scope = {}
    for variable in variables_in(pattern):
        first = scope.setdefault(variable.event.variable, variable)
        if first is not variable:
            branches = tuple(branch for branch in first.branches if branch in variable.branches)
            declarations = (*(first.declarations or (first,)), variable)
            scope[variable.event.variable] = replace(first, branches=branches, declarations=declarations)
    return scope


def in_different_negations(variable: PatternVariable, other: PatternVariable) -> bool:
    """Return whether two variables lie in two NOTs, neither inside the other, of one alternative."""
    if not variable.negations or not other.negations:
        return False
    return any(
        any(mine != theirs for mine, theirs in zip(first.negations, second.negations, strict=False))
        for first in variable.declarations or (variable,)
        for second in other.declarations or (other,)
        if not never_together(first, second)
    )


def mentions(expression: Predicate) -> list[Attribute | Aggregate]:
    """Return the places where an expression mentions a variable, in the order written.

    >>> from weft.expressions import Comparison
    >>> [mention.variable for mention in mentions(Comparison("<", Attribute("a", "x"), Attribute("b", "y")))]
    ['a', 'b']
    """
    return [node for node in walk(expression) if isinstance(node, Attribute | Aggregate)]
