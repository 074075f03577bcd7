"""Attributes as natural numbers against Python's fractions."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.runtime.columns.events import Column
from weft.runtime.trends.values import Naturals, Parts, indicators, parts_of
from weft.schema import DOUBLE, LONG


def values_of(naturals: Naturals | None, n_rows: int) -> list[int]:
    if naturals is None:
        return [0] * n_rows
    return [
        sum(int(limb) << 32 * place for place, limb in enumerate(row[:length]))
        for row, length in zip(naturals.limbs, naturals.lengths, strict=True)
    ]


def exact(parts: Parts, n_rows: int) -> list[Fraction]:
    pairs = zip(values_of(parts.positive, n_rows), values_of(parts.negative, n_rows), strict=True)
    return [(more - less) * Fraction(2) ** parts.exponent for more, less in pairs]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_are_exact(numbers: list[int]) -> None:
    column = Column(LONG, np.array(numbers, np.int64))
    assert exact(parts_of(column), len(numbers)) == numbers


@given(st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.just(0.1)), min_size=1))
def test_doubles_are_exact(numbers: list[float]) -> None:
    column = Column(DOUBLE, np.array(numbers))
    assert exact(parts_of(column), len(numbers)) == [Fraction(number) for number in numbers]


def test_what_is_no_number_is_zero() -> None:
    column = Column(DOUBLE, np.array([1.5, math.nan, math.inf, 2.0]), np.array([True, True, True, False]))
    assert exact(parts_of(column), 4) == [Fraction(3, 2), 0, 0, 0]


def test_rows_are_counted() -> None:
    assert values_of(indicators(np.array([True, False])), 2) == [1, 0]


def test_there_is_a_negative_part_only_where_a_value_is_negative() -> None:
    assert parts_of(Column(LONG, np.array([1, 0]))).negative is None
    assert parts_of(Column(LONG, np.array([1, -2]))).negative is not None
