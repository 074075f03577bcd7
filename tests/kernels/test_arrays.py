"""Small array operations against their plain Python twins."""

import math
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.arrays import first_at_least, grown, mix_bits, mix_hashes, ordered_bits

LOWEST, HIGHEST = -(2**63), 2**63 - 1
WORD = 2**64
int64s = st.one_of(st.integers(-3, 3), st.integers(LOWEST, HIGHEST), st.sampled_from([LOWEST, HIGHEST]))
doubles = st.one_of(
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324]), st.floats()
)


def split_mix(state: int) -> int:
    """The finalizer of SplitMix64 on Python's integers."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
    state = (state ^ state >> 27) * 0x94D049BB133111EB % WORD
    return state ^ state >> 31


def sql_key(value: float) -> tuple[bool, float]:
    """Sort NaN last and equal to itself."""
    return (True, 0.0) if math.isnan(value) else (False, value)


@given(st.lists(int64s, min_size=1))
def test_grown_keeps_what_is_there_and_doubles_the_room(values: list[int]) -> None:
    array = np.array(values, np.int64)
    larger = grown(array)
    assert larger.size == 2 * array.size
    assert larger.dtype == array.dtype
    assert larger[: array.size].tolist() == values


@given(st.lists(int64s), int64s, st.data())
def test_first_at_least_searches_a_part(values: list[int], wanted: int, data: st.DataObject) -> None:
    values.sort()
    stop = data.draw(st.integers(0, len(values)))
    start = data.draw(st.integers(0, stop))
    found = first_at_least(np.array(values, np.int64), start, stop, wanted)
    assert found == bisect_left(values, wanted, start, stop)


@given(st.integers(0, WORD - 1))
def test_mixed_is_the_finalizer_of_split_mix(state: int) -> None:
    assert int(mix_bits(np.uint64(state))) == split_mix(state)


@given(st.integers(0, 3), st.data())
def test_mix_hashes_hashes_each_column_to_a_non_negative_number(width: int, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(int64s, min_size=width, max_size=width)))
    hashes = mix_hashes(np.array(rows, np.int64).reshape(len(rows), width).T)
    for row, found in zip(rows, hashes.tolist(), strict=True):
        state = 0x9E3779B97F4A7C15
        for value in row:
            state = split_mix(state ^ value % WORD)
        assert found == state >> 1


@given(doubles, doubles)
def test_ordered_bits_compare_as_sql_compares(left: float, right: float) -> None:
    a, b = ordered_bits(np.array([left, right])).tolist()
    assert (a < b) == (sql_key(left) < sql_key(right))
    assert (a == b) == (sql_key(left) == sql_key(right))


def test_ordered_bits_sort_the_special_values() -> None:
    ascending = [-math.inf, -1.0, -5e-324, 0.0, 5e-324, 1.0, math.inf, math.nan]
    bits = ordered_bits(np.array(ascending))
    assert np.all(np.diff(bits.astype(object)) > 0)


def test_minus_zero_is_zero() -> None:
    assert ordered_bits(np.array([-0.0, 0.0])).tolist() == [0, 0]


@pytest.mark.parametrize("payload", [0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFF8000000000000])
def test_every_nan_is_the_same_nan(payload: int) -> None:
    odd = np.array([payload], np.uint64).view(np.float64)
    assert ordered_bits(odd).tolist() == ordered_bits(np.array([math.nan])).tolist()
