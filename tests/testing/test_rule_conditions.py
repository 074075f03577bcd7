"""Each condition of a rule, and the rule without it."""

import pytest

from weft.language.parser import parse
from weft.language.printer import to_text
from weft.testing.rule_conditions import conditions_of


def without(text: str) -> dict[str, str]:
    """Return the rules without each of their conditions, as text on one line, without their name."""
    (rule,) = parse(f"QUERY q PATTERN {text}")
    return {
        own.text: " ".join(to_text(own.without).split()).removeprefix("QUERY q PATTERN ")
        for own in conditions_of(rule)
    }


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("SEQ(A a, B b)", {}),
        (
            "SEQ(A a, B b) WHERE a.x > 1 AND a.y = b.y RETURN a.x",
            {"a.x > 1": "SEQ(A a, B b) WHERE a.y = b.y", "a.y = b.y": "SEQ(A a, B b) WHERE a.x > 1"},
        ),
        (
            "SEQ(A a, B b) WHERE [k, l]",
            {"[k]": "SEQ(A a, B b) WHERE [l]", "[l]": "SEQ(A a, B b) WHERE [k]"},
        ),
        (
            "SEQ(A a, B b) WITHIN 5 EVENTS PARTITION BY k",
            {
                "PARTITION BY k": "SEQ(A a, B b) WITHIN 5 EVENTS",
                "WITHIN 5 EVENTS": "SEQ(A a, B b) WITHIN 50 EVENTS PARTITION BY k",
            },
        ),
        ("A a WITHIN 1 minute", {"WITHIN 1 minute": "A a WITHIN 10 minutes"}),
        ("SEQ(A a, NOT B b, C c)", {"NOT B b": "SEQ(A a, C c)"}),
        (
            "SEQ(A a, NOT B b) WHERE a.x = b.x AND a.x > 1",
            {
                "a.x = b.x": "SEQ(A a, NOT B b) WHERE a.x > 1",
                "a.x > 1": "SEQ(A a, NOT B b) WHERE a.x = b.x",
                "NOT B b": "A a WHERE a.x > 1",
            },
        ),
        (
            "SEQ(A a, NOT SEQ(B b, NOT C c, D d), E e)",
            {
                "NOT SEQ(B b, NOT C c, D d)": "SEQ(A a, E e)",
                "NOT C c": "SEQ(A a, NOT SEQ(B b, D d), E e)",
            },
        ),
        (
            "SEQ(A{2,3} a[], B+ b[], C? c[], D{4} d[])",
            {
                "a: at least 2": "SEQ(A{1,3} a[], B+ b[], C? c[], D{4} d[])",
                "a: at most 3": "SEQ(A{2,4} a[], B+ b[], C? c[], D{4} d[])",
                "d: at least 4": "SEQ(A{2,3} a[], B+ b[], C? c[], D{3,4} d[])",
                "d: at most 4": "SEQ(A{2,3} a[], B+ b[], C? c[], D{4,5} d[])",
            },
        ),
    ],
)
def test_conditions(rule: str, expected: dict[str, str]) -> None:
    assert without(rule) == expected


def test_the_columns_of_a_trend_query_are_kept() -> None:
    rule = "A+ a[] WHERE a.x > 1 WITHIN 1 hour RETURN COUNT(*) AS n"
    assert without(rule)["a.x > 1"] == "A+ a[] WITHIN 1 hour RETURN COUNT(*) AS n"


def test_conditions_on_results() -> None:
    rule = "A+ a[] GROUP BY k HAVING COUNT(*) > 1 AND k > 2 RETURN COUNT(*) AS n"
    assert without(rule) == {
        "HAVING COUNT(*) > 1": "A+ a[] GROUP BY k HAVING a.k > 2 RETURN COUNT(*) AS n",
        "HAVING a.k > 2": "A+ a[] GROUP BY k HAVING COUNT(*) > 1 RETURN COUNT(*) AS n",
    }
    only = "A+ a[] HAVING COUNT(*) > 1 AND a.k > 2"
    assert list(without(only)) == ["HAVING a.k > 2"]  # without the other this is no trend query
