"""Decomposition sharing."""

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from weft.optimizer.rewriting.decomposition import closure, common_substrings, interesting_sub_queries
from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, conjunction, names, sequence
from weft.optimizer.rewriting.merge import is_substring, merges


def is_subsequence(part: Sequence[Symbol], whole: Sequence[Symbol]) -> bool:
    rest = iter(whole)
    return all(symbol in rest for symbol in part)


def test_example_2() -> None:
    q3, q4 = sequence("E1", "E2", "E4"), sequence("E2", "E4", "E3")
    assert interesting_sub_queries(q3, q4) == (sequence("E2", "E4"),)
    shared = sequence("E2", "E4")
    assert [next(merges(shared, one)) for one in (q3, q4)] == [(1, 2), (0, 1)]


def test_example_3() -> None:
    q6 = sequence("E1", "E2", "E3", "E5", "E6", "E7", "E8")
    q7 = sequence("E1", "E3", "E6", "E5", "E7", "E8")
    strings = [
        q6.operands[here : here + length] for here, _, length in common_substrings(q6.operands, q7.operands)
    ]
    assert strings == [("E1",), ("E3",), ("E5",), ("E6",), ("E7", "E8")]
    assert names(interesting_sub_queries(q6, q7)) == ["SEQ(E1, E3, E5)", "SEQ(E1, E3, E6)", "SEQ(E7, E8)"]


def test_example_4() -> None:
    q8, q9 = sequence("E1", "E2", "E3", "E5"), sequence("E1", "E3", "E4")
    assert not any(merges(q9, q8))
    assert interesting_sub_queries(q8, q9) == (sequence("E1", "E3"),)
    assert any(merges(sequence("E1", "E3"), sequence("E1", "E2", "E3")))


def test_conjunctions_are_sorted_beforehand() -> None:
    one, other = conjunction("d", "a", "b"), conjunction("b", "c", "a")
    assert interesting_sub_queries(one, other) == (conjunction("a", "b"),)


def test_queries_with_different_operators_have_nothing_in_common() -> None:
    assert interesting_sub_queries(conjunction("a", "b"), sequence("a", "b")) == ()


def test_composite_operands_are_operands_like_others() -> None:
    inner = conjunction("E2", "E3")
    found = interesting_sub_queries(sequence("E1", "E4", inner), sequence("E1", inner))
    assert found == (sequence("E1", inner),)


def test_repeated_operands() -> None:
    assert names(interesting_sub_queries(sequence(*"aab"), sequence(*"aacb"))) == ["SEQ(a, b)", "SEQ(a, a)"]
    assert names(interesting_sub_queries(sequence(*"abac"), sequence(*"abad"))) == ["SEQ(a, b, a)"]
    assert names(interesting_sub_queries(sequence(*"axa"), sequence(*"aya"))) == ["SEQ(a, a)"]
    assert interesting_sub_queries(sequence(*"axyz"), sequence(*"aua")) == ()


def test_the_other_order_is_another_sub_query() -> None:
    assert interesting_sub_queries(sequence("a", "b"), sequence("b", "a")) == ()


@pytest.mark.parametrize("seed", range(30))
def test_sub_queries_are_subsequences_of_both_and_hold_every_common_substring(seed: int) -> None:
    dice = random.Random(seed)
    one, other = (FlatQuery("SEQ", tuple(dice.choices("abcdef", k=dice.randint(2, 7)))) for _ in range(2))
    found = interesting_sub_queries(one, other)
    for query in found:
        assert is_subsequence(query.operands, one.operands)
        assert is_subsequence(query.operands, other.operands)
    for start, end in combinations(range(len(one.operands) + 1), 2):
        part = FlatQuery("SEQ", one.operands[start:end])
        merged = next(merges(part, other), None)
        if end - start > 1 and merged is not None and is_substring(merged):
            assert any(any(merges(part, query)) for query in found)


def test_the_closure_goes_on_with_what_it_finds() -> None:
    queries = [sequence(*"abcdx"), sequence(*"abcdy"), sequence(*"bcduv"), sequence(*"zcd")]
    assert names(closure(queries).queries) == ["SEQ(a, b, c, d)", "SEQ(b, c, d)", "SEQ(c, d)"]


def test_the_closure_of_what_is_there_is_empty_and_it_ends_at_its_limit() -> None:
    assert closure([sequence("a", "b"), sequence("a", "b", "c")]) == ((), True)
    queries = [sequence(*"abcdx"), sequence(*"abcdy"), sequence(*"zcd")]
    assert closure(queries, most=1) == ((sequence(*"abcd"),), False)
    assert closure(queries, is_late=lambda: True) == ((), False)
