"""Natural numbers of any size against Python's own."""

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.naturals import (
    add_multiple,
    add_product,
    assign,
    assign_word,
    subtract,
    sum_runs,
)

naturals = st.one_of(
    st.integers(0, 5),
    st.integers(0, 2**300),
    st.builds(lambda bits, less: max(0, 2**bits - less), st.integers(0, 260), st.integers(0, 1)),
)
ROOM = 64


class Pool:
    """A pool filled with rubbish above the lengths of its numbers."""

    def __init__(self, *values: int) -> None:
        self.limbs = np.full((len(values), ROOM), 0xDEADBEEF, np.uint32)
        self.lengths = np.zeros(len(values), np.int64)
        for row, value in enumerate(values):
            own = limbs_of(value)
            self.limbs[row, : len(own)] = own
            self.lengths[row] = len(own)

    def __getitem__(self, row: int) -> int:
        length = int(self.lengths[row])
        assert length == 0 or self.limbs[row, length - 1] != 0
        return value_of(self.limbs[row, :length])

    def after(self, operation: Callable[..., None], *arguments: int) -> int:
        operation(self.limbs, self.lengths, *arguments)
        return self[0]


def limbs_of(value: int) -> list[int]:
    return [value >> shift & 0xFFFFFFFF for shift in range(0, value.bit_length(), 32)]


def value_of(limbs: np.ndarray) -> int:
    return int.from_bytes(limbs.astype("<u4").tobytes(), "little")


@given(naturals, naturals)
def test_sums(one: int, other: int) -> None:
    assert Pool(one, other).after(add_multiple, 0, 1, 1) == one + other


@given(naturals, naturals, st.integers(0, 2**32 - 1))
def test_multiples_are_added(one: int, other: int, factor: int) -> None:
    assert Pool(one, other).after(add_multiple, 0, 1, factor) == one + other * factor


@given(naturals, st.integers(0, 2**32 - 1))
def test_a_number_grows_by_its_own_multiple(one: int, factor: int) -> None:
    assert Pool(one).after(add_multiple, 0, 0, factor) == one * (1 + factor)


@given(naturals, naturals, naturals)
def test_products_are_added(one: int, left: int, right: int) -> None:
    assert Pool(one, left, right).after(add_product, 0, 1, 2) == one + left * right


@given(naturals)
def test_a_square_is_added(one: int) -> None:
    assert Pool(7, one).after(add_product, 0, 1, 1) == 7 + one * one


@given(naturals, naturals)
def test_differences(one: int, other: int) -> None:
    assert Pool(one + other, other).after(subtract, 0, 1) == one


@given(naturals, naturals, st.integers(0, 2**32 - 1))
def test_assignments(one: int, other: int, word: int) -> None:
    assert Pool(one, other).after(assign, 0, 1) == other
    assert Pool(one).after(assign_word, 0, word) == word


@given(st.lists(st.lists(naturals, max_size=5), max_size=4))
def test_runs_are_summed(runs: list[list[int]]) -> None:
    numbers = [number for run in runs for number in run]
    content = [limb for number in numbers for limb in limbs_of(number)]
    offsets = np.cumsum([0, *(len(limbs_of(number)) for number in numbers)])
    bounds = np.cumsum([0, *map(len, runs)])
    sums, ends = sum_runs(np.array(content, np.uint32), offsets, np.arange(len(numbers)), bounds)
    found = [value_of(sums[start:stop]) for start, stop in zip(ends, ends[1:], strict=False)]
    assert found == [sum(run) for run in runs]
