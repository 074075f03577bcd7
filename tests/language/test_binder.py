"""What binding makes of right queries, and what it says of wrong ones."""

from decimal import Decimal

import pytest
from tests.helpers.mistakes import load_mistakes
from tests.language.test_parser import FIGURE_1

from weft.errors import Problem, QueryError
from weft.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    CountTrends,
    Equivalence,
    InList,
    Literal,
    Not,
    type_of,
)
from weft.language.binder import bind
from weft.language.parser import parse
from weft.language.read import read_queries
from weft.pattern.nodes import Event, Kleene, Negation, Query, ReturnColumn, Sequence, TimeWindow
from weft.pattern.policies import ALL_MATCHES, Suppression
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    LONG,
    STRING,
    TIMESTAMP,
    Schema,
    Type,
    decimal,
)

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "price": decimal(2),
        "fine": decimal(4),
        "x": LONG,
        "y": DOUBLE,
        "name": STRING,
        "flag": BOOLEAN,
        "day": DATE,
        "took": DURATION,
        "person": STRING,
    },
    time="ts",
    types=frozenset({"A", "B", "C", "Guard"}),
    unusable={"tags": "its type is array<string>"},
)


def bind_text(text: str, schema: Schema | None = SCHEMA, *, tie_break: bool = False) -> Query:
    (query,) = bind(parse(text), schema, source=text, tie_break=tie_break)
    return query


def bind_predicate(text: str) -> object:
    """Bind one predicate over the events a and b and the list l."""
    (predicate,) = bind_text(f"PATTERN SEQ(A a, B b, C+ l) WHERE {text}").where
    return predicate


def attribute(variable: str, name: str, place: str = "each") -> Attribute:
    return Attribute(variable, name, place, SCHEMA.attributes[name])  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "message"), load_mistakes("binder_mistakes.txt"))
