"""Split a query into alternatives: OR and SOME distributed to the outside, optional items absent or not."""

import itertools
import math
from dataclasses import dataclass

from weft.errors import Problem, QueryError
from weft.pattern import nodes
from weft.pattern.nodes import (
    MAX_ALTERNATIVES,
    MAX_COMBINATIONS,
    Conjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
)
from weft.tree import find

NOTHING = Conjunction(())  # what is left of a pattern without events


@dataclass(frozen=True, slots=True)
class Alternative:
    """A pattern without OR, SOME and optional items, and the list variables that are empty in it.

    `pattern` is NOTHING when nothing remains. Each negation in it is a `SplitNegation`.
    """

    pattern: Pattern
    empty: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SplitNegation(Negation):
    """The negation of one alternative of a negated pattern, and the list variables empty in it."""

    empty: frozenset[str] = frozenset()


def split_alternatives(pattern: Pattern, query: str) -> tuple[Alternative, ...]:
    """Return the alternatives of a pattern that bind at least one event.

    >>> from weft.pattern.nodes import Event
    >>> a, b = Event("A", "a"), Event("B", "b")
    >>> [alternative.pattern for alternative in split_alternatives(nodes.Disjunction((a, b)), "q")]
    [Event(type='A', variable='a'), Event(type='B', variable='b')]
    """
    alternatives = _alternatives(pattern, query)
    return tuple(alternative for alternative in alternatives if positive_variables(alternative.pattern))


def _alternatives(pattern: Pattern, query: str) -> list[Alternative]:
    match pattern:
        case Event():
            return [Alternative(pattern)]
        case Kleene(operand=Event(variable=variable), least=0, most=most):
            present = Kleene(pattern.operand, 1, most, pattern.span)
            return [Alternative(NOTHING, frozenset({variable})), Alternative(present)]
        case Kleene():
            return [Alternative(pattern)]
        case nodes.Disjunction(operands=operands):
            alternatives = [taken for operand in operands for taken in _alternatives(operand, query)]
            _check_count(len(alternatives), pattern, query)
            return alternatives
        case nodes.Some(operands=operands):
            return _combinations(pattern, [_alternatives(operand, query) for operand in operands], query)
        case Negation(operand=operand):
            return [_negate(operand, query)]
        case nodes.Sequence(operands=operands) | Conjunction(operands=operands):
            choices = [_alternatives(operand, query) for operand in operands]
            _check_count(math.prod(map(len, choices)), pattern, query)
            return [_rebuild(pattern, combination) for combination in itertools.product(*choices)]


def _combinations(some: nodes.Some, choices: list[list[Alternative]], query: str) -> list[Alternative]:
    """Return the AND of every non-empty combination of operands, small ones first."""
    n_choices = math.prod(1 + len(choice) for choice in choices)  # each of its alternatives, or not taken
    _check_count(n_choices - 1, some, query)  # without the choice of none at all
    return [
        _rebuild(Conjunction((), some.span), combination)
        for size in range(1, len(choices) + 1)
        for taken in itertools.combinations(choices, size)
        for combination in itertools.product(*taken)
    ]


def _rebuild(pattern: nodes.Sequence | Conjunction, combination: tuple[Alternative, ...]) -> Alternative:
    operands = tuple(choice.pattern for choice in combination if choice.pattern != NOTHING)
    empty = frozenset[str]().union(*(choice.empty for choice in combination))
    return Alternative(type(pattern)(operands, pattern.span) if operands else NOTHING, empty)


def _negate(operand: Pattern, query: str) -> Alternative:
    """NOT (P or Q) is NOT P and NOT Q: a Conjunction that flattening splices into its parent.

    So is NOT SOME(P, Q), as a match of both holds one of each. With a NOT inside, which looks at the
    whole match, it need not.
    """
    if isinstance(operand, nodes.Some) and not any(find(operand, Negation)):
        operand = nodes.Disjunction(operand.operands, operand.span)
    negations = tuple(
        SplitNegation(alternative.pattern, operand.span, alternative.empty)
        for alternative in _alternatives(operand, query)
        if alternative.pattern != NOTHING
    )
    return Alternative(negations[0] if len(negations) == 1 else Conjunction(negations))


def _check_count(n_alternatives: int, pattern: Pattern, query: str) -> None:
    most = MAX_COMBINATIONS if any(find(pattern, nodes.Some)) else MAX_ALTERNATIVES
    if n_alternatives > most:
        problem = Problem(
            f"more than {most} alternatives after splitting OR, SOME and optional items",
            query=query,
            hint="use fewer OR, * and ? in one query, or write several queries; SOME has 12 operands at most,"
            " but any number of single events where it is the whole pattern, without STRATEGY, sites or why",
        )
        raise QueryError([problem])


def positive_variables(pattern: Pattern) -> frozenset[str]:
    """Return the variables bound by a match of the pattern."""
    if isinstance(pattern, Negation):
        return frozenset()
    if isinstance(pattern, Event):
        return frozenset({pattern.variable})
    operands = (pattern.operand,) if isinstance(pattern, Kleene) else pattern.operands
    return frozenset[str]().union(*map(positive_variables, operands))


def declared_variables(pattern: Pattern) -> frozenset[str]:
    """Return all variables of a pattern, negated ones included."""
    return frozenset(event.variable for event in find(pattern, Event))


def negated_variables(pattern: Pattern) -> frozenset[str]:
    """Return the variables written inside a negation of the pattern."""
    return frozenset[str]().union(*map(declared_variables, find(pattern, Negation)))
