"""What the parser makes of right text, and what it says of wrong text."""

import threading
from dataclasses import replace

import pytest
from tests.helpers.mistakes import load_mistakes

from weft.errors import QueryError
from weft.expressions import (
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Comparison,
    CountTrends,
    Equivalence,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Suppressed,
)
from weft.language.binder import bind
from weft.language.nesting import MAX_NESTING
from weft.language.parser import parse
from weft.language.read import read_queries
from weft.pattern.nodes import (
    Conjunction,
    CountWindow,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    Sequence,
    Some,
    TimeWindow,
)
from weft.pattern.policies import ALL_MATCHES, Policy, Suppression
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Schema, decimal
from weft.tree import walk

MINUTE = 60_000_000


def only(text: str) -> Query:
    """Parse a text that holds one query."""
    (query,) = parse(text)
    return query


def pattern(text: str) -> Pattern:
    return only(f"PATTERN {text}").pattern


def where(text: str) -> object:
    """Parse one predicate over the variables a and b."""
    (predicate,) = only(f"PATTERN SEQ(A a, B+ b) WHERE {text}").where
    return predicate


@pytest.mark.parametrize(("text", "message"), load_mistakes("parser_mistakes.txt"))
def test_mistakes_are_explained(text: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert str(raised.value) == message


def test_the_whole_language() -> None:
    text = """
    QUERY tailgate -- a comment
    PATTERN  SEQ(Gate g, Lobby+ l[], NOT Guard x, Vault v)
    WHERE    [person] AND v.level > 3 AND l[i].time > l[i-1].time  # another
    WITHIN   10 minutes
    PARTITION BY site, "odd name"
    RETURN   g.person AS who, COUNT(l) AS steps, v.ts - g.ts AS took, g.site, 1 + 2
    """
    query = only(text)
    assert query.name == "tailgate"
    assert query.pattern == Sequence(
        (
            Event("Gate", "g"),
            Kleene(Event("Lobby", "l"), 1, None),
            Negation(Event("Guard", "x")),
            Event("Vault", "v"),
        )
    )
    assert query.where == (
        Equivalence(("person",)),
        Comparison(">", Attribute("v", "level"), Literal(3, LONG)),
        Comparison(">", Attribute("l", "time", "current"), Attribute("l", "time", "previous")),
    )
    assert query.window == TimeWindow(10 * MINUTE)
    assert query.partition_by == ("site", "odd name")
    assert [column.name for column in query.returns] == ["who", "steps", "took", "g_site", "column5"]
    assert query.returns[1].expression == Aggregate("count", "l")
    assert query.returns[2].expression == Arithmetic("-", Attribute("v", "ts"), Attribute("g", "ts"))


def test_keywords_in_any_case_and_clauses_in_any_order() -> None:
    usual = "QUERY q PATTERN SEQ(A a, NOT B b) WHERE a.x IS NULL WITHIN 5 min PARTITION BY k RETURN a.x AS y"
    other = "query q Return a.x As y within 5 MIN partition by k Pattern seq(A a, not B b) where a.x is Null"
    assert parse(usual) == parse(other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", Event("A", "A")),
        ("A a", Event("A", "a")),
        ('"BRK.A" b', Event("BRK.A", "b")),
        ('"say ""hi"""', Event('say "hi"', 'say "hi"')),
        ("A+ a[]", Kleene(Event("A", "a"), 1, None)),
        ("A+ a", Kleene(Event("A", "a"), 1, None)),
        ("A*", Kleene(Event("A", "A"), 0, None)),
        ("A? a", Kleene(Event("A", "a"), 0, 1)),
        ("A{3} a", Kleene(Event("A", "a"), 3, 3)),
        ("A{3,} a", Kleene(Event("A", "a"), 3, None)),
        ("A{3, 5} a[]", Kleene(Event("A", "a"), 3, 5)),
        ("A a+", Kleene(Event("A", "a"), 1, None)),
        ("A a[]*", Kleene(Event("A", "a"), 0, None)),
        ("A a{2,3}", Kleene(Event("A", "a"), 2, 3)),
        ("(A a)+", Kleene(Event("A", "a"), 1, None)),
        ("(A+ a)*", Kleene(Kleene(Event("A", "a"), 1, None), 0, None)),
        ("(SEQ(A a, B+ b))+", Kleene(Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None))), 1, None)),
        ("SEQ(A a, B b){2,}", Kleene(Sequence((Event("A", "a"), Event("B", "b"))), 2, None)),
        (
            "SEQ(OR(A, B)?, C)",
            Sequence((Kleene(Disjunction((Event("A", "A"), Event("B", "B"))), 0, 1), Event("C", "C"))),
        ),
        ("SEQ(A)", Sequence((Event("A", "A"),))),
        ("(A a)", Event("A", "a")),
        ("AND(A a, !B b)", Conjunction((Event("A", "a"), Negation(Event("B", "b"))))),
        ("OR(A, NOT (B))", Disjunction((Event("A", "A"), Negation(Event("B", "B"))))),
        ("some(A a, SEQ(B, C))", Some((Event("A", "a"), Sequence((Event("B", "B"), Event("C", "C")))))),
        ("Some s", Event("Some", "s")),
        ("NOT SEQ(A, B)", Negation(Sequence((Event("A", "A"), Event("B", "B"))))),
        ("NOT NOT A", Negation(Negation(Event("A", "A")))),
        ("Seq s", Event("Seq", "s")),
        ("Date timestamp", Event("Date", "timestamp")),
        ("SEQ(first count, last)", Sequence((Event("first", "count"), Event("last", "last")))),
        ("\u00c5rsfest \u00e6", Event("\u00c5rsfest", "\u00e6")),
    ],
)
def test_patterns(text: str, expected: Pattern) -> None:
    assert pattern(text) == expected


