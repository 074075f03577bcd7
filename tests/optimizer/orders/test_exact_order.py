"""The exact order is the best of all orders."""

import random
from itertools import permutations

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.plan_costs import node_cost, order_cost
from tests.helpers.random_shapes import random_shape

from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import MOST_EXACT, Group, Shape
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.greedy_order import greedy_order
from weft.optimizer.trees import order_tree

MODELS = [PartialMatches(), CandidatePairs(), Measured()]
NAMES = ["partial matches", "candidate pairs", "measured"]


def cost(order: tuple[int, ...], shape: Shape, model: CostModel) -> float:
    """Return what the first item of an order and its joins cost, with the checks above them."""
    first = model.node(shape, PlanStep(1 << order[0]), shape.window)
    joins = (node_cost(order_tree(order[:length]), shape, model) for length in range(2, len(order) + 1))
    return first + sum(joins)


def orders_of(shape: Shape, start: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Return all orders that begin so; a list is first only where there is nothing else."""
    is_list_first = len(shape.lists) == shape.n_items
    return [
        order
        for order in permutations(range(shape.n_items))
        if order[: len(start)] == start and (is_list_first or start or order[0] not in shape.lists)
    ]


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(15))
def test_no_order_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    n_items = dice.randint(1, 5)
    shape = random_shape(dice, n_items, n_lists=dice.choice([0, 0, 1, n_items]), n_checks=dice.randint(0, 3))
    found = exact_order(shape, model)
    options = orders_of(shape)
    assert found in options
    assert cost(found, shape, model) == pytest.approx(min(cost(order, shape, model) for order in options))


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(15))
def test_no_order_with_the_same_beginning_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, 5, n_lists=dice.choice([0, 1]), n_checks=dice.randint(0, 3))
    start = tuple(dice.sample(range(5), dice.randint(1, 5)))
    found = exact_order(shape, model, start)
    assert found[: len(start)] == start
    best = min(cost(order, shape, model) for order in orders_of(shape, start))
    assert cost(found, shape, model) == pytest.approx(best)


def test_the_exact_order_sees_what_the_greedy_one_misses() -> None:
    shape = Shape((1.0, 2.0, 4.0), (0, 0, 0), 1.0, groups=(Group(0b110, 0.01),))
    assert order_cost(shape, greedy_order(shape)) == pytest.approx(1 + 2 + 0.08)
    assert exact_order(shape, PartialMatches()) == (1, 2, 0)
    assert order_cost(shape, (1, 2, 0)) == pytest.approx(2 + 0.08 + 0.08)


def test_twelve_items_are_ordered_exactly_and_more_greedily() -> None:
    dice = random.Random(0)
    for n_items in (MOST_EXACT, MOST_EXACT + 1, MOST_EXACT + 8):
        shape = random_shape(dice, n_items, n_lists=1)
        start = tuple(dice.sample([item for item in range(n_items) if item not in shape.lists], 2))
        for given in ((), start):
            order = exact_order(shape, PartialMatches(), given)
            greedy = greedy_order(shape, given)
            assert order[: len(given)] == given
            assert sorted(order) == list(range(n_items))
            if n_items > MOST_EXACT:
                assert order == greedy
            else:
                assert order_cost(shape, order) <= order_cost(shape, greedy) * (1 + 1e-9)
