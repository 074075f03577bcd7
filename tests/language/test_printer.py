"""Printing a query and parsing the text gives the query back."""

from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.helpers.strategies import SCHEMA as CASES_SCHEMA
from tests.helpers.strategies import random_case

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
    Expression,
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
from weft.language.columns import check_column_names, default_column_name
from weft.language.lexer import RESERVED
from weft.language.literals import EPOCH, INT64_MAX, INT64_MIN
from weft.language.parser import parse
from weft.language.printer import expression_to_text, pattern_to_text, to_text
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
from weft.pattern.policies import Policy, Suppression
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Schema, decimal
from weft.tree import find

FIRST_TIME = round((datetime.min.replace(tzinfo=EPOCH.tzinfo) - EPOCH).total_seconds()) * 1_000_000
LAST_TIME = round((datetime.max.replace(tzinfo=EPOCH.tzinfo) - EPOCH).total_seconds() - 1) * 1_000_000
DAY = 86_400_000_000

names = st.one_of(
    st.sampled_from(["a", "b", "price", "odd name", "BRK.A", 'say "hi"', "i", "time"]),
    st.sampled_from([*sorted(RESERVED), "count", "First", "minutes", "by"]).map(str.lower),
    st.text(min_size=1, max_size=5),
)
literals = st.one_of(
    st.integers(INT64_MIN, INT64_MAX).map(lambda value: Literal(value, LONG)),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: Literal(value, DOUBLE)),
    st.booleans().map(lambda value: Literal(value, BOOLEAN)),
    st.text(max_size=8).map(lambda value: Literal(value, STRING)),
    st.integers(FIRST_TIME, LAST_TIME).map(lambda value: Literal(value, TIMESTAMP)),
    st.integers(FIRST_TIME // DAY, LAST_TIME // DAY).map(lambda value: Literal(value, DATE)),
    st.integers(-INT64_MAX, INT64_MAX).map(lambda value: Literal(value, DURATION)),
)
places = st.sampled_from(["each", "current", "previous", "first", "last"])
leaves = st.one_of(
    literals,
    st.just(Literal(None, STRING)),
    st.builds(Attribute, names, names, places),
    st.builds(
        Aggregate, st.sampled_from(["sum", "avg", "min", "max", "count", "stddev", "distinct"]), names, names
    ),
    st.builds(Aggregate, st.just("count"), names),
    st.just(Suppressed()),
)


def is_foldable(expression: Expression) -> bool:
    """Return whether the parser reads a minus before this as part of a constant."""
    return isinstance(expression, Literal) and expression.type in (LONG, DOUBLE, DURATION)


def larger(smaller: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    several = st.lists(smaller, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        smaller.filter(lambda operand: not is_foldable(operand)).map(Negate),
        smaller.map(Absolute),
        st.builds(Arithmetic, st.sampled_from("+-*/%"), smaller, smaller),
        st.builds(Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), smaller, smaller),
        several.map(And),
        several.map(Or),
        smaller.map(Not),
        smaller.map(IsNull),
        st.builds(InList, smaller, st.lists(literals, min_size=1, max_size=3).map(tuple)),
        st.builds(Like, smaller, st.text(max_size=5)),
    )


