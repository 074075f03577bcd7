"""Operator transformation: a query had from one with a weaker operator by filtering its matches.

Idea        The matches of SEQ are those of CONJ that are in order, the matches of CONJ those of DISJ that
            bind all operands. So queries with different operators share what they share once the
            stricter one is transformed.
Reference   OTT in section IV-C and table I of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for
            Complex Event Processing in SAP ESP. ICDE 2017.
Differs     The planner uses the first row of the table alone: SOME, the paper's DISJ, is normalized to one
            AND for every combination of its operands before it is planned, so the completeness filter
            is the choice of a combination. The rows of DISJ are the paper's rule as written.
Complexity  O(n log n) to sort n operands, then that of decomposition.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from weft.optimizer.rewriting import decomposition
from weft.optimizer.rewriting.flat_query import FlatQuery, Operator

Filter = Literal["order", "completeness"]

TRANSFORMATIONS: Mapping[tuple[Operator, Operator], tuple[Filter, ...]] = MappingProxyType(
    {
        ("SEQ", "CONJ"): ("order",),
        ("CONJ", "DISJ"): ("completeness",),
        ("SEQ", "DISJ"): ("completeness", "order"),
    }
)
"""For an operator and a weaker one: what the matches of the weaker pass through, first to last.

The order filter keeps those whose operands come in the order of the list, the completeness filter
those that bind all of them.
"""


def transformed(query: FlatQuery, operator: Operator) -> FlatQuery | None:
    """Return the query with a weaker operator from which a query can be had, None where there is none.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> print(transformed(sequence("E3", "E1"), "CONJ"), transformed(sequence("E3", "E1"), "SEQ"))
    CONJ(E1 & E3) None
    """
    if (query.operator, operator) not in TRANSFORMATIONS:
        return None
    return FlatQuery(operator, query.operands)


def interesting_sub_queries(one: FlatQuery, other: FlatQuery) -> tuple[FlatQuery, ...]:
    """Return the sub-queries of two queries, the stricter one being transformed.

    >>> from weft.optimizer.rewriting.flat_query import conjunction, names, sequence
    >>> names(interesting_sub_queries(conjunction("E1", "E2", "E4"), sequence("E1", "E2", "E3")))
    ['CONJ(E1 & E2)']
    """
    one = transformed(one, other.operator) or one
    other = transformed(other, one.operator) or other
    return decomposition.interesting_sub_queries(one, other)
