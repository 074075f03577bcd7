"""What a tree costs that shares nothing, node by node.

A join costs what it does before the negations above it are checked. A negation is checked as soon as its
items are there, and those that become ready together one after the other, as the pattern names them.
"""

from itertools import chain
from math import fsum

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
    return fsum(prices_of(tree_steps(tree._replace(bare=False), shape), shape, model))


def node_cost(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what the last join of a tree (or its leaf) costs, with the checks above it."""
    return fsum(prices_of(node_steps(tree, shape), shape, model))


def prices_of(steps: tuple[Step, ...], shape: Shape, model: CostModel) -> tuple[float, ...]:
    """Return what each of some steps costs."""
    return tuple(model.node(shape, step, shape.window) for step in steps)


def tree_steps(tree: Tree, shape: Shape) -> tuple[Step, ...]:
    """Return all joins, leaves and checks of a tree, parts before the whole."""
    return tuple(chain.from_iterable(node_steps(node, shape) for node in nodes_of(tree)))


def node_steps(tree: Tree, shape: Shape) -> tuple[Step, ...]:
    """Return the last join of a tree (or its leaf), and the checks above it."""
    if tree.left is None or tree.right is None:
        return _with_checks(Step(tree.mask), passed(tree, shape))
    below = passed(tree.left, shape) | passed(tree.right, shape)
    return _with_checks(Step(tree.mask, tree.left.mask, tree.right.mask, below), passed(tree, shape))


def join_steps(one: int, other: int, below: int, shape: Shape) -> tuple[Step, ...]:
    """Return the join of two parts that have passed some checks, and all checks that are ready above it."""
    left, right = sorted((one, other), key=lambda mask: mask & -mask)
    mask = one | other
    return _with_checks(Step(mask, left, right, below), shape.ready(mask))


def _with_checks(step: Step, passed_above: int) -> tuple[Step, ...]:
    steps, checks = [step], step.checks
    for number in items_of(passed_above & ~checks):
        steps.append(Step(step.mask, step.mask, 0, checks))
        checks |= 1 << number
    return tuple(steps)


def passed(tree: Tree, shape: Shape) -> int:
    """Return the negations that the rows of a tree have passed."""
    if not tree.bare:
        return shape.ready(tree.mask)
    if tree.left is None or tree.right is None:
        return 0
    return passed(tree.left, shape) | passed(tree.right, shape)
