"""Sub-trees that an algorithm compared, with the steps that they are priced by, and why one was taken."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.cost.model import Step
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import Condition, Side
from weft.optimizer.orders.local_cost import node_steps, tree_steps
from weft.optimizer.trees import Tree, pair


class Option(NamedTuple):
    """A tree, the steps of its parts, and those of its own: its last join with the checks above it."""

    tree: Tree
    below: tuple[Step, ...]
    own: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.below + self.own


def unit_option(unit: Tree, shape: Shape) -> Option:
    """Return the only option for a part that is given."""
    return Option(unit, (), tree_steps(unit, shape))


def joined(left: Option, right: Option, shape: Shape) -> Option:
    """Return the join of two options.

    >>> from weft.optimizer.trees import leaf
    >>> shape = Shape((1.0, 1.0), (0, 0), 1.0)
    >>> both = joined(unit_option(leaf(1), shape), unit_option(leaf(0), shape), shape)
    >>> [step.mask for step in both.steps]
    [2, 1, 3]
    """
    tree = pair(left.tree, right.tree)
    return Option(tree, left.steps + right.steps, node_steps(tree, shape))


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
