"""The quick check suspects every invariant that is violated, and hardly any other."""

import random

import numpy as np
import pytest
from tests.helpers.random_shapes import random_shape
from tests.helpers.statistics_walks import even_numbers, random_pattern, walk

from weft.adaptation.decisions import Invariants
from weft.adaptation.invariants import select_invariants
from weft.adaptation.quick_check import QuickCheck, Terms, terms_of
from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import ListBounds, Shape
from weft.optimizer.orders.decided import Decided
from weft.optimizer.orders.exact_tree import decide_exact_tree
from weft.optimizer.orders.greedy_order import decide_greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree

MODELS = [PartialMatches(), Measured()]


def decided_by(name: str, shape: Shape, model: CostModel) -> Decided:
    match name:
        case "greedy":
            return decide_greedy_order(shape)
        case "zstream":
            return decide_zstream_tree(shape, model)
    return decide_exact_tree(shape, model)


@pytest.mark.parametrize("model", MODELS, ids=["partial matches", "measured"])
@pytest.mark.parametrize("name", ["greedy", "zstream", "exact tree"])
@pytest.mark.parametrize("distance", [0.0, 0.3])
@pytest.mark.parametrize("n_corrections", [0, 8])
def test_what_is_violated_is_suspected_and_little_else(
    name: str, model: CostModel, distance: float, n_corrections: int
) -> None:
    n_violated = n_suspected = 0
    for seed in range(30):
        dice = random.Random(seed)
        n_checks = dice.choice([0, 2])
        pattern = random_shape(dice, dice.randint(2, 6), n_checks=n_checks, n_corrections=n_corrections)
        first, *later = [*walk(dice, pattern, 5), *even_numbers(dice, pattern, 5)]
        watched = select_invariants(decided_by(name, first, model), first, model, None)
        check = QuickCheck(watched, Terms(first, model))
        for shape in later:
            violated = {
                number
                for number, one in enumerate(watched)
                if not one.condition.holds(shape, model, distance)
            }
            suspected = set(check.suspects(shape, distance).tolist())
            assert violated <= suspected
            ties = {
                number
                for number in suspected - violated
                if np.isclose(*_bounds(watched[number].condition.values(shape, model), distance), rtol=1e-8)
            }
            assert suspected - violated == ties
            n_violated, n_suspected = n_violated + len(violated), n_suspected + len(suspected)
    assert 3 < n_violated <= n_suspected


def _bounds(values: tuple[float, float], distance: float) -> tuple[float, float]:
    return values[0], values[1] * (1.0 + distance)


def test_lists_are_left_to_the_prices_proper() -> None:
    lists = Shape((1.0, 2.0, 3.0), (0, 0b1, 0b11), 10.0, lists={1: ListBounds(1, 2)})
    assert terms_of(lists, Measured()) is None
    assert terms_of(Shape((1.0,), (0,), 1.0), Measured()) is not None


def test_invariants_say_the_same_with_lists_or_without() -> None:
    """With K = all, a violation is one whichever way it is found."""
    n_violated = 0
    for seed in range(20):
        dice = random.Random(seed)
        first, *later = list(walk(dice, random_pattern(dice, 4), 6))
        function = Invariants(Measured(), None)
        function.adopt(decide_greedy_order(first), first)
        for shape in later:
            holds = all(one.condition.holds(shape, Measured()) for one in function.watched)
            assert (function.violation(shape) is None) == holds
            n_violated += not holds
    assert 20 < n_violated < 80
