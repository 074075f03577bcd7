"""Whatever the text, parsing and binding give queries or a QueryError, and soon."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import QueryError
from weft.language.binder import bind
from weft.language.parser import parse
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

VALID = [
    "QUERY tailgate PATTERN SEQ(Gate g, Lobby+ l[], NOT Guard x, Vault v) "
    "WHERE [person] AND v.level > 3 AND l[i].time > l[i-1].time WITHIN 10 minutes "
    "RETURN g.person AS who, COUNT(l) AS steps",
    'QUERY "odd" PATTERN OR(AND(A a, "B.B" b), C{2,3} c) '
    "WHERE a.x BETWEEN 1 AND 2.5e3 OR NOT b.\"y z\" LIKE '%x' WITHIN 500 EVENTS PARTITION BY k "
    "RETURN a.x + -3 AS s, FIRST(c).x AS f, TIMESTAMP '2024-01-01' AS t",
    "q1: RETURN k, COUNT(*), SUM(b.x) PATTERN SEQ(A a, B b+, NOT C c) WHERE [y] AND a.k=Pool AND b.x < 3 "
    "GROUP-BY k WITHIN 30 min SLIDE 1 min\n"
    "q2: PATTERN (SEQ(A a, NOT C c, (B+ b)*)){2,} WHERE b[i].x > b[i-1].x + 1 RETURN COUNT(*), MAX(b.y) AS m",
    "QUERY next PATTERN SEQ(A a, B+ b, C strict) WITHIN 1 h STRATEGY NEXT AFTER MATCH SKIP PAST LAST "
    "PREFER LONGEST SUPPRESS 1 hour 30 min PER a.k, strict.x TIMEOUTS RETURN SUPPRESSED() AS skip\n"
    "timeouts: PATTERN A suppress STRATEGY STRICT SUPPRESS 1 s WHERE x > 1",
    "CREATE OUTPUT STREAM s AS SELECT a.x, b.y AS z FROM A a, B AS b, C, D\n"
    "MATCHING: [1 min 30 sec: a, (b | !C) & !(D)] ON a.x = b.x = C.x AND a.y > 3;\n"
    "SELECT * FROM A MATCHING [5 sec: A]\nQUERY q PATTERN A a",
]
WORDS = [
    *(
        "QUERY",
        "PATTERN",
        "WHERE",
        "WITHIN",
        "PARTITION BY",
        "GROUP-BY",
        "SLIDE",
        "RETURN",
        "AS",
        "SEQ",
        "AND",
    ),
    *(
        "OR",
        "NOT",
        "IS",
        "IN",
        "LIKE",
        "BETWEEN",
        "NULL",
        "TRUE",
        "TIMESTAMP",
        "DATE",
        "FIRST",
        "COUNT",
        "SUM",
    ),
    *("ABS", "a", "b", "x", "i", "minutes", "EVENTS", "a.x", "a.x", "a[i-1].x", "'2024-01-01'", "'text'"),
    *("1", "2.5", "1e400", "99999999999999999999", '"name"', "\n", "\u00e9", "\u2028", "\x00"),
    *"()()[]{},.+-*/%?!=<>;#'\"\\",
    *("==", "!=", "<>", "<=", ">=", "--", ":", "q:", "COUNT(*)", "(A a)+"),
    *("STRATEGY", "NEXT", "ANY", "AFTER MATCH SKIP", "TO", "PAST", "LAST", "PREFER", "LONGEST", "SUPPRESS"),
    *("PER", "TIMEOUTS", "SUPPRESSED()", "STRATEGY NEXT", "SUPPRESS 1 hour", "WITHIN 1 hour"),
    *("CREATE", "STREAM", "SELECT", "FROM", "MATCHING", "ON", "&", "|", "[1 sec: a, !b]", "//"),
]
WORDS_OF_A_MESSAGE = re.compile(r"[a-z]{2,}.* .*[^\s:,]$", re.IGNORECASE | re.DOTALL)  # two words at least
CCL = "SELECT * FROM A, B MATCHING [1 s: "
SCHEMA = Schema({"x": LONG, "y": DOUBLE, "k": STRING, "time": TIMESTAMP}, "time")


def problems_of(text: str) -> list[str]:
    """Return what is said of a text, nothing when it holds good queries."""
    try:
        bind(parse(text), SCHEMA, source=text)
    except QueryError as error:
        assert error.problems
        assert all(problem.message in str(error) for problem in error.problems)
        return [problem.message for problem in error.problems]
    return []


def assert_in_plain_words(text: str) -> None:
    for message in problems_of(text):
        assert WORDS_OF_A_MESSAGE.search(message), f"{message!r} says nothing"
        assert message == message.strip()
        assert "__ANON" not in message
        assert "the end of the clause or" not in message


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_token_soup(words: list[str]) -> None:
    assert_in_plain_words("PATTERN " + " ".join(words))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    assert_in_plain_words(text)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VALID), st.data())
def test_mutated_queries(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(st.sampled_from([*WORDS, ""])) + text[end:]
    assert_in_plain_words(text)


def test_a_thousand_queries_are_quick() -> None:
    source = random.Random(7)
    text = "\n".join(
        f"QUERY q{number} PATTERN SEQ(A a, B b, NOT C c, D d) "
        f"WHERE [k] AND a.x > {source.randint(0, 9)} AND b.y < a.y * 1.5 AND d.x + b.x != 7 "
        f"WITHIN {source.randint(1, 9)} min RETURN a.x AS first, d.x - a.x AS step"
        for number in range(1000)
    )
    start = time.process_time()
    queries = bind(parse(text), SCHEMA, source=text)
    assert len(queries) == 1000
    assert time.process_time() - start < 4  # several times what it takes, for slow machines


def test_a_thousand_wrong_queries_are_all_reported() -> None:
    text = "\n".join(f"QUERY q{number} PATTERN SEQ(A a, B b WHERE a.x > 3" for number in range(1000))
    assert problems_of(text) == ["found WHERE in PATTERN, expected ')' or ','"] * 1000


@pytest.mark.parametrize(
    "text",
    [
        "QUERY " * 20_000,
        "QUERY q PATTERN A a WHERE zz(x) = 1 " * 3_000,
        "PATTERN SEQ(A a, B b) WHERE " + " OR ".join(f"x{number} = 1" for number in range(10_000)),
        "PATTERN SEQ(A a, B b) WHERE " + " OR ".join(f"c{number}.x = 1" for number in range(10_000)),
        "PATTERN SEQ(" + ", ".join(f"T{number} t{number}" for number in range(2_000)) + ") WHERE zzzz.x = 1",
        "PATTERN A a WHERE a.x = '" + "\n" * 100_000,
        "PATTERN A a WHERE a.x = '" + "\n" * 100_000 + "' AND",
        "group" + " " * 200_000 + "x",
        "'" * 100_001,
        '"' * 100_001,
        "1" * 100_000,
        "PATTERN A a WITHIN " + "9" * 100_000 + " s",
        "(" * 100_000,
        "PATTERN " + "(" * 100_000,
        "x: " * 50_000,
        "x" + " " * 200_000 + ":",
        "PATTERN " + "(" * 98 + "A+ a" + ")+" * 98 + " RETURN COUNT(*), a.x",
        "PATTERN SEQ("
        + ", ".join(f"T{number} t{number}" for number in range(400))
        + ") WHERE "
        + " AND ".join(f"t{number}.x < t{number + 1}.x" for number in range(399))
        + " RETURN COUNT(*), t1.x",
        "PATTERN A a WHERE " + "(" * 48 + "a.x" + " BETWEEN 1 AND 2)" * 48,
        "PATTERN A a WHERE " + "ABS(" * 48 + "a.x" + " BETWEEN 1 AND 2)" * 48 + " = 1",
        CCL + "!(" * 3_000 + "A" + ")" * 3_000 + "]",
        CCL + "!" * 3_000 + "A]",
        CCL + "(A, (B & " * 3_000 + "A" + "))" * 3_000 + "]",
        CCL + "[1 s: A | " * 3_000 + "A" + "]" * 3_001,
        CCL + "A, B] ON " + " = ".join(f"A.k{number}" for number in range(3_000)),
        CCL + "A, B] ON " + " = ".join(["A.k", "B.z"] * 1_500) + " = ",
        CCL + "A, B] ON " + "A.x = B.x = (" * 48 + "1" + ")" * 48,
        CCL + "A, B] ON A.x = B.x = " + "-(" * 3_000 + "A.x" + ")" * 3_000,
        CCL.replace("*", "ABS(" * 3_000 + "A.x" + ")" * 3_000) + "A, B]",
        "SELECT * FROM " + ", ".join(f"A a{number}" for number in range(3_000)) + " MATCHING [1 s: a1]",
        (CCL + "A, B]\nQUERY /* ") * 3_000,
        (CCL + "A, B]\nx: --") * 3_000,
    ],
    ids=range(32),
)
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    assert problems_of(text)
    assert time.process_time() - start < 15
