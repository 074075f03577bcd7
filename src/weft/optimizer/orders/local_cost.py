"""What a tree costs that shares nothing, node by node.

A join costs what it does before the negations above it are checked. A negation is checked as soon as its
items are there, and those that become ready together one after the other, as the pattern names them.
"""

from weft.cost.model import CostModel, Step
from weft.cost.shape import Shape, items_of
from weft.optimizer.trees import Tree, nodes_of


def local_cost(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what all nodes of a tree cost; nothing that can be checked is left to a reader.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.cost.shape import Check
    >>> from weft.optimizer.trees import leaf, pair
    >>> shape = Shape((2.0, 3.0, 5.0), (0, 0, 0), window=1.0, checks=(Check(0b011, 0.5),))
    >>> local_cost(pair(pair(leaf(0), leaf(1)), leaf(2)), shape, PartialMatches())  # 10 + 6 + 30 / 2
    31.0
    """
    return sum(node_cost(node, shape, model) for node in nodes_of(tree._replace(bare=False)))


def node_cost(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what the last join of a tree (or its leaf) costs, with the checks above it."""
    checks, left, right = 0, 0, 0
    if tree.left is not None and tree.right is not None:
        checks = passed(tree.left, shape) | passed(tree.right, shape)
        left, right = tree.left.mask, tree.right.mask
    total = model.node(shape, Step(tree.mask, left, right, checks), shape.window)
    for number in items_of(passed(tree, shape) & ~checks):
        total += model.node(shape, Step(tree.mask, tree.mask, 0, checks), shape.window)
        checks |= 1 << number
    return total


def passed(tree: Tree, shape: Shape) -> int:
    """Return the negations that the rows of a tree have passed."""
    if not tree.bare:
        return shape.ready(tree.mask)
    if tree.left is None or tree.right is None:
        return 0
    return passed(tree.left, shape) | passed(tree.right, shape)
