"""Cut a predicate into comparisons: the ways in which it can be true, each a conjunction."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from weft.expressions import (
    And,
    Attribute,
    Comparison,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
)
from weft.pattern.canonical import OPPOSITE
from weft.schema import BOOLEAN, STRING

MOST_WAYS = 32  # of more, nothing is said

Conjunction: TypeAlias = tuple[Expression, ...]


def ways_to_hold(predicate: Expression) -> tuple[Conjunction, ...]:
    """Return conjunctions of comparisons and tests for NULL, of which one holds where the predicate does.

    An empty conjunction says nothing; none at all says that the predicate never holds.

    >>> x = Attribute("a", "x")
    >>> [len(way) for way in ways_to_hold(Or((Comparison(">", x, Literal(3, STRING)), IsNull(x))))]
    [1, 1]
    """
    return _ways(predicate, wanted=True)


def _ways(predicate: Expression, *, wanted: bool) -> tuple[Conjunction, ...]:
    match predicate:
        case And(operands=operands) | Or(operands=operands):
            parts = [_ways(operand, wanted=wanted) for operand in operands]
            if isinstance(predicate, And) is wanted:
                return _together(parts)
            return _within_reason(way for part in parts for way in part)
        case Not(operand=operand):
            return _ways(operand, wanted=not wanted)
        case Comparison(operator=operator, left=left, right=right):
            if any(isinstance(side, Literal) and side.value is None for side in (left, right)):
                return ()
            return ((predicate if wanted else Comparison(OPPOSITE[operator], left, right),),)
        case InList(operand=operand, values=values):
            options = tuple(Comparison("=" if wanted else "!=", operand, value) for value in values)
            return _within_reason((option,) for option in options) if wanted else (options,)
        case Like(operand=operand, pattern=pattern):
            text = _plain_text(pattern)
            if text is None:
                return ((Not(IsNull(operand)),),)
            return ((Comparison("=" if wanted else "!=", operand, Literal(text, STRING)),),)
        case IsNull():
            return ((predicate if wanted else Not(predicate),),)
        case Literal(value=value):
            return ((),) if value is wanted else ()
        case Attribute():
            typed = replace(predicate, type=BOOLEAN)
            return ((Comparison("=", typed, Literal(wanted, BOOLEAN)),),)
    return ((),)


def _together(parts: Iterable[tuple[Conjunction, ...]]) -> tuple[Conjunction, ...]:
    """Return the ways in which all parts hold."""
    ways: tuple[Conjunction, ...] = ((),)
    for part in parts:
        if len(ways) * len(part) <= MOST_WAYS:
            ways = tuple((*way, *more) for way, more in product(ways, part))
    return ways


def _within_reason(ways: Iterable[Conjunction]) -> tuple[Conjunction, ...]:
    found = tuple(ways)
    return found if len(found) <= MOST_WAYS else ((),)


def _plain_text(pattern: str) -> str | None:
    """Return the only text that a LIKE pattern fits, None if it fits several."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character in "%_":
            return None
        parts.append(next(characters, "") if character == "\\" else character)
    return "".join(parts)
