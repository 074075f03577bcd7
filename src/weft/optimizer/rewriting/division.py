"""Nested queries divided into flat ones, and the nesting that an order of items stands for.

Idea        The inner queries of a level become queries of their own, whose composite events are
            operands of the level above. A partial order is divided as the nesting it stands for.
Reference   Definition 2 and tables II and III in section IV-D of Zhang, Vo, Dahlmeier, He. Multi-Query
            Optimization for Complex Event Processing in SAP ESP. ICDE 2017.
Differs     A composite event is named by the query that it is a match of. So equal composites have equal
            names from the beginning, and every pair of flat queries is looked at once.
Complexity  O(n) for a nested query of n operands.
"""

from collections.abc import Sequence, Set

from weft.optimizer.rewriting.flat_query import FlatQuery, Operator
from weft.pattern.series_parallel import Nesting, nesting_of


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
    """Return the nesting of SEQ and CONJ that a strict partial order stands for, None where none gives it.

    >>> print(operator_tree([0, 1, 2], {(0, 1), (0, 2)}))
    SEQ(0, CONJ(1 & 2))
    """
    nesting = nesting_of(items, order)
    return None if nesting is None else _flat(nesting)


def _flat(nesting: Nesting[int] | int) -> FlatQuery | int:
    if isinstance(nesting, int):
        return nesting
    operator: Operator = "SEQ" if nesting.operator == "SEQ" else "CONJ"
    return FlatQuery(operator, tuple(map(_flat, nesting.operands)))
