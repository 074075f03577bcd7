"""The exact tree is the best of all trees, also of those that contain what is to be shared."""

import random
from collections.abc import Mapping, Set
from dataclasses import replace

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.plan_costs import node_cost, tree_cost
from tests.helpers.random_shapes import random_shape
from tests.helpers.replies import bare_somewhere, replies

from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import MOST_EXACT, Check, Shape
from weft.optimizer.orders.decided import local_cost
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree, greedy_reply
from weft.optimizer.trees import Tree, leaf, nodes_of, order_tree, pair, tree_text, units_of
from weft_lab.exhaustive import all_trees

MODELS = [PartialMatches(), CandidatePairs(), Measured()]
NAMES = ["partial matches", "candidate pairs", "measured"]


def trees_of(shape: Shape, pinned: Set[Tree] = frozenset()) -> list[Tree]:
    """Return all trees that contain the given ones."""
    found = all_trees(shape.everything, shape.list_mask)
    return [tree for tree in found if pinned <= set(nodes_of(tree))]


def is_best(found: Tree, options: list[Tree], shape: Shape, model: CostModel) -> bool:
    best = min(local_cost(tree, shape, model) for tree in options)
    return local_cost(found, shape, model) == pytest.approx(best) and found in options


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(15))
def test_no_tree_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    n_items = dice.randint(1, 5)
    shape = random_shape(
        dice,
        n_items,
        n_lists=dice.choice([0, 0, 1, n_items]),
        n_checks=dice.randint(0, 3),
        n_corrections=dice.choice([0, 5]),
    )
    assert is_best(exact_tree(shape, model), trees_of(shape), shape, model)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(15))
def test_no_tree_with_the_given_parts_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, 5, n_lists=dice.choice([0, 1]), n_checks=dice.randint(0, 3))
    plain = [item for item in range(5) if item not in shape.lists]
    items = dice.sample(plain, 4)
    parts = dice.choice(
        [
            [pair(leaf(items[0]), leaf(items[1]))],
            [pair(leaf(items[0]), leaf(items[1])), pair(leaf(items[2]), leaf(items[3]))],
            [pair(pair(leaf(items[0]), leaf(items[1])), leaf(items[2]))],
        ]
    )
    assert is_best(exact_tree(shape, model, parts), trees_of(shape, set(parts)), shape, model)


def test_the_whole_tree_may_be_given() -> None:
    shape = random_shape(random.Random(3), 4)
    given = order_tree([3, 1, 0, 2])
    assert exact_tree(shape, PartialMatches(), [given]) == given


def test_given_parts_must_not_overlap() -> None:
    shape = random_shape(random.Random(3), 4)
    with pytest.raises(ValueError, match="no item in common"):
        exact_tree(shape, PartialMatches(), [order_tree([0, 1]), order_tree([1, 2])])


def rest_cost(tree: Tree, shape: Shape, model: CostModel, existing: Mapping[int, Tree]) -> float:
    """Return what a tree costs when other nodes, and the leaves below them, are there already."""
    known = {part for other in existing.values() for part in nodes_of(other)}
    whole = tree._replace(unchecked=False)
    new = sum(node_cost(node, shape, model) for node in nodes_of(whole) if node not in known)
    checked = [
        node for node in nodes_of(whole) if node not in known and node._replace(unchecked=True) in known
    ]
    return new - sum(node_cost(node._replace(unchecked=True), shape, model) for node in checked)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(40))
def test_no_tree_is_cheaper_when_others_exist(seed: int, model: CostModel) -> None:
    """The others may have checked negations or not; those that they left may be checked on their rows."""
    dice = random.Random(seed)
    shape = random_shape(
        dice,
        4,
        n_lists=dice.choice([0, 0, 1]),
        n_checks=dice.randint(0, 3),
        n_corrections=dice.choice([0, 5]),
    )
    shape = replace(shape, checks=tuple(check for check in shape.checks if check.needs.bit_count() > 1))
    mask = dice.choice([mask for mask in range(15) if mask.bit_count() > 1])
    other = bare_somewhere(dice, dice.choice(list(all_trees(mask, shape.list_mask))))
    existing = {node.mask: node for node in nodes_of(other) if not node.is_leaf}
    found = exact_tree(shape, model, (), existing)
    options = list(replies(units_of(shape, ()), existing, shape.list_mask))
    best = min(rest_cost(tree, shape, model, existing) for tree in options)
    assert found in options
    assert rest_cost(found, shape, model, existing) == pytest.approx(best)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(30))