expressions = st.recursive(leaves, larger, max_leaves=12)
conjuncts = st.one_of(
    expressions.filter(lambda expression: not isinstance(expression, And)),
    st.lists(names, min_size=1, max_size=3).map(lambda attributes: Equivalence(tuple(attributes))),
)
events = st.builds(Event, names, names)
bounds = st.one_of(
    st.sampled_from([(1, None), (0, None), (0, 1)]),
    st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)),
)
items = st.one_of(events, st.builds(lambda event, bound: Kleene(event, *bound), events, bounds))
patterns: st.SearchStrategy[Pattern] = st.recursive(
    items,
    lambda smaller: st.one_of(
        smaller.map(Negation),
        st.builds(lambda operand, bound: Kleene(operand, *bound), smaller, bounds),
        st.builds(
            lambda kind, operands: kind(tuple(operands)),
            st.sampled_from([Sequence, Conjunction, Disjunction, Some]),
            st.lists(smaller, min_size=1, max_size=3),
        ),
    ),
    max_leaves=6,
)
windows = (
    st.none()
    | st.builds(TimeWindow, st.integers(-10, INT64_MAX))
    | st.builds(CountWindow, st.integers(-9, 99))
)
policies = st.builds(
    Policy,
    st.sampled_from([None, "any", "next", "strict"]),
    st.sampled_from([None, "none", "to next", "past last"]),
    st.booleans(),
    st.none()
    | st.builds(
        Suppression,
        st.integers(-INT64_MAX, INT64_MAX),
        st.lists(st.builds(Attribute, names, names), max_size=2).map(tuple),
    ),
    st.booleans(),
)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    slide = draw(st.none() | st.integers(1, INT64_MAX))
    group_by = tuple(dict.fromkeys(draw(st.lists(names, max_size=2))))
    shown = draw(st.lists(expressions | st.just(CountTrends()), max_size=3))
    having = draw(st.lists(conjuncts.filter(lambda part: not isinstance(part, Equivalence)), max_size=2))
    counts = any(True for part in (*shown, *having) for _ in find(part, CountTrends))
    is_trend = slide is not None or bool(group_by) or counts
    columns: list[ReturnColumn] = []
    for position, expression in enumerate(shown, 1):
        name = draw(st.none() | names) or default_column_name(expression, position, is_trend=is_trend)
        column = ReturnColumn(name, expression)
        if not list(check_column_names([*columns, column], is_trend=is_trend)):
            columns.append(column)
    for position, column in enumerate(columns, 1):  # a column left out moves the others
        if column.name.startswith("column"):
            columns[position - 1] = ReturnColumn(f"value{position}", column.expression)
    keys = draw(st.lists(names, max_size=2))
    where = draw(st.lists(conjuncts, max_size=3))
    window = draw(windows)
    policy = draw(policies)
    if window is None:  # TIMEOUTS right after a pattern such as `A` is read as its variable
        policy = replace(policy, timeouts=False)
    rest = (window, tuple(keys), tuple(columns), None, slide, group_by, policy, tuple(having))
    query = Query(draw(names), draw(patterns), tuple(where), *rest)
    assume(query.is_trend == is_trend)  # COUNT(*) may have been left out
    return query


@settings(max_examples=400, deadline=None)
@given(queries())
def test_parsing_the_text_of_a_query_gives_the_query(query: Query) -> None:
    assert parse(to_text(query)) == (query,)


@pytest.mark.parametrize(
    "text",
    [
        "a.x - (a.y - 1)",
        "a.x - a.y - 1",
        "-(-a.x)",
        "a.x - -3",
        "(a.x = 1) = TRUE",
        "(a.x + 1) * 2",
        "a.x + 1 * 2",
        "NOT (a.x = 1 AND a.y = 2)",
        "a.x = 1 OR a.x = 2 AND NOT a.y = 3",
        "(a.x = 1 OR a.x = 2) AND a.y = 3",
        "a.x NOT IN (1, -2.5)",
        "a.x NOT LIKE 'it''s\\%'",
        "a.x IS NOT NULL",
        "a.x + 5 minutes < TIMESTAMP '2024-01-31 12:00:00'",
        "FIRST(a).x = LAST(a).x",
        "a.\"odd name\" = DATE '2024-01-31'",
        "ABS(a.x) % 2 = 1.5",
    ],
)
def test_canonical_text_is_kept(text: str) -> None:
    (query,) = parse(f"PATTERN SEQ(A a, B b) RETURN {text} AS value")
    assert expression_to_text(query.returns[0].expression) == text


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "A+",
        "SEQ(A, B+ b[], C{2} c[], D{2,} d[], E{2,3} e[], F? f[], G* g[])",
        "AND(A a, NOT SEQ(B b, NOT C c))",
        'OR(A a, "BRK.A", A a2)',
        "(SEQ(A a, (B+ b[]){2}))*",
        "SEQ((OR(A, B))?, C)",
    ],
)
def test_canonical_patterns_are_kept(text: str) -> None:
    assert pattern_to_text(parse(f"PATTERN {text}")[0].pattern) == text


def test_a_whole_query() -> None:
    text = (
        "QUERY tailgate\n"
        "PATTERN SEQ(Gate g, Lobby+ l[], NOT Guard x, Vault v)\n"
        "WHERE [person]\n"
        "  AND v.level > 3\n"
        "  AND l[i].time > l[i-1].time\n"
        "WITHIN 10 minutes\n"
        "PARTITION BY site\n"
        "RETURN g.person AS who, COUNT(l) AS steps, v.level"
    )
    assert to_text(parse(text)[0]) == text


def test_which_matches_count() -> None:
    text = (
        "QUERY burst\n"
        'PATTERN SEQ(Failure+ f[], "Timeouts")\n'
        "WITHIN 10 minutes\n"
        "STRATEGY NEXT\n"
        "AFTER MATCH SKIP PAST LAST\n"
        "PREFER LONGEST\n"
        'SUPPRESS 90 minutes PER "Timeouts".user, "Timeouts".timeouts\n'
        "TIMEOUTS\n"
        "RETURN COUNT(f) AS n, SUPPRESSED()"
    )
    assert to_text(parse(text)[0]) == text


