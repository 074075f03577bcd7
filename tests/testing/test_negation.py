"""Every sentence of docs/semantics.md about negation, on streams small enough to match by hand."""

import pytest
from tests.helpers.notation import found, stream

from weft.expressions import Attribute, Comparison
from weft.pattern.nodes import Conjunction, Event, Negation, Query, Sequence, TimeWindow
from weft.schema import LONG
from weft.testing.matcher import find_matches


def test_a_negated_event_has_the_type_and_is_not_bound() -> None:
    assert found("SEQ(A a, NOT B x, C c)", "A 0; D 1; C 2") == {"a=0 c=2"}
    assert found("SEQ(A a, NOT B x, C c)", "A 0; B 1; C 2") == set()
    # in AND the scope holds the match's own events; they do not negate it
    assert found("AND(A a, NOT A x) WITHIN 5 us", "A 0") == {"a=0"}
    assert found("AND(A a, NOT A x) WITHIN 5 us", "A 0; A 3") == {"a=1"}


def test_it_satisfies_all_predicates_that_mention_it() -> None:
    text = "SEQ(A a, NOT B x, C c) WHERE x.x > 1 AND x.k = a.k"
    assert found(text, "A 0 k=1; B 1 x=2 k=2; C 2") == {"a=0 c=2"}
    assert found(text, "A 0 k=1; B 1 x=1 k=1; C 2") == {"a=0 c=2"}
    assert found(text, "A 0 k=1; B 1 x=2 k=1; C 2") == set()
    assert found(text, "A 0 k=1; B 1 k=1; C 2") == {"a=0 c=2"}  # NULL > 1 is not true


def test_with_a_list_for_every_element() -> None:
    text = "SEQ(A{2} l[], NOT B x, C c) WHERE x.x > l.x"
    assert found(text, "A 0 x=1; A 1 x=5; B 2 x=3; C 3") == {"c=3 l=0,1"}
    assert found(text, "A 0 x=1; A 1 x=5; B 2 x=6; C 3") == set()


class TestBetween:
    TEXT = "SEQ(A a, NOT B x, C c) WITHIN 9 us"

    @pytest.mark.parametrize(("time", "is_match"), [(-1, True), (0, True), (1, False), (3, False), (4, True)])
    def test_both_ends_are_strict(self, time: int, is_match: bool) -> None:
        assert bool(found(self.TEXT, f"A 0; C 4; B {time}")) is is_match

    def test_strict_in_the_order_of_the_tie_break_too(self) -> None:
        assert found(self.TEXT, "A 0 rank=1; B 0 rank=2; C 4 rank=1", tie_break=True) == set()
        assert found(self.TEXT, "A 0 rank=1; B 0 rank=1; C 4 rank=1", tie_break=True) == {"a=0 c=2"}

    def test_after_the_last_event_of_the_operand_before(self) -> None:
        text = "SEQ(AND(A a, D d), NOT B x, C c)"
        assert found(text, "A 0; B 1; D 2; C 4") == {"a=0 c=3 d=2"}
        assert found(text, "A 0; D 2; B 3; C 4") == set()
        assert found("SEQ(A{2} l[], NOT B x, C c)", "A 0; B 1; A 2; C 4") == {"c=3 l=0,2"}

    def test_before_the_first_event_of_the_operand_after(self) -> None:
        text = "SEQ(C c, NOT B x, AND(A a, D d))"
        assert found(text, "C 0; A 2; B 3; D 4") == {"a=1 c=0 d=3"}
        assert found(text, "C 0; B 1; A 2; D 4") == set()

    def test_two_negations_side_by_side_have_the_same_scope(self) -> None:
        text = "SEQ(A a, NOT B x, NOT D y, C c)"
        assert found(text, "A 0; C 4") == {"a=0 c=1"}
        assert found(text, "A 0; B 1; C 4") == set()
        assert found(text, "A 0; D 1; C 4") == set()

    def test_a_window_does_not_limit_it(self) -> None:
        assert found("SEQ(A a, NOT B x, C c)", "A 0; B 1; C 900") == set()


