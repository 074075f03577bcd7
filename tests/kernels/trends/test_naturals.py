"""Natural numbers of any size against Python's own."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.naturals import (
    ROUNDED,
    add_multiple,
    add_product,
    add_scaled,
    assign,
    assign_word,
    load,
    new_numbers,
    subtract,
)

naturals = st.one_of(
    st.integers(0, 5),
    st.integers(0, 2**300),
    st.builds(lambda bits, less: max(0, 2**bits - less), st.integers(0, 260), st.integers(0, 1)),
)
ROOM = 64


class Row:
    """Numbers filled with rubbish above their lengths."""

    def __init__(self, *values: int, most: int = ROOM) -> None:
        self.numbers = new_numbers(len(values), most)
        self.numbers.limbs[:] = 0xDEADBEEF
        for row, value in enumerate(values):
            own = np.array(limbs_of(value), np.uint32)
            load(self.numbers, row, own, own.size, 0.0, 0)

    def __getitem__(self, row: int) -> int | Fraction:
        length = int(self.numbers.lengths[row])
        if length == ROUNDED:
            return Fraction(self.numbers.mantissas[row]) * Fraction(2) ** int(self.numbers.exponents[row])
        assert length == 0 or self.numbers.limbs[row, length - 1] != 0
        return value_of(self.numbers.limbs[row, :length])

    def after(self, operation: Callable[..., None], *arguments: int) -> int | Fraction:
        operation(self.numbers, *arguments)
        return self[0]


def limbs_of(value: int) -> list[int]:
    return [value >> shift & 0xFFFFFFFF for shift in range(0, value.bit_length(), 32)]


def value_of(limbs: np.ndarray) -> int:
    return int.from_bytes(limbs.astype("<u4").tobytes(), "little")


@given(naturals, naturals)
def test_sums(one: int, other: int) -> None:
    assert Row(one, other).after(add_multiple, 0, 1, 1) == one + other


@given(naturals, naturals, st.integers(0, 2**32 - 1))
def test_multiples_are_added(one: int, other: int, factor: int) -> None:
    assert Row(one, other).after(add_multiple, 0, 1, factor) == one + other * factor


@given(naturals, st.integers(0, 2**32 - 1))
def test_a_number_grows_by_its_own_multiple(one: int, factor: int) -> None:
    assert Row(one).after(add_multiple, 0, 0, factor) == one * (1 + factor)


@given(naturals, naturals, naturals)
def test_products_are_added(one: int, left: int, right: int) -> None:
    assert Row(one, left, right).after(add_product, 0, 1, 2) == one + left * right


@given(naturals)
def test_a_square_is_added(one: int) -> None:
    assert Row(7, one).after(add_product, 0, 1, 1) == 7 + one * one


@given(naturals, naturals)
def test_differences(one: int, other: int) -> None:
    assert Row(one + other, other).after(subtract, 0, 1) == one


@given(naturals, naturals, st.integers(0, 2**32 - 1))
def test_assignments(one: int, other: int, word: int) -> None:
    assert Row(one, other).after(assign, 0, 1) == other
    assert Row(one).after(assign_word, 0, word) == word


shorts = st.integers(0, 12)


def check_rounding(found: int | Fraction, expected: int, most: int) -> None:
    """A number is exact if it has room, and else off by less than a few of its last bits."""
    if expected < 2 ** (32 * most):
        assert found == expected
    else:
        assert isinstance(found, Fraction)
        assert abs(found / expected - 1) < Fraction(1, 2**50)


@given(naturals, naturals, st.integers(0, 2**32 - 1), shorts)
def test_what_has_no_room_is_rounded(one: int, other: int, factor: int, most: int) -> None:
    check_rounding(Row(one, other, most=most).after(add_multiple, 0, 1, factor), one + other * factor, most)
    check_rounding(Row(one, 7, other, most=most).after(add_product, 0, 1, 2), one + 7 * other, most)
    check_rounding(Row(one, other, one, most=most).after(add_product, 0, 1, 2), one + other * one, most)
    limbs = np.array(limbs_of(factor * 2**40), np.uint32)
    scaled = Row(one, other, most=most).after(add_scaled, 0, 1, limbs, limbs.size)
    check_rounding(scaled, one + other * factor * 2**40, most)


@given(naturals, st.integers(1, 2**40), shorts)
def test_differences_of_rounded_numbers(one: int, factor: int, most: int) -> None:
    numbers = Row(one * (factor + 1), one, most=most)
    found = numbers.after(subtract, 0, 1)
    assert found == one * factor or abs(found / Fraction(one * factor) - 1) < Fraction(1, 2**49)
    assert Row(one, one, most=most).after(subtract, 0, 1) == 0


@given(st.integers(3, 5_000), shorts)
def test_rounded_numbers_have_no_largest_one(doublings: int, most: int) -> None:
    numbers = Row(1, most=most)
    for _ in range(doublings):
        add_multiple(numbers.numbers, 0, 0, 1)
    assert numbers[0] == 2**doublings
