"""Every sentence of docs/semantics.md about matches, on streams small enough to match by hand."""

import random

import pytest
from tests.helpers.notation import found, query_of, stream, values
from tests.helpers.strategies import event

from weft.errors import QueryError
from weft.pattern.nodes import Event, Kleene, Negation, Query, Sequence
from weft.testing.matcher import find_matches


class TestOrder:
    def test_events_with_equal_times_are_unordered(self) -> None:
        assert found("SEQ(A a, B b)", "A 5; B 5; B 6") == {"a=0 b=2"}

    def test_a_tie_break_orders_them(self) -> None:
        assert found("SEQ(A a, B b)", "A 5 rank=2; B 5 rank=1; B 5 rank=3", tie_break=True) == {"a=0 b=2"}

    def test_equal_tie_breaks_leave_them_unordered(self) -> None:
        assert found("SEQ(A a, B b)", "A 5 rank=1; B 5 rank=1", tie_break=True) == set()

    def test_time_goes_before_the_tie_break(self) -> None:
        assert found("SEQ(A a, B b)", "A 5 rank=9; B 6 rank=1", tie_break=True) == {"a=0 b=1"}

    def test_a_null_tie_break_sorts_first(self) -> None:
        assert found("SEQ(A a, B b)", "A 5; B 5 rank=1", tie_break=True) == {"a=0 b=1"}
        assert found("SEQ(A a, B b)", "A 5 rank=1; B 5", tie_break=True) == set()
        assert found("SEQ(A a, B b)", "A 5; B 5", tie_break=True) == set()

    def test_the_order_of_arrival_does_not_matter(self) -> None:
        query = query_of("SEQ(A a, B+ b[], NOT C c, A z) WITHIN 9 us")
        events = stream("A 0; B 1; B 2; C 2; B 3; A 4; A 4; C 5; A 9; A 10")
        expected = find_matches(query, events)
        assert expected
        for seed in range(5):
            shuffled = random.Random(seed).sample(events, len(events))
            assert find_matches(query, shuffled) == expected

    def test_start_and_end_are_the_times_of_the_first_and_last_event(self) -> None:
        (match,) = find_matches(query_of("AND(A a, B b)"), stream("A 7; B 3"))
        assert (match.start, match.end) == (3, 7)