class TestFirstInSequence:
    TEXT = "SEQ(NOT B x, A a, C c) WITHIN 10 us"

    @pytest.mark.parametrize(
        ("time", "is_match"), [(-7, True), (-6, False), (-1, False), (0, True), (2, True)]
    )
    def test_from_a_window_before_the_last_event_to_the_first(self, time: int, is_match: bool) -> None:
        # the last event is at 4, so the scope begins at -6, inclusive, and ends before 0
        assert bool(found(self.TEXT, f"A 0; C 4; B {time}")) is is_match

    def test_without_a_window_it_has_no_beginning(self) -> None:
        assert found("SEQ(NOT B x, A a)", "B -900000000; A 0") == set()

    def test_with_a_count_window(self) -> None:
        # positions: B 0, D 1, A 2, C 3; the scope is the positions above 3 - n, before A
        events = "B 0; D 1; A 2; C 3"
        assert found("SEQ(NOT B x, A a, C c) WITHIN 3 EVENTS", events) == {"a=2 c=3"}
        assert found("SEQ(NOT B x, A a, C c) WITHIN 4 EVENTS", events) == set()


class TestLastInSequence:
    TEXT = "SEQ(A a, C c, NOT B x) WITHIN 10 us"

    @pytest.mark.parametrize(
        ("time", "is_match"), [(3, True), (4, True), (5, False), (10, False), (11, True)]
    )
    def test_after_the_last_event_up_to_a_window_after_the_first(self, time: int, is_match: bool) -> None:
        # the first event is at 0, so the scope ends at 10, inclusive
        assert bool(found(self.TEXT, f"A 0; C 4; B {time}")) is is_match

    def test_without_a_window_it_has_no_end(self) -> None:
        assert found("SEQ(A a, NOT B x)", "A 0; B 900000000") == set()

    def test_with_a_count_window(self) -> None:
        # positions: A 0, C 1, D 2, B 3; the scope is the positions below 0 + n, after C
        events = "A 0; C 1; D 2; B 3"
        assert found("SEQ(A a, C c, NOT B x) WITHIN 3 EVENTS", events) == {"a=0 c=1"}
        assert found("SEQ(A a, C c, NOT B x) WITHIN 4 EVENTS", events) == set()


class TestInConjunction:
    TEXT = "AND(A a, NOT B x, C c) WITHIN 10 us"

    @pytest.mark.parametrize(
        ("time", "is_match"), [(-1, True), (0, False), (2, False), (4, False), (10, False), (11, True)]
    )
    def test_from_the_first_event_to_a_window_after_it(self, time: int, is_match: bool) -> None:
        assert bool(found(self.TEXT, f"C 0; A 4; B {time}")) is is_match

    def test_the_place_among_the_operands_does_not_matter(self) -> None:
        for text in ("AND(NOT B x, A a, C c)", "AND(A a, C c, NOT B x)", "AND(A a, AND(NOT B x, C c))"):
            assert found(f"{text} WITHIN 10 us", "C 0; A 4; B 10") == set()
            assert found(f"{text} WITHIN 10 us", "C 0; A 4; B 11") == {"a=1 c=0"}

    def test_without_a_window_it_has_no_end(self) -> None:
        assert found("AND(A a, NOT B x)", "A 0; B 900000000") == set()
        assert found("AND(A a, NOT B x)", "B -1; A 0") == {"a=1"}

    def test_with_a_count_window(self) -> None:
        # positions: B 0, A 1, C 1, D 3; from position(first), inclusive, to that plus n, exclusive
        assert found("AND(A a, NOT B x) WITHIN 2 EVENTS", "D 0; A 1; B 1") == set()
        assert found("AND(A a, NOT B x) WITHIN 2 EVENTS", "B 0; A 1; C 1") == {"a=1"}
        assert found("AND(A a, NOT B x) WITHIN 2 EVENTS", "A 0; D 1; B 2") == {"a=0"}
        assert found("AND(A a, NOT B x) WITHIN 3 EVENTS", "A 0; D 1; B 2") == set()

    def test_a_bang_is_a_not(self) -> None:
        assert found("AND(A a, !B x) WITHIN 10 us", "A 0; B 10") == set()


