"""Nested queries divided into flat ones, and the nesting that an order of items stands for.

Idea        The inner queries of a level become queries of their own, whose composite events are
            operands of the level above. A partial order that came from SEQ and CONJ is divided the
            same way: parts that nothing orders are operands of CONJ, parts that are wholly before
            one another those of SEQ.
Reference   Definition 2 and tables II and III in section IV-D of Zhang, Vo, Dahlmeier, He. Multi-Query
            Optimization for Complex Event Processing in SAP ESP. ICDE 2017. Series-parallel orders:
            Valdes, Tarjan, Lawler. The Recognition of Series Parallel Digraphs. SIAM Journal on
            Computing 11(2), 1982.
Differs     A composite event is named by the query that it is a match of. So equal composites have equal
            names from the beginning, and every pair of flat queries is looked at once.
Complexity  O(n) for a nested query of n operands; O(n^3) for an order of n items.
"""

from collections.abc import Callable, Sequence, Set
from typing import Literal

from weft.optimizer.rewriting.flat_query import FlatQuery


def nested_level(query: FlatQuery) -> int:
    """Return how many levels a query has, the innermost being 1."""
    return 1 + max((nested_level(one) for one in query.operands if isinstance(one, FlatQuery)), default=0)


def divided(query: FlatQuery) -> tuple[tuple[FlatQuery, ...], ...]:
    """Return the flat queries of a nested one, level by level, the innermost first.

    >>> from weft.optimizer.rewriting.flat_query import conjunction, names, sequence
    >>> [names(level) for level in divided(sequence("E1", conjunction("E2", "E3")))]
    [['CONJ(E2 & E3)'], ['SEQ(E1, CONJ(E2 & E3))']]
    """
    levels: list[dict[FlatQuery, None]] = [{} for _ in range(nested_level(query))]

    def visit(one: FlatQuery) -> None:
        for operand in one.operands:
            if isinstance(operand, FlatQuery):
                visit(operand)
        levels[nested_level(one) - 1][one] = None

    visit(query)
    return tuple(tuple(level) for level in levels)


def operator_tree(items: Sequence[int], order: Set[tuple[int, int]]) -> FlatQuery | int | None:
    """Return the nesting of SEQ and CONJ that a strict partial order stands for.

    None for an order that no nesting gives.

    >>> print(operator_tree([0, 1, 2], {(0, 1), (0, 2)}))
    SEQ(0, CONJ(1 & 2))
    >>> operator_tree([0, 1, 2, 3], {(0, 2), (1, 2), (1, 3)}) is None
    True
    """
    if len(items) == 1:
        return items[0]
    parallel = _components(items, lambda a, b: (a, b) in order or (b, a) in order)
    if len(parallel) > 1:
        return _composed("CONJ", parallel, order)
    series = _components(items, lambda a, b: (a, b) not in order and (b, a) not in order)
    if len(series) > 1:
        series.sort(key=lambda part: sum((other, part[0]) in order for other in items))
        return _composed("SEQ", series, order)
    return None


def _composed(
    operator: Literal["SEQ", "CONJ"], parts: Sequence[Sequence[int]], order: Set[tuple[int, int]]
) -> FlatQuery | None:
    operands = []
    for part in parts:
        operand = operator_tree(part, order)
        if operand is None:
            return None
        operands.append(operand)
    return FlatQuery(operator, tuple(operands))


def _components(items: Sequence[int], is_joined: Callable[[int, int], bool]) -> list[list[int]]:
    """Return the connected parts of items, each in the order of the items."""
    waiting, found = list(items), []
    while waiting:
        part = [waiting.pop(0)]
        for one in part:
            near = [other for other in waiting if is_joined(one, other)]
            waiting = [other for other in waiting if other not in near]
            part.extend(near)
        found.append([item for item in items if item in part])
    return found
