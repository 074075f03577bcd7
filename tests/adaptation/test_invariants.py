"""Invariants are the tightest conditions, by whatever tightness is measured."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.helpers.statistics_walks import random_pattern, walk

from weft.adaptation.invariants import (
    CachedPrices,
    average_relative_difference,
    by_difference,
    by_violation_probability,
    select_invariants,
    still_best,
    violation_probability,
)
from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import Block, Condition, Decided, Side
from weft.optimizer.orders.exact_tree import decide_exact_tree
from weft.optimizer.orders.greedy_order import decide_greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree
from weft.optimizer.trees import leaf

A, B, C = 0b001, 0b010, 0b100
MODEL = PartialMatches()
ALGORITHMS: dict[str, Callable[[Shape, CostModel], Decided]] = {
    "greedy": lambda shape, _: decide_greedy_order(shape),
    "zstream": decide_zstream_tree,
    "exact tree": decide_exact_tree,
}


def one_block(*values: tuple[float, float]) -> Decided:
    """A plan with one block whose conditions have constant sides."""
    conditions = tuple(Condition(Side((), a), Side((), b), wins_ties=True) for a, b in values)
    return Decided(leaf(0), (Block(1, conditions),))


def test_figure_4_ends_with_two_invariants() -> None:
    """rate_C < rate_B, and rate_B < rate_A, both of them times that of C and one half for the order."""
    shape = Shape(rates=(100.0, 15.0, 10.0), before=(0, A, A | B), window=1.0)
    first, second = select_invariants(decide_greedy_order(shape), shape, MODEL)
    assert (first.block, first.taken, first.other) == (C, 10.0, 15.0)
    assert first.condition.other.steps == (PlanStep(B),)
    assert (second.block, second.taken, second.other) == (B | C, 75.0, 500.0)
    assert len(select_invariants(decide_greedy_order(shape), shape, MODEL, k=None)) == 3


def test_what_varies_most_is_most_likely_to_be_violated() -> None:
    """The difference of 10 is two standard deviations of the rate of A, that of 2 is five of B's."""
    conditions = (
        Condition(Side((), 1.0), Side((PlanStep(B),)), wins_ties=True),
        Condition(Side((), 100.0), Side((PlanStep(A),)), wins_ties=True),
    )
    decided, shape = Decided(leaf(0), (Block(1, conditions),)), Shape((110.0, 3.0), (0, 0), 1.0)
    tightnesses = by_difference, by_violation_probability(shape, (25.0, 0.16))
    found = [select_invariants(decided, shape, MODEL, 1, tightness)[0] for tightness in tightnesses]
    assert [(one.taken, one.other) for one in found] == [(1.0, 3.0), (100.0, 110.0)]


def test_rates_that_both_sides_have_in_common_make_no_difference() -> None:
    """Both options begin with A, however much of it there is; what varies is B against C."""
    shape = Shape((5.0, 3.0, 4.0), (0, 0, 0), 1.0)
    together = Condition(Side((PlanStep(A), PlanStep(B))), Side((PlanStep(A), PlanStep(C))), wins_ties=True)
    (invariant,) = select_invariants(Decided(leaf(0), (Block(1, (together,)),)), shape, MODEL)
    common, own = ((100.0, 0.0, 0.0), (0.0, 0.25, 0.0))
    assert by_violation_probability(shape, common)(invariant, MODEL) == 0.0
    assert by_violation_probability(shape, own)(invariant, MODEL) == -violation_probability(3, 4, 0.5)


@pytest.mark.parametrize(("taken", "other", "spread"), [(1.0, 2.0, 0.5), (5.0, 9.0, 4.0), (3.0, 3.1, 2.0)])
def test_the_probability_is_that_of_a_normal_distribution(taken: float, other: float, spread: float) -> None:
    dice = random.Random(1)
    share = sum(dice.gauss(taken - other, spread) > 0 for _ in range(20_000)) / 20_000
    assert violation_probability(taken, other, spread) == pytest.approx(share, abs=0.015)


def test_without_variance_nothing_changes() -> None:
    assert violation_probability(1.0, 1.0, 0.0) == 0.0
    assert violation_probability(2.0, 1.0, 0.0) == 1.0


