"""InternTable for things: equal numbers mean equal computations.

The same number never means two things, because it is an index into what was numbered; two numbers for
one thing would only miss a chance to share.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from weft.cost.model import PlanStep
from weft.cost.shape import Shape
from weft.optimizer.trees import Tree
from weft.plan.nodes import Extent


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sub-pattern: its number, its items in the order that equal sub-patterns share, and its order.

    The order relates places among the items; `leaves` are the numbers of the leaves in these places.
    """

    number: int
    items: tuple[int, ...]
    order: frozenset[tuple[int, int]]
    leaves: tuple[int, ...]

    @property
    def mask(self) -> int:
        return sum(1 << item for item in self.items)

    @property
    def is_unordered(self) -> bool:
        """Whether two items at least may come in any order."""
        return 2 * len(self.order) < len(self.items) * (len(self.items) - 1)


class InternTable:
    """Gives equal things equal numbers; knows how each node is priced, and a label of each sub-pattern."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.priced: dict[int, tuple[Shape, PlanStep]] = {}
        self.labels: dict[int, Labelled] = {}

    def of(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def node(self, thing: Hashable, shape: Shape, step: PlanStep) -> int:
        """Return the number of a node, which costs what a step of this shape costs."""
        number = self.of(thing)
        self.priced.setdefault(number, (shape, step))
        return number


@dataclass(frozen=True, slots=True)
class Numbered:
    """The nodes of a tree, its own last, as numbers with the windows in seconds for which they are needed.

    `columns` are the items of its columns, `checks` the negations that its rows have passed.
    """

    nodes: tuple[tuple[int, float], ...]
    columns: tuple[int, ...]
    checks: int

    @property
    def number(self) -> int:
        return self.nodes[-1][0]


@dataclass(frozen=True, slots=True)
class SharablePart:
    """A tree over a sub-pattern, its items being the places of the label; what it has checked; its extent."""

    number: int
    tree: Tree
    negations: frozenset[int]
    extent: Extent | None


@dataclass(frozen=True, slots=True)
class Offer:
    """A tree that others compute, and what it costs to read it."""

    tree: Tree
    cost: float = 0.0
