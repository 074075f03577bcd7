"""The order in which a pattern is written."""

from weft.cost.shape import ListBounds, Shape
from weft.optimizer.orders.pattern_order import pattern_order

SHAPE = Shape((9.0, 5.0, 1.0, 3.0), (0, 0, 0, 0), 1.0, lists={1: ListBounds(1, None), 2: ListBounds(1, 2)})


def test_single_events_come_as_written_and_lists_after_them() -> None:
    assert pattern_order(SHAPE) == (0, 3, 1, 2)


def test_lists_alone_come_as_written() -> None:
    shape = Shape((9.0, 5.0), (0, 0), 1.0, lists={0: ListBounds(1, None), 1: ListBounds(1, 2)})
    assert pattern_order(shape) == (0, 1)
