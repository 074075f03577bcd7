"""The alternatives of a pattern: each choice of branches and of optional parts, in flat form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias, TypeGuard

from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Some

_Operator: TypeAlias = type[nodes.Sequence] | type[Conjunction]


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative: a pattern without OR, SOME and optional parts, outside of its negations.

    A repeated group is one part, whose operand is not split. `absent` names the variables of the
    optional parts left out; the pattern is None when nothing is left. In `whole`, the optional lists
    left out stand in their places.
    """

    pattern: Pattern | None
    whole: Pattern | None
    absent: frozenset[str] = frozenset()


def clauses_of(pattern: Pattern) -> tuple[Clause, ...]:
    """Return the clauses of a pattern.

    >>> optional = Kleene(Event("B", "b"), 0, 1)
    >>> for clause in clauses_of(nodes.Sequence((Event("A", "a"), optional))):
    ...     print(sorted(positive_variables(clause.pattern)), sorted(clause.absent))
    ['a'] ['b']
    ['a', 'b'] []
    """
    match pattern:
        case Event() | Negation():
            return (Clause(pattern, pattern),)
        case Disjunction(operands=operands):
            return tuple(clause for operand in operands for clause in clauses_of(operand))
        case Some(operands=operands):
            return tuple(
                clause
                for size in range(1, len(operands) + 1)
                for taken in combinations(operands, size)
                for clause in clauses_of(Conjunction(taken))
            )
        case Kleene():
            return _absence(pattern) + _presence(pattern)
        case nodes.Sequence(operands=operands) | Conjunction(operands=operands):
            return tuple(
                Clause(
                    _flat(type(pattern), [clause.pattern for clause in choice]),
                    _flat(type(pattern), [clause.whole for clause in choice]),
                    frozenset().union(*(clause.absent for clause in choice)),
                )
                for choice in product(*(clauses_of(operand) for operand in operands))
            )


def _absence(kleene: Kleene) -> tuple[Clause, ...]:
    empty = kleene if isinstance(kleene.operand, Event) else None
    return (Clause(None, empty, positive_variables(kleene)),) if kleene.least == 0 else ()


def _presence(kleene: Kleene) -> tuple[Clause, ...]:
    if kleene.most == 0:
        return ()
    if kleene.most == 1 and not isinstance(kleene.operand, Event):
        return clauses_of(kleene.operand)
    present = Kleene(kleene.operand, max(kleene.least, 1), kleene.most)
    return (Clause(present, present),)


def _flat(operator: _Operator, operands: Sequence[Pattern | None]) -> Pattern | None:
    """Apply SEQ or AND to what is left of its operands.

    An operand of the same operator, and one left with negations only, gives its operands to this
    one; an operator with a single operand is that operand.
    """
    flat: list[Pattern] = []
    for operand in operands:
        if isinstance(operand, operator) or _is_only_negations(operand):
            flat.extend(operand.operands)
        elif operand is not None:
            flat.append(operand)
    if len(flat) < 2:
        return flat[0] if flat else None
    return operator(tuple(flat))


def _is_only_negations(pattern: Pattern | None) -> TypeGuard[nodes.Sequence | Conjunction]:
    return isinstance(pattern, nodes.Sequence | Conjunction) and not positive_variables(pattern)


def positive_variables(pattern: Pattern | None) -> frozenset[str]:
    """Return the variables of a pattern that are not inside a negation of it."""
    return frozenset(event.variable for event in positive_events(pattern))


def positive_events(pattern: Pattern | None) -> Iterator[Event]:
    """Yield the events of a pattern that are not inside a negation of it."""
    match pattern:
        case None | Negation():
            return
        case Event():
            yield pattern
        case Kleene(operand=operand):
            yield from positive_events(operand)
        case nodes.Operator(operands=operands):
            for operand in operands:
                yield from positive_events(operand)


def order_of(pattern: Pattern | None) -> frozenset[tuple[str, str]]:
    """Return the pairs of variables of a clause of which the pattern orders one before the other.

    >>> both = Conjunction((Event("A", "a"), Event("B", "b")))
    >>> sorted(order_of(nodes.Sequence((both, Event("C", "c")))))
    [('a', 'c'), ('b', 'c')]
    """
    if not isinstance(pattern, nodes.Sequence | Conjunction):
        return frozenset()
    within = frozenset[tuple[str, str]]().union(*map(order_of, pattern.operands))
    if isinstance(pattern, Conjunction):
        return within
    pairs = combinations(map(positive_variables, pattern.operands), 2)
    return within.union(*(product(before, after) for before, after in pairs))
