"""Neighbors of a plan share one sub-pattern more, between as many patterns as asked for."""

import random
from itertools import combinations

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, sequence

from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multi_pattern_tree import OrderPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.trees import nodes_of, order_of, order_tree, specialize


def neighborhood_of(
    workload: Workload, k: int = 2, *, prefix_only: bool = False
) -> tuple[Neighborhood[str], MultiTree[str]]:
    plans = OrderPlans(MODEL) if prefix_only else LocalPlans(MODEL)
    multitree: MultiTree[str] = MultiTree(workload.numbers, MODEL)
    for key, pattern in workload.patterns.items():
        multitree.add(key, pattern, plans.best(pattern))
    return Neighborhood(multitree, workload.sharables(), plans, list(workload.patterns), k), multitree


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("seed", range(5))
def test_a_neighbor_changes_up_to_k_patterns_and_keeps_all_items(seed: int, k: int) -> None:
    workload = random_workload(
        random.Random(seed), 8, (3, 4), n_types=4, windows=(1, 2), has_lists=True, has_negations=True
    )
    neighborhood, multitree = neighborhood_of(workload, k)
    dice = random.Random(seed)
    for _ in range(60):
        changes = neighborhood.propose(dice)
        assert changes is not None
        assert 1 <= len(changes) <= k
        assert any(tree != multitree.trees[key] for key, tree in changes.items())
        for key, tree in changes.items():
            leaves = sorted(node.mask for node in nodes_of(tree) if node.is_leaf)
            assert leaves == [1 << item for item in range(workload.patterns[key].n_items)]
        multitree.replace(changes)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_as_many_patterns_as_asked_for_share_a_sub_pattern(k: int) -> None:
    workload = Workload(tuple(sequence(f"AB{name}", 1) for name in "CDEFGHIJ"))
    neighborhood, _ = neighborhood_of(workload, k)
    dice = random.Random(0)
    proposed = [neighborhood.propose(dice) for _ in range(30)]
    assert max(len(changes) for changes in proposed if changes) == k
    for changes in proposed:
        if changes and len(changes) > 1:
            assert all(0b011 in {node.mask for node in nodes_of(tree)} for tree in changes.values())


def test_every_pair_of_patterns_is_reached() -> None:
    workload = Workload((sequence("ABC", 1), sequence("ABD", 1), sequence("ACD", 1)))
    neighborhood, multitree = neighborhood_of(workload)
    dice, seen = random.Random(0), set()
    for _ in range(100):
        changes = neighborhood.propose(dice)
        assert changes is not None
        seen.add(frozenset(changes))
        multitree.replace(changes)
    for n_changed in (1, 2):
        expected = set(map(frozenset, combinations(workload.patterns, n_changed)))
        assert {keys for keys in seen if len(keys) == n_changed} == expected


def test_without_anything_in_common_there_is_no_neighbor() -> None:
    neighborhood, _ = neighborhood_of(Workload((sequence("ABC"), sequence("DEF"))))
    assert neighborhood.size == 0
    assert neighborhood.propose(random.Random(0)) is None


def test_a_neighborhood_changes_two_patterns_at_least() -> None:
    with pytest.raises(ValueError, match="at least 2 patterns, not 1"):
        neighborhood_of(Workload((sequence("AB"),)), k=1)


@pytest.mark.parametrize("seed", range(5))
def test_orders_stay_orders(seed: int) -> None:
    workload = random_workload(random.Random(seed), 5, (3, 4), n_types=4, windows=(1, 2))
    neighborhood, multitree = neighborhood_of(workload, prefix_only=True)
    dice = random.Random(seed)
    for _ in range(40):
        changes = neighborhood.propose(dice)
        assert changes is not None
        for tree in changes.values():
            assert order_tree(order_of(tree)) == specialize(tree)
        multitree.replace(changes)
