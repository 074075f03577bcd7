"""Conditions that contradict each other: what is said of them, and of those that do not, nothing."""

import pytest

from weft.explanation.contradictions import contradictions
from weft.language.read import read_queries
from weft.notices import Notice
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Schema, decimal

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "x": LONG,
        "y": DOUBLE,
        "amount": decimal(2),
        "name": STRING,
        "flag": BOOLEAN,
        "day": DATE,
        "took": DURATION,
        "k": LONG,
    },
    time="ts",
)

NEVER = "the NOT of b never rejects a match, as nothing can satisfy"


def notices_of(text: str, *, is_typed: bool = True, tie_break: bool = False) -> list[Notice]:
    queries = read_queries(f"PATTERN {text}", SCHEMA if is_typed else None, tie_break=tie_break)
    return contradictions(queries, {"ts"}, tie_break=tie_break)


def reasons_of(text: str, *, is_typed: bool = True, tie_break: bool = False) -> list[str]:
    return [notice.reason for notice in notices_of(text, is_typed=is_typed, tie_break=tie_break)]


@pytest.mark.parametrize("is_typed", [True, False])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A a WHERE a.x > 10 AND a.x < 5", "no event can satisfy a.x > 10 and a.x < 5"),
        ("A a WHERE a.x BETWEEN 5 AND 3", "no event can satisfy a.x >= 5 and a.x <= 3"),
        ("A a WHERE a.x = 1 AND a.x = 2", "no event can satisfy a.x = 1 and a.x = 2"),
        ("A a WHERE a.x = 1 AND a.x != 1", "no event can satisfy a.x = 1 and a.x != 1"),
        (
            "A a WHERE a.x >= 1 AND a.x <= 1 AND a.x != 1",
            "no event can satisfy a.x >= 1 and a.x <= 1 and a.x != 1",
        ),
        ("A a WHERE a.name = 'b' AND a.name = 'c'", "no event can satisfy a.name = 'b' and a.name = 'c'"),
        ("A a WHERE a.name > 'c' AND a.name < 'b'", "no event can satisfy a.name > 'c' and a.name < 'b'"),
        (
            "A a WHERE a.name IN ('b', 'c') AND a.name = 'd'",
            "no event can satisfy a.name IN ('b', 'c') and a.name = 'd'",
        ),
        (
            "A a WHERE a.name LIKE 'b' AND a.name != 'b'",
            "no event can satisfy a.name LIKE 'b' and a.name != 'b'",
        ),
        ("A a WHERE a.x IS NULL AND a.x > 3", "no event can satisfy a.x IS NULL and a.x > 3"),
        ("A a WHERE a.x IS NULL AND a.x IS NOT NULL", "no event can satisfy a.x IS NULL and a.x IS NOT NULL"),
        ("A a WHERE a.ts IS NULL", "no event can satisfy a.ts IS NULL"),
        (
            "A a WHERE a.amount > 1.5 AND a.amount < 1.2",
            "no event can satisfy a.amount > 1.5 and a.amount < 1.2",
        ),
        ("A a WHERE a.flag AND NOT a.flag", "no event can satisfy a.flag and NOT a.flag"),
        ("A a WHERE FALSE", "no match can satisfy FALSE"),
        (
            "A a WHERE a.took > 5 minutes AND a.took < 1 minute",
            "no event can satisfy a.took > 5 minutes and a.took < 1 minute",
        ),
        ("A a WHERE NOT (a.x > 3 OR a.x <= 3)", "no event can satisfy NOT (a.x > 3 OR a.x <= 3)"),
        (
            "SEQ(A a, B b) WHERE [k] AND a.k = 1 AND b.k = 2",
            "no match can satisfy a.k = 1 and b.k = 2: all events agree on k",
        ),
        (
            "SEQ(A a, B b) WHERE a.x = b.x AND a.x = 1 AND b.x > 2",
            "no match can satisfy a.x = b.x and a.x = 1 and b.x > 2",
        ),
        (
            "AND(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND c.x < a.x",
            "no match can satisfy a.x < b.x and b.x < c.x and c.x < a.x",
        ),
        (
            "SEQ(A a, B b) WHERE b.ts - a.ts > 1 hour WITHIN 10 minutes",
            "no match can satisfy b.ts - a.ts > 1 hour: WITHIN is 10 minutes",
        ),
        (
            "SEQ(A a, B b) WHERE b.ts - a.ts < 0 seconds",
            "no match can satisfy b.ts - a.ts < 0 seconds: the pattern puts a before b",
        ),
        (
            "SEQ(A a, B b) WHERE a.ts > b.ts - 5 minutes AND b.ts - a.ts > 10 minutes",
            "no match can satisfy a.ts > b.ts - 5 minutes and b.ts - a.ts > 10 minutes",
        ),
        ("SEQ(A a, B+ b[]) WHERE b.x > 3 AND b.x < 2", "no event can satisfy b.x > 3 and b.x < 2"),
        (
            "SEQ(A a, B{1,3} b[]) WHERE COUNT(b) > 4",
            "no match can satisfy COUNT(b) > 4: b[] has 1 events at least, 3 at most",
        ),
        ("SEQ(A a, B* b[]) WHERE b.x > 3 AND b.x < 2", "no match with b can satisfy b.x > 3 and b.x < 2"),
        (
            "SEQ(A a, OR(B b, C c)) WHERE c.x > 3 AND c.x < 2",
            "no match with c can satisfy c.x > 3 and c.x < 2",
        ),
        ("SEQ(A a, OR(B b, C c)) WHERE a.x > 3 AND a.x < 2", "no event can satisfy a.x > 3 and a.x < 2"),
        (
            "SEQ(A a, NOT B b, C c) WHERE b.x > 3 AND b.x < 2",
            f"{NEVER} b.x > 3 and b.x < 2",
        ),
        (
            "SEQ(A a, NOT B b, C c) WHERE b.ts > c.ts",
            f"{NEVER} b.ts > c.ts: the pattern puts b before c",
        ),
        (
            "SEQ(A a, NOT B b, C c) WHERE b.x > a.x AND a.x > c.x AND c.x > b.x",
            f"{NEVER} a.x > c.x and b.x > a.x and c.x > b.x",
        ),
        (
            "SEQ(A a, B+ b) WHERE b.x > 3 AND b.x < 2 RETURN COUNT(*)",
            "no event can satisfy b.x > 3 and b.x < 2",
        ),
    ],
)
def test_what_can_never_hold_is_told(text: str, reason: str, is_typed: bool) -> None:
    (notice,) = notices_of(text, is_typed=is_typed)
    assert notice.kind == "contradiction"
    assert notice.query == "query"
    assert notice.reason == reason
    assert notice.remedy