def test_mistakes_are_explained(text: str, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        bind(parse(text), SCHEMA, source=text)
    assert str(raised.value) == message


X, Y, PRICE, FINE = (attribute("a", name) for name in ("x", "y", "price", "fine"))
TS, DAY, TOOK, NAME = (attribute("a", name) for name in ("ts", "day", "took", "name"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.y > 3", Comparison(">", Y, Literal(3.0, DOUBLE))),
        ("a.x > a.y", Comparison(">", Cast(X, DOUBLE), Y)),
        ("a.x > 1.5", Comparison(">", Cast(X, DOUBLE), Literal(1.5, DOUBLE))),
        ("a.price = 3", Comparison("=", PRICE, Literal(Decimal("3.00"), decimal(2)))),
        ("1.5 = a.price", Comparison("=", Literal(Decimal("1.50"), decimal(2)), PRICE)),
        ("a.price > 1.234", Comparison(">", Cast(PRICE, decimal(3)), Literal(Decimal("1.234"), decimal(3)))),
        ("a.price > 1e20", Comparison(">", Cast(PRICE, DOUBLE), Literal(1e20, DOUBLE))),
        ("a.price = 10000000000000000", Comparison("=", Cast(PRICE, DOUBLE), Literal(1e16, DOUBLE))),
        ("a.price < a.fine", Comparison("<", Cast(PRICE, decimal(4)), FINE)),
        ("a.price < a.x", Comparison("<", Cast(PRICE, DOUBLE), Cast(X, DOUBLE))),
        ("a.price < a.y", Comparison("<", Cast(PRICE, DOUBLE), Y)),
        ("a.ts > '1970-01-01T00:00:01Z'", Comparison(">", TS, Literal(1_000_000, TIMESTAMP))),
        ("a.day > '1970-01-03'", Comparison(">", DAY, Literal(2, DATE))),
        (
            "a.day > '1970-01-01T00:00:01'",
            Comparison(">", Cast(DAY, TIMESTAMP), Literal(1_000_000, TIMESTAMP)),
        ),
        ("a.took > '5 seconds'", Comparison(">", TOOK, Literal(5_000_000, DURATION))),
        ("a.took > 'PT5S'", Comparison(">", TOOK, Literal(5_000_000, DURATION))),
        ("a.day < a.ts", Comparison("<", Cast(DAY, TIMESTAMP), TS)),
        ("a.ts > DATE '1970-01-02'", Comparison(">", TS, Literal(86_400_000_000, TIMESTAMP))),
        ("a.x IN (1, 2.5)", InList(Cast(X, DOUBLE), (Literal(1.0, DOUBLE), Literal(2.5, DOUBLE)))),
        (
            "a.price IN (1, 2.5)",
            InList(PRICE, (Literal(Decimal(1), decimal(2)), Literal(Decimal("2.5"), decimal(2)))),
        ),
        (
            "a.price NOT IN (1, 0.125)",
            Not(
                InList(
                    Cast(PRICE, decimal(3)),
                    (Literal(Decimal(1), decimal(3)), Literal(Decimal("0.125"), decimal(3))),
                )
            ),
        ),
        ("a.ts IN ('1970-01-01')", InList(TS, (Literal(0, TIMESTAMP),))),
        ("NULL", Literal(None, BOOLEAN)),
        ("a.flag", attribute("a", "flag")),
        (
            "a.time = b.ts + 1 s",
            Comparison("=", TS, Arithmetic("+", attribute("b", "ts"), Literal(1_000_000, DURATION))),
        ),
    ],
)
def test_conversions(text: str, expected: object) -> None:
    assert bind_predicate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x + 1", LONG),
        ("a.x + 1.5", DOUBLE),
        ("a.x / 2", DOUBLE),
        ("a.price / a.price", DOUBLE),
        ("a.x % 2", LONG),
        ("a.y % 2", DOUBLE),
        ("a.price + 1.125", decimal(3)),
        ("a.price - a.fine", decimal(4)),
        ("a.price * a.fine", decimal(6)),
        ("a.price * 2", DOUBLE),
        ("a.price * a.x", DOUBLE),
        ("-a.price", decimal(2)),
        ("ABS(a.took)", DURATION),
        ("b.ts - a.ts", DURATION),
        ("a.ts - 5 minutes", TIMESTAMP),
        ("5 minutes + a.ts", TIMESTAMP),
        ("a.ts + '5 minutes'", TIMESTAMP),
        ("a.ts - '2024-01-01'", DURATION),
        ("a.day - a.day", DURATION),
        ("a.day + 1 hour", TIMESTAMP),
        ("a.took - 1 second", DURATION),
        ("a.x + NULL", LONG),
        ("a.ts + NULL", TIMESTAMP),
        ("NULL", STRING),
        ("SUM(l.price)", decimal(2)),
        ("SUM(l.took)", DURATION),
        ("AVG(l.x)", DOUBLE),
        ("MIN(l.name)", STRING),
        ("COUNT(l)", LONG),
        ("COUNT(l.flag)", LONG),
        ("FIRST(l).ts", TIMESTAMP),
        ("a.x > 3", BOOLEAN),
    ],
)
def test_types_of_values(text: str, expected: Type) -> None:
    query = bind_text(f"PATTERN SEQ(A a, B b, C+ l) RETURN {text} AS value")
    assert type_of(query.returns[0].expression) == expected


def test_a_product_with_too_many_digits_after_the_point() -> None:
    schema = Schema({"a": decimal(10), "ts": TIMESTAMP}, "ts")
    with pytest.raises(QueryError, match="more than 18 digits after the point"):
        bind(parse("PATTERN A v WHERE v.a * v.a > 0"), schema)


def test_time_is_the_event_time_unless_a_column_has_that_name() -> None:
    assert bind_text("PATTERN A a RETURN a.time").returns == (ReturnColumn("a_time", attribute("a", "ts")),)
    schema = Schema({"ts": TIMESTAMP, "time": LONG}, "ts")
    assert bind_text("PATTERN A a WHERE a.time > 3", schema).where[0].left == Attribute(
        "a", "time", "each", LONG
    )
    assert bind_text("PATTERN A a WHERE [time] PARTITION BY time").partition_by == ("ts",)
    assert bind_text("PATTERN A a WHERE [time]").where == (Equivalence(("ts",)),)


