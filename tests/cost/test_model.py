"""The prices of all subsets are the costs of the nodes."""

import random

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.random_shapes import random_shape

from weft.cost.late_work import LateWork
from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches

MODELS = (PartialMatches(), CandidatePairs(), Measured(), LateWork(Measured(), 0.7))


@pytest.mark.parametrize("model", MODELS, ids=["partial matches", "candidate pairs", "measured", "late work"])
@pytest.mark.parametrize("seed", range(20))
def test_the_prices_of_a_subset_are_the_costs_of_its_nodes(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_shape(
        dice,
        dice.randint(1, 4),
        n_lists=dice.randint(0, 1),
        n_checks=dice.randint(0, 3),
        n_corrections=seed % 4,
    )
    prices = model.prices(shape)
    rows, equal, tariff = prices.rows, prices.equal, prices.tariff
    for mask in range(1, 1 << shape.n_items):
        assert prices.ready[mask] == shape.ready(mask)
        if mask.bit_count() == 1:
            expected = tariff.fixed + tariff.leaf * rows[mask]
            assert model.node(shape, PlanStep(mask), shape.window) == pytest.approx(expected)
            continue
        left = dice.choice([part for part in range(1, mask) if not part & ~mask])
        right = mask ^ left
        sides = [shape.ready(left) & dice.randrange(8), shape.ready(right) & dice.randrange(8)]
        passing = [1.0, 1.0]
        for side in (0, 1):
            for number, check in enumerate(shape.checks):
                passing[side] *= check.survival if sides[side] >> number & 1 else 1.0
        read = rows[left] * passing[0], rows[right] * passing[1]
        share = equal[mask] / (equal[left] * equal[right])
        built = rows[mask] * passing[0] * passing[1]
        done = tariff.fixed + tariff.pair * read[0] * read[1] * share + tariff.row_out * built
        step = PlanStep(mask, left, right, sides[0] | sides[1])
        expected = tariff.row_in * sum(read) + prices.factors[mask] * done
        assert model.node(shape, step, shape.window) == pytest.approx(expected)
        check = PlanStep(mask, mask, 0, sides[0] | sides[1])
        is_free = tariff.row_checked == 0
        expected = 0.0 if is_free else prices.factors[mask] * (tariff.fixed + tariff.row_checked * built)
        assert model.node(shape, check, shape.window) == pytest.approx(expected)
