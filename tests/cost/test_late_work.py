"""Work that waits for the last event of a match: its share, and its price."""

import random
from itertools import permutations

import pytest
from tests.helpers.random_shapes import random_shape

from weft.cost.late_work import LateWork
from weft.cost.measured import Measured
from weft.cost.model import PlanStep
from weft.cost.shape import MOST_EXACT, Shape


def orderings(shape: Shape) -> list[tuple[int, ...]]:
    """Return all orderings of the items of a shape that keep its order."""
    return [
        order
        for order in permutations(range(shape.n_items))
        if not any(
            shape.before[item] >> later & 1 for place, item in enumerate(order) for later in order[place:]
        )
    ]


@pytest.mark.parametrize("seed", range(30))
def test_the_late_share_is_that_of_all_orderings(seed: int) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, dice.randint(1, 5))
    lasts = [order[-1] for order in orderings(shape)]
    for mask in range(1, 1 << shape.n_items):
        expected = sum(mask >> last & 1 for last in lasts) / len(lasts)
        assert shape.late_share(mask) == pytest.approx(expected)
        assert shape.all_late_shares[mask] == pytest.approx(expected)


def test_of_many_items_one_comes_last() -> None:
    n_items = MOST_EXACT + 3
    shape = Shape((1.0,) * n_items, (0, *[1] * (n_items - 1)), 1.0)
    assert shape.late_share(1) == 0.0
    assert shape.late_share(0b110) == pytest.approx(2 / (n_items - 1))
    assert shape.late_share(shape.everything) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_without_weight_the_cost_is_that_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, 4, n_checks=2)
    step = PlanStep(0b0111, 0b0011, 0b0100)
    assert LateWork(Measured(), 0.0).node(shape, step, 5.0) == Measured().node(shape, step, 5.0)


@pytest.mark.parametrize("step", [PlanStep(0b1111, 0b0011, 0b1100), PlanStep(0b1111, 0b1111)])
def test_the_last_join_and_the_checks_above_it_cost_what_they_do(step: PlanStep) -> None:
    """But for the rows that are read, which may have been there before."""
    shape, model = random_shape(random.Random(1), 4, n_checks=2), Measured(row_in=0.0)
    assert LateWork(model, 0.8).node(shape, step, 5.0) == pytest.approx(model.node(shape, step, 5.0))
    assert LateWork(Measured(), 1.0).node(shape, step, 5.0) == pytest.approx(model.node(shape, step, 5.0))


@pytest.mark.parametrize("late", [0.25, 1.0])
def test_what_waits_and_the_rest_are_the_whole(late: float) -> None:
    shape, model = Shape((2.0, 3.0, 5.0), (0, 0b001, 0b001), window=4.0), LateWork(Measured(), 0.75)
    step = PlanStep(0b011, 0b001, 0b010)
    early, waiting = step._replace(late=0.0), step._replace(late=late, is_wait=True)
    work, late_work = (one.node(shape, step, 4.0) for one in (Measured(), Measured(row_in=0.0)))
    assert model.node(shape, early, 4.0) == pytest.approx(0.25 * work)
    assert model.node(shape, waiting, 4.0) == pytest.approx(0.75 * late * late_work)
    assert model.node(shape, step, 4.0) == pytest.approx(0.25 * work + 0.75 * 0.5 * late_work)
    assert not waiting.is_join


def test_a_filter_waits_with_all_that_it_reads() -> None:
    shape = Shape((2.0, 3.0), (0, 0b01), window=4.0)
    step = PlanStep(0b11, 0b11, is_filter=True)
    assert LateWork(Measured(), 1.0).node(shape, step, 4.0) == Measured().node(shape, step, 4.0)
