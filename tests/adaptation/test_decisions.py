"""Decision functions say yes when they should, and only then."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.statistics_walks import even_numbers, random_pattern, walk

from weft.adaptation.decisions import (
    FARTHEST,
    DecisionFunction,
    Invariants,
    Static,
    Threshold,
    Unconditional,
    statistics_of,
)
from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Check, Group, ListBounds, Shape
from weft.optimizer.orders.decided import Decided
from weft.optimizer.orders.exact_tree import decide_exact_tree, exact_tree
from weft.optimizer.orders.greedy_order import decide_greedy_order, greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree

MODELS = [PartialMatches(), CandidatePairs(), Measured()]
NAMES = ["partial matches", "candidate pairs", "measured"]
Algorithm = tuple[Callable[[Shape, CostModel], Decided], Callable[[Shape, CostModel], object]]
ALGORITHMS: dict[str, Algorithm] = {
    "greedy": (lambda shape, _: decide_greedy_order(shape), lambda shape, _: greedy_order(shape)),
    "zstream": (decide_zstream_tree, lambda shape, model: decide_zstream_tree(shape, model).tree),
    "exact tree": (decide_exact_tree, exact_tree),
}
CAMERAS = Shape(rates=(100.0, 15.0, 10.0), before=(0, 0b001, 0b011), window=600.0)


def adopted(function: DecisionFunction, shape: Shape) -> DecisionFunction:
    function.adopt(decide_greedy_order(shape), shape)
    return function


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("path", [walk, even_numbers])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_violated_invariant_means_another_plan(
    name: str, path: Callable[..., object], model: CostModel
) -> None:
    """Theorem 1, on patterns with lists and negations, and where many options cost the same."""
    decide, find = ALGORITHMS[name]
    n_violated = 0
    for seed in range(25):
        dice = random.Random(seed)
        first, *later = list(path(dice, random_pattern(dice, dice.randint(2, 5)), 6))
        invariants = Invariants(model, dice.choice([1, 2, None]))
        invariants.adopt(decide(first, model), first)
        for shape in later:
            if invariants.violation(shape) is not None:
                n_violated += 1
                assert find(shape, model) != find(first, model)
    assert n_violated > 5


def test_all_conditions_of_the_greedy_order_miss_nothing() -> None:
    """Theorem 2."""
    changed = []
    for seed in range(30):
        dice = random.Random(seed)
        first, *later = list(walk(dice, random_pattern(dice, 5), 8))
        every = adopted(Invariants(Measured(), k=None), first)
        for shape in later:
            changed.append(greedy_order(shape) != greedy_order(first))
            assert (every.violation(shape) is not None) == changed[-1]
    assert 0.2 < sum(changed) / len(changed) < 0.8


@pytest.mark.parametrize("name", ALGORITHMS)
def test_more_invariants_miss_nothing_that_fewer_find(name: str) -> None:
    model, n_violated = Measured(), 0
    for seed in range(15):
        dice = random.Random(seed)
        first, *later = list(walk(dice, random_pattern(dice, 5), 6))
        decided = ALGORITHMS[name][0](first, model)
        functions = [Invariants(model, k) for k in (1, 2, 4, None)]
        for function in functions:
            function.adopt(decided, first)
        for shape in later:
            answers = [function.violation(shape) is not None for function in functions]
            assert answers == sorted(answers)
            n_violated += answers[-1]
    assert n_violated > 10


@pytest.mark.parametrize("name", ALGORITHMS)
def test_only_the_unconditional_function_answers_when_nothing_changed(name: str) -> None:
    for seed in range(30):
        dice = random.Random(seed)
        model = dice.choice(MODELS)
        pattern = random_pattern(dice, dice.randint(1, 6))
        for shape in (pattern, next(even_numbers(dice, pattern, 1))):
            decided = ALGORITHMS[name][0](shape, model)
            functions: list[DecisionFunction] = [
                Invariants(model),
                Invariants(model, None, "average", "violation-probability"),
                Invariants(model, 2, "tuned"),
                Threshold(0.0),
                Static(),
                Unconditional(),
            ]
            for function in functions:
                function.adopt(decided, shape)
            answers = [function.violation(shape) is not None for function in functions]
            assert answers == [False] * 5 + [True]


def test_the_cameras_of_the_introduction() -> None:
    """Invariants see that C exceeds B, and let A vary; no threshold does both."""
    more_of_c = replace(CAMERAS, rates=(100.0, 15.0, 16.0))
    less_of_a = replace(CAMERAS, rates=(30.0, 15.0, 10.0))
    invariants = adopted(Invariants(PartialMatches()), CAMERAS)
    assert invariants.violation(less_of_a) is None
    assert invariants.violation(more_of_c) is not None
    for t in (0.5, 0.59, 0.61, 0.69, 0.71, 0.9):
        threshold = adopted(Threshold(t), CAMERAS)
        assert (threshold.violation(more_of_c) is None) == (t > 0.6)
        assert (threshold.violation(less_of_a) is None) == (t >= 0.7)
    for t in (1.0, 5.9, 6.1, 69.0, 71.0):  # the same amount for all cameras, as in the paper
        threshold = adopted(Threshold(t, is_share=False), CAMERAS)
        assert (threshold.violation(more_of_c) is None) == (t > 6)
        assert (threshold.violation(less_of_a) is None) == (t >= 70)


def test_invariants_are_verified_in_the_order_of_the_plan() -> None:
    """A below both: the first block is violated, though the second is too."""
    invariants = adopted(Invariants(PartialMatches(), k=None), CAMERAS)
    found = invariants.violation(replace(CAMERAS, rates=(5.0, 15.0, 10.0), window=1.0))
    assert found is not None
    assert found.mask == 0b100
    assert invariants.watched[0].taken == pytest.approx(10.0 * 600)
    assert found.sentence("ABC") == "the choice of C costs 10, another one 5"
    assert found.sentence() == "the choice of item 2 costs 10, another one 5"


@pytest.mark.parametrize(("distance", "n_answers"), [(0.0, 10), (0.1, 0)])
def test_rates_that_take_turns_cause_no_decision_with_a_distance(distance: float, n_answers: int) -> None:
    invariants = Invariants(PartialMatches(), distance=distance)
    shape = replace(CAMERAS, rates=(100.0, 10.2, 10.0))
    adopted(invariants, shape)
    answers = 0
    for step in range(20):
        rates = (100.0, 10.2, 10.5) if step % 2 else (100.0, 10.2, 10.0)
        answers += invariants.violation(replace(shape, rates=rates)) is not None
    assert answers == n_answers


def test_a_distance_is_overcome_by_a_larger_change() -> None:
    invariants = adopted(Invariants(PartialMatches(), distance=0.1), CAMERAS)
    assert invariants.violation(replace(CAMERAS, rates=(100.0, 15.0, 16.0))) is None
    found = invariants.violation(replace(CAMERAS, rates=(100.0, 15.0, 17.0)))
    assert found is not None
    assert found.sentence("ABC").endswith("another one 9000, which 10.0% of difference do not allow")


def test_the_average_distance_is_that_of_the_plan() -> None:
    invariants = Invariants(PartialMatches(), distance="average")
    adopted(invariants, replace(CAMERAS, rates=(20.0, 15.0, 10.0)))
    assert invariants.distance == pytest.approx((10 / 10 + 5 / 10 + 5 / 15) / 3)
    adopted(invariants, replace(CAMERAS, rates=(10.0, 10.0, 10.0)))
    assert invariants.distance == 0.0


def test_a_tuned_distance_grows_with_poor_gains_and_shrinks_slowly_with_good_ones() -> None:
    invariants = Invariants(PartialMatches(), distance="tuned", switch_cost=0.05)
    seen = [invariants.distance]
    for gain in (0.01, -0.2, 0.07, 0.3, 0.1):
        invariants.learn(gain)
        seen.append(invariants.distance)
    assert seen == pytest.approx([0.05, 0.15, 0.35, 0.35, 0.315, 0.2835])


def test_a_tuned_distance_is_bounded() -> None:
    invariants = Invariants(PartialMatches(), distance="tuned")
    for _ in range(50):
        invariants.learn(0.0)
    assert invariants.distance == FARTHEST
    for _ in range(500):
        invariants.learn(0.9)
    assert 0.0 <= invariants.distance < 1e-6


def test_a_distance_that_is_given_is_kept() -> None:
    for distance in (0.0, 0.2):
        invariants = Invariants(PartialMatches(), distance=distance)
        invariants.learn(0.0)
        assert invariants.distance == distance


def test_tuning_ends_the_oscillation() -> None:
    """Each plan anew gains nothing, so that soon no more are made; a real change still is."""
    invariants = Invariants(PartialMatches(), distance="tuned")
    low, high = (replace(CAMERAS, rates=(100.0, 10.0, rate)) for rate in (9.0, 11.5))
    adopted(invariants, low)
    times = []
    for step in range(30):
        shape = low if step % 2 else high
        if invariants.violation(shape) is not None:
            adopted(invariants, shape)
            invariants.learn(0.02)
            times.append(step)
    assert times == [0]
    assert invariants.violation(replace(CAMERAS, rates=(1.0, 10.0, 9.0))) is not None


FULL = Shape(
    rates=(4.0, 5.0),
    before=(0, 0),
    window=60.0,
    groups=(Group(0b11, 0.2, 0.5),),
    agreement=0.1,
    lists={1: ListBounds(1, None, 0.3, 0.4)},
    checks=(Check(0b01, 0.6),),
)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"window": 90.0}, "the window is 90, more than 20% away from 60"),
        ({"agreement": 0.2}, "the agreement on keys is 0.2, more than 20% away from 0.1"),
        ({"rates": (4.0, 2.0)}, "the rate of b is 2, more than 20% away from 5"),
        ({"groups": (Group(0b11, 0.3, 0.5),)}, "the selectivity of a, b is 0.3, more than 20% away from 0.2"),
        (
            {"groups": (Group(0b11, 0.2, 0.9),)},
            "the selectivity of equalities of a, b is 0.9, more than 20% away from 0.5",
        ),
        (
            {"lists": {1: ListBounds(1, None, 0.5, 0.4)}},
            "the selectivity between elements of b is 0.5, more than 20% away from 0.3",
        ),
        (
            {"lists": {1: ListBounds(1, None, 0.3, 0.1)}},
            "the selectivity of lists of b is 0.1, more than 20% away from 0.4",
        ),
        (
            {"checks": (Check(0b01, 0.1),)},
            "the share that a negation leaves of a is 0.1, more than 20% away from 0.6",
        ),
    ],
)
def test_a_threshold_watches_every_statistic(changed: dict[str, object], sentence: str) -> None:
    threshold = adopted(Threshold(0.2), FULL)
    found = threshold.violation(replace(FULL, **changed))
    assert found is not None
    assert found.sentence("ab") == sentence
    assert threshold.violation(replace(FULL, rates=(4.1, 4.9))) is None


def test_a_threshold_is_about_the_value_at_adoption() -> None:
    """Small changes add up; a statistic that was zero deviates as soon as it is not."""
    threshold = adopted(Threshold(0.25), CAMERAS)
    answers = []
    for step in range(1, 5):
        shape = replace(CAMERAS, rates=(100.0 + 10 * step, 15.0, 10.0))
        answers.append(threshold.violation(shape) is not None)
    assert answers == [False, False, True, True]
    adopted(threshold, replace(CAMERAS, rates=(0.0, 15.0, 10.0)))
    assert threshold.violation(replace(CAMERAS, rates=(0.1, 15.0, 10.0))) is not None


def test_nothing_is_violated_before_a_plan_is_adopted() -> None:
    for function in (Invariants(PartialMatches()), Threshold(0.1), Static()):
        assert function.violation(CAMERAS) is None


def test_what_is_likely_is_watched_instead_of_what_is_near() -> None:
    """Though B is the nearest, the unsteady A is what is watched: it may fall below C, and B may not."""
    shape = replace(CAMERAS, rates=(20.0, 15.0, 10.0))
    below = [replace(shape, rates=rates) for rates in ((9.0, 15.0, 10.0), (20.0, 9.0, 10.0))]
    answers = {}
    for selection in ("tightest", "violation-probability"):
        invariants = Invariants(PartialMatches(), selection=selection)
        invariants.adopt(decide_greedy_order(shape), shape, (400.0, 0.01, 0.01))
        answers[selection] = [invariants.violation(one) is not None for one in below]
    assert answers["tightest"][1]
    assert answers["violation-probability"][0]
    assert not answers["violation-probability"][1]


def test_a_rule_says_when_to_plan_anew() -> None:
    assert (Static().rule, Unconditional().rule) == ("never", "in every step that is watched")
    assert Threshold(0.2).rule.startswith("when a statistic is more than 20% away from")
    assert Threshold(7.0, is_share=False).rule.startswith("when a statistic is more than 7 away from")
    likely = Invariants(PartialMatches(), 3, "tuned", "violation-probability").rule
    assert likely.startswith("when one of the 3 likeliest conditions of a part is violated")
    assert likely.endswith("by more than a distance that is tuned")
    every = Invariants(PartialMatches(), None).rule
    assert every == "when any condition of a part is violated by more than 0%"


def test_the_unconditional_function_says_so() -> None:
    found = Unconditional().violation(CAMERAS)
    assert found is not None
    assert found.sentence("ABC") == "planned anew without asking"


def test_statistics_are_named() -> None:
    assert len(list(statistics_of(FULL))) == 2 + 2 + 2 + 2 + 1
