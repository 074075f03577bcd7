"""The exhaustive search, against a search without a bound."""

import random
from itertools import product

import pytest
from tests import exhaustive as twin
from tests.optimizer.workloads import MODEL, Workload, random_workload, sequence

from weft.optimizer.sharing.exhaustive import all_trees, cheapest_multitree


@pytest.mark.parametrize(("n_items", "n_trees"), [(1, 1), (2, 1), (3, 3), (4, 15), (5, 105)])
def test_there_are_as_many_trees_as_the_double_factorial_says(n_items: int, n_trees: int) -> None:
    trees = list(all_trees((1 << n_items) - 1))
    assert len(trees) == len(set(trees)) == n_trees


@pytest.mark.parametrize("lists", [0b0001, 0b0101, 0b0111])
def test_lists_are_joined_one_at_a_time(lists: int) -> None:
    assert set(all_trees(0b1111, lists)) == set(twin.all_trees(0b1111, lists))


def test_lists_alone_have_trees_too() -> None:
    assert set(all_trees(0b111, 0b111)) == set(twin.all_trees(0b111, 0b111))
    assert len(set(twin.all_trees(0b111, 0b111))) == 3


@pytest.mark.parametrize("seed", range(12))
def test_no_combination_of_trees_is_cheaper(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, dice.choice([2, 3]), (2, 3), n_types=4, windows=(10, 20), has_lists=True)
    keys = list(workload.patterns)
    options = [
        list(twin.all_trees(p.shape.everything, p.shape.list_mask)) for p in workload.patterns.values()
    ]
    multitree = workload.multitree()
    totals = []
    for chosen in product(*options):
        multitree.replace(dict(zip(keys, chosen, strict=True)))
        totals.append(multitree.cost)
    cost, trees = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    assert cost == min(totals)
    assert workload.multitree(trees).cost == cost
    assert twin.cheapest(workload.patterns, workload.numbers, MODEL)[0] == cost


def test_nothing_is_found_that_is_not_cheaper_than_the_bound() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD")))
    cost, _ = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    assert cheapest_multitree(workload.patterns, workload.numbers, MODEL, bound=cost) == (cost, {})