def test_random_queries_bind_and_read_back() -> None:
    """Those with clauses for which matches count, as tests of the engine draw them."""
    counts = Counter[str]()
    for seed in range(120):
        case = random_case(seed, with_policies=True)
        for query in case.queries:
            read = parse(to_text(query))
            assert bind(read, CASES_SCHEMA, tie_break=case.order_by is not None) == (query,)
            counts.update(line.split(" ")[0] for line in to_text(query).splitlines())
            counts["PER"] += query.policy.suppression is not None and bool(query.policy.suppression.per)
    drawn = {word: counts[word] for word in ("STRATEGY", "AFTER", "PREFER", "SUPPRESS", "PER", "TIMEOUTS")}
    assert min(drawn.values()) >= 10, drawn


def test_a_trend_query() -> None:
    text = (
        "QUERY q2\n"
        "PATTERN SEQ(Request R, (SEQ(Travel+ T[], NOT Pickup P, Dropoff D))+)\n"
        "WHERE [driver, rider]\n"
        "  AND R.type = Pool\n"
        "WITHIN 30 minutes SLIDE 5 minutes\n"
        "PARTITION BY city\n"
        "GROUP BY district\n"
        "HAVING COUNT(*) >= 10\n"
        "   AND (SUM(T.x) > 3 OR NOT AVG(T.x) = 3 * MIN(T.x))\n"
        "   AND T.district != 'center'\n"
        "RETURN T.district, COUNT(*), AVG(T.speed), COUNT(T) / 60 AS steps"
    )
    (query,) = parse(text)
    assert to_text(query) == text
    (bound,) = bind([query], None)
    assert to_text(bound) == text.replace("Pool", "'Pool'")


SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "x": LONG,
        "y": DOUBLE,
        "price": decimal(2),
        "fine": decimal(5),
        "name": STRING,
        "day": DATE,
        "took": DURATION,
    },
    time="ts",
)
numbers = st.recursive(
    st.sampled_from(["a.x", "b.y", "a.price", "b.fine", "SUM(l.price)", "COUNT(l)", "FIRST(a).x"])
    | st.integers(-99, 99).map(str)
    | st.floats(-1e6, 1e6).map(repr)
    | st.sampled_from(["1234567890.12345678", "0.5", "2.25", "1e17", "100000000000000000"]),
    lambda smaller: st.tuples(smaller, st.sampled_from(["+", "-", "*", "/", "+"]), smaller).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=5,
)
times = st.sampled_from(
    ["a.ts", "b.time", "a.day", "'2024-01-31'", "'2024-01-31T12:00:00Z'", "DATE '2024-01-31'", "a.ts + 5 min"]
)
lengths = st.sampled_from(["a.took", "'PT5M'", "5 minutes", "(b.ts - a.ts)", "(a.day - b.ts)", "-a.took"])
operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
typed_predicates = st.one_of(
    *(
        st.tuples(kind, operators, kind).map(" ".join)
        for kind in (numbers, times, lengths, st.sampled_from(["a.name", "'x'"]))
    ),
    st.tuples(numbers, st.lists(st.floats(-99, 99).map(repr), min_size=1).map(", ".join)).map(
        lambda parts: f"{parts[0]} IN ({parts[1]})"
    ),
    st.tuples(numbers, numbers, numbers).map(lambda parts: f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"),
    st.just("l[i].x > l[i-1].x"),
    st.just("l[i].x > 3"),
)


def test_binding_commutes_with_printing() -> None:
    counts = Counter[str]()

    @settings(max_examples=300, deadline=None)
    @given(st.lists(typed_predicates, min_size=1, max_size=3), numbers)
    def check(predicates: list[str], value: str) -> None:
        where = " AND ".join(f"({predicate})" for predicate in predicates)
        text = f"PATTERN AND(A a, B b, C+ l) WHERE {where} RETURN {value} AS value, a.time, FIRST(a).x"
        counts["drawn"] += 1
        try:
            (bound,) = bind(parse(text), SCHEMA)
        except QueryError:
            return  # a condition on times that can never hold, or too many digits in a product
        counts["bound"] += 1
        assert bind(parse(to_text(bound)), SCHEMA) == (bound,)

    check()
    assert counts["drawn"] >= 300
    assert counts["bound"] > 0.8 * counts["drawn"], counts


def test_a_bound_query_reads_like_the_one_it_was_bound_from() -> None:
    text = (
        "QUERY q\n"
        "PATTERN SEQ(A a, B b)\n"
        "WHERE a.x > b.y\n"
        "  AND a.price > 1.5\n"
        "  AND a.price < b.fine\n"
        "  AND a.price IN (1, 2.345)\n"
        "  AND a.day < b.ts"
    )
    (query,) = parse(text)
    (bound,) = bind([query], SCHEMA)
    assert to_text(bound) == to_text(query) == text
