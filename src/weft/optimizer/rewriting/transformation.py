"""Operator transformation: a query had from one with a weaker operator by filtering its matches.

Idea        The matches of SEQ are those of CONJ that are in order. So queries with different operators share
            what they share once the stricter one is transformed.
Reference   OTT in section IV-C and table I of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for
            Complex Event Processing in SAP ESP. ICDE 2017.
Differs     This is the first row of the table. The others are what normalization does: SOME, the paper's
            DISJ, becomes one AND for every combination of its operands, so the completeness filter is the
            choice of a combination.
Complexity  O(n log n) to sort n operands, then that of decomposition.
"""

from weft.optimizer.rewriting import decomposition
from weft.optimizer.rewriting.flat_query import FlatQuery


def without_order(query: FlatQuery) -> FlatQuery:
    """Return the query from whose matches an order filter takes those of a query.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> print(without_order(sequence("E3", "E1")))
    CONJ(E1 & E3)
    """
    return FlatQuery("CONJ", query.operands)


def interesting_sub_queries(query: FlatQuery, other: FlatQuery) -> tuple[FlatQuery, ...]:
    """Return the sub-queries of two queries, the stricter one being transformed.

    >>> from weft.optimizer.rewriting.flat_query import conjunction, names, sequence
    >>> names(interesting_sub_queries(conjunction("E1", "E2", "E4"), sequence("E1", "E2", "E3")))
    ['CONJ(E1 & E2)']
    """
    if query.operator != other.operator:
        query, other = without_order(query), without_order(other)
    return decomposition.interesting_sub_queries(query, other)
