"""The greedy order follows algorithm 2, step by step."""

import random

import pytest
from tests.helpers.random_shapes import random_shape

from weft.cost.shape import Group, ListBounds, Shape
from weft.optimizer.orders.greedy_order import greedy_order

A, B, C, D = range(4)


def between(first: int, second: int, selectivity: float) -> Group:
    return Group(1 << first | 1 << second, selectivity)


def test_each_step_takes_the_smallest_rate_times_its_selectivities() -> None:
    """First D with 1. Then A has 10 * 0.01, B 2, C 5 * 0.5; then B has 2 and C 5 * 0.5 * 0.1."""
    shape = Shape(
        rates=(10.0, 2.0, 5.0, 1.0),
        before=(0, 0, 0, 0),
        window=60.0,
        groups=(between(A, D, 0.01), between(C, D, 0.5), between(A, C, 0.1)),
    )
    assert greedy_order(shape) == (D, A, C, B)


def test_a_greedy_step_can_be_a_mistake() -> None:
    """A is rarest, but B and C together are rarer still: 2 + 0.08 + 0.08 instead of 1 + 2 + 0.08."""
    shape = Shape((1.0, 2.0, 4.0), (0, 0, 0), 1.0, groups=(between(B, C, 0.01),))
    assert greedy_order(shape) == (A, B, C)


@pytest.mark.parametrize("is_sequence", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_without_predicates_rates_ascend(seed: int, is_sequence: bool) -> None:
    dice = random.Random(seed)
    rates = tuple(dice.uniform(2, 47) for _ in range(6))
    before = tuple((1 << item) - 1 if is_sequence else 0 for item in range(6))
    order = greedy_order(Shape(rates, before, window=900.0))
    assert [rates[item] for item in order] == sorted(rates)


def test_ties_keep_the_order_of_the_pattern() -> None:
    assert greedy_order(Shape((3.0,) * 5, (0,) * 5, 1.0)) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("seed", range(20))
def test_every_step_is_the_cheapest_continuation(seed: int) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, 5)
    start = tuple(dice.sample(range(5), dice.randint(0, 3)))
    order = greedy_order(shape, start)
    assert order[: len(start)] == start
    assert sorted(order) == list(range(5))
    for place in range(len(start), 5):
        mask = sum(1 << item for item in order[:place])
        sizes = {item: shape.instances(mask | 1 << item, shape.window) for item in order[place:]}
        assert sizes[order[place]] == min(sizes.values())


def test_a_list_is_never_first_unless_there_is_nothing_else() -> None:
    one_list = Shape((0.1, 5.0), (0, 0), 1.0, lists={0: ListBounds(1, None)})
    only_lists = Shape((5.0, 0.1), (0, 0), 1.0, lists={0: ListBounds(1, None), 1: ListBounds(1, None)})
    assert greedy_order(one_list) == (1, 0)
    assert greedy_order(only_lists) == (1, 0)
