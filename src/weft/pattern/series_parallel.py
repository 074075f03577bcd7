"""The nesting of SEQ and AND that a partial order stands for.

Idea        Parts that nothing orders are operands of AND; parts that are wholly before one another are
            operands of SEQ; and each part is divided in turn.
Reference   Valdes, Tarjan, Lawler. The Recognition of Series Parallel Digraphs. SIAM Journal on
            Computing 11(2), 1982.
Differs     Connected components of the order and of its complement instead of reductions of a graph: patterns
            are small.
Complexity  O(n^3) for n items.
"""

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Literal, TypeVar

from weft.pattern.components import connected_components

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Nesting(Generic[T]):
    """An operator over items and nestings: those of SEQ in their order, those of AND in that of the items."""

    operator: Literal["SEQ", "AND"]
    operands: tuple["T | Nesting[T]", ...]

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(map(str, self.operands))})"


def nesting_of(items: Sequence[T], order: Set[tuple[T, T]]) -> T | Nesting[T] | None:
    """Return the nesting that a transitively closed strict order stands for; None where none gives it.

    >>> print(nesting_of([0, 1, 2], {(0, 1), (0, 2)}))
    SEQ(0, AND(1, 2))
    >>> nesting_of([0, 1, 2, 3], {(0, 2), (1, 2), (1, 3)}) is None
    True
    """
    if len(items) == 1:
        return items[0]
    parallel = _components(items, lambda a, b: (a, b) in order or (b, a) in order)
    if len(parallel) > 1:
        return _nest("AND", parallel, order)
    series = _components(items, lambda a, b: (a, b) not in order and (b, a) not in order)
    if len(series) > 1:
        series.sort(key=lambda part: sum((other, part[0]) in order for other in items))
        return _nest("SEQ", series, order)
    return None


def _nest(
    operator: Literal["SEQ", "AND"], parts: Sequence[Sequence[T]], order: Set[tuple[T, T]]
) -> Nesting[T] | None:
    operands = []
    for part in parts:
        operand = nesting_of(part, order)
        if operand is None:
            return None
        operands.append(operand)
    return Nesting(operator, tuple(operands))


def _components(items: Sequence[T], is_joined: Callable[[T, T], bool]) -> list[list[T]]:
    """Return the connected parts of items, each in the order of the items."""
    return connected_components(items, (pair for pair in combinations(items, 2) if is_joined(*pair)))
