"""How far rules get on events by hand: what is left by each kind of step."""

from tests.helpers.asked_why import ROWS, left, why
from tests.helpers.local_cases import detection_on

from weft.diagnosis.diagnose import diagnose
from weft.runtime.budget import Budget


def test_each_kind_of_step_is_counted() -> None:
    text = "PATTERN SEQ(A a, NOT C c, B b) WHERE [k] AND b.x > 14 AND b.x < a.x AND c.x > 98 WITHIN 1 minute"
    assert left(why(ROWS, text)) == [
        ("A a", 2),
        ("B b", 3),
        ("b.x > 14", 3),
        ("then B b, with the same k", 3),
        ("WITHIN 1 minute", 2),
        ("b.x < a.x", 1),
        ("NOT C c WHERE c.x > 98", 1),
    ]


def test_a_rule_that_matches_is_told_with_its_funnel() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < 15 WITHIN 1 minute")
    assert told.matches == 1
    assert told.closest is None
    assert told.verdict == "rule q: 1 match"
    assert [step.count for step in told.funnels[0].steps] == [2, 1, 3, 2, 1]
    assert "a.x < 15                 1  the fewest pass here" in str(told)


def test_counts_are_of_the_input_each_event_once() -> None:
    told = why([*ROWS, *ROWS], "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 1000 WITHIN 1 minute")
    assert left(told)[:3] == [("A a", 2), ("B b", 3), ("b.x > 1000", 0)]


def test_the_not_that_leaves_nothing_is_named() -> None:
    rows = [(0, "A", 1), (10, "N", 2), (20, "B", 4)]
    told = why(rows, "PATTERN SEQ(A a, NOT M m, NOT N n, B b) WITHIN 1 minute")
    assert left(told)[-2:] == [("NOT M m", 1), ("NOT N n", 0)]


def test_lists() -> None:
    rows = [(0, "A", 1, 1, 5), (1, "B", 2, 1, 1), (2, "B", 3, 1, 2), (3, "B", 4, 1, 9), (4, "C", 5, 1)]
    conditions = "b.x < a.x AND b[i].x > b[i-1].x AND COUNT(b) > 2"
    text = f"PATTERN SEQ(A a, B{{2,}} b[], C c) WHERE {conditions} WITHIN 1 minute"
    told = why(rows, text)
    assert left(told) == [
        ("A a", 1),
        ("B{2,} b[]", 3),
        ("then B{2,} b[]", 3),
        ("WITHIN 1 minute", 3),
        ("b.x < a.x", 2),
        ("C c", 1),
        ("then C c", 2),
        ("WITHIN 1 minute", 2),
        ("b[]: 2 or more", 1),
        ("b[i].x > b[i-1].x", 1),
        ("COUNT(b) > 2", 0),
    ]
    assert told.closest is not None
    assert told.closest.text == "COUNT(b) > 2: was 2"


def test_windows_of_events() -> None:
    rows = [(second, "X", second) for second in range(1, 10)] + [(0, "A", 0), (10, "B", 10)]
    told = why(rows, "PATTERN SEQ(A a, B b) WITHIN 5 EVENTS")
    assert left(told) == [("A a", 1), ("B b", 1), ("then B b", 1), ("WITHIN 5 EVENTS", 0)]
    assert told.closest is not None
    assert told.closest.text == "WITHIN 5 EVENTS: more events lie between, in 0:00:10"


def test_the_first_events_stay_within_the_window_while_the_next_one_need_not() -> None:
    rows = [(0, "A", 1), (500, "B", 2), (510, "C", 3), (490, "A", 4)]
    told = why(rows, "PATTERN SEQ(A a, B b, C c) WITHIN 1 minute")
    assert [count for _, count in left(told)] == [2, 1, 2, 1, 1, 1, 1]


def test_alternatives_and_their_union() -> None:
    rows = [(0, "A", 1), (1, "B", 2), (2, "C", 3, 1, 7)]
    told = why(rows, "PATTERN SEQ(A a, OR(B b, C c)) WHERE c.x > 7 WITHIN 1 minute")
    assert [funnel.pattern for funnel in told.funnels] == ["SEQ(A a, B b)", "SEQ(A a, C c)"]
    assert [[step.count for step in funnel.steps] for funnel in told.funnels] == [
        [1, 1, 1, 1],
        [1, 1, 0, 0, 0],
    ]
    assert [(step.kind, step.count) for step in told.whole] == [("union", 1)]
    assert told.matches == 1
    told = why(rows, "PATTERN SEQ(A a, OR(D d, C c)) WHERE c.x > 7 WITHIN 1 minute")
    assert told.closest is not None
    assert told.closest.text == "c.x > 7: was 7"  # this alternative gets further
    assert "all alternatives" in str(told)