class TestOperators:
    def test_an_event_of_the_type(self) -> None:
        assert found("A a", "A 0; B 1; A 2") == {"a=0", "a=2"}

    def test_only_events_that_satisfy_the_predicates_on_it(self) -> None:
        assert found("A a WHERE a.x > 1", "A 0 x=1; A 1 x=2; A 2") == {"a=1"}

    def test_seq_skips_any_events(self) -> None:
        assert found("SEQ(A a, B b)", "A 0; A 1; B 2; C 3; B 4") == {
            "a=0 b=2",
            "a=0 b=4",
            "a=1 b=2",
            "a=1 b=4",
        }

    def test_every_event_of_an_operand_is_before_every_event_of_the_next(self) -> None:
        # the C at 2 is before the A at 3, so SEQ does not take it first
        assert found("SEQ(AND(A a, C c), B b)", "C 2; A 3; B 3; B 4") == {"a=1 b=3 c=0"}
        assert found("SEQ(B b, AND(A a, C c))", "B 2; A 3; C 2") == set()

    def test_and_takes_any_order(self) -> None:
        assert found("AND(A a, B b)", "B 0; A 0; B 5") == {"a=1 b=0", "a=1 b=2"}

    def test_two_assignments_of_the_same_events_are_two_matches(self) -> None:
        assert found("AND(A a, A b)", "A 0; A 1") == {"a=0 b=1", "a=1 b=0"}

    def test_an_event_is_bound_at_most_once(self) -> None:
        assert found("AND(A a, A b)", "A 0") == set()

    def test_also_when_it_has_several_types(self) -> None:
        assert found("AND(A a, B b)", "AB 0") == set()
        assert found("AND(A a, B b)", "AB 0; AB 1") == {"a=0 b=1", "a=1 b=0"}
        assert found("SEQ(A a, B b)", "AB 0; AB 1") == {"a=0 b=1"}

    def test_or_is_the_union(self) -> None:
        assert found("OR(A a, B b)", "A 0; B 1; C 2") == {"a=0", "b=1"}
        assert found("SEQ(OR(A a, B b), C c)", "A 0; B 1; C 2") == {"a=0 c=2", "b=1 c=2"}

    def test_branches_of_or_may_share_a_variable(self) -> None:
        text = "OR(SEQ(A a, B b), AND(A a, NOT B n), AND(A a, B b)) WHERE a.x < b.x AND n.x > a.x WITHIN 9 us"
        assert found(text, "A 0 x=1; B 1 x=0; B 2 x=5; A 3 x=7") == {"a=0 b=2", "a=3"}

    def test_some_is_every_combination(self) -> None:
        assert found("SOME(A a, B b)", "B 0; A 1; C 2") == {"a=1", "b=0", "a=1 b=0"}
        assert found("SOME(A a, A b)", "A 0") == {"a=0", "b=0"}
        assert found("SEQ(SOME(A a, B b), C c)", "B 0; C 1; A 2; C 3") == {
            "b=0 c=1",
            "b=0 c=3",
            "a=2 c=3",
            "a=2 b=0 c=3",
        }

    def test_the_events_of_a_combination_lie_in_one_window_and_agree_on_the_keys(self) -> None:
        text = "SOME(A a, B b) WHERE [k] WITHIN 5 us"
        assert found(text, "A 0 k=1; B 5 k=1; B 6 k=1; B 1 k=2") == {"a=0", "b=1", "b=2", "b=3", "a=0 b=1"}

    def test_a_predicate_applies_to_the_combinations_that_bind_its_variables(self) -> None:
        text = "SOME(A a, B b, C c) WHERE a.x < b.x AND b.x > 1"
        assert found(text, "A 0 x=5; B 1 x=4; B 2 x=0; C 3") == {
            "a=0",
            "b=1",
            "c=3",
            "a=0 c=3",
            "b=1 c=3",
        }

    def test_an_operand_of_some_contributes_each_of_its_alternatives(self) -> None:
        text = "SOME(OR(A a, B b), C? c)"
        assert found(text, "A 0; B 1; C 2") == {"a=0", "b=1", "c=2", "a=0 c=2", "b=1 c=2"}

    def test_not_of_some_rejects_each_operand(self) -> None:
        text = "SEQ(A a, NOT SOME(B b, C c), D d)"
        assert found(text, "A 0; B 1; D 2") == found(text, "A 0; C 1; D 2") == set()
        assert found(text, "A 0; D 1; B 2") == {"a=0 d=1"}

    def test_a_negation_among_the_combinations(self) -> None:
        text = "SEQ(A a, SOME(NOT B b, C c), D d) WITHIN 9 us"
        assert found(text, "A 0; B 1; D 2") == set()
        assert found(text, "A 0; B 1; C 2; D 3") == {"a=0 c=2 d=3"}
        assert found(text, "A 0; D 3") == {"a=0 d=1"}

    def test_predicates_on_a_branch_not_taken_do_not_apply(self) -> None:
        text = "SEQ(OR(A a, B b), C c) WHERE a.x > 1 AND b.x = c.x"
        assert found(text, "A 0 x=1; A 0 x=2; B 1 x=7; C 2 x=7; C 2 x=8") == {
            "a=1 c=3",
            "a=1 c=4",
            "b=2 c=3",
        }

    def test_a_count_of_a_branch_not_taken_does_not_apply_either(self) -> None:
        assert found("OR(A a, B+ b[]) WHERE COUNT(b) > 1", "A 0; B 1; B 2") == {"a=0", "b=1,2"}

    def test_a_constant_predicate_applies_to_every_match(self) -> None:
        assert found("OR(A a, B b) WHERE 1 = 1", "A 0") == {"a=0"}
        assert found("OR(A a, B b) WHERE 1 = 2", "A 0") == set()

    def test_equal_bindings_of_two_clauses_are_one_match(self) -> None:
        assert found("AND(A a, OR(NOT B b, NOT C c)) WITHIN 9 us", "A 0; D 1") == {"a=0"}

    def test_nesting(self) -> None:
        text = "SEQ(A a, AND(B b, SEQ(C c, OR(D d, A e))))"
        assert found(text, "A 0; C 1; B 2; D 3; A 4") == {"a=0 b=2 c=1 d=3", "a=0 b=2 c=1 e=4"}

    def test_an_operator_with_one_operand_is_the_operand(self) -> None:
        assert found("SEQ(AND(A a))", "A 0") == {"a=0"}