def test_an_unsteady_rate_makes_its_condition_the_invariant() -> None:
    """B is nearer to C than A is, but A has been seen to fall low."""
    now = Shape((20.0, 15.0, 10.0), (0, 0, 0), 1.0)
    by_chance = by_violation_probability(now, (150.0, 0.0, 0.0))
    plain, unsteady = (
        select_invariants(decide_greedy_order(now), now, Measured(), 1, tightness)[0]
        for tightness in (by_difference, by_chance)
    )
    assert plain.condition.other.steps == (PlanStep(B),)
    assert unsteady.condition.other.steps == (PlanStep(A),)


def test_where_no_rate_varies_the_smallest_difference_counts() -> None:
    now = Shape((20.0, 15.0, 10.0), (0, 0, 0), 1.0)
    nothing_varies = by_violation_probability(now, (0.0, 0.0, 0.0))
    assert select_invariants(decide_greedy_order(now), now, MODEL, 1, nothing_varies) == select_invariants(
        decide_greedy_order(now), now, MODEL
    )


@pytest.mark.parametrize("name", ALGORITHMS)
def test_more_invariants_contain_fewer(name: str) -> None:
    for seed in range(10):
        dice = random.Random(seed)
        shape, model = random_pattern(dice, 5), Measured()
        decided = ALGORITHMS[name](shape, model)
        by_chance = by_violation_probability(shape, [dice.random() for _ in shape.rates])
        tightness = dice.choice([by_difference, by_chance])
        sets = [set(select_invariants(decided, shape, model, k, tightness)) for k in (1, 2, 3, None)]
        assert all(fewer <= more for fewer, more in pairwise(sets))
        n_conditions = sum(len(block.conditions) for block in decided.blocks)
        assert len(select_invariants(decided, shape, model, None)) == n_conditions


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_block_has_its_tightest_conditions_in_the_order_of_verification(name: str) -> None:
    for seed in range(10):
        shape = random_pattern(random.Random(seed), 5)
        decided = ALGORITHMS[name](shape, MODEL)
        found = {invariant.block: invariant for invariant in select_invariants(decided, shape, MODEL)}
        assert list(found) == [block.mask for block in decided.blocks if block.conditions]
        for block in decided.blocks:
            for condition in block.conditions:
                taken, other = condition.values(shape, MODEL)
                assert found[block.mask].other - found[block.mask].taken <= other - taken


def test_the_average_is_over_all_conditions() -> None:
    decided = one_block((1.0, 3.0), (100.0, 110.0), (0.0, 0.0), (0.0, 5.0))
    average = average_relative_difference(decided, Shape((1.0,), (0,), 1.0), MODEL)
    assert average == pytest.approx((2.0 + 0.1 + 0.0) / 3)
    assert average_relative_difference(one_block(), Shape((1.0,), (0,), 1.0), MODEL) == 0.0


def test_no_invariant_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        select_invariants(one_block((1.0, 2.0)), Shape((1.0,), (0,), 1.0), MODEL, k=0)


def test_remembered_prices_are_the_same() -> None:
    dice = random.Random(5)
    for shape in walk(dice, random_pattern(dice, 4), 3):
        decided = decide_zstream_tree(shape, Measured())
        prices = CachedPrices(Measured())
        for block in decided.blocks:
            for condition in block.conditions:
                assert condition.values(shape, prices) == condition.values(shape, Measured())


@pytest.mark.parametrize("dearer", [0.0, 4.0])
def test_a_plan_that_was_kept_is_watched_against_the_one_that_was_not_taken(dearer: float) -> None:
    """Conditions of the better plan go on to hold, however dear the one that runs becomes."""
    before, after = (Shape((rate, 10.0), (0, 0), window=1.0) for rate in (10.0 + dearer, 90.0))
    block = still_best(Side((PlanStep(0b01),)), Side((PlanStep(0b10),)), before, PartialMatches())
    (better,) = decide_greedy_order(before).blocks[0].conditions
    (kept,) = block.conditions
    assert [better.holds(shape, PartialMatches()) for shape in (before, after)] == [True, dearer > 0]
    assert [kept.holds(shape, PartialMatches()) for shape in (before, after)] == [True, False]
    assert kept.holds(Shape((10.0 + dearer / 2, 10.0), (0, 0), window=1.0), PartialMatches())
