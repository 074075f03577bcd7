"""Join the items of a pattern in the order in which the pattern names them.

Idea        Single events first, as written; then the lists, as written, so that every list is
            expanded between events that already bound it.
Reference   The trivial plan of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019.
Differs     Lists come last.
Complexity  O(n) for n items. Not optimal in general.
"""

from weft.cost.shape import Shape


def pattern_order(shape: Shape) -> tuple[int, ...]:
    """Return the items in evaluation order.

    >>> from weft.cost.shape import ListBounds
    >>> pattern_order(Shape((1.0, 1.0, 1.0), (0, 0, 0), 1.0, lists={0: ListBounds(1, None)}))
    (1, 2, 0)
    """
    return tuple(sorted(range(shape.n_items), key=lambda item: item in shape.lists))
