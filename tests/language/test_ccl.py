"""Statements of CCL: what they are in our own language, their mistakes, and texts of both languages."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.mistakes import load_mistakes
from tests.language.test_fuzz import assert_in_plain_words

from weft.errors import QueryError
from weft.language.parser import parse
from weft.language.printer import to_text
from weft.language.read import read_queries
from weft.pattern.nodes import Event
from weft.tree import find

TEMPLATE = "SELECT * FROM A, B, C, D, E MATCHING [1 minute: {}]"


def pattern_of(steps: str) -> str:
    """Return what a CCL pattern over A, B, C, D and E is in our own language."""
    used = [name for name in "ABCDE" if name in steps]
    text = TEMPLATE.format(steps).replace("A, B, C, D, E", ", ".join(used), 1)
    return to_text(read_queries(text, None)[0]).splitlines()[1].removeprefix("PATTERN ")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("A", "A"),
        ("A, B, C", "SEQ(A, B, C)"),
        ("A & B & C", "AND(A, B, C)"),
        ("A && B", "AND(A, B)"),
        ("A | B | C", "SOME(A, B, C)"),
        ("A || B", "SOME(A, B)"),
        ("A, B & C | D, E", "SEQ(A, SOME(AND(B, C), D), E)"),
        ("A & B | C & D", "SOME(AND(A, B), AND(C, D))"),
        ("A & (B | C)", "AND(A, SOME(B, C))"),
        ("(A, B) & C", "AND(SEQ(A, B), C)"),
        ("(A, B), C", "SEQ(A, B, C)"),
        ("A, (B, C), ((D))", "SEQ(A, B, C, D)"),
        ("A | (B | C)", "SOME(A, B, C)"),
        ("A, !B, C", "AND(SEQ(A, C), NOT B)"),
        ("!B, A, C", "AND(SEQ(A, C), NOT B)"),
        ("A, C, !B", "AND(SEQ(A, C), NOT B)"),
        ("A & !B & C", "AND(A, C, NOT B)"),
        ("A & !B", "AND(A, NOT B)"),
        ("(A & !B), C, !D", "AND(SEQ(A, C), NOT B, NOT D)"),
        ("A, !(B & C)", "AND(A, NOT AND(B, C))"),
        ("A, !(B, !C)", "AND(A, NOT AND(B, NOT C))"),
        ("A, !(B | C)", "AND(A, NOT SOME(B, C))"),
        ("(A & !B) | C", "SOME(AND(A, NOT B), C)"),
        ("A & !B | C, D", "SEQ(SOME(AND(A, NOT B), C), D)"),
        ("(A | B), !C", "AND(SOME(A, B), NOT C)"),
    ],
)
def test_patterns(steps: str, expected: str) -> None:
    assert pattern_of(steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("A, B | !C", "OR(SEQ(A A, B), AND(A A, NOT C))"),
        ("A & (B | !C)", "OR(AND(A A, B), AND(A A, NOT C))"),
        ("A, (B | C | !D | !E)", "OR(SEQ(A A, SOME(B, C)), AND(A A, NOT D), AND(A A, NOT E))"),
        ("A, !(B & (C | !D))", "AND(A, NOT OR(AND(B B, C), AND(B B, NOT D)))"),
    ],
)
def test_a_negation_alone_in_a_choice_counts_where_no_event_of_it_is_taken(steps: str, expected: str) -> None:
    assert pattern_of(steps) == expected


def query_of(text: str) -> str:
    (query,) = read_queries(text, None)
    return to_text(query)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("ON a.k = b.k = c.k", "[k]"),
        ("ON b.k == c.k = a.k", "[k]"),
        ("ON a.k = b.k = c.k = a.k = b.k", "[k]"),
        ("ON a.k = b.k = a.k", "a.k = b.k"),
        ("ON a.k = a.k = a.k", "a.k = a.k"),
        ("ON a.k = b.k = c.k AND c.j = b.j = a.j", "[k] AND [j]"),
        ("ON a.k = b.k", "a.k = b.k"),
        ("ON a.k = b.k = c.j", "a.k = b.k AND a.k = c.j AND b.k = c.j"),
        ("ON a.k = b.k = 5", "a.k = b.k AND a.k = 5 AND b.k = 5"),
        ("ON [k, j] AND a.x < b.x + 1", "[k, j] AND a.x < b.x + 1"),
        ("WHERE a.x > 3 ON a.k = b.k = c.k", "[k] AND a.x > 3"),
        ("WHERE a.x > 3 AND b.y LIKE 'x%'", "a.x > 3 AND b.y LIKE 'x%'"),
        ("ON a.x = b.x = c.y OR a.x = 1", "a.x = b.x AND a.x = c.y AND b.x = c.y OR a.x = 1"),
        ("ON NOT (a.x = b.x = c.x)", "NOT (a.x = b.x AND a.x = c.x AND b.x = c.x)"),
    ],
)
def test_conditions(conditions: str, expected: str) -> None:
    found = query_of(f"SELECT * FROM A a, B b, C c MATCHING [1 sec: a, b | c] {conditions}").splitlines()
    shown = " ".join(line.strip() for line in found[2:-1]).removeprefix("WHERE ")
    assert shown == (f"({expected})" if " OR " in expected else expected)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("a.k = b.k = n.k = m.k", ["[k]"]),
        ("a.k = b.k", ["a.k = b.k"]),
        ("a.k = n.k = b.k", ["a.k = n.k", "a.k = b.k", "n.k = b.k"]),
        ("n.k = a.k = m.k", ["n.k = a.k", "a.k = m.k"]),
    ],
)
def test_a_key_holds_for_negated_events_only_if_they_are_in_the_chain(
    chain: str, expected: list[str]
) -> None:
    text = f"SELECT * FROM A a, B b, N n, M m MATCHING [1 sec: a, b, !n, !m] ON {chain}"
    assert [line.split(maxsplit=1)[1] for line in query_of(text).splitlines()[2:-1]] == expected


def test_a_statement_in_full() -> None:
    text = """
    /* three trades of one symbol */
    create output stream Three primary key deduced as
    select t1.symbol, t1.price first, t3.price - t1.price AS "rise %", 'x' // names of columns
    from Trade t1, "BRK.A" as t2, Trade as t3
    matching: [1 min 30 sec: t1, t2, t3] -- in order
    on t1.symbol = t2.symbol = t3.symbol;
    """
    assert query_of(text).splitlines() == [
        "QUERY Three",
        'PATTERN SEQ(Trade t1, "BRK.A" t2, Trade t3)',
        "WHERE [symbol]",
        "WITHIN 90 seconds",
        "RETURN t1.symbol, t1.price AS first, t3.price - t1.price AS \"rise %\", 'x'",
    ]


@pytest.mark.parametrize("kind", ["STREAM", "OUTPUT STREAM", "LOCAL WINDOW", "OUTPUT WINDOW"])
def test_what_is_created_names_the_query(kind: str) -> None:
    (query,) = parse(f'CREATE {kind} "a b" AS SELECT * FROM A MATCHING [1 ms: A]')
    assert query.name == "a b"


@pytest.mark.parametrize(
    "unit",
    [
        "us",
        "micros",
        "milliseconds",
        "ms",
        "millis",
        "SEC",
        "seconds",
        "MIN",
        "minutes",
        "hr",
        "HOURS",
        "days",
    ],
)
def test_units_of_intervals(unit: str) -> None:
    (query,) = parse(f"SELECT * FROM A MATCHING [2 {unit}: A]")
    (own,) = parse(f"QUERY ccl_1 PATTERN A WITHIN 2 {unit}")
    assert query == own


@pytest.mark.parametrize(("text", "message"), load_mistakes("ccl_mistakes.txt"))
def test_mistakes_are_explained(text: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        read_queries(text, None)
    assert str(raised.value) == message


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(QueryError, match="nests more than 100 levels deep"):
        parse(f"SELECT * FROM A, B MATCHING [1 s: {'(' * 500}A{')' * 500}] ON {'NOT ' * 200} A.x = B.x")


def test_the_depth_of_a_pattern_is_that_of_its_steps() -> None:
    fine = "(A, (B & " * 49 + "A" + "))" * 49
    with pytest.raises(QueryError, match="occurs twice in the pattern"):
        parse(f"SELECT * FROM A, B MATCHING [1 s: {fine}]")
    for steps in ("(A, (B & " * 60 + "A" + "))" * 60, "!(" * 101 + "A" + ")" * 101, "!" * 3_000 + "A"):
        with pytest.raises(QueryError) as raised:
            parse(f"SELECT * FROM A, B MATCHING [1 s: {steps}]")
        assert [each.message for each in raised.value.problems] == [
            "MATCHING nests more than 100 levels deep"
        ]


def test_a_statement_may_have_many_sources() -> None:
    names = [f"a{number}" for number in range(60)]
    text = f"SELECT * FROM {', '.join(f'A {name}' for name in names)} MATCHING [1 s: {', '.join(names)}]"
    (query,) = parse(text)
    assert [event.variable for event in find(query.pattern, Event)] == names


def test_a_chain_has_64_different_values_at_most() -> None:
    sides = [f"A.k{number}" for number in range(65)]
    (query,) = parse(f"SELECT * FROM A MATCHING [1 s: A] ON {' = '.join(sides[1:] * 2)}")
    assert len(query.where) == 64 * 63 / 2
    with pytest.raises(QueryError, match="a chain has at most 64 different values, found 65"):
        parse(f"SELECT * FROM A MATCHING [1 s: A] ON {' = '.join(sides)}")


# Texts of both languages.

MIXED = """-- both languages
QUERY first PATTERN SEQ(Select s, Create c,
  Select t)
