"""The closest miss of rules by hand, and what it lacks."""

import pytest
from tests.helpers.asked_why import ROWS, left, why


def test_a_miss_of_a_condition_is_the_one_with_the_nearest_value() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 40 WITHIN 1 minute")
    assert [step.count for step in told.funnels[0].steps] == [2, 3, 1, 1, 0]
    assert told.closest is not None
    assert told.closest.text == "WITHIN 1 minute: took 1:06:40"
    assert [(event.variable, event.id) for event in told.closest.events] == [("a", 1), ("b", 6)]
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 60 WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b.x > 60: was 15"  # with the A before it; alone, 50 would be nearer
    assert told.closest.events[1].attributes == {"k": 1, "x": 15}


def test_an_event_that_fails_its_own_condition_is_shown_though_nothing_is_before_it() -> None:
    told = why(ROWS, "PATTERN SEQ(C c, A a) WHERE a.x > 60")
    assert told.closest is not None
    assert told.closest.text == "a.x > 60: was 20"
    assert [event.id for event in told.closest.events] == [2]
    told = why(ROWS, "PATTERN C c WHERE c.x > 100")
    assert told.closest is not None
    assert told.closest.text == "c.x > 100: was 99"


def test_a_comparison_of_two_events_is_told_with_both_values() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE b.x > a.x + 100 WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b.x > a.x + 100: b.x was 15, a.x was 10"


def test_a_condition_without_a_distance_is_told_by_its_values() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE b.x IN (1, 2) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b.x IN (1, 2): was 15"


def test_events_that_do_not_agree_on_a_key_are_told() -> None:
    told = why([(0, "A", 1, 1), (5, "B", 2, 2)], "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 minute")
    assert left(told)[2] == ("then B b, with the same k", 0)
    assert told.closest is not None
    assert told.closest.text == "then B b, with the same k: a.k was 1, b.k was 2"


def test_of_three_events_the_first_two_agree() -> None:
    rows = [(0, "A", 1, 1), (5, "B", 2, 1), (7, "B", 3, 9), (8, "C", 4, 7)]
    told = why(rows, "PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "then C c, with the same k: a.k was 1, b.k was 1, c.k was 7"


def test_one_event_without_a_key_agrees_with_nothing() -> None:
    told = why([(0, "A", 1)], "PATTERN A a WHERE [k]")
    assert left(told) == [("A a", 1), ("[k]", 0)]
    assert told.closest is not None
    assert told.closest.text == "[k]: a.k was NULL"


def test_another_order_is_told() -> None:
    told = why([(0, "B", 1), (5, "A", 2), (90, "B", 3)], "PATTERN SEQ(A a, NOT B n, B b) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "WITHIN 1 minute: took 0:01:25"
    told = why([(0, "B", 1), (5, "A", 2)], "PATTERN SEQ(A a, B b) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "then B b: B b is 0:00:05 before A a"
    told = why([(5, "B", 1), (5, "A", 2)], "PATTERN SEQ(A a, B b) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "then B b: B b is at the same time as A a"
    told = why([(0, "B", 1, 1), (500, "A", 2, 1)], "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "then B b, with the same k: B b is 0:08:20 before A a"


def test_nothing_to_join() -> None:
    told = why([(0, "A", 1)], "PATTERN AND(A a, A b) WITHIN 1 minute")
    assert left(told)[2:] == [("and A b", 0), ("WITHIN 1 minute", 0)]
    assert told.closest is not None
    assert told.closest.text == "and A b: there is none"


@pytest.mark.parametrize(
    ("pattern", "blocker"),
    [
        ("SEQ(NOT N n, A a, B b)", 1),
        ("SEQ(A a, NOT N n, B b)", 3),
        ("SEQ(A a, B b, NOT N n)", 5),
        ("AND(A a, B b, NOT N n)", 3),
    ],
)
def test_a_negated_event_is_shown_wherever_it_lies(pattern: str, blocker: int) -> None:
    rows = [(0, "N", 1), (10, "A", 2), (12, "N", 3), (20, "B", 4), (30, "N", 5)]
    told = why(rows, f"PATTERN {pattern} WITHIN 1 minute")
    assert left(told)[-1] == ("NOT N n", 0)
    assert told.closest is not None
    (found,) = (event for event in told.closest.events if event.is_blocker)
    assert found.id == blocker
    assert told.closest.text.startswith(f"NOT N n: N n, id {blocker}, at 1970-01-01 00:00:")
    assert "(forbidden)" in str(told)


def test_a_negated_sequence_is_shown() -> None:
    rows = [(0, "A", 1), (10, "N", 2), (12, "M", 3), (20, "B", 4)]
    told = why(rows, "PATTERN SEQ(A a, NOT SEQ(N n, M m), B b) WITHIN 1 minute")
    assert told.closest is not None
    assert [event.id for event in told.closest.events if event.is_blocker] == [2, 3]


def test_a_list_that_is_too_short() -> None:
    rows = [(0, "A", 1), (1, "B", 2), (2, "B", 3), (9, "C", 4)]
    told = why(rows, "PATTERN SEQ(A a, B{4,6} b[], C c) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b[]: 4 to 6: the longest list has 2"
    told = why(rows[:2] + rows[3:], "PATTERN SEQ(A a, B{2} b[], C c) WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b[]: 2: no list has more than one"


def test_neighbors_in_a_list_are_told_by_its_ends() -> None:
    rows = [(1, "B", 2, 1, 7), (2, "B", 3, 1, 5)]
    told = why(rows, "PATTERN B{2,} b[] WHERE b[i].x > b[i-1].x WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "b[i].x > b[i-1].x: FIRST(b).x was 7, LAST(b).x was 5"
