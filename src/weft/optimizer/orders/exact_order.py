"""The cheapest order of all, by dynamic programming over subsets.

Idea        The partial matches of a prefix do not depend on its order, so the best order of a subset
            ends with some item after the best order of the others.
Reference   Selinger et al. Access Path Selection in a Relational Database Management System. SIGMOD
            1979; for events Kolchinsky, Schuster. Join Query Optimization Techniques for Complex Event
            Processing Applications. PVLDB 11(11), 2018; deciding conditions as section 4.3 of their
            Efficient Adaptive Detection of Complex Event Patterns, in the same volume, has them.
Differs     Starts from any prefix that is to be shared.
Complexity  O(2^n n) for n items; optimal. Beyond MOST_EXACT items the greedy order is returned.
"""

from collections.abc import Sequence

from weft.cost.model import CostModel, Step
from weft.cost.shape import MOST_EXACT, Shape, items_of
from weft.kernels.matches.subsets import cheapest_lasts
from weft.optimizer.orders.decided import ROUNDING, Block, Decided, Side
from weft.optimizer.orders.greedy_order import greedy_decided, greedy_order
from weft.optimizer.orders.local_cost import join_steps
from weft.optimizer.orders.options import against_others
from weft.optimizer.trees import order_tree


def exact_order(
    shape: Shape, model: CostModel, start: Sequence[int] = (), *, start_checks: int = -1
) -> tuple[int, ...]:
    """Return the cheapest evaluation order among those that begin with `start`.

    `start_checks` are the negations that the start has passed; by default all that can be.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> exact_order(Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0), PartialMatches())
    (1, 2, 0)
    """
    if shape.n_items > MOST_EXACT:
        return greedy_order(shape, start)
    return (*start, *_Table(shape, model, start, start_checks).order())


def exact_order_decided(
    shape: Shape, model: CostModel, start: Sequence[int] = (), *, start_checks: int = -1
) -> Decided:
    """Return the tree of the same order, with a block for every prefix longer than `start`.

    A condition compares the order of a prefix with the best one, at the time, that ends with another of
    its items. When one is violated, there is a cheaper order, and the algorithm returns another. The
    converse does not hold: another order may have become the best that begins with an order of some
    items that was not the best of them before, and no condition speaks of that. A tie, up to rounding,
    is no violation. Beyond MOST_EXACT items the conditions are those of the greedy order.

    The tree checks all negations that it can, also those that `start_checks` leaves out.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> decided = exact_order_decided(Shape((47.0, 2.0, 9.0), (0, 0, 0), window=1.0), PartialMatches())
    >>> [(bin(block.mask), len(block.conditions)) for block in decided.blocks]
    [('0b10', 0), ('0b110', 1), ('0b111', 2)]
    """
    if shape.n_items > MOST_EXACT:
        return greedy_decided(shape, start)
    table = _Table(shape, model, start, start_checks)
    order, mask, blocks = table.order(), table.start, []
    for item in order:
        mask |= 1 << item
        lasts = table.lasts(mask)
        sides = [Side(table.steps(mask, last)) for last in lasts]
        blocks.append(Block(mask, against_others(sides, lasts.index(item), rounding=ROUNDING)))
    return Decided(order_tree((*start, *order)), tuple(blocks))


class _Table:
    """The best orders of all subsets that contain a start."""

    def __init__(self, shape: Shape, model: CostModel, start: Sequence[int], start_checks: int) -> None:
        self.start = sum(1 << item for item in start)
        self._shape = shape
        self._checks = shape.ready(self.start) & start_checks
        prices = model.prices(shape)
        self._costs, self._last_of = cheapest_lasts(prices, shape.list_mask, self.start, self._checks)
        self._steps: dict[int, tuple[Step, ...]] = {self.start: ()}

    def order(self) -> tuple[int, ...]:
        """Return the best order of all items that are not in the start."""
        order: list[int] = []
        mask = self._shape.everything
        while mask != self.start:
            item = int(self._last_of[mask])
            order.append(item)
            mask ^= 1 << item
        return tuple(reversed(order))

    def lasts(self, mask: int) -> list[int]:
        """Return the items that an order of some items may end with, in the order of their trial."""
        if mask & (mask - 1) == 0:
            return list(items_of(mask))
        items = items_of(mask & ~self.start)
        return [item for item in items if self._costs[mask & ~(1 << item)] < float("inf")]

    def steps(self, mask: int, last: int) -> tuple[Step, ...]:
        """Return what the best order of some items that ends with one of them is priced by."""
        single = 1 << last
        earlier = mask & ~single
        if not earlier:
            return (Step(single),)
        below = self._checks if earlier == self.start else self._shape.ready(earlier)
        join = join_steps(earlier, single, below | self._shape.ready(single), self._shape)
        return self._best_steps(earlier) + join

    def _best_steps(self, mask: int) -> tuple[Step, ...]:
        if mask not in self._steps:
            self._steps[mask] = self.steps(mask, int(self._last_of[mask]))
        return self._steps[mask]