def test_places_mean_no_more_than_they_say() -> None:
    assert bind_predicate("l[i].x > 3") == Comparison(">", attribute("l", "x"), Literal(3, LONG))
    assert bind_predicate("l[i].x > l[i-1].x") == Comparison(
        ">", attribute("l", "x", "current"), attribute("l", "x", "previous")
    )
    assert bind_predicate("FIRST(a).x > LAST(l).x") == Comparison(
        ">", attribute("a", "x"), attribute("l", "x", "last")
    )
    assert bind_predicate("SUM(a.x) > 3").left == Aggregate("sum", "a", "x", LONG)


def test_without_a_schema_only_the_structure_is_checked() -> None:
    text = "PATTERN SEQ(Zzz a, B+ b) WHERE a.anything = 'x' + 3 AND b[i].x > 3"
    (query,) = bind(parse(text), None)
    assert query.where[0] == parse(text)[0].where[0]
    assert query.where[1].left == Attribute("b", "x")
    with pytest.raises(QueryError, match="unknown variable c"):
        bind(parse("PATTERN SEQ(A a, B b) WHERE c.x = 3"), None)


def test_all_problems_of_all_queries_are_reported_together() -> None:
    text = "QUERY a PATTERN A a WHERE a.z = 3 AND b.x = 1\nQUERY b PATTERN SEQ(A a, B b) WHERE b.ts < a.ts"
    with pytest.raises(QueryError) as raised:
        bind(parse(text), SCHEMA, source=text, origin="rules.weft")
    assert [(problem.query, problem.message) for problem in raised.value.problems] == [
        ("a", "unknown attribute z"),
        ("a", "unknown variable b"),
        ("b", "b.ts < a.ts can never hold: the pattern puts a before b"),
    ]
    assert str(raised.value).startswith("rules.weft:1:27: query a: unknown attribute z")


def test_a_problem_of_a_between_is_reported_once() -> None:
    with pytest.raises(QueryError) as raised:
        bind_text("PATTERN A a WHERE a.prise BETWEEN 1 AND 2")
    assert len(raised.value.problems) == 1


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) WHERE a.ts < b.ts",
        "PATTERN SEQ(A a, B b) WHERE a.ts <= b.ts AND a.ts != b.ts",
        "PATTERN AND(A a, B b) WHERE b.ts < a.ts",
        "PATTERN AND(A a, B b) WHERE b.ts = a.ts",
        "PATTERN AND(A a, B b) WHERE a.ts <= b.ts AND b.ts <= a.ts",
        "PATTERN OR(SEQ(A a, B b), C c) WHERE b.ts < a.ts",
        "PATTERN SEQ(A a, B* b) WHERE b.ts < a.ts",
        "PATTERN SEQ(A a, NOT Guard g, B b) WHERE g.ts < a.ts",
        "PATTERN SEQ(A a, B+ b) WHERE FIRST(b).ts = LAST(b).ts",
        "PATTERN A+ a WHERE a[i].ts > a[i-1].ts + 5 minutes",
        "PATTERN SEQ(A a, B b) WHERE b.ts < a.ts OR a.x = 1",
    ],
)
def test_orders_that_can_match_are_left_alone(text: str) -> None:
    assert bind_text(text).where


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B+ b) WHERE b.ts < a.ts",
        "PATTERN SEQ(A a, AND(B b, C c)) WHERE c.ts <= a.ts",
        "PATTERN SEQ(SEQ(A a, B b), C c) WHERE a.ts > c.ts",
        "PATTERN AND(A a, SEQ(B b, C c)) WHERE c.ts < a.ts AND a.ts < b.ts",
    ],
)
def test_orders_that_cannot_match_are_reported(text: str) -> None:
    with pytest.raises(QueryError, match="can never hold"):
        bind_text(text)


