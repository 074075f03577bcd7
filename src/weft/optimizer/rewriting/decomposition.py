"""Decomposition sharing: the sub-queries that two queries have in common, and those of these in turn.

Idea        Common substrings of the operand lists are common sub-queries. Operands that are common but
            stand alone are put together into longer lists; in SEQ, those that come in another order in
            the other list go into different ones.
Reference   DST in section IV-B of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     Substrings come from a table of all pairs of operands and not from a suffix tree: operand
            lists are short. Lists of lone operands are all maximal ones, at most MOST_LONG of them,
            as there may be exponentially many.
Complexity  O(n m) for the substrings of lists of n and m operands, O(n m k) for k lists of lone
            operands. The closure looks at all pairs of q queries and c sub-queries with two operands in
            common, at most O((q + c)^2) of them; in the worst case c is exponential in n, and the closure
            ends at the number it is given.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, have_two_in_common

MOST_LONG = 64
MOST_SUB_QUERIES = 2_000

Place = tuple[int, int]  # of an operand in the one list and in the other
Pair = frozenset[Symbol]  # of operands, of one where it is repeated
Rule = Callable[[FlatQuery, FlatQuery], Sequence[FlatQuery]]


def interesting_sub_queries(query: FlatQuery, other: FlatQuery) -> tuple[FlatQuery, ...]:
    """Return the sub-queries of two queries with the same operator, in the order of the first.

    >>> from weft.optimizer.rewriting.flat_query import names, sequence
    >>> q8, q9 = sequence("E1", "E2", "E3", "E5"), sequence("E1", "E3", "E4")
    >>> names(interesting_sub_queries(q8, q9))
    ['SEQ(E1, E3)']
    """
    if query.operator != other.operator or not have_two_in_common(query, other):
        return ()
    strings = common_substrings(query.operands, other.operands)
    lone = [(start, there) for start, there, length in strings if length == 1]
    lists = [query.operands[start : start + length] for start, _, length in strings if length > 1]
    long = [tuple(query.operands[here] for here, _ in chain) for chain in _maximal_chains(lone)]
    sub_queries = dict.fromkeys(FlatQuery(query.operator, operands) for operands in (*long, *lists))
    return tuple(part for part in sub_queries if len(part.operands) > 1)


def common_substrings(string: Sequence[Symbol], other: Sequence[Symbol]) -> tuple[tuple[int, int, int], ...]:
    """Return the start in both lists, and the length, of substrings that cannot be made longer.

    >>> common_substrings("abcd", "xbcab")
    ((0, 3, 2), (1, 1, 2))
    """
    substrings = []
    for here in range(len(string)):
        for there in range(len(other)):
            if string[here] != other[there] or (here and there and string[here - 1] == other[there - 1]):
                continue
            length = 1
            while (
                here + length < len(string)
                and there + length < len(other)
                and string[here + length] == other[there + length]
            ):
                length += 1
            substrings.append((here, there, length))
    return tuple(substrings)


def _maximal_chains(places: Sequence[Place]) -> list[tuple[Place, ...]]:
    """Return the longest lists of places that go forward in both lists, none being part of another."""

    def followers(place: Place) -> list[Place]:
        return _first_of([later for later in places if _is_before(place, later)])

    def chains(place: Place) -> Iterator[tuple[Place, ...]]:
        following = followers(place)
        if not following:
            yield (place,)
        for follower in following:
            for chain in chains(follower):
                yield (place, *chain)

    return list(islice((chain for place in _first_of(places) for chain in chains(place)), MOST_LONG))


def _first_of(places: Sequence[Place]) -> list[Place]:
    return [place for place in places if not any(_is_before(other, place) for other in places)]


def _is_before(place: Place, other: Place) -> bool:
    return place[0] < other[0] and place[1] < other[1]


class Closure(NamedTuple):
    """Sub-queries in the order in which they were found, and whether these are all."""

    queries: tuple[FlatQuery, ...]
    is_complete: bool


def closure(
    queries: Iterable[FlatQuery],
    rule: Rule = interesting_sub_queries,
    most: int = MOST_SUB_QUERIES,
    is_late: Callable[[], bool] = lambda: False,
) -> Closure:
    """Return the sub-queries of all pairs of queries, of pairs of sub-queries, and so on.

    It ends before that when there are `most` of them or time is up.

    >>> from weft.optimizer.rewriting.flat_query import names, sequence
    >>> names(closure([sequence(*"abcd"), sequence(*"abce"), sequence(*"xab")]).queries)
    ['SEQ(a, b, c)', 'SEQ(a, b)']
    """
    known = list(dict.fromkeys(queries))
    n_queries, seen = len(known), set(known)
    with_pair: dict[Pair, list[int]] = defaultdict(list)
    for done, query in enumerate(known):  # grows as it goes
        if is_late():
            return Closure(tuple(known[n_queries:]), is_complete=False)
        pairs = pairs_of(query)
        for place in sorted({place for pair in pairs for place in with_pair[pair]}):
            other = known[place]
            if query.operator == other.operator and min(len(query.operands), len(other.operands)) == 2:
                continue  # a pair has no sub-query but itself
            for sub_query in rule(query, other):
                if sub_query not in seen:
                    if len(known) == n_queries + most:
                        return Closure(tuple(known[n_queries:]), is_complete=False)
                    seen.add(sub_query)
                    known.append(sub_query)
        for pair in pairs:
            with_pair[pair].append(done)
    return Closure(tuple(known[n_queries:]), is_complete=True)


def pairs_of(query: FlatQuery) -> tuple[Pair, ...]:
    """Return the pairs of operands that a query has, in whichever order.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> [sorted(pair) for pair in pairs_of(sequence("b", "a", "b"))]
    [['a', 'b'], ['b']]
    """
    return tuple(dict.fromkeys(frozenset(pair) for pair in combinations(query.operands, 2)))
