"""Why a plan is as it is: its building blocks, and the comparisons by which each was chosen, as data.

A side of a comparison is a sum of prices of nodes, and perhaps a constant: whoever has the statistics of
a later moment can tell whether the comparison would end the same way, without planning anew.
"""

from dataclasses import dataclass
from math import fsum

from weft.cost.model import CostModel, Step
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Shape
from weft.optimizer.trees import Tree

ROUNDING = 1e-9  # relative: sums of the same numbers in another order do not differ by more


@dataclass(frozen=True, slots=True)
class Side:
    """What one of two options costs: nodes priced with the statistics of the moment, and a constant."""

    steps: tuple[Step, ...]
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

    >>> condition = Condition(Side((Step(0b10),)), Side((Step(0b01),)), wins_ties=False)
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