@pytest.mark.parametrize(
    "text",
    [
        "A a WHERE a.x > 3 AND a.x < 4",
        "A a WHERE a.x > 1.5 AND a.x < 2",
        "A a WHERE a.ts > '2026-03-02' AND a.ts < '2026-03-01'",
        "A a WHERE a.ts > '2026-03-02' AND a.ts < '2026-03-01T23:00:00Z'",
        "A a WHERE a.day > '2026-03-02' AND a.day < '2026-03-02'",
        "A a WHERE a.day > '2026-03-02' AND a.ts > a.day AND a.ts < TIMESTAMP '2026-03-01'",
        "A a WHERE a.x + 1 > 5 AND a.x < 3",
    ],
)
def test_with_types_more_is_told(text: str) -> None:
    assert len(reasons_of(text)) == 1
    assert reasons_of(text, is_typed=False) == []


@pytest.mark.parametrize("is_typed", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "A a",
        "A a WHERE a.y > 3 AND a.y < 4",
        "A a WHERE a.x > 10 OR a.x < 5",
        "A a WHERE a.name IN ('b', 'c') AND a.name = 'c'",
        "A a WHERE a.name LIKE 'b%' AND a.name != 'b'",
        "A a WHERE a.x IS NULL AND a.k > 3",
        "SEQ(A a, B b) WHERE a.x > 10 AND b.x < 5",
        "SEQ(A a, B b) WHERE [k] AND a.k = 1 AND b.x = 2",
        "SEQ(A a, B b) WHERE b.ts - a.ts > 1 hour WITHIN 2 hours",
        "SEQ(A a, B+ b[]) WHERE b[i].x > b[i-1].x AND b[i].x < b[i-1].x",  # a list of one event
        "SEQ(A a, B+ b[]) WHERE FIRST(b).x > 5 AND LAST(b).x < 3",
        "SEQ(A a, B+ b[]) WHERE MIN(b.x) > 3 AND SUM(b.x) < 2",
        "SEQ(A a, NOT B b, C c) WHERE b.x > 3 AND a.x < 2",
        "SEQ(A a, OR(B b, C c)) WHERE b.x > 3 AND c.x < 2",
        "AND(A a, B b) WHERE b.ts < a.ts",
        "SEQ(A a, B b, C c) WHERE a.x != b.x AND b.x != c.x AND a.x != c.x",
    ],
)
def test_of_what_may_hold_nothing_is_told(text: str, is_typed: bool) -> None:
    assert reasons_of(text, is_typed=is_typed) == []


def test_with_a_tie_break_events_in_sequence_may_have_one_time() -> None:
    text = "SEQ(A a, B b) WHERE b.ts - a.ts = 0 seconds"
    assert reasons_of(text, tie_break=True) == []
    assert len(reasons_of(text)) == 1


def test_alternatives_that_differ_in_what_they_lack_are_told_apart() -> None:
    text = "SEQ(A a, B? b) WHERE COUNT(b) > 0 AND a.x > 3 AND COUNT(b) < 1"
    assert reasons_of(text) == ["no match with b can satisfy COUNT(b) > 0 and COUNT(b) < 1"]
    (first, second) = notices_of("OR(A a, B b) WHERE a.x > 3 AND a.x < 2 AND b.x > 3 AND b.x < 2")
    assert (first.reason, second.reason) == (
        "no event can satisfy a.x > 3 and a.x < 2",
        "no event can satisfy b.x > 3 and b.x < 2",
    )
