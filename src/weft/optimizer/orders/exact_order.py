"""The cheapest order of all, by dynamic programming over subsets.

Idea        The partial matches of a prefix do not depend on its order, so the best order of a subset
            ends with some item after the best order of the others.
Reference   Selinger et al. Access Path Selection in a Relational Database Management System. SIGMOD
            1979; for events Kolchinsky, Schuster. Join Query Optimization Techniques for Complex Event
            Processing Applications. PVLDB 11(11), 2018.
Differs     Starts from any prefix that is to be shared.
Complexity  O(2^n n) for n items; optimal. Beyond MOST_EXACT items the greedy order is returned.
"""

from collections.abc import Sequence

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Array, Shape
from weft.kernels.matches.subsets import cheapest_lasts
from weft.optimizer.orders.greedy_order import greedy_order


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
    first = sum(1 << item for item in start)
    checks = shape.ready(first) & start_checks
    _, last_of = cheapest_lasts(model.prices(shape), shape.list_mask, first, checks)
    return (*start, *order_within(shape.everything, last_of, first))


def order_within(mask: int, last_of: Array, start: int = 0) -> tuple[int, ...]:
    """Return the best order of some items, given the last item of the best order of every subset."""
    order: list[int] = []
    while mask != start:
        order.append(int(last_of[mask]))
        mask ^= 1 << order[-1]
    return tuple(reversed(order))
