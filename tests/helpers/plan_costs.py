"""What plans cost, written down as the papers have it: an oracle for what the optimizer computes."""

from collections.abc import Sequence

from weft.cost.model import CostModel
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import Side, node_steps
from weft.optimizer.trees import Tree


def order_cost(shape: Shape, order: Sequence[int]) -> float:
    """Return Cost_ord: the partial matches of all prefixes of an order."""
    masks = [sum(1 << item for item in order[: length + 1]) for length in range(len(order))]
    return tree_cost(shape, masks)


def tree_cost(shape: Shape, masks: Sequence[int]) -> float:
    """Return Cost_tree: the partial matches of all nodes of a tree, given by their items."""
    return sum(shape.instances(mask, shape.window) for mask in masks)


def node_cost(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what the last join of a tree (or its leaf) costs, with the checks above it."""
    return Side(node_steps(tree, shape)).value(shape, model)