A_X, A_Y, B_X = Attribute("a", "x"), Attribute("a", "y"), Attribute("b", "x")
ONE, TWO = Literal(1, LONG), Literal(2, LONG)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x == 1", Comparison("=", A_X, ONE)),
        ("a.x <> 1", Comparison("!=", A_X, ONE)),
        ("a.x IS NOT NULL", Not(IsNull(A_X))),
        ("a.x NOT IN (1, 2)", Not(InList(A_X, (ONE, TWO)))),
        ("a.x IN (-1)", InList(A_X, (Literal(-1, LONG),))),
        ("NOT a.x BETWEEN 1 AND 2", Not(And((Comparison(">=", A_X, ONE), Comparison("<=", A_X, TWO))))),
        ("a.x NOT BETWEEN 1 AND 2", Not(And((Comparison(">=", A_X, ONE), Comparison("<=", A_X, TWO))))),
        ("a.x NOT LIKE 'it''s%'", Not(Like(A_X, "it's%"))),
        ("a.x = 1 OR a.y = 2", Or((Comparison("=", A_X, ONE), Comparison("=", A_Y, TWO)))),
        ("a.x - 1 - 2", Arithmetic("-", Arithmetic("-", A_X, ONE), TWO)),
        ("a.x - (1 - 2)", Arithmetic("-", A_X, Arithmetic("-", ONE, TWO))),
        ("1 + a.x * -a.y", Arithmetic("+", ONE, Arithmetic("*", A_X, Negate(A_Y)))),
        ("-a.x * 2", Arithmetic("*", Negate(A_X), TWO)),
        ("a.x % 2 / 1", Arithmetic("/", Arithmetic("%", A_X, TWO), ONE)),
        ("ABS(a.x - 1)", Absolute(Arithmetic("-", A_X, ONE))),
        ('a."odd ""name"""', Attribute("a", 'odd "name"')),
        ("a.count", Attribute("a", "count")),
        ("a.query", Attribute("a", "query")),
        ("b[I].x", Attribute("b", "x", "current")),
        ("b[ i - 1 ].x", Attribute("b", "x", "previous")),
        ("FIRST(b).x", Attribute("b", "x", "first")),
        ("first(b.x)", Attribute("b", "x", "first")),
        ("LAST(b).x", Attribute("b", "x", "last")),
        ("COUNT(b)", Aggregate("count", "b")),
        ("COUNT(b.x)", Aggregate("count", "b", "x")),
        ("sum (b.x)", Aggregate("sum", "b", "x")),
        ("TRUE", Literal(True, BOOLEAN)),
        ("NULL", Literal(None, STRING)),
        ("0.5", Literal(0.5, DOUBLE)),
        (".5", Literal(0.5, DOUBLE)),
        ("1e3", Literal(1000.0, DOUBLE)),
        ("-9223372036854775808", Literal(-(2**63), LONG)),
        ("- -1", ONE),
        ("'it''s'", Literal("it's", STRING)),
        ("TIMESTAMP '1970-01-01T01:00:00+01:00'", Literal(0, TIMESTAMP)),
        ("TIMESTAMP '1970-01-01 00:00:01.000001'", Literal(1_000_001, TIMESTAMP)),
        ("DATE '1970-01-02'", Literal(1, DATE)),
        ("5 minutes", Literal(5 * MINUTE, DURATION)),
        ("-500 ms", Literal(-500_000, DURATION)),
        ("1 hour 30 minutes", Literal(90 * MINUTE, DURATION)),
    ],
)
def test_expressions(text: str, expected: object) -> None:
    assert where(text) == expected


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("10 min", 10 * MINUTE),
        ("10min", 10 * MINUTE),
        ("1 minute", MINUTE),
        ("2 m", 2 * MINUTE),
        ("500 ms", 500_000),
        ("1 millisecond", 1_000),
        ("7 us", 7),
        ("7 microseconds", 7),
        ("1.5 hours", 90 * MINUTE),
        ("3 h", 180 * MINUTE),
        ("2 days", 2880 * MINUTE),
        ("1 Week", 7 * 1440 * MINUTE),
        ("90 SECS", 90_000_000),
        ("1 d 2 h", 26 * 60 * MINUTE),
        ("0.000001 s", 1),
    ],
)
def test_units_of_time(text: str, length: int) -> None:
    assert only(f"PATTERN A WITHIN {text}").window == TimeWindow(length)


