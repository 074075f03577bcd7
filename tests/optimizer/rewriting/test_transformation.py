"""Operator transformation."""

from itertools import permutations

import pytest

from weft.optimizer.rewriting.decomposition import closure
from weft.optimizer.rewriting.flat_query import Operator, conjunction, disjunction, sequence
from weft.optimizer.rewriting.transformation import TRANSFORMATIONS, interesting_sub_queries, transformed


def test_table_1() -> None:
    assert dict(TRANSFORMATIONS) == {
        ("SEQ", "CONJ"): ("order",),
        ("CONJ", "DISJ"): ("completeness",),
        ("SEQ", "DISJ"): ("completeness", "order"),
    }


def test_the_third_rule_is_the_first_after_the_second() -> None:
    composed = TRANSFORMATIONS["CONJ", "DISJ"] + TRANSFORMATIONS["SEQ", "CONJ"]
    assert TRANSFORMATIONS["SEQ", "DISJ"] == composed


@pytest.mark.parametrize("pair", list(permutations(("SEQ", "CONJ", "DISJ"), 2)))
def test_a_query_is_had_from_a_weaker_operator_only(pair: tuple[Operator, Operator]) -> None:
    strict, weak = pair
    make = {"SEQ": sequence, "CONJ": conjunction, "DISJ": disjunction}
    found = transformed(make[strict]("a", "b"), weak)
    assert found == (make[weak]("a", "b") if pair in TRANSFORMATIONS else None)


def test_example_5() -> None:
    q2, q5 = sequence("E1", "E3"), conjunction("E1", "E3")
    assert transformed(q2, "CONJ") == q5
    assert interesting_sub_queries(q2, q5) == interesting_sub_queries(q5, q2) == (q5,)


def test_example_6() -> None:
    q10, q1 = conjunction("E1", "E2", "E4"), sequence("E1", "E2", "E3")
    assert interesting_sub_queries(q10, q1) == (conjunction("E1", "E2"),)


def test_queries_with_the_same_operator_are_not_transformed() -> None:
    assert interesting_sub_queries(sequence("a", "b"), sequence("b", "a")) == ()


def test_the_closure_with_transformation() -> None:
    found = closure([sequence("b", "a", "c"), conjunction("a", "b", "d")], interesting_sub_queries)
    assert found.queries == (conjunction("a", "b"),)