def test_with_a_tie_break_events_in_sequence_may_have_equal_times() -> None:
    assert bind_text("PATTERN SEQ(A a, B b) WHERE a.ts = b.ts", tie_break=True).where
    assert bind_text("PATTERN SEQ(A a, B b) WHERE b.ts <= a.ts", tie_break=True).where
    with pytest.raises(QueryError, match="can never hold"):
        bind_text("PATTERN SEQ(A a, B b) WHERE b.ts < a.ts", tie_break=True)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN AND(A a, OR(NOT B b, NOT C c))",
        "PATTERN SEQ(A a, NOT SEQ(B b, NOT C c)) WHERE b.x = c.x AND c.x = a.x",
        "PATTERN OR(A a, B b) WHERE a.x = 1 AND b.x = 2 RETURN a.x, b.x",
        "PATTERN A* a",
        "PATTERN SEQ(A a, NOT Guard+ g) WHERE g.x = a.x",
        "PATTERN SEQ(A+ a, B+ b) WHERE a[i].x > a[i-1].x + b.x AND b[i].x > b[i-1].x",
        "PATTERN SEQ(A a, NOT OR(B b, C c)) WHERE b.x = 1 AND c.x = 2",
    ],
)
def test_patterns_that_make_sense(text: str) -> None:
    assert bind_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b) STRATEGY STRICT AFTER MATCH SKIP PAST LAST PREFER LONGEST",
        "PATTERN A+ a STRATEGY NEXT AFTER MATCH SKIP NONE",
        "PATTERN SEQ(A a, B+ b) SUPPRESS 1 hour PER a.x, a.time RETURN SUPPRESSED()",
        "PATTERN OR(SEQ(A a, B b), SEQ(A a, C c)) SUPPRESS 1 hour PER a.x",
        "PATTERN SOME(AND(A a, B b)) SUPPRESS 1 hour PER b.x",
        "PATTERN A SUPPRESS 1 hour PER x",
        "PATTERN SEQ(A a, B b) WITHIN 1 hour TIMEOUTS",
        "PATTERN SEQ(A a, NOT Guard g, SEQ(NOT C d, B+ b, C? c)) WITHIN 1 hour TIMEOUTS",
    ],
)
def test_what_may_be_said_of_which_matches_count(text: str) -> None:
    query = bind_text(text)
    assert query.policy != ALL_MATCHES
    assert bind([query], SCHEMA) == (query,)
    assert bind(parse(text), None, source=text)


def test_attributes_of_suppress_are_typed() -> None:
    query = bind_text("PATTERN SEQ(A a, B b) SUPPRESS 1 hour PER a.time, b.name, a.ts")
    assert query.policy.suppression == Suppression(
        3_600_000_000, (attribute("a", "ts"), attribute("b", "name"))
    )


RIDES = Schema(
    {
        "ts": TIMESTAMP,
        "district": STRING,
        "driver": LONG,
        "rider": LONG,
        "type": STRING,
        "speed": DOUBLE,
        "duration": LONG,
    },
    time="ts",
)


def test_the_trend_queries_of_the_paper() -> None:
    first, second, third = bind(parse(FIGURE_1), RIDES, source=FIGURE_1)
    assert first.returns == (
        ReturnColumn("district", Attribute("T", "district", "each", STRING)),
        ReturnColumn("COUNT(*)", CountTrends()),
        ReturnColumn("SUM(T.duration)", Aggregate("sum", "T", "duration", LONG)),
    )
    assert second.where[1] == Comparison("=", Attribute("R", "type", "each", STRING), Literal("Pool", STRING))
    assert second.returns[2].expression == Aggregate("avg", "T", "speed", DOUBLE)
    assert third.where[1].right == Literal(10.0, DOUBLE)
    assert (third.slide, third.group_by) == (60_000_000, ("district",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.name = Pool", Comparison("=", NAME, Literal("Pool", STRING))),
        ("Pool != a.name", Comparison("!=", Literal("Pool", STRING), NAME)),
        ('NOT a.name = "in"', Not(Comparison("=", NAME, Literal("in", STRING)))),
        ("FIRST(l).name = Pool", Comparison("=", attribute("l", "name", "first"), Literal("Pool", STRING))),
    ],
)
def test_names_that_are_texts(text: str, expected: object) -> None:
    assert bind_predicate(text) == expected


