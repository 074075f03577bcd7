"""Nested queries and partial orders divided into flat queries."""

import random

import pytest

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, conjunction, sequence
from weft.optimizer.rewriting.levels import inner_first, nested_level, operator_tree
from weft.optimizer.rewriting.transformation import interesting_sub_queries

INNER_1, INNER_2 = conjunction("E4", "E5"), conjunction("E2", "E3")  # the first is a DISJ in the paper
Q11 = sequence("E1", INNER_1, INNER_2)
Q12 = sequence("E1", INNER_2)


def test_definition_2() -> None:
    assert [nested_level(one) for one in (INNER_1, Q12, conjunction("E9", Q12))] == [1, 2, 3]


def test_table_2() -> None:
    assert inner_first(Q11) == [INNER_1, INNER_2, Q11]
    assert inner_first(Q12) == [INNER_2, Q12]


def test_table_3() -> None:
    inner_1, inner_2, outer_11 = inner_first(Q11)
    inner, outer_12 = inner_first(Q12)
    assert interesting_sub_queries(inner_1, inner) == ()
    assert interesting_sub_queries(inner_2, inner) == (conjunction("E2", "E3"),)
    assert interesting_sub_queries(outer_11, outer_12) == (sequence("E1", inner_2),)


def test_a_query_that_occurs_twice_is_divided_off_once() -> None:
    inner = conjunction("a", "b")
    assert inner_first(sequence(inner, "c", inner)) == [inner, sequence(inner, "c", inner)]


def test_all_of_a_level_come_before_the_next_one() -> None:
    deep = conjunction("d", sequence("a", conjunction("b", "c")))
    other = conjunction("e", "f")
    levels = [nested_level(one) for one in inner_first(sequence(deep, other))]
    assert levels == [1, 1, 2, 3, 4]


def flattened(query: FlatQuery) -> FlatQuery:
    """Return a query without an operator directly inside itself."""
    operands: list[Symbol] = []
    for operand in query.operands:
        inner = flattened(operand) if isinstance(operand, FlatQuery) else operand
        same = isinstance(inner, FlatQuery) and inner.operator == query.operator
        operands.extend(inner.operands if same and isinstance(inner, FlatQuery) else [inner])
    return FlatQuery(query.operator, tuple(operands))


def random_query(dice: random.Random, items: list[int]) -> FlatQuery | int:
    if len(items) == 1:
        return items[0]
    cuts = sorted(dice.sample(range(1, len(items)), dice.randint(1, len(items) - 1)))
    parts = [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]
    return FlatQuery(dice.choice(["SEQ", "CONJ"]), tuple(random_query(dice, part) for part in parts))


def items_of(query: Symbol) -> list[int]:
    if isinstance(query, FlatQuery):
        return [item for operand in query.operands for item in items_of(operand)]
    assert isinstance(query, int)
    return [query]


def order_of(query: Symbol) -> set[tuple[int, int]]:
    if not isinstance(query, FlatQuery):
        return set()
    found = {pair for operand in query.operands for pair in order_of(operand)}
    if query.operator == "SEQ":
        parts = [items_of(operand) for operand in query.operands]
        for place, part in enumerate(parts):
            found |= {(a, b) for a in part for after in parts[place + 1 :] for b in after}
    return found


@pytest.mark.parametrize("seed", range(40))
def test_an_order_gives_back_the_query_it_came_from(seed: int) -> None:
    dice = random.Random(seed)
    items = list(range(dice.randint(1, 8)))
    dice.shuffle(items)
    query = random_query(dice, items)
    expected = flattened(query) if isinstance(query, FlatQuery) else query
    assert operator_tree(sorted(items), order_of(query)) == expected


def test_an_order_that_no_query_gives() -> None:
    fence = {(0, 2), (1, 2), (1, 3)}
    assert operator_tree([0, 1, 2, 3], fence) is None
    assert operator_tree([0, 1, 2, 3, 4], fence) is None
    assert operator_tree([0, 1, 2], fence) == sequence(conjunction(0, 1), 2)