def test_count_windows() -> None:
    assert only("PATTERN A WITHIN 500 EVENTS").window == CountWindow(500)
    assert only("PATTERN A WITHIN 1 event").window == CountWindow(1)


def test_between_at_the_top_is_two_conjuncts() -> None:
    query = only("PATTERN A a WHERE a.x BETWEEN 1 AND 2 AND (a.y = 1 AND a.y = 2)")
    assert [predicate.operator for predicate in query.where] == [">=", "<=", "=", "="]


def test_numbers_beyond_a_double_are_decimals() -> None:
    (predicate,) = only("PATTERN A a WHERE a.x = 1234567890.12345678").where
    assert predicate.right.type == decimal(8)
    (predicate,) = only("PATTERN A a WHERE a.x = 0.10000000000000001234").where
    assert predicate.right == Literal(0.1, DOUBLE)


def test_an_only_variable_need_not_be_named() -> None:
    assert parse("PATTERN A+ a WHERE price > 3 AND SUM(price) > 9 RETURN FIRST(price)") == parse(
        "PATTERN A+ a WHERE a.price > 3 AND SUM(a.price) > 9 RETURN FIRST(a).price"
    )


def test_names_of_queries() -> None:
    assert only("PATTERN A").name == "query"
    assert only('QUERY "odd name" PATTERN A').name == "odd name"
    assert [query.name for query in parse("QUERY a PATTERN A QUERY b PATTERN B")] == ["a", "b"]