class TestFlatForm:
    def test_a_sequence_in_a_sequence_is_one(self) -> None:
        # x stands between A and C, not at the start of a sequence of its own
        text = "SEQ(A a, SEQ(NOT B x, C c)) WITHIN 10 us"
        assert found(text, "B 0; A 1; C 2") == {"a=1 c=2"}
        assert found(text, "A 1; B 2; C 3") == set()

    def test_a_sequence_in_a_conjunction_stays_one(self) -> None:
        # x is first in its sequence: from time(last) - 10 = -2 on, before C at 2
        text = "AND(A a, SEQ(NOT B x, C c)) WITHIN 10 us"
        assert found(text, "B -3; C 2; A 8") == {"a=2 c=1"}
        assert found(text, "B -2; C 2; A 8") == set()
        assert found(text, "C 2; B 3; A 8") == {"a=2 c=0"}

    def test_a_conjunction_in_a_sequence_stays_one(self) -> None:
        text = "SEQ(A a, AND(NOT B x, C c, D d)) WITHIN 10 us"
        assert found(text, "A 0; B 0; C 2; D 3") == set()  # from time(first) of the whole match
        assert found(text, "A 0; C 2; D 3; B 10") == set()
        assert found(text, "A 0; C 2; D 3; B 11") == {"a=0 c=1 d=2"}

    def test_a_branch_of_or_gives_its_negations_to_the_sequence(self) -> None:
        text = "SEQ(A a, OR(SEQ(C c, NOT B x), D d), A e)"
        assert found(text, "A 0; C 1; B 2; A 3") == set()
        assert found(text, "A 0; D 1; B 2; A 3") == {"a=0 d=1 e=3"}

    def test_neighbors_are_those_that_remain_without_an_absent_item(self) -> None:
        text = "SEQ(A a, NOT B x, D? d[], C c)"
        # with D the scope is from 0 to 1, without it from 0 to 4
        assert found(text, "A 0; D 1; B 2; C 4") == {"a=0 c=3 d=1"}
        assert found("SEQ(A a, NOT B x, C? c[]) WITHIN 10 us", "A 0; C 1; B 2") == {"a=0 c=1"}

    def test_an_operator_left_with_one_operand_is_that_operand(self) -> None:
        # without D, x stands between A and C
        text = "SEQ(A a, AND(D? d[], SEQ(NOT B x, C c))) WITHIN 10 us"
        assert found(text, "B 0; A 1; C 2") == {"a=1 c=2"}
        assert found(text, "A 1; B 2; C 3") == set()

    def test_an_operator_left_with_negations_gives_them_to_the_one_around_it(self) -> None:
        # without D, x stands in AND: from time(first) on
        text = "AND(A a, SEQ(NOT B x, D? d[])) WITHIN 10 us"
        assert found(text, "B 0; A 1") == {"a=1"}
        assert found(text, "A 1; B 11") == set()

    def test_or_of_negations(self) -> None:
        text = "AND(A a, OR(NOT B x, NOT C y)) WITHIN 10 us"
        assert found(text, "A 0; B 1") == {"a=0"}
        assert found(text, "A 0; B 1; C 2") == set()

    def test_predicates_of_a_negation_in_another_branch_do_not_apply(self) -> None:
        text = "AND(A a, OR(SEQ(C c, NOT B x), D d)) WHERE x.x = c.x AND x.x > 5 WITHIN 10 us"
        assert found(text, "A 0; C 1 x=6; B 2 x=6; D 3") == {"a=0 d=3"}

    def test_a_predicate_with_an_absent_variable_is_dropped_from_the_negation(self) -> None:
        text = "SEQ(A a, D? d[], NOT B x, C c) WHERE x.x > d.x"
        assert found(text, "A 0; B 1 x=0; C 2") == set()
        assert found(text, "A 0; D 0; B 1 x=0; C 2") == set()
        assert found(text, "D 0 x=5; A -1; B 1 x=0; C 2") == {"a=1 c=3 d=0"}