def test_no_tree_with_given_parts_that_left_negations_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, 5, n_lists=dice.choice([0, 1]), n_checks=dice.randint(1, 3))
    items = dice.sample([item for item in range(5) if item not in shape.lists], 4)
    given = [order_tree(items[:2]), order_tree(items[2:])]
    parts = [bare_somewhere(dice, tree) for tree in given[: dice.randint(1, 2)]]
    options = list(replies(units_of(shape, parts), {}, shape.list_mask))
    assert is_best(exact_tree(shape, model, parts), options, shape, model)


def test_a_negation_may_be_worth_a_detour() -> None:
    """A check that only three items have ready leaves so little that they come before the cheaper pair."""
    shape = Shape((1.0, 2.0, 3.0, 1.0), (0, 0, 0, 0), 10.0, checks=(Check(0b0111, 1e-6),))
    tree = exact_tree(shape, PartialMatches())
    assert tree_text(tree, "abcd") == "(((a b) c) d)"
    assert local_cost(tree, shape, PartialMatches()) == pytest.approx(70 + 200 + 6000 + 0.06)


def test_a_tree_that_exists_does_not_displace_a_given_one() -> None:
    shape = random_shape(random.Random(1), 3)
    given = pair(leaf(0), leaf(1))
    other = pair(pair(leaf(0), leaf(2)), leaf(1))
    found = exact_tree(shape, PartialMatches(), [given], {0b111: other, 0b101: pair(leaf(0), leaf(2))})
    assert given in set(nodes_of(found))


@pytest.mark.parametrize("seed", range(10))
def test_the_best_tree_is_not_dearer_than_the_best_order(seed: int) -> None:
    dice = random.Random(seed)
    shape, model = random_shape(dice, 6, n_lists=dice.randint(0, 2)), PartialMatches()
    order = order_tree(exact_order(shape, model))
    assert local_cost(exact_tree(shape, model), shape, model) <= local_cost(order, shape, model) * (1 + 1e-9)


def test_a_tree_costs_what_its_nodes_hold() -> None:
    shape, model = random_shape(random.Random(2), 4), PartialMatches()
    tree = exact_tree(shape, model)
    masks = [node.mask for node in nodes_of(tree)]
    assert local_cost(tree, shape, model) == pytest.approx(tree_cost(shape, masks))


@pytest.mark.parametrize("n_items", [MOST_EXACT, MOST_EXACT + 1, MOST_EXACT + 8])
def test_many_items_have_a_tree_over_all_of_them(n_items: int) -> None:
    shape = random_shape(random.Random(n_items), n_items, n_lists=2)
    plain = [item for item in range(n_items) if item not in shape.lists]
    pinned = [order_tree(plain[:3]), order_tree(plain[4:6])]
    for given in ([], pinned):
        tree = exact_tree(shape, PartialMatches(), given)
        leaves = [node.mask for node in nodes_of(tree) if node.is_leaf]
        assert sorted(leaves) == [1 << item for item in range(n_items)]
        assert tree.mask == shape.everything
        assert set(given) <= set(nodes_of(tree))


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_a_tree_of_many_items_reads_what_exists_where_that_is_cheaper(seed: int, model: CostModel) -> None:
    """Beside the exact reply to the same trees, and to none: no better than one, no worse than the other."""
    dice = random.Random(seed)
    shape = random_shape(dice, 6, n_lists=dice.choice([0, 0, 1]))
    other = dice.choice(list(all_trees(dice.choice([0b111, 0b101101, 0b111111]), shape.list_mask)))
    existing = {node.mask: node for node in nodes_of(other) if not node.is_leaf}
    found, alone, exact = (
        greedy_reply(shape, model, (), existing, {}),
        greedy_reply(shape, model, (), {}, {}),
        exact_tree(shape, model, (), existing),
    )
    costs = [rest_cost(tree, shape, model, existing) for tree in (exact, found, alone)]
    assert costs[0] <= costs[1] * (1 + 1e-9)
    assert costs[1] <= costs[2] * (1 + 1e-9)
    dear = dict.fromkeys(existing, 1e30)
    assert greedy_reply(shape, model, (), existing, dear) == alone


def test_a_tree_of_many_items_keeps_given_trees_and_reads_others() -> None:
    n_items = MOST_EXACT + 3
    shape = random_shape(random.Random(5), n_items)
    pinned, there = order_tree([0, 2, 4]), order_tree([7, 9, 5, 1])
    existing = {node.mask: node for node in nodes_of(there) if not node.is_leaf}
    tree = exact_tree(shape, PartialMatches(), [pinned], existing)
    assert {pinned, there} <= set(nodes_of(tree))
    assert tree.mask == shape.everything


def test_units_are_the_given_trees_and_the_other_items_by_their_first_item() -> None:
    shape = random_shape(random.Random(0), 5)
    given = [pair(leaf(1), leaf(4)), pair(leaf(2), leaf(0))]
    assert units_of(shape, given) == [given[1], given[0], leaf(3)]