class TestLists:
    @pytest.mark.parametrize("size", [0, 1, 2, 5])
    def test_every_non_empty_subsequence(self, size: int) -> None:
        events = ";".join(["B 0", *(f"A {time}" for time in range(size))])
        assert len(found("A+ l[]", events)) == 2**size - 1

    def test_elements_are_in_strictly_increasing_order(self) -> None:
        assert found("A+ l[]", "A 0; A 1; A 1") == {"l=0", "l=1", "l=2", "l=0,1", "l=0,2"}

    def test_rows_are_in_order_of_time(self) -> None:
        assert found("A{2} l[]", "A 5; A 3") == {"l=1,0"}

    @pytest.mark.parametrize(
        ("quantifier", "lengths"),
        [
            ("+", {1, 2, 3}),
            ("{2}", {2}),
            ("{2,}", {2, 3}),
            ("{1,2}", {1, 2}),
            ("*", {1, 2, 3}),
            ("?", {1}),
            ("{0,2}", {1, 2}),
        ],
    )
    def test_quantifiers_bound_the_length(self, quantifier: str, lengths: set[int]) -> None:
        matches = find_matches(query_of(f"A{quantifier} l[]"), stream("A 0; A 1; A 2"))
        assert {len(match.rows["l"]) for match in matches} == lengths

    @pytest.mark.parametrize("quantifier", ["*", "?", "{0,2}"])
    def test_optional_items_may_be_absent(self, quantifier: str) -> None:
        assert found(f"SEQ(A a, B{quantifier} b[], C c)", "A 0; B 1; C 2") == {"a=0 c=2", "a=0 b=1 c=2"}

    def test_without_the_optional_item_the_others_are_still_in_order(self) -> None:
        assert found("SEQ(A a, B? b[], C c)", "C 0; A 1") == set()

    def test_a_match_binds_at_least_one_event(self) -> None:
        assert found("A* l[]", "B 0") == set()
        assert found("SEQ(A? a[], B* b[])", "A 0; C 1") == {"a=0"}

    def test_events_of_a_list_are_not_bound_elsewhere(self) -> None:
        assert found("AND(A{2} l[], A a)", "A 0; A 1; A 2") == {"a=2 l=0,1", "a=1 l=0,2", "a=0 l=1,2"}

    def test_a_repeated_group_is_refused(self) -> None:
        group = Kleene(Sequence((Event("A", "a"), Event("B", "b"))), 1, None)
        with pytest.raises(QueryError, match="repeated group"):
            find_matches(Query("q", group), stream("A 0"))
        with pytest.raises(QueryError, match="repeated group"):
            find_matches(Query("q", Kleene(Negation(Event("A", "a")), 0, 1)), stream("A 0"))

    def test_an_optional_group_is_absent_or_present(self) -> None:
        group = Kleene(Sequence((Event("A", "a"), Event("B", "b"))), 0, 1)
        query = Query("q", Sequence((group, Event("C", "c"))))
        matches = find_matches(query, stream("A 0; B 1; C 2"))
        assert {len(match.bindings) for match in matches} == {1, 3}