FIGURE_1 = """
q1:	RETURN	T.district, COUNT(*), SUM(T.duration)
	PATTERN	SEQ(Request R, Travel T+, NOT Pickup P)
	WHERE	[driver, rider] GROUP-BY T.district
	WITHIN	30 min SLIDE 1 min
q2:	RETURN	T.district, COUNT(*), AVG(T.speed)
	PATTERN	SEQ(Request R, Travel T+, Dropoff D)
	WHERE	[driver, rider] AND R.type=Pool GROUP-BY T.district
	WITHIN	30 min SLIDE 5 min
q3:	RETURN	T.district, COUNT(*), SUM(T.duration)
	PATTERN	SEQ(Request R, Travel T+, Cancel C)
	WHERE	[driver, rider] AND T.speed<10 GROUP-BY T.district
	WITHIN	20 min SLIDE 1 min
"""


def test_the_trend_queries_of_the_paper() -> None:
    first, second, third = parse(FIGURE_1)
    assert [query.name for query in (first, second, third)] == ["q1", "q2", "q3"]
    assert first.pattern == Sequence(
        (Event("Request", "R"), Kleene(Event("Travel", "T"), 1, None), Negation(Event("Pickup", "P")))
    )
    assert [column.name for column in first.returns] == ["district", "COUNT(*)", "SUM(T.duration)"]
    assert first.returns[1].expression == CountTrends()
    assert first.window == TimeWindow(30 * MINUTE)
    assert [query.slide for query in (first, second, third)] == [MINUTE, 5 * MINUTE, MINUTE]
    assert {query.group_by for query in (first, second, third)} == {("district",)}
    assert second.where[1] == Comparison("=", Attribute("R", "type"), Attribute("", "Pool"))
    assert all(query.is_trend for query in (first, second, third))


def test_labels_are_another_way_to_name_queries() -> None:
    labelled = "a: PATTERN A b : RETURN COUNT(*) PATTERN B\nslide:\n-- the third\nPATTERN C"
    assert parse(labelled) == parse(
        "QUERY a PATTERN A QUERY b RETURN COUNT(*) PATTERN B QUERY slide PATTERN C"
    )
    assert parse("\ufeffq: PATTERN A") == parse("QUERY q PATTERN A")
    (query,) = parse("-- first\n  q: PATTERN A")
    assert query.span.start == 11


def test_a_missing_quote_before_a_label() -> None:
    text = "a: PATTERN A a WHERE a.x = 'oops\nb: PATTERN SEQ(\nc: PATTERN C c WHERE c.x = 'fine'"
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert [problem.query for problem in raised.value.problems] == ["a", "b"]


def test_attributes_of_a_group() -> None:
    text = "PATTERN SEQ(A a, NOT B b) GROUP BY a.site, b.site, kind, site RETURN COUNT(*)"
    assert only(text).group_by == ("site", "kind")
    assert only("PATTERN SEQ(A a, B b) RETURN COUNT(*) SLIDE .5 s WITHIN 1 s").slide == 500_000
    shown = only("PATTERN SEQ(NOT A a, B b, C c) GROUP BY site RETURN site, COUNT(*)").returns[0]
    assert (shown.name, shown.expression) == ("site", Attribute("b", "site"))


def test_words_of_trend_queries_remain_names() -> None:
    text = "PATTERN SEQ(Slide slide, Group+ group) WHERE slide.group = 3 AND group.slide - 3 > 1"
    assert [event.variable for event in walk(only(text)) if isinstance(event, Event)] == ["slide", "group"]
    assert not only(text).is_trend


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("PATTERN A having", ["having"]),
        ("PATTERN A having WHERE having.x > 3", ["having"]),
        ("PATTERN A having WITHIN 5 min", ["having"]),
        ("PATTERN A having WHERE (having.x > 3)", ["having"]),
        ("PATTERN SEQ(having a, having+ having[]) GROUP-BY having", ["a", "having"]),
        ("PATTERN A HAVING COUNT(*) > 3", ["A"]),
        ("PATTERN A HAVING A.k > 3 AND COUNT(*) > 3", ["A"]),
        ("PATTERN A+ HAVING NOT COUNT(*) > 3", ["A"]),
        ("PATTERN A a HAVING 3 < COUNT(*)", ["a"]),
        ("PATTERN A a GROUP BY having HAVING having = 3 AND COUNT(*) > 3 RETURN a.having", ["a"]),
    ],
)
def test_having_is_a_name_unless_a_condition_follows(text: str, names: list[str]) -> None:
    query = only(text)
    assert [event.variable for event in walk(query) if isinstance(event, Event)] == names
    assert bool(query.having) == ("HAVING" in text)