def test_optional_items_are_alternatives() -> None:
    told = why([(0, "A", 1), (2, "C", 3)], "PATTERN SEQ(A a, B* b[], C c) WHERE COUNT(b) > 0 WITHIN 1 minute")
    assert [funnel.steps[-1].count for funnel in told.funnels] == [0, 0]
    assert told.funnels[0].steps[-1].text == "COUNT(b) > 0"


def test_the_strategy_comes_last() -> None:
    rows = [(0, "A", 1), (1, "B", 2, 1, 1), (2, "B", 3, 1, 2)]
    told = why(rows, "PATTERN SEQ(A a, B b) WITHIN 1 minute STRATEGY NEXT")
    assert left(told)[-2:] == [("WITHIN 1 minute", 2), ("STRATEGY NEXT", 1)]
    told = why(
        [(0, "A", 1), (1, "X", 2), (2, "B", 3)], "PATTERN SEQ(A a, B b) WITHIN 1 minute STRATEGY STRICT"
    )
    assert told.matches == 0
    assert told.closest is not None
    assert told.closest.text == "STRATEGY STRICT: other events lie in between"


def test_what_one_match_hides_is_the_last_step() -> None:
    rows = [(0, "A", 1), (1, "B", 2), (2, "B", 3)]
    told = why(rows, "PATTERN SEQ(A a, B b) WITHIN 1 minute AFTER MATCH SKIP PAST LAST SUPPRESS 1 hour")
    assert left(told)[-1] == ("AFTER MATCH SKIP PAST LAST SUPPRESS 1 hour", 1)


def test_a_type_that_no_event_has() -> None:
    told = why(
        [(0, "PasswordChange", 1), (1, "Transfer", 2), (2, "Transfer", 3)],
        "PATTERN SEQ(PasswordChange p, Tranfser t)",
    )
    said = "no event has type Tranfser; did you mean Transfer (2 events)?"
    assert told.funnels[0].steps[1].note == said
    assert told.closest is not None
    assert told.closest.text == f"Tranfser t: {said}"
    assert [event.id for event in told.closest.events] == [1]


def test_no_events_at_all() -> None:
    told = why([(0, "X", 1)], "PATTERN SEQ(A a, B b)")
    assert told.matches == 0
    assert told.closest is None
    assert told.funnels[0].steps[0].note == "no event has type A"


def test_a_step_that_explodes_is_told_and_those_after_it_are_counted() -> None:
    rows = [(second, "F", second, 1) for second in range(60)]
    detection = detection_on(rows, "QUERY q PATTERN SEQ(F{5,} f[], NOT L l) WITHIN 1 hour STRATEGY NEXT")
    told = diagnose(detection.host, detection.queries[0], budget=Budget(partial_matches=1000))
    shown = {step.text: step for step in (*told.funnels[0].steps, *told.whole)}
    assert shown["f[]: 5 or more"].count is None
    assert shown["f[]: 5 or more"].note == "more than 1,000 partial matches"
    assert "?  more than 1,000 partial matches" in str(told)
    assert told.closest is None


def test_what_is_not_counted_is_said() -> None:
    rows = [(second, "F", second, 1) for second in range(60)]
    detection = detection_on(rows, "QUERY q PATTERN F{5,} f[] WITHIN 1 hour")
    told = diagnose(detection.host, detection.queries[0], budget=Budget(partial_matches=1000))
    assert told.matches is None
    assert told.verdict == "rule q: how many matches there are was not counted"


def test_a_trend_query_is_told_by_its_events() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B+ b) WHERE b.x > 20 WITHIN 1 minute RETURN COUNT(*)")
    assert told.matches is None
    assert "a trend query has aggregates" in told.verdict
    assert [(step.text, step.count) for step in told.funnels[0].steps] == [
        ("A a", 2),
        ("B b", 3),
        ("b.x > 20", 1),
    ]
