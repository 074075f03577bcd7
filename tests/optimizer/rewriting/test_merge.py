"""Merge sharing."""

import pytest

from weft.optimizer.rewriting.flat_query import conjunction, sequence
from weft.optimizer.rewriting.merge import is_substring, merges


def test_example_1() -> None:
    q1, q2 = sequence("E1", "E2", "E3"), sequence("E1", "E3")
    assert list(merges(q2, q1)) == [(0, 2)]
    assert not is_substring((0, 2))
    assert not any(merges(q1, q2))


@pytest.mark.parametrize(("part", "places"), [("ab", (0, 1)), ("bc", (1, 2)), ("cd", (2, 3))])
def test_a_prefix_an_infix_and_a_suffix_of_a_sequence_are_substrings(
    part: str, places: tuple[int, ...]
) -> None:
    assert list(merges(sequence(*part), sequence(*"abcd"))) == [places]
    assert is_substring(places)


def test_operands_of_conjunctions_may_stand_anywhere() -> None:
    assert list(merges(conjunction("d", "a"), conjunction(*"abcd"))) == [(0, 3)]


def test_operators_and_orders_are_told_apart() -> None:
    assert not any(merges(conjunction("a", "b"), sequence("a", "b", "c")))
    assert not any(merges(sequence("b", "a"), sequence("a", "b", "c")))


def test_an_equal_query_takes_all_places() -> None:
    assert list(merges(sequence("a", "b"), sequence("a", "b"))) == [(0, 1)]


def test_repeated_operands_are_used_once_each() -> None:
    assert not any(merges(sequence("a", "a"), sequence("a", "b")))
    assert list(merges(sequence("a", "a"), sequence("a", "b", "a"))) == [(0, 2)]
    again = next(merges(conjunction("a", "a"), conjunction("a", "b", "a", "a")))
    assert [conjunction("a", "b", "a", "a").operands[place] for place in again] == ["a", "a"]


def test_substrings_come_before_subsequences() -> None:
    assert list(merges(sequence("a", "b"), sequence(*"axab"))) == [(2, 3), (0, 3)]
