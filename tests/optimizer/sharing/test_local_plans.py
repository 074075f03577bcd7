"""The algorithm for single patterns, as the search calls it."""

import random

import pytest
from tests.exhaustive import all_trees
from tests.optimizer.workloads import MODEL, Workload, random_workload, sequence

from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree, local_cost
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.trees import leaf, nodes_of, order_tree, pair


@pytest.mark.parametrize("seed", range(10))
def test_the_best_tree_is_found_once_and_again(seed: int) -> None:
    workload = random_workload(random.Random(seed), 2, (3, 4), has_lists=True)
    plans = LocalPlans(MODEL)
    for pattern in workload.patterns.values():
        best = plans.best(pattern)
        assert best == exact_tree(pattern.shape, MODEL)
        assert plans.best(pattern) is best


@pytest.mark.parametrize("seed", range(10))
def test_the_best_tree_of_a_part_is_the_best_of_all(seed: int) -> None:
    workload = random_workload(random.Random(seed), 2, (4,))
    plans = LocalPlans(MODEL)
    for pattern in workload.patterns.values():
        for mask in range(1, 1 << pattern.n_items):
            found = plans.part(pattern, mask)
            costs = {tree: local_cost(tree, pattern.shape, MODEL) for tree in all_trees(mask)}
            assert found.mask == mask
            assert costs[found] == pytest.approx(min(costs.values()))


@pytest.mark.parametrize("seed", range(10))
def test_orders_begin_with_the_given_tree(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 2, (4,))
    plans = LocalPlans(MODEL, orders_only=True)
    for pattern in workload.patterns.values():
        assert plans.best(pattern) == order_tree(exact_order(pattern.shape, MODEL))
        start = order_tree(dice.sample(range(4), 2))
        found = plans.best(pattern, [start])
        assert start in set(nodes_of(found))
        rest = [
            order_tree(order, start)
            for order in ([a, b] for a in range(4) for b in range(4) if a != b)
            if not start.mask & (1 << order[0] | 1 << order[1])
        ]
        best = min(local_cost(tree, pattern.shape, MODEL) for tree in rest)
        assert local_cost(found, pattern.shape, MODEL) == pytest.approx(best)


def test_a_reply_uses_what_is_there() -> None:
    pattern = Workload((sequence("ABC", 1),)).patterns["P1"]
    other = pair(leaf(0), leaf(2))
    assert LocalPlans(MODEL).reply(pattern, {0b101: other}) == pair(other, leaf(1))
    given = pair(leaf(0), leaf(1))
    assert LocalPlans(MODEL).reply(pattern, {}, [given]) == pair(given, leaf(2))
