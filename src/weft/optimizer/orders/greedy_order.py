"""Append, one after the other, the item that leaves the fewest partial matches.

Idea        Each step takes the item with the smallest rate times its selectivities with those taken
            before.
Reference   Algorithm 2 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event
            Patterns. PVLDB 11(11), 2018 (after Swami. Optimization of Large Join Queries. SIGMOD 1989).
Differs     The number of partial matches of the longer prefix is compared itself, so that order, lists
            and negations count too.
Complexity  O(n^2) estimates for n items. Not optimal in general.
"""

from collections.abc import Sequence

from weft.cost.shape import Shape


def greedy_order(shape: Shape, start: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the items in evaluation order, those of `start` first.

    >>> greedy_order(Shape(rates=(47.0, 2.0, 9.0), before=(0, 0b001, 0b011), window=1.0))
    (1, 2, 0)
    """
    order = list(start)
    mask = sum(1 << item for item in order)
    while len(order) < shape.n_items:
        rest = [item for item in range(shape.n_items) if not mask >> item & 1]
        plain = [item for item in rest if item not in shape.lists]
        candidates = rest if order or not plain else plain
        following = mask
        item = min(candidates, key=lambda item: shape.instances(following | 1 << item, shape.window))
        order.append(item)
        mask |= 1 << item
    return tuple(order)
