"""Which events of a trend may come directly before which."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Operator, Pattern, Sequence

START = ""  # stands before the first event


@dataclass(frozen=True, slots=True)
class _Ends:
    """The variables that a match of a pattern may begin and end with, and whether it may be empty."""

    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    may_be_empty: bool = True


def predecessors(pattern: Pattern) -> dict[str, frozenset[str]]:
    """Return for each positive variable those whose event may come directly before one of its own.

    The operands of an AND are trends of their own. A negated event is no part of a trend.

    >>> a, b, c = Event("A", "a"), Kleene(Event("B", "b"), 1, None), Event("C", "c")
    >>> sorted(predecessors(Sequence((a, b, c)))["b"])
    ['a', 'b']
    """
    before_of: dict[str, set[str]] = {}
    for before, after in _steps(pattern):
        before_of.setdefault(after, set()).add(before)
    for variable in _ends(pattern).first:
        before_of.setdefault(variable, set()).add(START)
    return {variable: frozenset(before) for variable, before in before_of.items()}


def may_be_empty(pattern: Pattern) -> bool:
    """Return whether a part of a pattern may bind no event.

    >>> may_be_empty(Kleene(Event("A", "a"), 0, None))
    True
    """
    return _ends(pattern).may_be_empty


def _ends(pattern: Pattern) -> _Ends:
    match pattern:
        case Event(variable=variable):
            return _Ends(frozenset({variable}), frozenset({variable}), may_be_empty=False)
        case Kleene(operand=operand, least=least):
            inside = _ends(operand)
            return _Ends(inside.first, inside.last, least == 0 or inside.may_be_empty)
        case Negation():
            return _Ends()
        case Sequence(operands=operands):
            parts = list(map(_ends, operands))
            return _Ends(
                _until_not_empty((part.first, part.may_be_empty) for part in parts),
                _until_not_empty((part.last, part.may_be_empty) for part in reversed(parts)),
                all(part.may_be_empty for part in parts),
            )
        case Operator(operands=operands):
            parts = list(map(_ends, operands))
            empty = [part.may_be_empty for part in parts]
            return _Ends(
                frozenset[str]().union(*(part.first for part in parts)),
                frozenset[str]().union(*(part.last for part in parts)),
                all(empty) if isinstance(pattern, Conjunction) else any(empty),
            )


def _until_not_empty(parts: Iterable[tuple[frozenset[str], bool]]) -> frozenset[str]:
    """Return the variables of the parts up to the first that always binds an event."""
    reached = frozenset[str]()
    for variables, may_be_empty in parts:
        reached |= variables
        if not may_be_empty:
            break
    return reached


def _steps(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """Yield the pairs of variables of which one may come directly before the other."""
    match pattern:
        case Kleene(operand=operand):
            inside = _ends(operand)
            yield from product(inside.last, inside.first)
            yield from _steps(operand)
        case Sequence(operands=operands):
            before = frozenset[str]()
            for operand in operands:
                ends = _ends(operand)
                yield from product(before, ends.first)
                before = ends.last | before if ends.may_be_empty else ends.last
                yield from _steps(operand)
        case Operator(operands=operands):
            for operand in operands:
                yield from _steps(operand)
