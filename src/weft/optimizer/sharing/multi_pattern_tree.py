"""The multi-pattern tree: an evaluation order for every pattern, common prefixes shared.

Idea        The orders of all patterns in one tree of states; a state is a prefix with all its
            conditions, and equal prefixes are one state. Which states are shared follows from the
            orders alone.
Reference   Sections 3.1 to 3.3 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019.
Differs     Negations have no state of their own; they are checked wherever their items are bound.
Complexity  O(m) states to add, remove or replace an order of m items, and for the change of cost.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from weft.cost.model import CostModel, Step
from weft.optimizer.sharing.ledger import Ledger
from weft.optimizer.sharing.numbering import Numbers
from weft.optimizer.sharing.pattern import Pattern

Key = TypeVar("Key", bound=Hashable)
Order = tuple[int, ...]


class MultiPatternTree(Generic[Key]):
    """One order for each pattern, by a key of the caller's, and the cost of all together."""

    def __init__(self, numbers: Numbers, model: CostModel) -> None:
        self.model = model
        self.numbers = numbers
        self.patterns: dict[Key, Pattern] = {}
        self.orders: dict[Key, Order] = {}
        self.ledger = Ledger(self._price)

    def _price(self, state: int, window: float) -> float:
        shape, step = self.numbers.priced[state]
        return self.model.node(shape, step, window)

    @property
    def cost(self) -> float:
        """The cost of all states, each counted once for the longest window that needs it."""
        return self.ledger.cost

    @property
    def n_states(self) -> int:
        """The number of states besides the initial one."""
        return self.ledger.n_nodes

    def add(self, key: Key, pattern: Pattern, order: Sequence[int]) -> None:
        """Add the order of a pattern; only states that do not exist yet are new."""
        if key in self.orders:
            raise ValueError(f"there is an order for {key!r} already")
        if sorted(order) != list(range(pattern.n_items)):
            raise ValueError(f"{tuple(order)} is no order of {pattern.n_items} items")
        self.patterns[key], self.orders[key] = pattern, tuple(order)
        self.ledger.add((state, pattern.window) for state in self.states(pattern, order))

    def remove(self, key: Key) -> Order:
        """Remove the order of a pattern; states that others need stay."""
        pattern, order = self.patterns.pop(key), self.orders.pop(key)
        self.ledger.remove((state, pattern.window) for state in self.states(pattern, order))
        return order

    def replace(self, orders: Mapping[Key, Sequence[int]]) -> int:
        """Give patterns other orders; return the change of the cost, in the ledger's units."""
        before = self.ledger.total
        for key, order in orders.items():
            pattern = self.patterns[key]
            self.remove(key)
            self.add(key, pattern, order)
        return self.ledger.total - before

    def states(self, pattern: Pattern, order: Sequence[int]) -> list[int]:
        """Return the states of an order, one for each prefix."""
        found: list[int] = []
        mask, state, related = 0, -1, pattern.relations
        for place, item in enumerate(order):
            relations = tuple(related[earlier][item] for earlier in order[:place])
            wide = pattern.wide_between(tuple(order[: place + 1]), mask, 1 << item)
            frame = pattern.frame if place else -1
            thing = ("state", state, frame, pattern.leaves[item], relations, wide)
            mask |= 1 << item
            state = self.numbers.node(thing, pattern.shape, Step(mask, mask & ~(1 << item), 1 << item, 0))
            found.append(state)
        return found
