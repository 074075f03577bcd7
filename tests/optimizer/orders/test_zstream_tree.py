"""ZStream's tree is the best of all trees over intervals."""

import random
from collections.abc import Iterator, Sequence

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.random_shapes import random_shape

from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Group, ListBounds, Shape
from weft.optimizer.orders.decided import local_cost
from weft.optimizer.orders.exact_tree import exact_tree
from weft.optimizer.orders.zstream_tree import decide_zstream_tree
from weft.optimizer.trees import Tree, leaf, nodes_of, order_tree, pair, tree_text, uncheck, units_of

MODELS = [PartialMatches(), CandidatePairs(), Measured()]
NAMES = ["partial matches", "candidate pairs", "measured"]


def interval_trees(units: Sequence[Tree]) -> Iterator[Tree]:
    """Yield every tree that joins neighbors."""
    if len(units) == 1:
        yield units[0]
    for middle in range(1, len(units)):
        for left in interval_trees(units[:middle]):
            for right in interval_trees(units[middle:]):
                yield pair(left, right)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(15))
def test_no_tree_over_intervals_is_cheaper(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_shape(dice, dice.randint(1, 6), n_checks=dice.randint(0, 3))
    options = list(interval_trees([leaf(item) for item in range(shape.n_items)]))
    found = decide_zstream_tree(shape, model).tree
    assert found in options
    best = min(local_cost(tree, shape, model) for tree in options)
    assert local_cost(found, shape, model) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(15))
def test_no_tree_over_intervals_with_the_given_parts_is_cheaper(seed: int) -> None:
    dice = random.Random(seed)
    shape, model = random_shape(dice, 6, n_checks=dice.randint(0, 3)), dice.choice(MODELS)
    items = dice.sample(range(6), 5)
    pinned = [order_tree(items[:2]), order_tree(items[2:])][: dice.randint(1, 2)]
    pinned = [uncheck(tree) if dice.random() < 0.5 else tree for tree in pinned]
    found = decide_zstream_tree(shape, model, pinned).tree
    options = list(interval_trees(units_of(shape, pinned)))
    assert found in options
    assert set(pinned) <= set(nodes_of(found))
    best = min(local_cost(tree, shape, model) for tree in options)
    assert local_cost(found, shape, model) == pytest.approx(best)


def test_it_cannot_join_what_is_not_next_to_each_other() -> None:
    shape = Shape((1.0, 1.0, 1.0), (0, 0, 0), 10.0, groups=(Group(0b101, 0.001),))
    model = PartialMatches()
    assert tree_text(exact_tree(shape, model), "abc") == "((a c) b)"
    assert tree_text(decide_zstream_tree(shape, model).tree, "abc") in ("((a b) c)", "(a (b c))")


def test_lists_come_last() -> None:
    lists = {0: ListBounds(1, None), 2: ListBounds(1, 3)}
    shape = Shape((0.1, 9.0, 0.1, 5.0), (0, 0, 0, 0), 1.0, lists=lists)
    found = decide_zstream_tree(shape, PartialMatches()).tree
    assert found == pair(pair(pair(leaf(1), leaf(3)), leaf(0)), leaf(2))


def test_lists_alone_are_joined_one_after_the_other() -> None:
    lists = {item: ListBounds(1, 3) for item in range(3)}
    shape = Shape((1.0, 1.0, 1.0), (0, 0, 0), 1.0, lists=lists)
    assert decide_zstream_tree(shape, PartialMatches()).tree == pair(pair(leaf(0), leaf(1)), leaf(2))