def test_distinct_is_a_name_unless_it_is_counted() -> None:
    count, name, other = (
        column.expression
        for column in only(
            "PATTERN distinct "
            "RETURN COUNT( distinct distinct.x) AS a, COUNT(distinct) AS b, COUNT(distinct.x) AS c"
        ).returns
    )
    assert count == Aggregate("distinct", "distinct", "x")
    assert name == Aggregate("count", "distinct")
    assert other == Aggregate("count", "distinct", "x")
    (bare,) = only('PATTERN A a GROUP BY k RETURN COUNT(DISTINCT "x")').returns
    assert bare.expression == Aggregate("distinct", "a", "x")
    assert bare.name == "COUNT(DISTINCT a.x)"


def test_thresholds() -> None:
    query = only("PATTERN SEQ(A a, B+ b) RETURN k HAVING COUNT(*) > 3 AND (k = 1 OR b.k = 2) GROUP BY k")
    count, either = query.having
    assert count == Comparison(">", CountTrends(), Literal(3, LONG))
    assert [own.variable for own in walk(either) if isinstance(own, Attribute)] == ["a", "b"]


HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("STRATEGY ANY", Policy(strategy="any")),
        ("strategy next", Policy(strategy="next")),
        ("STRATEGY STRICT", Policy(strategy="strict")),
        ("AFTER MATCH SKIP NONE", Policy(skip="none")),
        ("after match\n skip To Next", Policy(skip="to next")),
        ("AFTER MATCH SKIP PAST LAST", Policy(skip="past last")),
        ("PREFER LONGEST", Policy(prefer_longest=True)),
        ("SUPPRESS 1 hour", Policy(suppression=Suppression(HOUR))),
        ("SUPPRESS .5 h 30 min", Policy(suppression=Suppression(HOUR))),
        (
            "SUPPRESS 1 hour PER a.x, a.per",
            Policy(suppression=Suppression(HOUR, (Attribute("a", "x"), Attribute("a", "per")))),
        ),
        (
            "SUPPRESS 1 hour TIMEOUTS PREFER LONGEST STRATEGY NEXT AFTER MATCH SKIP TO NEXT",
            Policy("next", "to next", prefer_longest=True, suppression=Suppression(HOUR), timeouts=True),
        ),
    ],
)
def test_which_matches_count(text: str, policy: Policy) -> None:
    query = Query("query", Sequence((Event("A", "a"), Event("B", "b"))), policy=policy)
    assert only(f"PATTERN SEQ(A a, B b) {text}") == query
    assert only(f"{text} PATTERN SEQ(A a, B b)") == query
    after_where = only(f"PATTERN SEQ(A a, B b) WHERE a.x = 3 {text} PARTITION BY k")
    assert after_where == replace(query, where=(Comparison("=", A_X, Literal(3, LONG)),), partition_by=("k",))


@pytest.mark.parametrize("ending", ["A", "A a", "A+", "A? a[]", "A a{2}"])
@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("STRATEGY NEXT", Policy(strategy="next")),
        ("PREFER LONGEST", Policy(prefer_longest=True)),
        ("SUPPRESS 1 hour", Policy(suppression=Suppression(HOUR))),
        ("SLIDE 1 hour TIMEOUTS", Policy(timeouts=True)),
    ],
)
def test_a_clause_after_a_pattern_without_parentheses(ending: str, text: str, policy: Policy) -> None:
    query = only(f"PATTERN {ending} {text}")
    assert (query.pattern, query.policy) == (pattern(ending), policy)


