"""Operator trees: what is read, what is refused, and the projections and rates of the paper's rules."""

import re

import pytest
from tests.helpers.small_networks import same

from weft.errors import QueryError
from weft_lab.placement.operator_tree import OperatorTreeQuery, operator_tree_queries, tree_to_text
from weft_lab.placement.operator_tree_text import parse_operator_tree


def query_of(text: str, **selectivities: float) -> OperatorTreeQuery:
    pairs = {frozenset(pair): value for pair, value in selectivities.items()}
    return operator_tree_queries([parse_operator_tree(text, "ABCDKNQT")], pairs)[0]


@pytest.mark.parametrize(
    ("text", "items", "projection", "factor"),
    [
        ("SEQ(A, B, C)", 0b101, "SEQ(A, C)", 1.0),
        ("AND(C, A, B)", 0b011, "AND(A, C)", 2.0),
        ("AND(C, A, B)", 0b111, "AND(C, A, B)", 3.0),  # the whole query stays as it is written
        ("SEQ(A, AND(B, SEQ(C, D)))", 0b1101, "SEQ(A, C, D)", 1.0),  # AND vanishes, SEQ in SEQ is merged
        ("AND(Q, SEQ(T, AND(K, C)))", 0b1101, "AND(AND(C, K), Q)", 4.0),  # AND in AND: 2 x 2, not 3
        ("AND(Q, SEQ(T, AND(K, C)))", 0b1001, "AND(C, Q)", 2.0),
        ("SEQ(A, B)", 0b10, "B", 1.0),
    ],
)
def test_projections_and_their_factors(text: str, items: int, projection: str, factor: float) -> None:
    found = query_of(text).projection(items)
    assert (found.text, found.factor) == (projection, factor)


def test_selectivities_of_all_pairs_are_multiplied() -> None:
    query = query_of("AND(A, SEQ(B, C))", AB=0.5, BC=0.1, AC=0.2)
    assert same(query.projection(0b111).factor, 2 * 0.5 * 0.1 * 0.2)
    assert same(query.projection(0b101).factor, 2 * 0.2)


def test_equal_projections_of_different_queries_are_the_same() -> None:
    trees = [parse_operator_tree(text) for text in ("SEQ(AND(A, B), C)", "SEQ(D, AND(B, A))", "AND(B, A)")]
    one, other, whole = operator_tree_queries(trees, {})
    assert one.projection(0b011) == other.projection(0b110) == whole.projection(0b11)
    assert whole.projection(0b11).text == "AND(B, A)"


def test_a_type_that_occurs_twice_has_two_items_of_one_kind() -> None:
    query = query_of("AND(B1, SEQ(A, B2))", BB=0.5, AB=0.1)
    assert query.projection(0b111).text == "AND(B1, SEQ(A, B2))"
    assert query.projection(0b111).kinds == ("B", "A", "B")
    assert same(query.projection(0b111).factor, 2 * 0.5 * 0.1 * 0.1)
    assert query.projection(0b110).text == "SEQ(A, B)"
    assert query.projection(0b001) == query.projection(0b100)


@pytest.mark.parametrize("text", ["SEQ(AND(A, B), NOT N, C, D)", "SEQ(NSEQ(AND(A, B), N, C), D)"])
def test_a_negation_goes_with_all_that_stands_around_it(text: str) -> None:
    query = query_of(text)
    assert query.n_items == 4
    assert query.projection(0b0111).text == "SEQ(AND(A, B), NOT N, C)"
    assert query.projection(0b1101).text == "SEQ(A, C, D)"
    assert (query.checked_negations(0b0111), query.checked_negations(0b1101)) == (frozenset({0}), frozenset())
    assert query.negated_kinds(0) == ("N",)
    assert query.needed_kinds(0b1111, (0b0111, 0b1000)) == frozenset()
    assert query.needed_kinds(0b1111, (0b0011, 0b1100)) == {"N"}
    assert query.projection(0b0111).factor == 2.0  # negated events count for nothing


def test_what_is_negated_may_be_composite() -> None:
    query = query_of("SEQ(A, NOT SEQ(N, K), NOT Q, B)")
    assert query.projection(0b11).text == "SEQ(A, NOT SEQ(N, K), NOT Q, B)"
    assert query.needed_kinds(0b11, (0b01, 0b10)) == {"N", "K", "Q"}


def test_operators_are_the_query_as_it_is_written() -> None:
    assert query_of("AND(Q, SEQ(T, AND(K, C)))").operators == (0b1100, 0b1110, 0b1111)


@pytest.mark.parametrize("text", ["SEQ(A, B)", "SEQ( AND(A,B) ,NOT C, D )", "AND(A, SEQ(B, C), D)"])
def test_trees_are_written_as_they_are_read(text: str) -> None:
    tree = parse_operator_tree(text)
    assert parse_operator_tree(tree_to_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected SEQ, AND or a type of events, found the end of the query"),
        ("SEQ(A)", "1:1: SEQ needs two operands or more, found 1"),
        ("SEQ(A, X)", "1:8: unknown type X"),
        ("SEQ(A, B", "expected ')' or ',' after the operands of SEQ, found the end of the query"),
        ("SEQ(A,, B)", "1:7: expected SEQ, AND or a type of events, found ','"),
        ("SEQ(A, B) C", "1:11: unexpected 'C' after the end of the query"),
        ("SEQ A", "1:5: expected '(' after SEQ, found 'A'"),
        ("A(B, C)", "1:1: A is no operator"),
        ("AND(A, NOT B, C)", "1:8: NOT can stand only between operands of a SEQ"),
        ("SEQ(A, B, NOT C)", "NOT can stand only between two operands of a SEQ"),
        ("SEQ(NOT A, B, C)", "1:5: NOT can stand only between operands of a SEQ"),
        ("SEQ(A, NOT SEQ(B, NOT C, D), A)", "NOT can stand only between operands of a SEQ"),
        ("NSEQ(A, B)", "NSEQ has three operands, found 2"),
        ("SEQ(A, 7)", "1:8: expected SEQ, AND or a type of events, found '7'"),
    ],
)
def test_errors_say_what_was_found_and_where(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=re.escape(message)):
        parse_operator_tree(text, "ABC")


def test_a_near_type_is_offered() -> None:
    with pytest.raises(QueryError, match="did you mean Lidar"):
        parse_operator_tree("SEQ(Lidr, Camera)", ["Lidar", "Camera"])


def test_items_that_are_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="q1 has no projection to the items"):
        query_of("SEQ(A, B)").projection(0b100)
