"""The algorithm for single patterns, as the search calls it."""

import random
from collections.abc import Sequence
from itertools import permutations

import pytest
from tests.helpers.replies import bare_somewhere, replies
from tests.helpers.workloads import MODEL, Workload, negating_workload, random_workload, sequence

from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.optimizer.orders.decided import local_cost
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multi_pattern_tree import OrderPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Offer
from weft.optimizer.trees import Tree, join_all, leaf, nodes_of, order_tree, pair, units_of
from weft_lab.exhaustive import all_trees


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
    workload = random_workload(random.Random(seed), 2, (4,), has_negations=True)
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
    workload = random_workload(dice, 2, (4,), has_negations=True)
    plans = OrderPlans(MODEL)
    for pattern in workload.patterns.values():
        assert plans.best(pattern) == order_tree(exact_order(pattern.shape, MODEL))
        start = order_tree(dice.sample(range(4), 2))._replace(unchecked=dice.random() < 0.5)
        found = plans.best(pattern, [start])
        assert start in set(nodes_of(found))
        rest = [
            join_all([start, *map(leaf, order)])
            for order in ([a, b] for a in range(4) for b in range(4) if a != b)
            if not start.mask & (1 << order[0] | 1 << order[1])
        ]
        best = min(local_cost(tree, pattern.shape, MODEL) for tree in rest)
        assert local_cost(found, pattern.shape, MODEL) == pytest.approx(best)


def test_a_reply_uses_what_is_there() -> None:
    pattern = Workload((sequence("ABC", 1),)).patterns["P1"]
    other = pair(leaf(0), leaf(2))
    assert LocalPlans(MODEL).reply(pattern, {0b101: Offer(other)}) == pair(other, leaf(1))
    given = pair(leaf(0), leaf(1))
    assert LocalPlans(MODEL).reply(pattern, {}, [given]) == pair(given, leaf(2))


MODELS = [PartialMatches(), Measured(), Measured(fixed=10.0, row_checked=2.0)]
NAMES = ["partial matches", "measured", "cheap checks"]


def in_the_books(pattern: Pattern, tree: Tree, model: CostModel, others: Sequence[Tree] = ()) -> float:
    """Return what a plan costs that has a tree for the pattern, besides parts that others need."""
    multitree: MultiTree[str] = MultiTree(pattern.numbers, model)
    for other in others:
        multitree.nodes.add(pattern.part(other).nodes)
    multitree.add("P1", pattern, tree)
    return multitree.cost


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(40))
def test_no_tree_with_negations_is_cheaper_in_the_books(seed: int, model: CostModel) -> None:
    pattern = negating_workload(random.Random(seed)).patterns["P1"]
    shape, found = pattern.shape, LocalPlans(model).best(pattern)
    costs = {
        tree: (in_the_books(pattern, tree, model), local_cost(tree, shape, model))
        for tree in all_trees(shape.everything, shape.list_mask)
    }
    assert costs[found] == pytest.approx(tuple(map(min, zip(*costs.values(), strict=True))))
    differences = [booked - local for booked, local in costs.values()]  # what is negated is the same in all
    assert max(differences) - min(differences) <= 1e-6 * max(booked for booked, _ in costs.values())


@pytest.mark.parametrize("model", MODELS[1:], ids=NAMES[1:])
@pytest.mark.parametrize("seed", range(20))
def test_no_order_with_negations_is_cheaper_in_the_books(seed: int, model: CostModel) -> None:
    pattern = negating_workload(random.Random(seed)).patterns["P1"]
    orders = [order for order in permutations(range(pattern.n_items)) if order[0] not in pattern.shape.lists]
    found = in_the_books(pattern, OrderPlans(model).best(pattern), model)
    best = min(in_the_books(pattern, order_tree(order), model) for order in orders)
    assert found == pytest.approx(best)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(40))
def test_no_reply_is_cheaper_in_the_books(seed: int, model: CostModel) -> None:
    """Part of a tree exists, some joins bare; a further part of it may be given."""
    dice = random.Random(seed)
    pattern = negating_workload(dice).patterns["P1"]
    shape = pattern.shape
    masks = [mask for mask in range(shape.everything) if mask.bit_count() > 1 and mask & ~shape.list_mask]
    part = dice.choice(list(all_trees(dice.choice(masks), shape.list_mask)))
    other = bare_somewhere(dice, part)
    existing = {node.mask: node for node in nodes_of(other) if not node.is_leaf}
    pinned = [existing[dice.choice(list(existing))]] if dice.random() < 0.3 else []
    offers = {mask: Offer(tree) for mask, tree in existing.items()}
    found = LocalPlans(model).reply(pattern, offers, pinned)
    options = list(replies(units_of(shape, pinned), existing, shape.list_mask))
    assert found in options
    best = min(in_the_books(pattern, tree, model, [other]) for tree in options)
    assert in_the_books(pattern, found, model, [other]) == pytest.approx(best)
