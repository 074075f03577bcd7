"""Operator transformation."""

from weft.optimizer.rewriting.decomposition import closure
from weft.optimizer.rewriting.flat_query import conjunction, sequence
from weft.optimizer.rewriting.transformation import interesting_sub_queries, without_order


def test_example_5() -> None:
    q2, q5 = sequence("E1", "E3"), conjunction("E1", "E3")
    assert without_order(q2) == q5
    assert interesting_sub_queries(q2, q5) == interesting_sub_queries(q5, q2) == (q5,)


def test_example_6() -> None:
    q10, q1 = conjunction("E1", "E2", "E4"), sequence("E1", "E2", "E3")
    assert interesting_sub_queries(q10, q1) == (conjunction("E1", "E2"),)


def test_queries_with_the_same_operator_are_not_transformed() -> None:
    assert interesting_sub_queries(sequence("a", "b"), sequence("b", "a")) == ()


def test_the_closure_with_transformation() -> None:
    found = closure([sequence("b", "a", "c"), conjunction("a", "b", "d")], interesting_sub_queries)
    assert found.queries == (conjunction("a", "b"),)
