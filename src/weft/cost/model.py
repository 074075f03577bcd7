"""What a cost model is: a price for every node of a plan, and the same prices for all subsets at once."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from weft.cost.shape import Shape

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a tree: the items of its two parts (0 and 0 for a leaf) and the negations passed so far.

    A check of a negation has one part: all its items.
    """

    mask: int
    left: int = 0
    right: int = 0
    checks: int = -1

    @property
    def is_check(self) -> bool:
        return self.left == self.mask


@dataclass(frozen=True)
class Prices:
    """The prices of all subsets of a pattern, for the algorithms that look at all of them.

    The node of a subset costs `own`, and `weight` times `rows[left] * rows[right]` times the share
    that equalities leave. Who uses a node that exists already still pays for `reading` it.
    """

    own: Array
    rows: Array
    equal: Array
    weight: float
    reading: Array


class CostModel(Protocol):
    """A price for the nodes of a plan."""

    def node(self, shape: Shape, step: Step, window: float) -> float:
        """Return the cost of one node, kept for a window in seconds."""
        ...

    def prices(self, shape: Shape) -> Prices:
        """Return the cost of every subset in the pattern's own window."""
        ...
