"""What a cost model is: a price for every node of a plan, and the same prices for all subsets at once."""

from typing import NamedTuple, Protocol, runtime_checkable

from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices


class PlanStep(NamedTuple):
    """A node of a tree: the items of its two parts (0 and 0 for a leaf) and the negations passed before.

    A check of a negation has one part: all its items. So has a filter, which takes what it wants of rows
    that were computed for others too.

    Where what waits for the last event of a match is priced apart, `late` is the share of the work that
    does, and a step that `is_wait` is this share alone. One that `is_some` builds all combinations of items.
    """

    mask: int
    left: int = 0
    right: int = 0
    checks: int = 0
    is_filter: bool = False
    late: float | None = None
    is_wait: bool = False
    is_some: bool = False

    @property
    def is_check(self) -> bool:
        return self.left == self.mask and not self.is_filter and not self.is_wait

    @property
    def is_join(self) -> bool:
        return self.right != 0 and not self.is_wait

    @property
    def whole(self) -> "PlanStep":
        """The step with all of its work."""
        return self if self.late is None else self._replace(late=None, is_wait=False)


@runtime_checkable
class CostModel(Protocol):
    """A price for the nodes of a plan."""

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        """Return the cost of one node, kept for a window in seconds."""
        ...

    def prices(self, shape: Shape) -> Prices:
        """Return the same for every subset, in the pattern's own window."""
        ...
