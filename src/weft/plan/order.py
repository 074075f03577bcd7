"""The order that a plan node guarantees among its columns."""

from weft.plan.nodes import DistinctUnion, Filter, Join, KleeneExpand, NegationCheck, Node, Scan, list_columns


def closed_order(node: Node) -> frozenset[tuple[int, int]]:
    """Return the pairs (earlier, later) of columns that hold in every row, transitively closed.

    >>> inner = Join(Scan("A"), Scan("B"), ((0, 1),), (), (), None)
    >>> sorted(closed_order(Join(inner, Scan("C"), ((1, 2),), (), (), None)))
    [(0, 1), (0, 2), (1, 2)]
    """
    match node:
        case Scan():
            return frozenset()
        case Filter(input=source) | NegationCheck(input=source):
            return closed_order(source)
        case DistinctUnion(inputs=inputs):
            return frozenset.intersection(*map(closed_order, inputs))
        case Join(left=left, right=right, order=order):
            offset = len(list_columns(left))
            moved = {(a + offset, b + offset) for a, b in closed_order(right)}
            return _closure({*closed_order(left), *moved, *order})
        case KleeneExpand(input=source, order=order):
            return _closure({*(() if source is None else closed_order(source)), *order})


def _closure(pairs: set[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    closed = set(pairs)
    while True:
        implied = {(a, d) for a, b in closed for c, d in closed if b == c} - closed
        if not implied:
            return frozenset(closed)
        closed |= implied