def test_words_of_what_counts_remain_names() -> None:
    text = """
    next: PATTERN SEQ(Strategy next, Prefer longest, AFTER match, TIMEOUTS suppress, STRICT skip)
          WHERE next.skip = 1 AND suppress.timeouts + 2 > longest.per AND match.strategy = strict
          PARTITION BY strategy, timeouts
          RETURN skip.suppress AS timeouts, next.per AS per
    strategy: PATTERN strategy
    any: PATTERN A strategy
    next_one: PATTERN A timeouts WHERE strategy - 3 > prefer + suppress * 2 AND suppress
    QUERY suppress PATTERN suppress prefer
    longest: PATTERN A+ timeouts WITHIN 1 hour
    QUERY timeouts PATTERN NOT timeouts
    """
    queries = parse(text)
    assert [query.name for query in queries] == [
        *("next", "strategy", "any", "next_one", "suppress", "longest", "timeouts"),
    ]
    assert {query.policy for query in queries} == {ALL_MATCHES}
    assert queries[0].pattern == Sequence(
        (
            Event("Strategy", "next"),
            Event("Prefer", "longest"),
            Event("AFTER", "match"),
            Event("TIMEOUTS", "suppress"),
            Event("STRICT", "skip"),
        )
    )
    assert queries[0].partition_by == ("strategy", "timeouts")
    assert [column.name for column in queries[0].returns] == ["timeouts", "per"]
    assert queries[2].pattern == Event("A", "strategy")
    assert queries[4].pattern == Event("suppress", "prefer")
    assert queries[5].pattern == Kleene(Event("A", "timeouts"), 1, None)


def test_how_many_matches_were_suppressed() -> None:
    (column,) = only("PATTERN SEQ(A a, B b) SUPPRESS 1 hour RETURN Suppressed ()").returns
    assert column == ReturnColumn("column1", Suppressed())


def test_a_mistake_in_a_clause_makes_no_other() -> None:
    text = (
        "QUERY a PATTERN SEQ(A a, B b) AFTER MATCH SKIP LAST PREFER LONGEST\n"
        "QUERY b PATTERN SEQ(A a, B b) SUPPRESS 1 parsec RETURN SUPPRESSED()"
    )
    with pytest.raises(QueryError) as raised:
        read_queries(text, None)
    assert [problem.message for problem in raised.value.problems] == [
        "found LAST in AFTER MATCH SKIP, expected NONE, PAST LAST or TO NEXT",
        "unknown unit parsec",
    ]


def test_every_node_has_its_span() -> None:
    text = (
        "QUERY q PATTERN SEQ(A a, NOT B+ b[], OR(C, D{2} d)) "
        "WHERE [k] AND (a.x IN (1, 2) OR NOT a.y LIKE 'x') AND a.x BETWEEN 1 AND -a.y "
        "AND ABS(a.x) IS NOT NULL "
        "WITHIN 5 min SUPPRESS 1 h PER a.x "
        "RETURN COUNT(b) AS n, SUPPRESSED() AS m, FIRST(b).x AS f, a.x + TIMESTAMP '2024-01-01' AS t"
    )
    query = only(text)
    for node in walk(query):
        if hasattr(node, "span"):
            assert node.span is not None, node
            assert 0 <= node.span.start < node.span.end <= len(text)
    event = query.pattern.operands[1].operand.operand
    assert text[event.span.start : event.span.end] == "B+ b[]"
    column = query.returns[3]
    assert text[column.span.start : column.span.end] == "a.x + TIMESTAMP '2024-01-01' AS t"