def test_without_a_schema_a_name_beside_an_attribute_is_a_text() -> None:
    query = bind_text("PATTERN SEQ(A a, B b) WHERE a.anything = Pool", None)
    assert query.where[0].right == Literal("Pool", STRING)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN A+ a RETURN COUNT(*), COUNT(a), COUNT(a.name), MIN(a.ts), MAX(a.day), MIN(a.took)",
        "PATTERN A+ a RETURN SUM(a.x), SUM(price), AVG(a.y), AVG(a.price) SLIDE 1 hour WITHIN 1 minute",
        "PATTERN SEQ(A, B+) RETURN COUNT(*), COUNT(A), SUM(B.x)",
        "PATTERN (SEQ(A a, B+ b, C? c))+ RETURN COUNT(*), SUM(a.x), MAX(c.y) WHERE b[i].x > b[i-1].x",
        "PATTERN ((A+ a){2,})* WHERE a[i-1].x * 2 <= a[i].x + 1 AND a.x > 3 RETURN COUNT(*)",
        "PATTERN SEQ(NOT C c, A a, NOT Guard g, B b) WHERE a.x < b.x AND g.x > 3 RETURN COUNT(*)",
        "PATTERN SEQ(A a, OR(B b, C c)) WHERE b.x > 1.5 + a.x AND a.y < c.y RETURN COUNT(*)",
        "PATTERN SEQ(A a, SEQ(B b, NOT Guard g)) WHERE a.x = 3 RETURN COUNT(*)",
        "PATTERN (SEQ(A a, SEQ(NOT Guard g, B b)))+ RETURN COUNT(*)",
        "PATTERN (SEQ(A a, OR(SEQ(NOT Guard g, B b), C c)))+ RETURN COUNT(*)",
        "PATTERN AND(SEQ(A a, NOT Guard g), OR(B b, C+ c)) RETURN COUNT(*), COUNT(c)",
        "PATTERN OR(A a, OR(AND(B b, C c), Guard g)) RETURN COUNT(*)",
        "PATTERN AND(SEQ(A a, B b), C c) WHERE a.x < b.x RETURN COUNT(*)",
        "PATTERN SEQ(A a, B b) WHERE [person] AND a.ts + 5 minutes > b.ts RETURN COUNT(*) PARTITION BY name",
        "PATTERN SEQ(A a, B+ b) GROUP BY time, ts, person RETURN ts AS moment, b.time, COUNT(b)",
        "PATTERN SEQ(A a, B+ b) WHERE b.x BETWEEN 1 AND 2 AND (b.x = 1 OR b.name LIKE 'x') RETURN COUNT(*)",
        "PATTERN A+ a GROUP BY person HAVING COUNT(*) > 3 AND a.person != 'ann' RETURN a.person",
        "PATTERN A a GROUP BY x HAVING COUNT(DISTINCT flag) > 1 RETURN STDDEV(a.price), COUNT(DISTINCT day)",
        "PATTERN A+ a GROUP BY x HAVING MAX(a.ts) - MIN(a.ts) > 5 minutes AND MAX(a.day) > '2026-01-01'",
        "PATTERN OR(A a, B b) RETURN COUNT(a) - COUNT(b) AS more, SUM(a.x) > 3 AS worse SLIDE 1 s WITHIN 1 s",
    ],
)
def test_trend_queries_that_can_be_answered(text: str) -> None:
    query = bind_text(text)
    assert query.is_trend
    assert bind([query], SCHEMA) == (query,)
    assert bind(parse(text), None, source=text)


def test_a_group_by_the_time_under_two_names() -> None:
    query = bind_text(
        "PATTERN SEQ(A a, B+ b) GROUP BY time, ts, person RETURN ts AS moment, b.time, COUNT(b)"
    )
    assert query.group_by == ("ts", "person")


def test_a_group_whose_column_has_a_reserved_name() -> None:
    schema = Schema({"ts": TIMESTAMP, "Query": STRING, "query": STRING}, "ts")
    with pytest.raises(QueryError) as raised:
        bind_text("PATTERN A+ a GROUP BY a.query RETURN COUNT(*)", schema)
    assert raised.value.problems[0].hint == "return it under another name, as in v.query AS query_value"
    assert bind_text("PATTERN A+ a GROUP BY a.query RETURN a.query AS asked, COUNT(*)", schema)


def test_trends_of_overlapping_types() -> None:
    schema = Schema({"ts": TIMESTAMP}, "ts", frozenset({"A", "B"}), types_overlap=True)
    assert bind_text("PATTERN SEQ(A a, B+ b) RETURN COUNT(*)", schema)
    assert bind_text("PATTERN AND(A a, B b)", schema)
    with pytest.raises(QueryError, match="derived types may overlap"):
        bind_text("PATTERN AND(A a, B b) RETURN COUNT(*)", schema)


