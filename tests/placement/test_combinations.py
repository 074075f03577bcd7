"""Combinations: how many there are, which are cheapest, and which projections are beneficial."""

import random
from itertools import chain, combinations

import numpy as np
from tests.helpers.small_networks import random_problem, same

from weft.placement.combinations import (
    CheapestCombinations,
    beneficial_projections,
    is_redundant,
)
from weft_lab.placement.all_combinations import all_combinations, is_correct


def slow_combinations(items: int, candidates: list[int]) -> set[frozenset[int]]:
    """Return the correct combinations that are not redundant, by looking at all sets of candidates."""
    sets = [part for part in candidates if part & items == part != items]
    chosen = chain.from_iterable(combinations(sets, size) for size in range(1, items.bit_count() + 1))
    return {frozenset(one) for one in chosen if is_correct(items, one) and not is_redundant(one)}


def test_all_combinations_are_found_once() -> None:
    rng = random.Random(1)
    for items in (0b11, 0b111, 0b1011, 0b1111, 0b11110):
        subsets = [part for part in range(1, items) if part & items == part]
        for candidates in (subsets, rng.sample(subsets, len(subsets) // 2)):
            found = list(all_combinations(items, candidates))
            single = [1 << item for item in range(5) if items >> item & 1]
            assert len(set(map(frozenset, found))) == len(found)
            assert set(map(frozenset, found)) == slow_combinations(items, sorted({*candidates, *single}))


def test_the_cheapest_combinations_come_first() -> None:
    rng = np.random.default_rng(2)
    for items in (0b11, 0b111, 0b1101, 0b1111):
        inputs = [part for part in range(1, items) if part & items == part]
        costs = rng.integers(1, 50, (len(inputs), 3)).astype(float)
        costs[rng.random(costs.shape) < 0.2] = np.inf
        costs[[part.bit_count() == 1 for part in inputs]] = 30.0
        cheapest = CheapestCombinations(items, inputs, costs)
        for column in range(3):
            prices = dict(zip(inputs, costs[:, column], strict=True))
            totals = sorted(sum(prices[part] for part in one) for one in slow_combinations(items, inputs))
            finite = [total for total in totals if total < np.inf]
            found = [sum(prices[part] for part in one) for one in cheapest.of_column(column, most=10_000)]
            assert np.allclose(found, finite)
            first = [sum(prices[part] for part in one) for one in cheapest.of_column(column, most=4)]
            assert np.allclose(first, finite[:4])
            assert same(float(cheapest.least[column]), finite[0])


def test_correct_and_redundant() -> None:
    assert not is_correct(0b11, [0b11])  # not of itself
    assert not is_correct(0b11, [0b01, 0b110])  # nor of more
    assert is_redundant([0b11, 0b01, 0b10])
    assert is_redundant([0b011, 0b110, 0b101])
    assert not is_redundant([0b01, 0b10])


def test_beneficial_projections_are_sorted_by_size_and_end_with_the_query() -> None:
    for seed in range(5):
        problem = random_problem(seed, n_sites=4, n_types=5, n_items=5)
        query = problem.queries[0]
        found = beneficial_projections(problem.network, query)
        assert found[-1] == query.whole
        assert [items.bit_count() for items in found] == sorted(items.bit_count() for items in found)
        for items in range(3, query.whole):
            if items & items - 1:
                projection = query.projection(items)
                rates = [float(problem.network.rates[kind].max()) for kind in projection.kinds]
                assert (items in found) == (projection.factor * np.prod(rates) <= sum(rates))
