"""Merge sharing."""

import pytest

from weft.optimizer.rewriting.flat_query import FlatQuery, conjunction, disjunction, sequence
from weft.optimizer.rewriting.merge import Merge, merges


def merge(source: FlatQuery, beneficiary: FlatQuery) -> Merge | None:
    return next(merges(source, beneficiary), None)


def test_example_1() -> None:
    q1, q2 = sequence("E1", "E2", "E3"), sequence("E1", "E3")
    merged = conjunction(q2, "E2")
    found = merge(q2, q1)
    assert found == Merge(q2, q1, (0, 2))
    assert (found.case, found.rest, found.query) == ("subsequence", ("E2",), merged)
    assert found.order == ("E1", "E2", "E3")
    assert merge(q1, q2) is None


@pytest.mark.parametrize(
    ("part", "merged"),
    [("ab", ("AB", "c", "d")), ("bc", ("a", "BC", "d")), ("cd", ("a", "b", "CD"))],
)
def test_a_prefix_an_infix_and_a_suffix_of_a_sequence_take_the_place_of_their_operands(
    part: str, merged: tuple[str, ...]
) -> None:
    source = sequence(*part)
    expected = sequence(*(source if len(one) > 1 else one for one in merged))
    found = merge(source, sequence(*"abcd"))
    assert found is not None
    assert (found.case, found.query, found.order) == ("substring", expected, ())


def test_conjunctions_and_disjunctions_keep_their_operator() -> None:
    for make in (conjunction, disjunction):
        found = merge(make("d", "a"), make(*"abcd"))
        assert found is not None
        assert (found.case, found.rest) == ("subsequence", ("b", "c"))
        assert found.query == make(make("a", "d"), "b", "c")
        assert not found.order


def test_operators_and_orders_are_told_apart() -> None:
    assert merge(conjunction("a", "b"), sequence("a", "b", "c")) is None
    assert merge(sequence("b", "a"), sequence("a", "b", "c")) is None


def test_an_equal_query_leaves_nothing() -> None:
    found = merge(sequence("a", "b"), sequence("a", "b"))
    assert found is not None
    assert (found.rest, found.query) == ((), sequence("a", "b"))


def test_repeated_operands_are_used_once_each() -> None:
    assert merge(sequence("a", "a"), sequence("a", "b")) is None
    found = merge(sequence("a", "a"), sequence("a", "b", "a"))
    assert found is not None
    assert (found.places, found.rest) == ((0, 2), ("b",))
    again = merge(conjunction("a", "a"), conjunction("a", "b", "a", "a"))
    assert again is not None
    assert again.rest == ("a", "b")


def test_substrings_come_before_subsequences() -> None:
    found = [one.places for one in merges(sequence("a", "b"), sequence(*"axab"))]
    assert found == [(2, 3), (0, 3)]