def test_one_query_hides_no_mistake_of_another() -> None:
    text = (
        "QUERY a PATTERN SEQ(A a,\nQUERY b PATTERN B b\nQUERY c PATTERN C c WHERE c.x > > 3\nWITHIN 5 parsecs"
    )
    with pytest.raises(QueryError) as raised:
        parse(text, "rules.weft")
    assert [problem.query for problem in raised.value.problems] == ["a", "c", "c"]
    lines = [line for line in str(raised.value).splitlines() if line.startswith("rules.weft")]
    assert [line.split(" ")[0] for line in lines] == [
        "rules.weft:2:1:",
        "rules.weft:3:33:",
        "rules.weft:4:10:",
    ]


def test_a_missing_quote_hides_no_mistake_of_another_query() -> None:
    text = (
        "QUERY a PATTERN A a WHERE a.x = 'oops\nQUERY b PATTERN SEQ(\nQUERY c PATTERN C c WHERE c.x = 'fine'"
    )
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert [problem.query for problem in raised.value.problems] == ["a", "b"]
    assert raised.value.problems[0].message == "this quoted text is never closed"


def test_quoted_texts_and_comments_hold_no_keywords() -> None:
    text = "PATTERN A a WHERE a.x = 'QUERY b\n QUERY c' AND a.y = 'PATTERN' -- QUERY d\n# QUERY e"
    assert len(parse(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A a WHERE " + "NOT " * 5000 + "a.x = 3",
        "PATTERN A a WHERE " + "-" + " -" * 5000 + "a.x = 3",
        "PATTERN A a WHERE a.x = " + "1 + " * 5000 + "1",
        "PATTERN A a WHERE " + "ABS(" * 5000 + "a.x" + ")" * 5000 + " = 3",
        "PATTERN A a WHERE " + "(a.x = 1 OR " * 5000 + "a.x = 1" + ")" * 5000,
        "PATTERN " + "SEQ(" * 5000 + "A a" + ")" * 5000,
        "PATTERN " + "NOT " * 5000 + "A a",
        "PATTERN A a RETURN " + "a.x + " * 5000 + "a.x AS total",
    ],
    ids=["not", "minus", "sum", "call", "or", "seq", "pattern not", "return"],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=f"nests more than {MAX_NESTING} levels deep"):
        parse(text)


def test_nesting_up_to_the_limit_binds() -> None:
    schema = Schema({"x": LONG, "y": DOUBLE, "ts": TIMESTAMP}, "ts")
    text = "PATTERN A a WHERE a.x = " + "a.y - (a.x + " * 48 + "1" + ")" * 48
    (query,) = bind(parse(text), schema)
    assert hash(query) == hash(bind(parse(text), schema)[0])


def test_parentheses_alone_are_no_nesting() -> None:
    assert parse("PATTERN A a WHERE " + "(" * 5000 + "a.x = 3" + ")" * 5000) == parse(
        "PATTERN A a WHERE a.x = 3"
    )


def test_a_long_text_is_no_problem() -> None:
    text = "PATTERN A a WHERE " + " OR ".join(f"a.x = {number}" for number in range(5000))
    assert len(only(text).where[0].operands) == 5000


def test_threads_do_not_mix_their_mistakes() -> None:
    found: list[int] = []

    def work(mistakes: int) -> None:
        text = "QUERY q PATTERN A a WHERE " + " OR ".join(["zzz(a.x) = 1"] * mistakes)
        for _ in range(20):
            try:
                parse(text)
            except QueryError as error:
                found.append(len(error.problems) - mistakes)

    threads = [threading.Thread(target=work, args=(count,)) for count in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 60


def test_of_a_long_line_the_message_shows_a_part() -> None:
    text = "PATTERN A a WHERE " + "a.x = 1 AND " * 100 + "zzz(a.x) = 1" + " AND a.x = 1" * 100
    with pytest.raises(QueryError) as raised:
        parse(text)
    place, line, caret, _ = str(raised.value).splitlines()
    assert place == "<query>:1:1219: unknown function zzz"
    assert len(line) == 202
    assert line[caret.index("^") :].startswith("zzz(a.x)")
