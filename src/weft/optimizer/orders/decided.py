"""Why a plan is as it is: its building blocks, and the comparisons by which each was chosen, as data.

A side of a comparison is a sum of prices of nodes, and perhaps a constant: whoever has the statistics of
a later moment can tell whether the comparison would end the same way, without planning anew.
"""

from dataclasses import dataclass

from weft.cost.model import CostModel, Step
from weft.cost.shape import Shape
from weft.optimizer.trees import Tree


@dataclass(frozen=True, slots=True)
class Side:
    """What one of two options costs: nodes priced with the statistics of the moment, and a constant."""

    steps: tuple[Step, ...]
    constant: float = 0.0

    def value(self, shape: Shape, model: CostModel) -> float:
        """Return the cost under the statistics of a shape."""
        return self.constant + sum(model.node(shape, step, shape.window) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Condition:
    """The option that was taken costs less than one that was not, or as much where it `wins_ties`.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> condition = Condition(Side((Step(0b10),)), Side((Step(0b01),)), wins_ties=False)
    >>> [condition.holds(Shape(rates, (0, 0), 1.0), PartialMatches()) for rates in ((3.0, 2.0), (2.0, 2.0))]
    [True, False]
    """

    taken: Side
    other: Side
    wins_ties: bool

    def holds(self, shape: Shape, model: CostModel, distance: float = 0.0) -> bool:
        """Say whether the condition holds, or is violated by no more than a relative distance."""
        taken, other = self.taken.value(shape, model), self.other.value(shape, model)
        bound = other * (1.0 + distance)
        return taken < bound or (taken == bound and (self.wins_ties or distance > 0))


@dataclass(frozen=True, slots=True)
class Block:
    """A building block of a plan: a prefix of an order or a node of a tree, by its items; and why it is there."""

    mask: int
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """A tree and its building blocks, in the order in which they are verified: parts before the whole."""

    tree: Tree
    blocks: tuple[Block, ...]
