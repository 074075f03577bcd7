"""Evaluation trees: joins have no sides, orders are trees, and names can change."""

import random

import pytest

from weft.optimizer.trees import leaf, nodes_of, order_of, order_tree, pair, relabel, tree_text, uncheck
from weft_lab.exhaustive import all_trees

A, B, C, D = map(leaf, range(4))


def test_a_join_has_no_sides() -> None:
    assert pair(A, B) == pair(B, A)
    assert pair(pair(D, B), pair(C, A)) == pair(pair(A, C), pair(B, D))
    assert len({pair(A, B), pair(B, A), pair(A, C)}) == 2


def test_an_order_is_a_tree_that_grows_to_one_side() -> None:
    assert order_tree([2, 0, 3, 1]) == pair(pair(pair(A, C), D), B)
    assert order_tree([2]) == C


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_a_tree_gives_the_tree(seed: int) -> None:
    order = random.Random(seed).sample(range(5), 5)
    tree = order_tree(order)
    found = order_of(tree)
    assert found is not None
    assert found[2:] == tuple(order[2:])
    assert order_tree(found) == tree


def test_a_tree_with_two_sides_has_no_order() -> None:
    assert order_of(pair(pair(A, B), pair(C, D))) is None
    assert order_of(pair(pair(pair(A, B), pair(C, D)), leaf(4))) is None


def test_nodes_come_before_what_joins_them() -> None:
    tree = pair(pair(A, C), pair(B, D))
    assert list(nodes_of(tree)) == [A, C, pair(A, C), B, D, pair(B, D), tree]


def test_other_names_for_the_items_keep_the_form() -> None:
    tree = pair(pair(A, B)._replace(unchecked=True), C)
    swapped = relabel(tree, [2, 0, 1])
    assert tree_text(swapped, "abc") == "((a c) b)"
    assert swapped.left is not None
    assert swapped.left.unchecked
    assert relabel(swapped, [1, 2, 0]) == tree


def test_a_bare_tree_is_bare_in_all_its_joins() -> None:
    for tree in all_trees(0b1111):
        assert all(node.unchecked != node.is_leaf for node in nodes_of(uncheck(tree)))
