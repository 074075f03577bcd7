"""The order that a plan node guarantees among its columns."""

from functools import lru_cache
from itertools import combinations
from typing import Literal

from weft.plan import nodes
from weft.plan.nodes import Join, Node, list_columns

Side = Literal["left", "right"]


@lru_cache(maxsize=4096)
def closed_order(node: Node) -> frozenset[tuple[int, int]]:
    """Return the pairs (earlier, later) of columns that hold in every row, transitively closed.

    >>> inner = Join(nodes.Scan("A"), nodes.Scan("B"), ((0, 1),), (), (), None)
    >>> sorted(closed_order(Join(inner, nodes.Scan("C"), ((1, 2),), (), (), None)))
    [(0, 1), (0, 2), (1, 2)]
    """
    match node:
        case nodes.Scan() | nodes.SubsetJoin():
            return frozenset()
        case nodes.Filter(input=source) | nodes.NegationCheck(input=source) | nodes.Await(input=source):
            return closed_order(source)
        case nodes.Project(input=source, columns=columns, order=order):
            places = {column: place for place, column in enumerate(columns)}
            return _closure({*((places[a], places[b]) for a, b in closed_order(source)), *order})
        case nodes.DistinctUnion(inputs=inputs):
            return frozenset.intersection(*map(closed_order, inputs))
        case Join(left=left, right=right, order=order):
            offset = len(list_columns(left))
            moved = {(a + offset, b + offset) for a, b in closed_order(right)}
            return _closure({*closed_order(left), *moved, *order})
        case nodes.KleeneExpand(input=source, order=order):
            return _closure({*(() if source is None else closed_order(source)), *order})
        case nodes.Chain():
            return frozenset(combinations(range(len(list_columns(node))), 2))


def ends_last(join: Join) -> Side | None:
    """Return the side that holds the last event of every row: each column of the other precedes one of it.

    >>> inner = Join(nodes.Scan("A"), nodes.Scan("C"), ((0, 1),), (), (), None)
    >>> ends_last(Join(inner, nodes.Scan("B"), ((0, 2), (2, 1)), (), (), None))
    'left'
    """
    n_left = len(list_columns(join.left))
    left, right = range(n_left), range(n_left, len(list_columns(join)))
    order = closed_order(join)
    if all(any((a, b) in order for b in right) for a in left):
        return "right"
    if all(any((b, a) in order for a in left) for b in right):
        return "left"
    return None


def _closure(pairs: set[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    closed = set(pairs)
    while True:
        implied = {(a, d) for a, b in closed for c, d in closed if b == c} - closed
        if not implied:
            return frozenset(closed)
        closed |= implied
