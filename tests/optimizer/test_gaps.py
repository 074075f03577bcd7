"""What a node of lists knows of the strategy, by what it is joined to."""

import pytest
from tests.helpers.notation import query_of
from tests.helpers.strategies import SCHEMA

from weft.normalize.pipeline import normalize
from weft.optimizer.assemble import needs_of
from weft.optimizer.gaps import gap_of
from weft.optimizer.pipeline import context_of

BOTH, EARLY, LATE, NEITHER = (True, True), (True, False), (False, True), (False, False)


def rule_of(text: str, earlier: str) -> tuple[bool, bool] | None:
    """Return whether the lists `b` of a pattern begin early and end late, next to some variables."""
    (form,) = normalize(query_of(text))
    item = next(item for item in form.items if item.variable == "b")
    context = context_of(SCHEMA)
    rule = gap_of(item, list(earlier), form, lambda negation: needs_of(negation, form, context))
    if rule is None:
        return None
    negation = form.negations[rule.gap]
    assert (negation.scope, negation.after, negation.before) == ("gap", ("b",), ("b",))
    return rule.begins_early, rule.ends_late


LIST = "SEQ(A a, B+ b[], C c)"
BOUNDED = {
    ("any list", f"{LIST} STRATEGY ANY", "ac"): None,
    ("a list of one has no gaps", "SEQ(A a, B{1} b[]) STRATEGY NEXT", "a"): None,
    ("between two events", f"{LIST} STRATEGY NEXT", "ac"): BOTH,
    ("after one", f"{LIST} STRATEGY NEXT", "a"): EARLY,
    ("before one", f"{LIST} STRATEGY NEXT", "c"): LATE,
    ("alone", f"{LIST} STRATEGY NEXT", ""): NEITHER,
    ("strictly between two events", f"{LIST} STRATEGY STRICT", "ac"): BOTH,
    ("strictly after one", f"{LIST} STRATEGY STRICT", "a"): EARLY,
    ("strictly before one", f"{LIST} STRATEGY STRICT", "c"): LATE,
    ("with an upper bound", "SEQ(A a, B{1,3} b[], C c) STRATEGY NEXT", "ac"): BOTH,
    ("of one length", "SEQ(A a, B{2} b[], C c) STRATEGY NEXT", "ac"): EARLY,
    ("at the start", "SEQ(B+ b[], C c) STRATEGY NEXT", "c"): LATE,
    ("at the end", "SEQ(A a, B+ b[]) STRATEGY NEXT", "a"): EARLY,
    ("first of a match in any order", "AND(A a, B+ b[]) STRATEGY NEXT", "a"): NEITHER,
    ("strictly, in any order", "AND(A a, B+ b[]) STRATEGY STRICT", "a"): None,
    ("after all of an AND", "SEQ(AND(A a, D d), B+ b[], C c) STRATEGY NEXT", "adc"): BOTH,
    ("after some of an AND", "SEQ(AND(A a, D d), B+ b[], C c) STRATEGY NEXT", "ac"): LATE,
    ("with a condition on the elements", f"{LIST} WHERE b.x > 1 STRATEGY NEXT", "ac"): BOTH,
    ("with a condition to an event before", f"{LIST} WHERE b.x > a.x STRATEGY NEXT", "ac"): BOTH,
    ("without the event of that condition", f"{LIST} WHERE b.x > a.x STRATEGY NEXT", "c"): None,
    ("with a condition to an event after", f"{LIST} WHERE b.x > c.x STRATEGY NEXT", "a"): EARLY,
    ("with a condition on neighbors", f"{LIST} WHERE b[i].x > b[i-1].x STRATEGY NEXT", "ac"): BOTH,
    ("with one on the whole list", f"{LIST} WHERE SUM(b.x) > a.x STRATEGY NEXT", "ac"): BOTH,
    ("with keys", f"{LIST} WHERE [k] STRATEGY NEXT", "ac"): BOTH,
    ("strictly with keys", f"{LIST} WHERE [k] STRATEGY STRICT", "ac"): BOTH,
    (
        "where another event may be what is passed over",
        "AND(B d, SEQ(A a, B+ b[], C c)) STRATEGY NEXT",
        "ac",
    ): None,
    ("and with it", "AND(B d, SEQ(A a, B+ b[], C c)) STRATEGY NEXT", "acd"): BOTH,
    (
        "where the condition is asked only of what comes later",
        "SEQ(A a, AND(B+ b[], C c), D d) WHERE b.x > c.x STRATEGY NEXT",
        "acd",
    ): BOTH,
    ("and without that", "SEQ(A a, AND(B+ b[], C c), D d) WHERE b.x > c.x STRATEGY NEXT", "ad"): None,
}


@pytest.mark.parametrize(
    ("text", "earlier", "expected"),
    [(text, earlier, expected) for (_, text, earlier), expected in BOUNDED.items()],
    ids=[name for name, _, _ in BOUNDED],
)
def test_lists_begin_early_and_end_late_where_both_ends_are_known(
    text: str, earlier: str, expected: tuple[bool, bool] | None
) -> None:
    assert rule_of(text, earlier) == expected


def test_a_not_of_the_pattern_is_no_rule_of_the_strategy() -> None:
    assert rule_of("SEQ(A a, NOT B n, B+ b[], C c) STRATEGY ANY", "ac") is None
    assert rule_of("SEQ(A a, NOT D n, B+ b[], C c) STRATEGY NEXT", "c") == LATE
