"""Patterns as flat queries over numbers."""

from tests.helpers.workloads import Workload, sequence

from weft.optimizer.rewriting.flat_query import FlatQuery
from weft.optimizer.rewriting.levels import OperatorLevel, levels_of


def levels(text: str, *others: str) -> list[OperatorLevel[str]]:
    workload = Workload((text, *others))
    return [level for key, pattern in workload.patterns.items() for level in levels_of(key, pattern)]


def test_a_sequence_has_one_level() -> None:
    (level,) = levels(sequence("ABC"))
    assert (level.query.operator, level.masks, level.is_whole) == ("SEQ", (1, 2, 4), True)
    assert level.query.operands == level.pattern.leaves


def test_inner_operators_come_first_and_are_operands_of_the_outer_ones() -> None:
    inner, outer = levels("SEQ(A a, AND(B b, C c), D d) WITHIN 10 seconds")
    assert (inner.query.operator, inner.is_whole) == ("CONJ", False)
    assert outer.masks == (1, 6, 8)
    assert outer.query.operands[1] == outer.pattern.label(6).number


def test_lists_are_left_out() -> None:
    (level,) = levels("SEQ(A a, B+ b[], C c) WITHIN 10 seconds")
    assert level.masks == (1, 4)
    assert levels("SEQ(A a, B+ b[]) WITHIN 10 seconds") == []


def test_where_a_query_stands_under_its_own_and_under_a_weaker_order() -> None:
    wanted, level = levels("AND(C c, A a) WITHIN 10 seconds", sequence("ABC"))
    (weak,) = level.places_of(wanted.query)
    assert (weak.mask, weak.order) == (5, frozenset())
    assert weak.number == wanted.pattern.label(3).number
    (own,) = level.places_of(FlatQuery("SEQ", (level.query.operands[0], level.query.operands[2])))
    assert (own.mask, len(own.order)) == (5, 1)
    assert list(wanted.places_of(level.query)) == []


def test_composite_operands_keep_their_order_where_the_order_among_operands_is_weaker() -> None:
    nested = "SEQ(AND(A a, SEQ(B b, C c)), D d) WITHIN 10 seconds"
    level = levels(nested)[-1]
    assert level.is_whole
    (label,) = level.places_of(FlatQuery("CONJ", level.query.operands))
    ordered = {(label.items[one], label.items[other]) for one, other in label.order}
    assert ordered == {(1, 2)}


def test_repeated_operands_stand_at_several_places() -> None:
    (level,) = levels("SEQ(A a, A b, A c) WITHIN 10 seconds")
    number = level.query.operands[0]
    found = [label.mask for label in level.places_of(FlatQuery("SEQ", (number, number)))]
    assert found == [3, 6, 5]