WITHIN 5 minutes
SELECT s.x FROM "Select" s MATCHING [1 second: s]

/* the third */ CREATE STREAM third AS
SELECT * FROM A, B
MATCHING: [1 second: A, B]
QUERY fourth PATTERN A
fifth: PATTERN B
CREATE STREAM sixth AS SELECT * FROM A MATCHING [1 second: A]; SELECT * FROM B MATCHING [1 s: B];
# the last
// one
QUERY eighth PATTERN C c WHERE c.x > 3
"""


def test_both_languages_in_one_text() -> None:
    names = [query.name for query in read_queries(MIXED, None)]
    assert names == ["first", "ccl_1", "third", "fourth", "fifth", "sixth", "ccl_4", "eighth"]


def test_a_mistake_in_one_statement_hides_none_in_the_next() -> None:
    text = (
        MIXED.replace("[1 second: s]", "[1 second s]").replace("c.x > 3", "c.x >").replace("A, B]", "A, C]")
    )
    with pytest.raises(QueryError) as raised:
        read_queries(text, None)
    places = [line.split(": query ")[0] for line in str(raised.value).splitlines() if ": query " in line]
    assert places == ["<query>:5:47", "<query>:8:18", "<query>:9:25", "<query>:15:37"]


def test_a_query_without_a_name_stands_alone() -> None:
    with pytest.raises(QueryError, match="this query has no name"):
        parse("PATTERN A\nSELECT * FROM A MATCHING [1 s: A]")


def test_names_by_position_may_collide() -> None:
    with pytest.raises(QueryError, match="two queries are named ccl_1"):
        read_queries("QUERY ccl_1 PATTERN A\nSELECT * FROM A MATCHING [1 s: A]", None)


def test_a_missing_quote_does_not_swallow_the_next_statement() -> None:
    text = "SELECT * FROM A MATCHING [1 s: A] ON A.x = 'ab\nSELECT * FROM B MATCHING [1 s: B] ON B.x = 'cd'\n"
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert [problem.message for problem in raised.value.problems] == ["this quoted text is never closed"]


def test_comments_of_both_kinds_are_no_part_of_our_own_queries() -> None:
    assert parse("// a\nQUERY q PATTERN /* b\n */ A a\n  // c\nWITHIN 1 s") == parse(
        "QUERY q PATTERN A a WITHIN 1 s"
    )


def test_two_slashes_after_a_value_are_no_comment_in_our_own_queries() -> None:
    with pytest.raises(QueryError, match="found '/' in RETURN"):
        parse("QUERY q PATTERN A a RETURN a.x // 2")


def test_files_of_both_languages(tmp_path: Path) -> None:
    (tmp_path / "a.ccl").write_text("SELECT * FROM A MATCHING [1 s: A]")
    (tmp_path / "b.weft").write_text("QUERY b PATTERN B")
    (tmp_path / "c.ccl").write_text("// c\nCREATE STREAM c AS SELECT * FROM C MATCHING [1 s: C];")
    (tmp_path / "d.txt").write_text("no queries")
    for path in (tmp_path, str(tmp_path)):
        assert [query.name for query in read_queries(path, None)] == ["ccl_1", "b", "c"]


@pytest.mark.parametrize(
    "own",
    [
        'QUERY "left alone" -- a comment\nPATTERN B',
        'QUERY /* a comment */ "left alone"\n# another\nPATTERN B',
        '-- a comment\nQUERY "left alone" WHERE B.x > 1 PATTERN B',
        'QUERY "left alone" GROUP BY k PATTERN B WITHIN 1 s RETURN COUNT(*)',
        'QUERY "left alone" PARTITION BY k PATTERN B WITHIN 5 EVENTS',
        'QUERY "left alone" SLIDE 1 s PATTERN B WITHIN 2 s RETURN COUNT(*)',
        'first: -- a comment\nPATTERN A\nQUERY "left alone" PATTERN B',
    ],
)
def test_a_statement_without_a_semicolon_ends_with_its_file(own: str) -> None:
    queries = read_queries(f"SELECT * FROM A MATCHING [1 s: A]\n{own}", None)
    assert (queries[0].name, queries[-1].name) == ("ccl_1", "left alone")


def test_a_mistake_after_a_statement_without_a_semicolon_is_one_of_the_next_query() -> None:
    with pytest.raises(QueryError) as raised:
        read_queries("SELECT * FROM A MATCHING [1 s: A]\nQUERY q MATCH B", None)
    assert raised.value.problems[-1].message == "found MATCH in QUERY, expected the end of the clause"


def test_a_semicolon_before_a_statement_is_fine() -> None:
    statement = "; // b\n;SELECT * FROM B MATCHING [1 s: B]"
    assert [query.name for query in read_queries(f"QUERY a PATTERN A\n{statement}", None)] == ["a", "ccl_1"]
    assert [query.name for query in read_queries(statement, None)] == ["ccl_1"]


def test_query_is_a_name_where_an_event_is_expected() -> None:
    (query,) = parse("SELECT * FROM A,\nQuery q WHERE q.x > 1\nMATCHING [1 s: A,\nq]")
    assert [event.type for event in find(query.pattern, Event)] == ["A", "Query"]


def test_mistakes_are_located_in_their_file(tmp_path: Path) -> None:
    (tmp_path / "a.weft").write_text("QUERY a PATTERN A a")
    (tmp_path / "b.ccl").write_text("\nSELECT *\nFROM B MATCHING [1 s: C]")
    with pytest.raises(QueryError) as raised:
        read_queries(tmp_path, None)
    assert f"{tmp_path}/b.ccl:3:23: query ccl_1: C is not in FROM" in str(raised.value)


# Whatever the text.

WORDS = [
    *("CREATE", "OUTPUT", "STREAM", "WINDOW", "SELECT", "FROM", "MATCHING", "ON", "WHERE", "AS", "AND", "OR"),
    *("QUERY", "PATTERN", "NOT", "A", "B", "A.x", "B.x", "x", "A, B", "[1 sec: A, B]", "1", "seconds", "'t'"),
    *(
        "&",
        "|",
        "!",
        ",",
        ":",
        ";",
        "[",
        "]",
        "(",
        ")",
        "=",
        "*",
        "<",
        "\n",
        "--",
        "//",
        "/*",
        "*/",
        '"',
        "'",
    ),
]
VALID = [
    "CREATE OUTPUT STREAM s AS SELECT A.x, B.y z FROM A, B AS b, C\nMATCHING: [1 sec: A, (b | !C)] "
    "ON A.x = b.x = C.x AND A.y > 3;",
    MIXED,
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_token_soup(words: list[str]) -> None:
    assert_in_plain_words("SELECT " + " ".join(words))


@pytest.mark.parametrize("seed", range(150))
def test_damaged_text(seed: int) -> None:
    dice = random.Random(seed)
    text = dice.choice(VALID)
    for _ in range(dice.randint(1, 4)):
        start = dice.randrange(len(text))
        text = text[:start] + dice.choice([*WORDS, ""]) + text[start + dice.randint(0, 6) :]
    assert_in_plain_words(text)
