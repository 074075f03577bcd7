"""Which conditions of rules the events of tests decide."""

import pytest

from weft.testing import events
from weft.testing.rule_results import detect_rules
from weft.testing.rule_set import RuleColumns, RuleSet
from weft.testing.undecided import DecisionRecord

COLUMNS = RuleColumns()


def undecided(rule: str, *tests: str) -> list[str]:
    """Return the conditions of a rule that no table decides."""
    rules = RuleSet.read(f"QUERY q PATTERN {rule}", COLUMNS).queries
    record = DecisionRecord.of_rules(rules, COLUMNS)
    for text in tests:
        table = events(f"ts  type  k  x\n{text}")
        record.see(table, detect_rules(table, rules, COLUMNS), {"q"})
    return [condition.text for condition in record.undecided]


RULE = "SEQ(A a, NOT N n, B b) WHERE [k] AND b.x > 5 WITHIN 1 hour"
MATCH = "0  A  1  -\n1m  B  1  6\n"


def test_a_match_alone_decides_nothing() -> None:
    assert undecided(RULE, MATCH) == ["[k]", "b.x > 5", "NOT N n", "WITHIN 1 hour"]


@pytest.mark.parametrize(
    ("rows", "decided"),
    [
        ("2m  B  2  6", "[k]"),
        ("2m  B  1  5", "b.x > 5"),
        ("30s  N  1  -", "NOT N n"),
        ("90m  B  1  6", "WITHIN 1 hour"),
    ],
)
def test_an_event_that_fails_one_condition_decides_it(rows: str, decided: str) -> None:
    everything = undecided(RULE, MATCH)
    assert undecided(RULE, MATCH + rows) == [text for text in everything if text != decided]
    assert undecided(RULE, MATCH + rows, MATCH) == undecided(RULE, MATCH, MATCH + rows)


def test_an_event_that_fails_two_conditions_decides_none() -> None:
    assert undecided(RULE, MATCH + "2m  B  2  5") == undecided(RULE, MATCH)


def test_a_window_is_decided_by_what_is_a_little_too_late() -> None:
    assert "WITHIN 1 hour" in undecided(RULE, "0  A  1  -\n11h  B  1  6")


def test_bounds_of_lists_are_decided_by_neighbors() -> None:
    rule = "SEQ(A{2,3} a[], B b) WITHIN 1 hour STRATEGY NEXT"
    two, three = "0 A - -\n1s A - -\n9s B - -", "0 A - -\n1s A - -\n2s A - -\n9s B - -"
    assert undecided(rule, two) == ["WITHIN 1 hour", "a: at most 3"]
    assert undecided(rule, "0 A - -\n9s B - -") == ["WITHIN 1 hour", "a: at most 3"]
    assert undecided(rule, three) == ["WITHIN 1 hour", "a: at most 3"]
    assert undecided(rule, three.replace("9s", "3s A - -\n9s")) == ["WITHIN 1 hour"]


def test_timeouts_decide_too() -> None:
    rule = "SEQ(A a, B b) WHERE a.x > 5 WITHIN 1 hour"
    assert undecided(rule, "0 A - 1") == ["a.x > 5", "WITHIN 1 hour"]
    assert undecided(f"{rule} TIMEOUTS", "0 A - 1") == ["WITHIN 1 hour"]


def test_trends_decide_too() -> None:
    rule = "A+ a[] WHERE a.x > 5 AND a.k > 0 WITHIN 1 hour RETURN COUNT(*) AS n"
    assert undecided(rule, "0 A 1 1\n1s A 1 6") == ["a.k > 0"]


def test_a_rule_that_explodes_without_a_condition_is_decided_by_it() -> None:
    rows = "\n".join(f"{second}s A {second} 1" for second in range(30))
    assert undecided("A{2,} a[] WHERE [k] WITHIN 1 hour", rows) == ["WITHIN 1 hour"]


def test_what_makes_no_sense_without_a_condition_is_not_told() -> None:
    """Events of one time have no order, so the two lists need the condition on their windows."""
    assert undecided("SEQ(A a, NOT B b) WITHIN 1 hour", "0 A - -\n1s B - -\n5h A - -") == ["WITHIN 1 hour"]
