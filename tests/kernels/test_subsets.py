"""The dynamic programs over subsets, against all trees and all orders."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tests.exhaustive import all_trees

from weft.kernels.subsets import cheapest_lasts, cheapest_splits, order_fractions
from weft.optimizer.trees import Tree, leaf, order_tree, pair

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Prices:
    """Random prices of the subsets of some items."""

    own: Array
    rows: Array
    equal: Array
    weight: float

    def join(self, left: int, right: int) -> float:
        """Return what it costs to join two parts."""
        both = left | right
        share = self.equal[both] / (self.equal[left] * self.equal[right])
        return float(self.own[both] + self.weight * self.rows[left] * self.rows[right] * share)

    def tree(self, tree: Tree, free: Mapping[int, float] | None = None) -> float:
        """Return what a tree costs when those over some subsets can be had for another price."""
        if free and tree.mask in free:
            return free[tree.mask]
        if tree.left is None or tree.right is None:
            return float(self.own[tree.mask])
        parts = self.tree(tree.left, free) + self.tree(tree.right, free)
        return parts + self.join(tree.left.mask, tree.right.mask)

    def order(self, order: Sequence[int], start: int = 0) -> float:
        """Return what an order costs after the items that it starts with."""
        total, mask = 0.0, 0
        for item in order:
            earlier, mask = mask, mask | 1 << item
            if mask & ~start:
                total += self.join(earlier, 1 << item) if earlier else float(self.own[mask])
        return total


def prices_of(n_items: int, weight: float, seed: int) -> Prices:
    generator = np.random.default_rng(seed)
    n_subsets = 1 << n_items
    return Prices(
        own=generator.uniform(1, 100, n_subsets),
        rows=generator.uniform(1, 10, n_subsets),
        equal=generator.uniform(0.1, 1, n_subsets),
        weight=weight,
    )


def built(subset: int, left_of: Array, free: Array) -> Tree:
    """Return the tree that the program describes; any tree stands for a free one."""
    if subset & (subset - 1) == 0:
        return leaf(subset.bit_length() - 1)
    if free[subset] < np.inf:
        return next(all_trees(subset))
    left = int(left_of[subset])
    return pair(built(left, left_of, free), built(subset ^ left, left_of, free))


def drawn(seed: int) -> tuple[Prices, int, random.Random]:
    dice = random.Random(seed)
    n_items = dice.randint(1, 5)
    return prices_of(n_items, dice.choice([0.0, 0.0, 0.5, 2.0]), seed), n_items, dice


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_tree_over_each_subset_is_the_cheapest_of_all(seed: int) -> None:
    prices, n_items, _ = drawn(seed)
    free = np.full(1 << n_items, np.inf)
    best, left_of = cheapest_splits(prices.own, prices.rows, prices.equal, prices.weight, free, 0)
    for subset in range(1, 1 << n_items):
        assert best[subset] == pytest.approx(min(map(prices.tree, all_trees(subset))))
        assert prices.tree(built(subset, left_of, free)) == pytest.approx(best[subset])


@pytest.mark.parametrize("seed", range(25))
def test_what_exists_already_costs_what_it_takes_to_read_it(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    existing = {subset: dice.choice([0.0, 5.0]) for subset in range(1, 1 << n_items) if dice.random() < 0.15}
    free = np.array([existing.get(subset, np.inf) for subset in range(1 << n_items)])
    best, left_of = cheapest_splits(prices.own, prices.rows, prices.equal, prices.weight, free, 0)
    for subset in range(1, 1 << n_items):
        assert best[subset] == pytest.approx(min(prices.tree(tree, existing) for tree in all_trees(subset)))
        assert prices.tree(built(subset, left_of, free), existing) == pytest.approx(best[subset])


@pytest.mark.parametrize("seed", range(25))
def test_lists_are_joined_one_at_a_time_to_something_that_is_there(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    lists = dice.choice([dice.randrange(1 << n_items), (1 << n_items) - 1])
    free = np.full(1 << n_items, np.inf)
    best, left_of = cheapest_splits(prices.own, prices.rows, prices.equal, prices.weight, free, lists)
    everything = (1 << n_items) - 1
    assert best[everything] == pytest.approx(min(map(prices.tree, all_trees(everything, lists))))
    found = built(everything, left_of, free)
    assert found in set(all_trees(everything, lists))
    assert prices.tree(found) == pytest.approx(best[everything])


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_order_is_the_cheapest_of_all(seed: int) -> None:
    prices, n_items, _ = drawn(seed)
    best, last_of = cheapest_lasts(prices.own, prices.rows, prices.equal, prices.weight, 0, 0)
    for subset in range(1, 1 << n_items):
        items = [item for item in range(n_items) if subset >> item & 1]
        assert best[subset] == pytest.approx(min(map(prices.order, permutations(items))))
        assert prices.order(ordered(subset, 0, last_of)) == pytest.approx(best[subset])


def ordered(subset: int, start: int, last_of: Array) -> list[int]:
    """Return the order that the program describes, without the items that it starts with."""
    order: list[int] = []
    while subset != start:
        order.append(int(last_of[subset]))
        subset ^= 1 << order[-1]
    return order[::-1]


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_order_continues_the_start(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    first = dice.sample(range(n_items), dice.randint(1, n_items))
    start = sum(1 << item for item in first)
    rest = [item for item in range(n_items) if item not in first]
    best, last_of = cheapest_lasts(prices.own, prices.rows, prices.equal, prices.weight, 0, start)
    options = [prices.order([*first, *order], start) for order in permutations(rest)]
    everything = (1 << n_items) - 1
    assert best[everything] == pytest.approx(min(options))
    found = ordered(everything, start, last_of)
    assert prices.order([*first, *found], start) == pytest.approx(best[everything])


@pytest.mark.parametrize("seed", range(25))
def test_a_list_comes_first_only_where_there_is_nothing_else(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    everything = (1 << n_items) - 1
    lists = dice.choice([dice.randrange(1 << n_items), everything])
    best, last_of = cheapest_lasts(prices.own, prices.rows, prices.equal, prices.weight, lists, 0)
    options = [
        order for order in permutations(range(n_items)) if lists == everything or not lists >> order[0] & 1
    ]
    assert best[everything] == pytest.approx(min(map(prices.order, options)))
    assert tuple(ordered(everything, 0, last_of)) in options


@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_an_order_is_a_tree_that_grows_to_one_side(n_items: int) -> None:
    """Without leaves, the best order is never cheaper than the best tree, and some order costs the same."""
    prices = prices_of(n_items, 1.0, seed=n_items)
    prices.own[[1 << item for item in range(n_items)]] = 0.0
    free = np.full(1 << n_items, np.inf)
    trees, _ = cheapest_splits(prices.own, prices.rows, prices.equal, prices.weight, free, 0)
    orders, last_of = cheapest_lasts(prices.own, prices.rows, prices.equal, prices.weight, 0, 0)
    order = ordered((1 << n_items) - 1, 0, last_of)
    assert orders[-1] >= trees[-1] - 1e-9
    assert prices.tree(order_tree(order)) == pytest.approx(orders[-1])


def test_the_order_of_no_items_is_kept_always() -> None:
    assert order_fractions(np.zeros(0, np.int64)).tolist() == [1.0]
    assert order_fractions(np.array([0b10, 0], np.int64)).tolist() == [1.0, 1.0, 1.0, 0.5]
