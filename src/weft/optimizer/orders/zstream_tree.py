"""The cheapest tree whose every node joins neighbors of the pattern.

Idea        The best tree over an interval of the pattern joins the best trees over two intervals.
Reference   Mei, Madden. ZStream: a Cost-based Query Processor for Adaptively Detecting Composite
            Events. SIGMOD 2009; algorithm 3 of Kolchinsky, Schuster. Efficient Adaptive Detection of
            Complex Event Patterns. PVLDB 11(11), 2018.
Differs     Contains given sub-trees, each of which stands where its first item does; lists are joined
            to the tree of the others, last.
Complexity  O(n^3) estimates for n items; optimal among trees over intervals.
"""

from collections.abc import Sequence

from weft.cost.model import CostModel
from weft.cost.shape import Shape
from weft.optimizer.orders.local_cost import node_cost
from weft.optimizer.orders.units import units_of
from weft.optimizer.trees import Tree, pair


def zstream_tree(shape: Shape, model: CostModel, pinned: Sequence[Tree] = ()) -> Tree:
    """Return the cheapest tree over intervals that contains the given sub-trees.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.trees import shown
    >>> chain = Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0)
    >>> shown(zstream_tree(chain, PartialMatches()), "abc")
    '(a (b c))'
    """
    units = units_of(shape, pinned)
    plain = [unit for unit in units if unit.mask & ~shape.list_mask]
    lists = [unit for unit in units if not unit.mask & ~shape.list_mask]
    if not plain:
        plain, lists = lists[:1], lists[1:]
    tree = _over_intervals(plain, shape, model)
    for unit in lists:
        tree = pair(tree, unit)
    return tree


def _over_intervals(units: Sequence[Tree], shape: Shape, model: CostModel) -> Tree:
    best = {(place, place + 1): (0.0, unit) for place, unit in enumerate(units)}  # in every tree
    for length in range(2, len(units) + 1):
        for start in range(len(units) - length + 1):
            stop = start + length
            options = []
            for middle in range(start + 1, stop):
                (left_cost, left), (right_cost, right) = best[start, middle], best[middle, stop]
                tree = pair(left, right)
                options.append((left_cost + right_cost + node_cost(tree, shape, model), tree))
            best[start, stop] = min(options, key=lambda option: option[0])
    return best[0, len(units)][1]