class TestPredicatesOnLists:
    EVENTS = "A 0 x=1; A 1 x=3; A 2 x=2; B 3 x=3; B 4 x=9"

    def test_a_predicate_holds_for_every_element(self) -> None:
        assert found("A+ l[] WHERE l.x > 1", self.EVENTS) == {"l=1", "l=2", "l=1,2"}
        assert found("A+ l[] WHERE l[i].x > 1", self.EVENTS) == {"l=1", "l=2", "l=1,2"}

    def test_with_another_variable_for_every_combination(self) -> None:
        found_pairs = found("SEQ(A{2} l[], B b) WHERE l.x < b.x", self.EVENTS)
        assert found_pairs == {"b=3 l=0,2", "b=4 l=0,1", "b=4 l=0,2", "b=4 l=1,2"}

    def test_consecutive_elements(self) -> None:
        text = "A{2,} l[] WHERE l[i].x > l[i-1].x"
        assert found(text, self.EVENTS) == {"l=0,1", "l=0,2"}
        assert found("A+ l[] WHERE l[i].x > l[i-1].x", self.EVENTS) == {"l=0,1", "l=0,2", "l=0", "l=1", "l=2"}

    def test_consecutive_elements_with_another_variable(self) -> None:
        text = "SEQ(A{2} l[], B b) WHERE l[i].x - l[i-1].x < b.x - 2"
        # steps: 0,1 is 2; 0,2 is 1; 1,2 is -1; the limits are 1 and 7
        assert found(text, self.EVENTS) == {"b=3 l=1,2", "b=4 l=0,1", "b=4 l=0,2", "b=4 l=1,2"}

    def test_first_and_last(self) -> None:
        assert found("A{2,} l[] WHERE FIRST(l).x < LAST(l).x", self.EVENTS) == {"l=0,1", "l=0,2", "l=0,1,2"}
        assert found("A{2,} l[] WHERE FIRST(l.x) = 3 OR LAST(l.x) = 3", self.EVENTS) == {"l=0,1", "l=1,2"}

    def test_aggregates(self) -> None:
        assert found("A+ l[] WHERE COUNT(l) = 3", self.EVENTS) == {"l=0,1,2"}
        assert found("A+ l[] WHERE SUM(l.x) = 3", self.EVENTS) == {"l=1", "l=0,2"}
        assert found("A+ l[] WHERE AVG(l.x) = 2", self.EVENTS) == {"l=2", "l=0,1", "l=0,1,2"}
        assert found("A+ l[] WHERE MIN(l.x) = 2", self.EVENTS) == {"l=2", "l=1,2"}
        assert found("A{2,} l[] WHERE MAX(l.x) = 2", self.EVENTS) == {"l=0,2"}

    def test_a_single_event_is_a_list_of_one(self) -> None:
        text = "A a WHERE COUNT(a) = 1 AND FIRST(a).x = LAST(a).x AND SUM(a.x) = 3"
        assert found(text, self.EVENTS) == {"a=1"}

    def test_of_an_absent_list_the_count_is_zero(self) -> None:
        assert found("SEQ(A a, B* b[]) WHERE COUNT(b) = 0", "A 0; B 1") == {"a=0"}
        assert found("SEQ(A a, B* b[]) WHERE COUNT(b) > 0", "A 0; B 1") == {"a=0 b=1"}

    @pytest.mark.parametrize(
        "value", ["SUM(b.x)", "AVG(b.x)", "MIN(b.x)", "MAX(b.x)", "FIRST(b).x", "LAST(b.x)"]
    )
    def test_of_an_absent_list_other_whole_values_are_null(self, value: str) -> None:
        assert found(f"SEQ(A a, B* b[]) WHERE {value} >= 0", "A 0; B 1 x=1") == {"a=0 b=1"}
        assert found(f"SEQ(A a, B* b[]) WHERE {value} IS NULL", "A 0; B 1 x=1") == {"a=0"}

    def test_between_is_two_conjuncts(self) -> None:
        # without a B the lower bound does not apply, but the upper one does
        text = "SEQ(A a, B? b[]) WHERE a.x BETWEEN b.x AND 5"
        assert found(text, "A 0 x=4; A 1 x=6; B 2 x=4") == {"a=0", "a=0 b=2"}
        assert found(text, "A 0 x=4; B 2 x=5") == {"a=0"}

    def test_what_is_said_of_the_elements_of_an_absent_list_holds(self) -> None:
        assert found("SEQ(A a, B? b[]) WHERE b.x > a.x", "A 0 x=5; B 1 x=1") == {"a=0"}
        # the whole conjunct is dropped, also what it says of a
        assert found("SEQ(A a, B? b[]) WHERE (b.x > 1 AND a.x > 9) OR b.x > 7", "A 0 x=5") == {"a=0"}


