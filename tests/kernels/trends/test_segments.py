"""Aggregates of segments and checked multiplication against their plain Python twins."""

import math
from functools import reduce
from operator import add

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.segments import (
    extreme_segments,
    magnitude,
    multiply_checked,
    sum_double_segments,
    sum_segments,
)

LOWEST, HIGHEST = -(2**63), 2**63 - 1
int64s = st.one_of(
    st.integers(-3, 3), st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, HIGHEST, 2**62, -(2**62)])
)
Segment = list[int | None]


def flat(segments: list[Segment], dtype: type = np.int64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, validity and offsets; None is NULL."""
    values = [value for segment in segments for value in segment]
    offsets = np.cumsum([0, *map(len, segments)])
    filled = [0 if value is None else value for value in values]
    return np.array(filled, dtype), np.array([value is not None for value in values], np.bool_), offsets


def segments_of(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[list[object]]]:
    return st.lists(st.lists(st.one_of(st.none(), values), max_size=5), max_size=5)


def naive_sum(segment: Segment) -> int | None:
    """Add in order; NULL when there is nothing to add or a partial sum leaves int64."""
    total, present = 0, [value for value in segment if value is not None]
    for value in present:
        total += value
        if not LOWEST <= total <= HIGHEST:
            return None
    return total if present else None


@given(segments_of(int64s))
def test_a_sum_exists_when_there_are_values_and_it_fits(segments: list[Segment]) -> None:
    sums, exists = sum_segments(*flat(segments))
    found = [total if there else None for total, there in zip(sums.tolist(), exists.tolist(), strict=True)]
    assert found == [naive_sum(segment) for segment in segments]


def test_an_overflow_that_comes_back_is_an_overflow() -> None:
    _, exists = sum_segments(*flat([[HIGHEST, 1, -1], [LOWEST, -1, 1], [HIGHEST, -1, 1]]))
    assert exists.tolist() == [False, False, True]


@given(segments_of(st.floats()))
def test_doubles_are_added_in_order(segments: list[list[float | None]]) -> None:
    sums, counts = sum_double_segments(*flat(segments, np.float64))
    for segment, total, count in zip(segments, sums.tolist(), counts.tolist(), strict=True):
        present = [value for value in segment if value is not None]
        assert count == len(present)
        if present:
            expected = reduce(add, present)
            assert total == expected or (math.isnan(total) and math.isnan(expected))


def test_a_sum_of_zeros_has_their_sign() -> None:
    sums, _ = sum_double_segments(*flat([[-0.0], [-0.0, -0.0], [-0.0, 0.0], [None, -0.0]], np.float64))
    assert [math.copysign(1, total) for total in sums] == [-1, -1, 1, -1]


@given(segments_of(int64s), st.booleans())
def test_an_extreme_is_the_first_of_the_best(segments: list[Segment], largest: bool) -> None:
    values, valid, offsets = flat(segments)
    found = extreme_segments(values, valid, offsets, largest).tolist()
    best = max if largest else min
    for segment, start, place in zip(segments, offsets.tolist(), found, strict=False):
        present = [value for value in segment if value is not None]
        assert place == (start + segment.index(best(present)) if present else -1)


@given(st.lists(st.tuples(int64s, int64s), min_size=1))
def test_a_product_fits_or_says_that_it_does_not(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    products, fits = multiply_checked(left, right)
    for (a, b), product, fit in zip(pairs, products.tolist(), fits.tolist(), strict=True):
        assert fit == (LOWEST <= a * b <= HIGHEST)
        assert not fit or product == a * b


def test_the_edges_of_int64_are_multiplied_exactly() -> None:
    cases = [(LOWEST, 1), (LOWEST, -1), (2**31, -(2**32)), (2**31, 2**32), (-1, HIGHEST), (0, LOWEST)]
    left, right = (np.array(side, np.int64) for side in zip(*cases, strict=True))
    assert multiply_checked(left, right)[1].tolist() == [True, False, True, False, True, True]


@given(int64s)
def test_the_magnitude_of_every_int64_is_exact(value: int) -> None:
    assert int(magnitude(np.int64(value))) == abs(value)