def test_what_is_wrong_with_a_trend_query_is_said_once() -> None:
    text = "PATTERN SEQ(NOT A a, NOT B b) WHERE c.x = a.x AND a.z = 3 RETURN COUNT(*), d.x, SUM(a.name)"
    with pytest.raises(QueryError) as raised:
        bind_text(text)
    assert [problem.message for problem in raised.value.problems] == [
        "the pattern has no positive event",
        "unknown variable c",
        "unknown attribute z",
        "unknown variable d",
        "RETURN cannot show a: it is negated, so no match binds it",
        "SUM does not take a.name (string)",
    ]


def test_queries_built_in_python() -> None:
    pattern = Sequence((Event("A", "a"), Negation(Negation(Event("B", "b"))), Kleene(Event("C", "c"), 2, 1)))
    where = (Comparison("=", Attribute("a", "zz"), Literal(1, LONG)),)
    returns = (ReturnColumn("n", Literal(1, LONG)), ReturnColumn("N", Literal(2, LONG)))
    query = Query("q", pattern, where, TimeWindow(0), ("nowhere",), returns)
    with pytest.raises(QueryError) as raised:
        bind([query], SCHEMA)
    assert {problem.message for problem in raised.value.problems} == {
        "NOT directly inside NOT",
        "the quantifier {2,1} allows no number of events",
        "unknown attribute zz",
        "two columns are named N",
        "unknown attribute nowhere",
        "WITHIN needs a length above 0, found 0 seconds",
    }
    assert all(problem.span is None for problem in raised.value.problems)
    assert str(raised.value).startswith("<query>: query q: ")


def test_python_can_build_what_text_cannot() -> None:
    group = Query("q", Kleene(Sequence((Event("A", "a"),)), 1, None))
    with pytest.raises(QueryError, match="a quantifier on a group is not supported yet"):
        bind([group], SCHEMA)
    with pytest.raises(QueryError, match="SEQ needs at least one operand"):
        bind([Query("q", Sequence(()))], SCHEMA)
    deep: object = Literal(True, BOOLEAN)
    for _ in range(5000):
        deep = Not(deep)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="levels deep"):
        bind([Query("q", Event("A", "a"), (deep,))], SCHEMA)  # type: ignore[arg-type]


def test_binding_a_bound_query_changes_nothing() -> None:
    query = bind_text(
        "PATTERN SEQ(A a, B+ b) WHERE a.x > 1.5 AND a.price = 3 AND b.ts - a.day < 5 min RETURN a.time"
    )
    assert bind([query], SCHEMA) == (query,)


def test_problems_can_be_compared() -> None:
    with pytest.raises(QueryError) as raised:
        bind(parse("PATTERN A a WHERE a.prise = 1"), SCHEMA)
    (problem,) = raised.value.problems
    assert problem == Problem("unknown attribute prise", problem.span, "did you mean price?", "query")


@pytest.mark.parametrize(
    ("branches", "is_fine"),
    [
        ("SEQ(A a, NOT B b), SEQ(A a, NOT SEQ(B b, C c))", True),
        ("SEQ(A a, NOT SEQ(B b, C c)), SEQ(A a, NOT B b)", True),
        ("SEQ(A a, NOT B b), AND(A a, NOT C c), SEQ(A a, NOT SEQ(B b, C c))", True),
        ("SEQ(A a, NOT B b, NOT C c), SEQ(A a, NOT SEQ(B b, C c))", False),
        ("SEQ(A a, NOT SEQ(B b, C c)), SEQ(A a, NOT B b, NOT C c)", False),
    ],
)
def test_variables_of_two_negations_are_compared_in_each_branch(branches: str, *, is_fine: bool) -> None:
    text = f"QUERY q PATTERN OR({branches}) WHERE b.x < c.x WITHIN 5 s"
    if is_fine:
        assert read_queries(text, None)
        return
    with pytest.raises(QueryError, match="b and c, which are in two different NOTs"):
        read_queries(text, None)