class TestNullAndNan:
    def test_null_satisfies_no_comparison(self) -> None:
        assert found("A a WHERE a.x = a.x", "A 0; A 1 x=1") == {"a=1"}
        assert found("A a WHERE NOT (a.x > 5)", "A 0; A 1 x=1") == {"a=1"}
        assert found("SEQ(A a, B b) WHERE a.x = b.x", "A 0; B 1") == set()

    def test_unknown_or_true_is_true(self) -> None:
        assert found("A a WHERE a.x > 5 OR a.k = 1", "A 0 k=1") == {"a=0"}

    def test_is_null(self) -> None:
        assert found("A a WHERE a.x IS NULL", "A 0; A 1 x=1") == {"a=0"}
        assert found("A a WHERE a.x IS NOT NULL", "A 0; A 1 x=1") == {"a=1"}

    def test_nan_equals_nan_and_is_the_greatest(self) -> None:
        events = [event(0, "A", 0, y=float("nan")), event(1, "B", 1, y=float("nan")), event(2, "B", 2, y=1.0)]
        for sign, rows in (("=", {1}), (">", {2}), (">=", {1, 2}), ("<", set())):
            matches = find_matches(query_of(f"SEQ(A a, B b) WHERE a.y {sign} b.y"), events)
            assert {match.rows["b"][0] for match in matches} == rows


class TestEquivalence:
    def test_all_bound_events_agree(self) -> None:
        assert found("SEQ(A a, B+ l[]) WHERE [k]", "A 0 k=1; B 1 k=1; B 2 k=2; B 3 k=1") == {
            "a=0 l=1",
            "a=0 l=3",
            "a=0 l=1,3",
        }

    def test_on_every_attribute(self) -> None:
        events = "A 0 k=1 name='x'; B 1 k=1 name='y'; B 2 k=1 name='x'"
        assert found("SEQ(A a, B b) WHERE [k, name]", events) == {"a=0 b=2"}
        assert found("SEQ(A a, B b) WHERE [k] AND [name]", events) == {"a=0 b=2"}

    def test_null_agrees_with_nothing_not_even_itself(self) -> None:
        assert found("SEQ(A a, B b) WHERE [k]", "A 0; B 1") == set()
        assert found("A a WHERE [k]", "A 0; A 1 k=1") == {"a=1"}

    def test_nan_agrees_with_nan_and_zero_with_negative_zero(self) -> None:
        events = [event(row, "A", row, y=y) for row, y in enumerate([float("nan"), float("nan"), 0.0, -0.0])]
        matches = find_matches(query_of("SEQ(A a, A b) WHERE [y]"), events)
        assert {(match.rows["a"], match.rows["b"]) for match in matches} == {((0,), (1,)), ((2,), (3,))}

    def test_negated_events_agree_too(self) -> None:
        text = "SEQ(A a, NOT B x, C c) WHERE [k]"
        assert found(text, "A 0 k=1; B 1 k=2; C 2 k=1") == {"a=0 c=2"}
        assert found(text, "A 0 k=1; B 1 k=1; C 2 k=1") == set()
        assert found(text, "A 0 k=1; B 1; C 2 k=1") == {"a=0 c=2"}

    def test_all_events_of_a_negated_pattern_agree(self) -> None:
        text = "SEQ(A a, NOT SEQ(B x, D y), C c) WHERE [k]"
        assert found(text, "A 0 k=1; B 1 k=1; D 2 k=2; C 3 k=1") == {"a=0 c=3"}
        assert found(text, "A 0 k=1; B 1 k=1; D 2 k=1; C 3 k=1") == set()

    def test_partition_by_is_an_equivalence(self) -> None:
        text = "SEQ(A a, NOT D x, B b) PARTITION BY k"
        assert found(text, "A 0 k=1; D 1 k=2; B 2 k=1; B 3 k=2; B 4") == {"a=0 b=2"}


