"""Why a plan is as it is: what trees cost, step by step, and by which comparisons one was chosen.

A side of a comparison is a sum of prices of nodes, and perhaps a constant: whoever has the statistics of
a later moment can tell whether the comparison would end the same way, without planning anew.

A join costs what it does before the negations above it are checked. A negation is checked as soon as its
items are there, and those that become ready together one after the other, as the pattern names them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from math import fsum
from operator import or_
from typing import NamedTuple

from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Shape, items_of
from weft.optimizer.trees import Tree, nodes_of, pair

ROUNDING = 1e-9  # relative: sums of the same numbers in another order do not differ by more


@dataclass(frozen=True, slots=True)
class Side:
    """What one of two options costs: nodes priced with the statistics of the moment, and a constant."""

    steps: tuple[PlanStep, ...]
    constant: float = 0.0

    def value(self, shape: Shape, model: CostModel) -> float:
        """Return the cost under the statistics of a shape; the order of the steps makes no difference."""
        return fsum((self.constant, *(model.node(shape, step, shape.window) for step in self.steps)))


@dataclass(frozen=True, slots=True)
class Condition:
    """The option that was taken costs less than one that was not, or as much where it `wins_ties`.

    Where the algorithm `counts_matches`, whatever the cost model is, so does the condition. An algorithm
    that adds prices up in a way of its own leaves some `rounding`: its condition is violated when the
    option taken is dearer by more than that, so never by a tie.

    >>> condition = Condition(Side((PlanStep(0b10),)), Side((PlanStep(0b01),)), wins_ties=False)
    >>> [condition.holds(Shape(rates, (0, 0), 1.0), PartialMatches()) for rates in ((3.0, 2.0), (2.0, 2.0))]
    [True, False]
    """

    taken: Side
    other: Side
    wins_ties: bool
    counts_matches: bool = False
    rounding: float = 0.0

    def values(self, shape: Shape, model: CostModel) -> tuple[float, float]:
        """Return what the option taken and the other one cost under the statistics of a shape."""
        prices = self.prices(model)
        return self.taken.value(shape, prices), self.other.value(shape, prices)

    def prices(self, model: CostModel) -> CostModel:
        """Return the cost model by which the sides are compared."""
        return PartialMatches() if self.counts_matches else model

    def allows(self, taken: float, other: float, distance: float = 0.0) -> bool:
        """Say whether values of the two sides agree with the condition, up to a relative distance."""
        bound = other * (1.0 + distance) * (1.0 + self.rounding)
        return taken < bound or (taken == bound and (self.wins_ties or distance > 0 or self.rounding > 0))

    def holds(self, shape: Shape, model: CostModel, distance: float = 0.0) -> bool:
        """Say whether the condition holds, or is violated by no more than a relative distance."""
        return self.allows(*self.values(shape, model), distance)


@dataclass(frozen=True, slots=True)
class Block:
    """A building block of a plan, a prefix of an order or a node of a tree by its items, and why it is there.

    A block without alternatives, like the last position of an order, has no conditions. What was given
    to the algorithm is no block.
    """

    mask: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """A tree and its building blocks, in the order in which they are verified: parts before the whole."""

    tree: Tree
    blocks: tuple[Block, ...]


class SteppedTree(NamedTuple):
    """A tree, and all its steps."""

    tree: Tree
    steps: tuple[PlanStep, ...]

    def join(self, other: "SteppedTree", shape: Shape) -> "SteppedTree":
        """Return the join of two trees; only its last steps are worked out.

        >>> from weft.optimizer.trees import leaf
        >>> shape = Shape((1.0, 1.0), (0, 0), 1.0)
        >>> first, second = (SteppedTree(unit, tree_steps(unit, shape)) for unit in (leaf(1), leaf(0)))
        >>> [step.mask for step in first.join(second, shape).steps]
        [2, 1, 3]
        """
        tree = pair(self.tree, other.tree)
        return SteppedTree(tree, self.steps + other.steps + node_steps(tree, shape))


def against_others(
    sides: Sequence[Side], taken: int, *, counts_matches: bool = False, rounding: float = 0.0
) -> tuple[Condition, ...]:
    """Return why one of some options was taken, by an algorithm that takes the first of equals.

    >>> [condition.wins_ties for condition in against_others([Side(()), Side(()), Side(())], 1)]
    [False, True]
    """
    return tuple(
        Condition(sides[taken], side, taken < place, counts_matches, rounding)
        for place, side in enumerate(sides)
        if place != taken
    )


def local_cost(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what all nodes of a tree cost; nothing that can be checked is left to a reader.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.cost.shape import Check
    >>> from weft.optimizer.trees import leaf
    >>> shape = Shape((2.0, 3.0, 5.0), (0, 0, 0), window=1.0, checks=(Check(0b011, 0.5),))
    >>> local_cost(pair(pair(leaf(0), leaf(1)), leaf(2)), shape, PartialMatches())  # 10 + 6 + 30 / 2
    31.0
    """
    return Side(tree_steps(tree._replace(unchecked=False), shape)).value(shape, model)


def tree_steps(tree: Tree, shape: Shape) -> tuple[PlanStep, ...]:
    """Return all joins, leaves and checks of a tree, parts before the whole."""
    return tuple(chain.from_iterable(node_steps(node, shape) for node in nodes_of(tree)))


def node_steps(tree: Tree, shape: Shape) -> tuple[PlanStep, ...]:
    """Return the last join of a tree (or its leaf), and the checks above it."""
    step = PlanStep(tree.mask)
    if tree.left is not None and tree.right is not None:
        below = checks_of(tree.left, shape) | checks_of(tree.right, shape)
        step = PlanStep(tree.mask, tree.left.mask, tree.right.mask, below)
    steps, checks = [step], step.checks
    for number in items_of(checks_of(tree, shape) & ~checks):
        steps.append(PlanStep(tree.mask, tree.mask, 0, checks))
        checks |= 1 << number
    return tuple(steps)


def checks_of(tree: Tree, shape: Shape) -> int:
    """Return the negations that the rows of a tree have passed."""
    if not tree.unchecked:
        return shape.ready(tree.mask)
    return reduce(or_, (checks_of(part, shape) for part in tree.parts), 0)
