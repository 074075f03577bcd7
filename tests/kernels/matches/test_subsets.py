"""The dynamic programs over subsets, against all trees and all orders."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from weft.kernels.matches.subsets import Prices, Tariff, cheapest_lasts, cheapest_splits, order_fractions
from weft.optimizer.trees import Tree, leaf, nodes_of, order_tree, pair
from weft_lab.exhaustive import all_trees

Array = np.ndarray[Any, np.dtype[Any]]
TARIFFS = (
    Tariff(row_out=1.0, leaf=1.0),
    Tariff(fixed=3.0, row_in=1.0, pair=0.5, row_out=2.0, row_checked=20.0),
    Tariff(fixed=1.0, row_in=2.0, pair=2.0, row_out=1.0, row_checked=0.3, leaf=4.0),
)
EVERYTHING_NEW: Mapping[int, int] = {}


def share(prices: Prices, checks: int) -> float:
    """Return how many rows pass some checks."""
    return float(np.prod([s for number, s in enumerate(prices.survivals) if checks >> number & 1]))


def check_cost(prices: Prices, subset: int, checks: int) -> float:
    """Return what the checks cost that are ready and not yet done, the one with the lowest number first."""
    total = 0.0
    while missing := int(prices.ready[subset]) & ~checks:
        total += prices.tariff.fixed
        total += prices.tariff.row_checked * prices.rows[subset] * share(prices, checks)
        checks |= missing & -missing
    return float(prices.factors[subset]) * total


def join_cost(prices: Prices, left: tuple[int, int], right: tuple[int, int]) -> float:
    """Return what it costs to join two parts, each a subset and the checks that it has passed."""
    tariff, both = prices.tariff, left[0] | right[0]
    rows = [prices.rows[subset] * share(prices, checks) for subset, checks in (left, right)]
    equal = prices.equal[both] / (prices.equal[left[0]] * prices.equal[right[0]])
    built = prices.rows[both] * share(prices, left[1]) * share(prices, right[1])
    done = tariff.fixed + tariff.pair * rows[0] * rows[1] * equal + tariff.row_out * built
    cost = tariff.row_in * sum(rows) + prices.factors[both] * done
    return float(cost) + check_cost(prices, both, left[1] | right[1])


def leaf_cost(prices: Prices, subset: int) -> float:
    return float(prices.tariff.fixed + prices.tariff.leaf * prices.rows[subset])


def tree_cost(prices: Prices, tree: Tree) -> float:
    """Return what a tree costs that is new in all its parts."""
    if tree.left is None or tree.right is None:
        return leaf_cost(prices, tree.mask) + check_cost(prices, tree.mask, 0)
    left, right = ((part.mask, int(prices.ready[part.mask])) for part in (tree.left, tree.right))
    parts = tree_cost(prices, tree.left) + tree_cost(prices, tree.right)
    return parts + join_cost(prices, left, right)


def order_cost(prices: Prices, order: Sequence[int], start: int = 0, start_checks: int = 0) -> float:
    """Return what an order costs after the items that it starts with."""
    total, mask = 0.0, 0
    for item in order:
        earlier, mask = mask, mask | 1 << item
        if not earlier:
            total += 0.0 if mask & start else float(prices.factors[mask]) * leaf_cost(prices, mask)
        elif mask & ~start:
            checks = start_checks if earlier == start else int(prices.ready[earlier])
            total += join_cost(prices, (earlier, checks), (1 << item, int(prices.ready[1 << item])))
    return total


def ways(prices: Prices, subset: int, given: Mapping[int, int]) -> Iterator[tuple[float, int]]:
    """Yield the cost of everything that one can do to have a subset, and the checks it has passed then."""
    is_single = subset & (subset - 1) == 0
    if subset in given:
        yield 0.0, given[subset]
        if not is_single:
            yield check_cost(prices, subset, given[subset]), int(prices.ready[subset])
    elif is_single:
        yield tree_cost(prices, Tree(subset)), int(prices.ready[subset])
    left = (subset - 1) & subset
    while left > subset ^ left:
        right = subset ^ left
        for left_cost, left_checks in ways(prices, left, given):
            for right_cost, right_checks in ways(prices, right, given):
                join = join_cost(prices, (left, left_checks), (right, right_checks))
                yield left_cost + right_cost + join, int(prices.ready[subset])
        left = (left - 1) & subset


def described(prices: Prices, part: int, parts_of: Array, given: Mapping[int, int]) -> tuple[float, int]:
    """Return the cost of what the program describes, and the checks that it has passed."""
    if part < 0:
        return 0.0, given[-part]
    ready = int(prices.ready[part])
    left, right = map(int, parts_of[part])
    if not left:
        return (0.0, given[part]) if part in given else (tree_cost(prices, Tree(part)), ready)
    if not right:
        return check_cost(prices, part, given[part]), ready
    left_cost, left_checks = described(prices, left, parts_of, given)
    right_cost, right_checks = described(prices, right, parts_of, given)
    join = join_cost(prices, (abs(left), left_checks), (abs(right), right_checks))
    return left_cost + right_cost + join, ready


def built(subset: int, parts_of: Array) -> Tree:
    """Return the tree that the program describes where nothing is given."""
    left, right = map(int, parts_of[subset])
    if not left:
        return leaf(subset.bit_length() - 1)
    return pair(built(left, parts_of), built(right, parts_of))


def as_array(given: Mapping[int, int], prices: Prices) -> Array:
    return np.array([given.get(subset, -1) for subset in range(prices.rows.size)])


def nothing(prices: Prices) -> Array:
    """What there is costs nothing to read."""
    return np.zeros(prices.rows.size)


def prices_of(n_items: int, tariff: Tariff, n_checks: int, seed: int) -> Prices:
    generator = np.random.default_rng(seed)
    masks = np.arange(1 << n_items)
    ready = np.zeros_like(masks)
    for number in range(n_checks):
        needs = generator.integers(1, 1 << n_items)
        ready[masks & needs == needs] |= 1 << number
    return Prices(
        rows=generator.uniform(1, 100, masks.size),
        equal=generator.uniform(0.1, 1, masks.size),
        ready=ready,
        survivals=generator.uniform(0.01, 0.9, n_checks),
        tariff=tariff,
        factors=generator.uniform(0.1, 1, masks.size),
    )


def drawn(seed: int, most_items: int = 5) -> tuple[Prices, int, random.Random]:
    dice = random.Random(seed)
    n_items = dice.randint(1, most_items)
    return prices_of(n_items, dice.choice(TARIFFS), dice.randint(0, 3), seed), n_items, dice


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_tree_over_each_subset_is_the_cheapest_of_all(seed: int) -> None:
    prices, n_items, _ = drawn(seed)
    best, parts_of = cheapest_splits(prices, as_array(EVERYTHING_NEW, prices), nothing(prices), 0)
    for subset in range(1, 1 << n_items):
        assert best[subset] == pytest.approx(min(tree_cost(prices, tree) for tree in all_trees(subset)))
        assert tree_cost(prices, built(subset, parts_of)) == pytest.approx(best[subset])


@pytest.mark.parametrize("seed", range(60))
def test_what_exists_already_is_read_or_checked_or_built_anew(seed: int) -> None:
    prices, n_items, dice = drawn(seed, most_items=4)
    given = {
        subset: int(prices.ready[subset]) & dice.choice([-1, 0, dice.randrange(8)])
        for subset in range(1, 1 << n_items)
        if dice.random() < 0.3
    }
    best, parts_of = cheapest_splits(prices, as_array(given, prices), nothing(prices), 0)
    for subset in range(1, 1 << n_items):
        options = list(ways(prices, subset, given))
        is_single = subset & (subset - 1) == 0
        done = [cost for cost, checks in options if is_single or checks == prices.ready[subset]]
        assert best[subset] == pytest.approx(min(done))
        assert described(prices, subset, parts_of, given)[0] == pytest.approx(best[subset])


def test_a_check_that_a_given_tree_left_is_done_where_that_is_cheapest() -> None:
    """On the given rows of a and b; after c is joined, if there are fewer then; or c comes to new rows."""
    ready, given = np.array([0, 0, 0, 1, 0, 0, 0, 1]), np.full(8, -1)
    tariff = Tariff(row_in=1.0, row_out=1.0, row_checked=5.0)

    def parts_of(rows_of_two: float, rows_of_all: float, given: Array) -> Array:
        rows = np.array([0.0, 1.0, 1.0, rows_of_two, 1.0, 1e6, 1e6, rows_of_all])
        prices = Prices(rows, np.ones(8), ready, np.array([0.01]), tariff, np.ones(8))
        return cheapest_splits(prices, given, nothing(prices), 0)[1]

    given[0b011] = 0
    assert parts_of(10.0, 100.0, given)[0b111].tolist() == [0b011, 0b100]
    assert parts_of(10.0, 100.0, given)[0b011].tolist() == [-0b011, 0]
    assert parts_of(10.0, 1.0, given)[0b111].tolist() == [-0b011, 0b100]
    given[0b011], given[0b111] = -1, 0
    assert parts_of(100.0, 10.0, given)[0b111].tolist() == [-0b111, 0]
    assert parts_of(10.0, 100.0, given)[0b111].tolist() == [0b011, 0b100]


@pytest.mark.parametrize("seed", range(25))
def test_lists_are_joined_one_at_a_time_to_something_that_is_there(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    everything = (1 << n_items) - 1
    lists = dice.choice([dice.randrange(1 << n_items), everything])
    best, parts_of = cheapest_splits(prices, as_array(EVERYTHING_NEW, prices), nothing(prices), lists)
    options = {tree: tree_cost(prices, tree) for tree in all_trees(everything, lists)}
    assert best[everything] == pytest.approx(min(options.values()))
    assert options[built(everything, parts_of)] == pytest.approx(best[everything])


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_order_is_the_cheapest_of_all(seed: int) -> None:
    prices, n_items, _ = drawn(seed)
    best, last_of = cheapest_lasts(prices, 0, 0, 0)
    for subset in range(1, 1 << n_items):
        items = [item for item in range(n_items) if subset >> item & 1]
        options = [order_cost(prices, order) for order in permutations(items)]
        assert best[subset] == pytest.approx(min(options))
        assert order_cost(prices, ordered(subset, 0, last_of)) == pytest.approx(best[subset])


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
    checks = int(prices.ready[start]) & dice.choice([-1, 0])
    rest = [item for item in range(n_items) if item not in first]
    best, last_of = cheapest_lasts(prices, 0, start, checks)
    options = [order_cost(prices, [*first, *order], start, checks) for order in permutations(rest)]
    everything = (1 << n_items) - 1
    assert best[everything] == pytest.approx(min(options))
    found = ordered(everything, start, last_of)
    assert order_cost(prices, [*first, *found], start, checks) == pytest.approx(best[everything])


@pytest.mark.parametrize("seed", range(25))
def test_a_list_comes_first_only_where_there_is_nothing_else(seed: int) -> None:
    prices, n_items, dice = drawn(seed)
    everything = (1 << n_items) - 1
    lists = dice.choice([dice.randrange(1 << n_items), everything])
    best, last_of = cheapest_lasts(prices, lists, 0, 0)
    options = [
        order for order in permutations(range(n_items)) if lists == everything or not lists >> order[0] & 1
    ]
    assert best[everything] == pytest.approx(min(order_cost(prices, order) for order in options))
    assert tuple(ordered(everything, 0, last_of)) in options


@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_an_order_is_a_tree_that_grows_to_one_side(n_items: int) -> None:
    """But for what the leaves cost, the best order is never cheaper than the best tree."""
    tariff = Tariff(row_in=1.0, pair=1.0, row_out=3.0, row_checked=2.0)
    prices = prices_of(n_items, tariff, n_checks=2, seed=n_items)
    prices.ready[[1 << item for item in range(n_items)]] = 0
    trees, _ = cheapest_splits(prices, as_array(EVERYTHING_NEW, prices), nothing(prices), 0)
    orders, last_of = cheapest_lasts(prices, 0, 0, 0)
    order = order_tree(ordered((1 << n_items) - 1, 0, last_of))
    assert orders[-1] >= trees[-1] - 1e-9
    assert tree_cost(prices, order) == pytest.approx(orders[-1])
    assert sum(node.is_leaf for node in nodes_of(order)) == n_items


def test_the_order_of_no_items_is_kept_always() -> None:
    assert order_fractions(np.zeros(0, np.int64)).tolist() == [1.0]
    assert order_fractions(np.array([0b10, 0], np.int64)).tolist() == [1.0, 1.0, 1.0, 0.5]
