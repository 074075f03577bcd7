"""The example workload of figures 11 and 12: the graph of all rules, and its cheapest tree."""

from math import factorial

from weft.optimizer.rewriting.decomposition import closure
from weft.optimizer.rewriting.flat_query import FlatQuery, conjunction, sequence
from weft.optimizer.rewriting.merge import is_substring, merges
from weft.optimizer.rewriting.steiner_tree import SteinerTree, steiner_tree
from weft.optimizer.rewriting.transformation import interesting_sub_queries, without_order
from weft.optimizer.sharing.limits import Limit

Q1 = sequence("E1", "E2", "E3")
Q2 = sequence("E1", "E3")
Q3 = sequence("E1", "E2", "E4")
Q4 = sequence("E2", "E4", "E3")
Q5 = conjunction("E1", "E3")
QUERIES = (Q1, Q2, Q3, Q4, Q5)
FILTER = 1
EVENTS = 10  # of each type in a window


def results(n_operands: int, query: FlatQuery) -> int:
    """How many composite events there are, in order or in any order."""
    orders = factorial(n_operands) if query.operator == "SEQ" else 1
    return int(EVENTS**n_operands) // orders


def scratch(query: FlatQuery) -> int:
    """Operands are joined one after the other; a join costs its results."""
    return sum(results(size, query) for size in range(2, len(query.operands) + 1))


def weight(source: FlatQuery, query: FlatQuery) -> int | None:
    """The joins that are left when the source is there, and a filter where one is needed."""
    merged = next(merges(source, query), None)
    if merged is None:
        weak = without_order(query)
        return None if weak != source else FILTER
    n_shared = len(source.operands)
    joins = sum(results(size, query) for size in range(n_shared + 1, len(query.operands) + 1))
    return joins + (FILTER if source.operator == "SEQ" and not is_substring(merged) else 0)


def planned(queries: tuple[FlatQuery, ...]) -> tuple[SteinerTree, dict[FlatQuery, FlatQuery | None]]:
    vertices = (*queries, *closure(queries, interesting_sub_queries).queries)
    numbers = {query: number for number, query in enumerate(vertices, start=1)}
    edges = {}
    for query, number in numbers.items():
        sources = {numbers[one]: weight(one, query) for one in vertices if one != query}
        edges[number] = {0: scratch(query)} | {one: w for one, w in sources.items() if w is not None}
    tree = steiner_tree(edges, [numbers[query] for query in queries], Limit(steps=1_000))
    names = {number: query for query, number in numbers.items()}
    return tree, {names[one]: names.get(source) for one, source in tree.sources.items()}


def test_the_interesting_sub_queries() -> None:
    assert set(closure(QUERIES, interesting_sub_queries).queries) == {
        sequence("E1", "E2"),
        sequence("E2", "E4"),
    } | {sequence("E2", "E3")}


def test_example_8() -> None:
    tree, sources = planned(QUERIES)
    assert tree.is_optimal
    q_y = sequence("E2", "E4")
    assert sources == {Q5: None, Q2: Q5, Q1: Q2, q_y: None, Q3: q_y, Q4: q_y}
    joins = results(3, Q1) + results(3, Q3) + results(3, Q4) + results(2, q_y) + results(2, Q5)
    assert tree.cost == joins + FILTER + FILTER  # of q2 from q5, and of q1, merged in the middle


def test_without_q5_and_q2_the_prefix_is_shared() -> None:
    _, sources = planned((Q1, Q3))
    q_x = sequence("E1", "E2")
    assert sources == {q_x: None, Q1: q_x, Q3: q_x}


def test_sharing_q_x_and_merging_q2_are_in_conflict() -> None:
    _, sources = planned((Q1, Q2, Q3))
    assert sources[Q1] in (Q2, sequence("E1", "E2"))
    assert len([one for one in sources.values() if one is None]) == 2
