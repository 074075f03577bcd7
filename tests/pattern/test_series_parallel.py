"""The nesting of SEQ and AND that an order stands for."""

from itertools import combinations

from weft.pattern.series_parallel import Nesting, nesting_of

FENCE = {("a", "c"), ("b", "c"), ("b", "d")}


def test_items_are_divided_by_what_orders_them() -> None:
    assert nesting_of(["a"], set()) == "a"
    assert nesting_of(["b", "a"], set()) == Nesting("AND", ("b", "a"))
    assert nesting_of(["b", "a"], {("a", "b")}) == Nesting("SEQ", ("a", "b"))
    inner = Nesting("AND", ("a", Nesting("SEQ", ("b", "c"))))
    order = {("b", "c"), *((item, "d") for item in "abc")}
    assert nesting_of("abcd", order) == Nesting("SEQ", (inner, "d"))


def test_an_order_of_no_operators_has_no_nesting() -> None:
    assert nesting_of("abcd", FENCE) is None
    assert nesting_of("abcde", FENCE) is None  # wherever it stands


def test_three_items_always_have_one() -> None:
    for items in combinations("abcd", 3):
        assert nesting_of(items, FENCE) is not None