class TestWindows:
    def test_a_time_window_is_inclusive(self) -> None:
        assert found("SEQ(A a, B b) WITHIN 10 us", "A 0; B 10; B 11") == {"a=0 b=1"}

    def test_it_spans_the_first_and_last_positive_event(self) -> None:
        assert found("AND(A a, B b, C c) WITHIN 10 us", "A 5; B 0; C 10; C 11") == {"a=0 b=1 c=2"}
        assert found("A+ l[] WITHIN 10 us", "A 0; A 10; A 11") == {"l=0", "l=1", "l=2", "l=0,1", "l=1,2"}

    def test_without_a_window_everything_is_near(self) -> None:
        assert found("SEQ(A a, B b)", "A 0; B 900000000000") == {"a=0 b=1"}

    def test_a_count_window_counts_events_of_every_type(self) -> None:
        events = "A 0; D 1; D 2; B 3"  # positions 0 1 2 3
        assert found("SEQ(A a, B b) WITHIN 4 EVENTS", events) == {"a=0 b=3"}
        assert found("SEQ(A a, B b) WITHIN 3 EVENTS", events) == set()

    def test_tied_events_have_the_same_position(self) -> None:
        events = "A 0; D 1; D 1; B 1; B 2"  # positions 0 1 1 1 4
        assert found("SEQ(A a, B b) WITHIN 2 EVENTS", events) == {"a=0 b=3"}
        assert found("SEQ(A a, B b) WITHIN 4 EVENTS", events) == {"a=0 b=3"}
        assert found("SEQ(A a, B b) WITHIN 5 EVENTS", events) == {"a=0 b=3", "a=0 b=4"}
        assert found("AND(A a, B b) WITHIN 1 EVENT", "A 5; B 5; B 6") == {"a=0 b=1"}

    def test_a_tie_break_separates_positions(self) -> None:
        events = "A 0; D 1 rank=1; D 1 rank=2; B 1 rank=3"  # positions 0 1 2 3
        assert found("SEQ(A a, B b) WITHIN 3 EVENTS", events, tie_break=True) == set()
        assert found("SEQ(A a, B b) WITHIN 4 EVENTS", events, tie_break=True) == {"a=0 b=3"}

    def test_positions_are_counted_inside_a_partition(self) -> None:
        events = "A 0 k=1; D 1 k=2; D 2; B 3 k=1"  # the D have other keys or none
        assert found("SEQ(A a, B b) WITHIN 2 EVENTS PARTITION BY k", events) == {"a=0 b=3"}
        assert found("SEQ(A a, B b) WHERE [k] WITHIN 3 EVENTS", events) == set()

    def test_events_with_a_null_key_have_positions_in_the_whole_input(self) -> None:
        assert found("SEQ(A a, B b) WHERE [k] WITHIN 2 EVENTS", "A 0 k=1; D 1; B 2 k=1") == set()
        assert found("SEQ(A a, B b) WHERE [k] WITHIN 3 EVENTS", "A 0 k=1; D 1; B 2 k=1") == {"a=0 b=2"}


class TestDuplicates:
    def test_an_event_delivered_twice_counts_once(self) -> None:
        events = [event(0, "A", 0, key=7), event(1, "A", 0, key=7), event(2, "B", 1, key=8)]
        matches = find_matches(query_of("SEQ(A a, B b)"), events)
        assert [match.rows for match in matches] == [{"a": (0,), "b": (2,)}]

    def test_also_for_positions(self) -> None:
        events = [
            event(0, "A", 0, key=7),
            *(event(row, "D", 1, key=9) for row in (1, 2)),
            event(3, "B", 2, key=8),
        ]
        assert len(find_matches(query_of("SEQ(A a, B b) WITHIN 3 EVENTS"), events)) == 1
        assert len(find_matches(query_of("SEQ(A a, B b) WITHIN 2 EVENTS"), events)) == 0

    def test_events_without_an_id_are_all_different(self) -> None:
        assert len(find_matches(query_of("A a"), stream("A 0; A 0"))) == 2


class TestReturn:
    def test_values_of_a_match(self) -> None:
        text = "SEQ(A a, B+ l[]) RETURN a.x + 1 AS up, COUNT(l) AS n, SUM(l.x) AS sum, LAST(l).ts - a.ts AS t"
        assert values(text, "A 0 x=1; B 5 x=2") == [{"up": 2, "n": 1, "sum": 2, "t": 5}]

    def test_a_branch_not_taken_is_null_and_counts_zero(self) -> None:
        text = "OR(A a, B+ l[]) RETURN a.x AS x, COUNT(l) AS n, SUM(l.x) AS total, a.x IS NULL AS missing"
        assert values(text, "A 0 x=1") == [{"x": 1, "n": 0, "total": None, "missing": False}]
        assert values(text, "B 0 x=1") == [{"x": None, "n": 1, "total": 1, "missing": True}]

    def test_so_is_an_absent_optional_item(self) -> None:
        text = "SEQ(A a, B* l[]) RETURN COUNT(l) AS n, FIRST(l).x AS x"
        assert values(text, "A 0 x=1") == [{"n": 0, "x": None}]
