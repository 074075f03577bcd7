"""Sums and products of results against Python's own numbers."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.results import Kept, multiply_results, sum_results
from weft.runtime.trends.numbers import Rounded, number_at

naturals = st.one_of(st.integers(0, 3), st.integers(0, 2**40), st.integers(0, 2**200))
Row = tuple[int, int]
rows = st.tuples(naturals, naturals)


def kept(results: Sequence[Row]) -> Kept:
    numbers = [number for result in results for number in result]
    limbs = [
        [number >> shift & 0xFFFFFFFF for shift in range(0, number.bit_length(), 32)] for number in numbers
    ]
    return Kept(
        np.cumsum([0, *map(len, limbs)]),
        np.array([limb for own in limbs for limb in own], np.uint32),
        np.zeros(len(numbers)),
        np.zeros(len(numbers), np.int64),
    )


def values(found: Kept) -> list[int | Fraction]:
    numbers = [number_at(found, number) for number in range(found.offsets.size - 1)]
    return [
        Fraction(one.mantissa) * Fraction(2) ** one.exponent if isinstance(one, Rounded) else one
        for one in numbers
    ]


def check(found: Kept, expected: Sequence[int], most: int) -> None:
    """Numbers are exact where they have room, and else near enough."""
    assert len(found.offsets) == len(expected) + 1
    for own, exact in zip(values(found), expected, strict=True):
        if not most or exact < 2 ** (32 * most):
            assert own == exact
        else:
            assert isinstance(own, Fraction)
            assert abs(own / exact - 1) < Fraction(1, 2**48)


@given(st.lists(st.lists(rows, max_size=5), max_size=4), st.integers(0, 6), st.randoms())
def test_results_are_summed(runs: list[list[Row]], most: int, dice: object) -> None:
    results = [result for run in runs for result in run]
    order = np.arange(len(results))
    dice.shuffle(order)  # type: ignore[attr-defined]
    shuffled: list[Row] = [(0, 0)] * len(results)
    for place, number in enumerate(order):
        shuffled[number] = results[place]
    bounds = np.cumsum([0, *map(len, runs)])
    expected = [sum(result[lane] for result in run) for run in runs for lane in range(2)]
    check(sum_results(kept(shuffled), 2, order, bounds, most), expected, most)


@given(st.lists(st.tuples(rows, rows), max_size=5), st.integers(0, 6))
def test_each_trend_meets_each_other(pairs: list[tuple[Row, Row]], most: int) -> None:
    left, right = kept([one for one, _ in pairs]), kept([other for _, other in pairs])
    places = np.arange(len(pairs))
    expected = []
    for (n_left, left_sum), (n_right, right_sum) in pairs:
        expected += [n_left * n_right, left_sum * n_right + n_left * right_sum]
    check(multiply_results(left, places, right, places, 2, most), expected, most)
