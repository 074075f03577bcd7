"""Queries of one operator."""

from weft.optimizer.rewriting.flat_query import (
    conjunction,
    have_two_in_common,
    sequence,
)


def test_the_order_of_operands_matters_to_sequences_alone() -> None:
    assert sequence("b", "a") != sequence("a", "b")
    assert conjunction("b", "a") == conjunction("a", "b")
    assert hash(conjunction("b", "a")) == hash(conjunction("a", "b"))


def test_operands_of_all_kinds_can_be_sorted() -> None:
    inner = sequence("a", "b")
    assert conjunction(inner, 12, "z", 3).operands == (3, 12, "z", inner)


def test_text() -> None:
    assert str(sequence("E4", conjunction("E1", "E2"))) == "SEQ(E4, CONJ(E1 & E2))"


def test_a_repeated_operand_counts_as_often_as_both_have_it() -> None:
    assert have_two_in_common(sequence("a", "a"), sequence("a", "b", "a"))
    assert not have_two_in_common(sequence("a", "a"), sequence("a", "b"))
