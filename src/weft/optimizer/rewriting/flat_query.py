"""Queries as one operator over a list of operands: what the rewriting rules work on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, Union

Operator = Literal["SEQ", "CONJ"]
Symbol: TypeAlias = Union[str, int, "FlatQuery"]
MARKS: dict[Operator, str] = {"SEQ": ", ", "CONJ": " & "}


@dataclass(frozen=True)
class FlatQuery:
    """An operator and its operands: event types, or queries whose composite events are the operands.

    The order of the operands matters to SEQ alone, so those of CONJ are kept sorted.

    >>> FlatQuery("CONJ", ("E3", "E1")) == FlatQuery("CONJ", ("E1", "E3"))
    True
    >>> print(FlatQuery("SEQ", ("E1", FlatQuery("CONJ", ("E2", "E3")))))
    SEQ(E1, CONJ(E2 & E3))
    """

    operator: Operator
    operands: tuple[Symbol, ...]

    def __post_init__(self) -> None:
        if self.operator != "SEQ":
            object.__setattr__(self, "operands", tuple(sorted(self.operands, key=canonical_key)))

    @cached_property
    def counts(self) -> Counter[Symbol]:
        """How often each operand occurs."""
        return Counter(self.operands)

    @cached_property
    def _hash(self) -> int:
        return hash((self.operator, self.operands))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.operator}({MARKS[self.operator].join(map(str, self.operands))})"


def canonical_key(symbol: Symbol) -> tuple[int, int, str]:
    """Return what operands are sorted by: numbers, then names, then composites.

    >>> sorted([FlatQuery("SEQ", ("a", "b")), "b", 10, 9], key=canonical_key)[:3]
    [9, 10, 'b']
    """
    if isinstance(symbol, FlatQuery):
        return (2, 0, str(symbol))
    return (0, symbol, "") if isinstance(symbol, int) else (1, 0, symbol)


def sequence(*operands: Symbol) -> FlatQuery:
    """Return SEQ(operands)."""
    return FlatQuery("SEQ", operands)


def conjunction(*operands: Symbol) -> FlatQuery:
    """Return CONJ(operands)."""
    return FlatQuery("CONJ", operands)


def have_two_in_common(query: FlatQuery, other: FlatQuery) -> bool:
    """Say whether two queries could share a pair of operands at all.

    >>> (
    ...     have_two_in_common(sequence("a", "b", "c"), sequence("c", "a")),
    ...     have_two_in_common(sequence("a", "b"), sequence("a", "c", "a")),
    ... )
    (True, False)
    """
    return (query.counts & other.counts).total() > 1


def names(queries: Iterable[FlatQuery]) -> list[str]:
    """Return queries as text, in the order in which they come."""
    return [str(query) for query in queries]