class TestComposite:
    def test_no_match_lies_wholly_inside_the_scope(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, D y), C c)"
        assert found(text, "A 0; B 1; D 2; C 4") == set()
        assert found(text, "A 0; D 1; B 2; C 4") == {"a=0 c=3"}
        assert found(text, "A 0; B 1; C 4; D 5") == {"a=0 c=2"}
        assert found(text, "A 0; B 0; D 2; C 4") == {"a=0 c=3"}

    def test_none_of_its_events_is_bound_by_the_match(self) -> None:
        text = "AND(A a, NOT SEQ(A x, B y)) WITHIN 10 us"
        assert found(text, "A 0; B 1") == {"a=0"}
        assert found(text, "A 0; A 1; B 2") == {"a=1"}

    def test_its_predicates_may_mention_variables_of_the_match(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, D y), C c) WHERE x.k = y.k AND y.x > a.x"
        assert found(text, "A 0 x=1; B 1 k=1; D 2 k=1 x=2; C 4") == set()
        assert found(text, "A 0 x=1; B 1 k=1; D 2 k=2 x=2; C 4") == {"a=0 c=3"}
        assert found(text, "A 0 x=1; B 1 k=1; D 2 k=1 x=1; C 4") == {"a=0 c=3"}

    def test_not_or_is_not_the_one_and_not_the_other(self) -> None:
        text = "SEQ(A a, NOT OR(B x, D y), C c)"
        assert found(text, "A 0; C 4") == {"a=0 c=1"}
        assert found(text, "A 0; B 1; C 4") == set()
        assert found(text, "A 0; D 1; C 4") == set()

    def test_not_and(self) -> None:
        text = "SEQ(A a, NOT AND(B x, D y), C c)"
        assert found(text, "A 0; B 1; C 4") == {"a=0 c=2"}
        assert found(text, "A 0; D 1; B 1; C 4") == set()

    def test_an_optional_part_of_it_gives_two_negations(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, D? y[]), C c) WHERE x.k = y.k"
        assert found(text, "A 0; B 1; C 4") == set()

    def test_a_negated_list(self) -> None:
        text = "SEQ(A a, NOT B+ x[], C c) WHERE COUNT(x) > 1"
        assert found(text, "A 0; B 1; C 4") == {"a=0 c=2"}
        assert found(text, "A 0; B 1; B 2; C 4") == set()
        assert found(text, "A 0; B 1; B 1; C 4") == {"a=0 c=3"}
        assert found("SEQ(A a, NOT B{2} x[], C c)", "A 0; B 1; C 4") == {"a=0 c=2"}

    def test_the_window_applies_inside_it(self) -> None:
        text = "AND(A a, NOT SEQ(B x, D y)) WITHIN 3 us"
        assert found(text, "A 0; B 1; D 3") == set()
        leading = "SEQ(NOT SEQ(B x, D y), A a) WITHIN 3 EVENTS"
        # positions: B 0, C 1, D 2, A 3: only positions 1 and 2 are in the scope
        assert found(leading, "B 0; C 1; D 2; A 3") == {"a=3"}
        between = "SEQ(A a, NOT SEQ(B x, D y), C c) WITHIN 9 us"
        assert found(between, "A 0; B 1; D 8; C 9") == set()

    def test_a_negation_inside_it(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, NOT D y, B z), C c)"
        assert found(text, "A 0; B 1; B 3; C 4") == set()
        assert found(text, "A 0; B 1; D 2; B 3; C 4") == {"a=0 c=4"}

    def test_a_negation_inside_it_uses_the_window_and_the_inner_match(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, NOT D y), C c) WITHIN 10 us"
        # B at 5 is a match of the inner pattern unless a D follows up to 15
        assert found(text, "A 0; B 5; C 8") == set()
        assert found(text, "A 0; B 5; C 8; D 15") == {"a=0 c=2"}
        assert found(text, "A 0; B 5; C 8; D 16") == set()

    def test_events_of_the_outer_match_count_for_a_negation_inside_it(self) -> None:
        # the A bound outside follows B inside the window: SEQ(B, NOT A) has no match
        inner = Negation(Sequence((Event("B", "x"), Negation(Event("A", "y")))))
        query = Query("q", Conjunction((Event("A", "a"), Event("C", "c"), inner)), window=TimeWindow(10))
        assert len(find_matches(query, stream("C 0; B 1; A 2"))) == 1

    def test_a_predicate_between_a_negation_and_one_inside_it_belongs_to_the_inner(self) -> None:
        inner = Sequence((Event("B", "x"), Negation(Event("D", "y")), Event("B", "z")))
        same = Comparison("=", Attribute("y", "k", type=LONG), Attribute("x", "k", type=LONG))
        query = Query("q", Sequence((Event("A", "a"), Negation(inner), Event("C", "c"))), (same,))
        assert len(find_matches(query, stream("A 0; B 1 k=1; D 2 k=1; B 3; C 4"))) == 1
        assert len(find_matches(query, stream("A 0; B 1 k=1; D 2 k=2; B 3; C 4"))) == 0
