"""The exhaustive search, against a search without a bound, and all trees, built in another way."""

import random
from itertools import combinations, product

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, sequence

from weft.optimizer.trees import Tree, leaf, nodes_of, pair
from weft_lab.exhaustive import all_options, all_trees, cheapest_multitree, generals_of


def joined(parts: frozenset[Tree]) -> set[Tree]:
    """Return every tree that comes of joining any two parts, until there is one."""
    if len(parts) == 1:
        return set(parts)
    pairs = [{one, other} for one, other in combinations(parts, 2)]
    return {tree for both in pairs for tree in joined(parts - both | {pair(*both)})}


def is_one_at_a_time(tree: Tree, lists: int) -> bool:
    """Say whether no join is of lists alone; if there is nothing else, whether each join has a leaf."""
    joins = [node for node in nodes_of(tree) if node.left is not None and node.right is not None]
    if tree.mask & ~lists:
        return all(node.mask & ~lists for node in joins)
    return all(Tree(node.left.mask) == node.left or Tree(node.right.mask) == node.right for node in joins)


@pytest.mark.parametrize(("n_items", "n_trees"), [(1, 1), (2, 1), (3, 3), (4, 15), (5, 105)])
def test_there_are_as_many_trees_as_the_double_factorial_says(n_items: int, n_trees: int) -> None:
    trees = list(all_trees((1 << n_items) - 1))
    assert len(trees) == len(set(trees)) == n_trees
    assert set(trees) == joined(frozenset(map(leaf, range(n_items))))


@pytest.mark.parametrize("lists", [0b0001, 0b0101, 0b0111, 0b1111])
def test_lists_are_joined_one_at_a_time(lists: int) -> None:
    every = joined(frozenset(map(leaf, range(4))))
    assert set(all_trees(0b1111, lists)) == {tree for tree in every if is_one_at_a_time(tree, lists)}


def test_lists_alone_have_trees_too() -> None:
    assert len(set(all_trees(0b111, 0b111))) == 3


@pytest.mark.parametrize("seed", range(12))
def test_no_combination_of_trees_is_cheaper(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, dice.choice([2, 3]), (2, 3), n_types=4, windows=(10, 20), has_lists=True)
    keys = list(workload.patterns)
    generals = generals_of(workload.patterns)
    options = [all_options(pattern, generals[key]) for key, pattern in workload.patterns.items()]
    multitree = workload.multitree()
    totals = []
    for chosen in product(*options):
        multitree.replace(dict(zip(keys, chosen, strict=True)))
        totals.append(multitree.cost)
    cost, trees = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    assert cost == min(totals)
    assert workload.multitree(trees).cost == cost


def test_nothing_is_found_that_is_not_cheaper_than_the_bound() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD")))
    cost, _ = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    assert cheapest_multitree(workload.patterns, workload.numbers, MODEL, bound=cost) == (cost, {})
