"""Queries built in Python equal those parsed from text."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from weft.errors import QueryError
from weft.expressions import Literal
from weft.language.binder import bind
from weft.language.builder import (
    and_,
    as_query,
    count_trends,
    event,
    not_,
    or_,
    query,
    repeat,
    same,
    seq,
    some,
    suppressed,
)
from weft.language.parser import parse
from weft.language.terms import Term, constant
from weft.pattern.nodes import Pattern
from weft.schema import LONG, TIMESTAMP, Schema, decimal

a, b = event("A", "a"), event("B", "b").plus()


def test_the_whole_language() -> None:
    g, l, v = event("Gate", "g"), event("Lobby", "l").plus(), event("Vault", "v")  # noqa: E741
    built = (
        query("tailgate")
        .pattern(seq(g, l, not_(event("Guard", "x")), v))
        .where(same("person"), v.level > 3, l.at_i.time > l.at_previous.time)
        .within("10 minutes")
        .partition_by("site")
        .returns(g.person, v.ts - g.ts, who=g.person, steps=l.count())
    )
    text = """
    QUERY tailgate
    PATTERN SEQ(Gate g, Lobby+ l[], NOT Guard x, Vault v)
    WHERE [person] AND v.level > 3 AND l[i].time > l[i-1].time
    WITHIN 10 minutes
    PARTITION BY site
    RETURN g.person, v.ts - g.ts, g.person AS who, COUNT(l) AS steps
    """
    assert parse(text) == (as_query(built),)


def test_a_trend_query() -> None:
    r, t = event("Request", "r"), event("Travel", "t").plus()
    built = (
        query("q")
        .pattern(repeat(seq(r, t, not_(event("Pickup", "p")), event("Dropoff", "d")), 2))
        .where(same("driver"), t.at_i.speed < t.at_previous.speed)
        .within("30 minutes")
        .slide("1 minute")
        .group_by(t.district, "city")
        .having(count_trends() >= 10, t.district != "center")
        .returns(t.district, count_trends(), t.speed.avg(), steps=t.count() / 60)
        .having(t.speed.count_distinct() > t.speed.stddev())
        .having((t.speed.avg() > 3) & t.speed.min().is_not_null())
    )
    text = """
    q: RETURN t.district, COUNT(*), AVG(t.speed), COUNT(t) / 60 AS steps
    HAVING COUNT(*) >= 10 AND t.district != 'center' AND
        COUNT(DISTINCT t.speed) > STDDEV(t.speed) AND AVG(t.speed) > 3 AND MIN(t.speed) IS NOT NULL
    PATTERN SEQ(Request r, Travel t+, NOT Pickup p, Dropoff d){2,}
    WHERE [driver] AND t[i].speed < t[i-1].speed
    WITHIN 30 minutes SLIDE 1 minute GROUP BY district, t.city
    """
    assert parse(text) == (as_query(built),)
    assert built.slide(timedelta(minutes=1)) == built


def test_which_matches_count() -> None:
    start = query("query").pattern(seq(a, b)).within("1 hour")
    built = start.strategy("next").skip("past last").prefer_longest().timeouts().returns(suppressed())
    per = built.suppress(timedelta(hours=1), per=[a.user, a["odd name"]])
    text = (
        "PATTERN SEQ(A a, B+ b) WITHIN 1 hour STRATEGY NEXT AFTER MATCH SKIP PAST LAST "
        "PREFER LONGEST TIMEOUTS RETURN SUPPRESSED()"
    )
    assert parse(text) == (as_query(built),)
    assert parse(f'{text} SUPPRESS 1 hour PER a.user, a."odd name"') == (as_query(per),)
    assert built.suppress("60 min") == built.suppress(timedelta(hours=1))
    assert built.strategy("NEXT").skip("Past-Last") == built


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (a.x == 1, "a.x = 1"),
        (a.x != "x", "a.x != 'x'"),
        (a.x <= -1.5, "a.x <= -1.5"),
        (a.x >= b.first.x, "a.x >= FIRST(b).x"),
        (a.x > 3, "a.x > 3"),
        (a["odd name"] < b.last["x y"], 'a."odd name" < LAST(b)."x y"'),
        (a.x + 1 - 2 * a.y, "a.x + 1 - 2 * a.y"),
        (1 - (2 - a.x), "1 - (2 - a.x)"),
        (a.x / 2 % 3, "a.x / 2 % 3"),
        (1 / a.x, "1 / a.x"),
        (7 % a.x, "7 % a.x"),
        (1 + a.x, "1 + a.x"),
        (-a.x, "-a.x"),
        (abs(a.x), "ABS(a.x)"),
        ((a.x == 1) | (a.x == 2) | (a.x == 3), "a.x = 1 OR a.x = 2 OR a.x = 3"),
        (~((a.x == 1) & (a.x == 2) & (a.x == 3)), "NOT (a.x = 1 AND a.x = 2 AND a.x = 3)"),
        (~(a.x.between(1, 2) & a.flag), "NOT (a.x BETWEEN 1 AND 2 AND a.flag)"),
        (a.x.is_null(), "a.x IS NULL"),
        (a.x.is_not_null(), "a.x IS NOT NULL"),
        (a.x.is_in([1, 2]), "a.x IN (1, 2)"),
        (~a.x.is_in(["x"]), "a.x NOT IN ('x')"),
        (a.x.like("B%"), "a.x LIKE 'B%'"),
        (b.x.sum() > b.x.avg(), "SUM(b.x) > AVG(b.x)"),
        (b.x.min() > b.x.max(), "MIN(b.x) > MAX(b.x)"),
        (b.x.count() < b.count(), "COUNT(b.x) < COUNT(b)"),
        (a.ts > datetime.fromisoformat("2024-01-31T12:00:00"), "a.ts > TIMESTAMP '2024-01-31T12:00:00'"),
        (a.ts > datetime(2024, 1, 31, tzinfo=UTC), "a.ts > TIMESTAMP '2024-01-31T00:00:00Z'"),
        (a.ts > date(2024, 1, 31), "a.ts > DATE '2024-01-31'"),
        (a.ts - a.t < timedelta(minutes=5), "a.ts - a.t < 5 minutes"),
        (a.flag == True, "a.flag = TRUE"),  # noqa: E712
        (a.flag == None, "a.flag = NULL"),  # noqa: E711
    ],
)
def test_terms(term: Term, text: str) -> None:
    built = as_query(query("query").pattern(seq(event("A", "a"), event("B", "b").plus())).where(term))
    assert parse(f"PATTERN SEQ(A a, B+ b) WHERE {text}") == (built,)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (event("A").node, "A"),
        (event("BRK.A", "b").star().node, '"BRK.A"* b[]'),
        (event("A").optional().node, "A?"),
        (event("A").times(3).node, "A{3}"),
        (event("A").times(3, 5).node, "A{3,5}"),
        (event("A").at_least(3).node, "A{3,}"),
        (some(a, seq(b, event("C"))), "SOME(A a, SEQ(B+ b, C))"),
        (or_(and_(a, b), not_(seq(event("C"), event("D")))), "OR(AND(A a, B+ b), NOT SEQ(C, D))"),
    ],
)
def test_patterns(pattern: Pattern, text: str) -> None:
    assert parse(f"PATTERN {text}") == (as_query(query("query").pattern(pattern)),)


def test_windows() -> None:
    start = query("query").pattern(event("A"))
    assert as_query(start.within("500 EVENTS")) == parse("PATTERN A WITHIN 500 EVENTS")[0]
    assert as_query(start.within(timedelta(hours=1))) == parse("PATTERN A WITHIN 1 hour")[0]
    assert as_query(start.within("1 hour 30 min")) == parse("PATTERN A WITHIN 90 minutes")[0]


def test_decimals_bind_exactly() -> None:
    schema = Schema({"price": decimal(2), "ts": TIMESTAMP}, "ts")
    built = as_query(query("query").pattern(a).where(a.price == Decimal("1.10")))
    (bound,) = bind([built], schema)
    assert bound.where[0].right == Literal(Decimal("1.10"), decimal(2))
    assert bind(parse("PATTERN A a WHERE a.price = 1.10"), schema) == (bound,)


def test_builders_do_not_change() -> None:
    start = query("query").pattern(a)
    start.where(a.x > 3).within("5 min")
    assert as_query(start) == parse("PATTERN A a")[0]


def test_a_conjunction_is_as_many_predicates() -> None:
    built = as_query(query("query").pattern(a).where((a.x > 1) & (a.y > 2)).where(a.z > 3))
    assert len(built.where) == 3


def test_a_constant_column() -> None:
    built = as_query(query("query").pattern(a).returns(one=constant(1)))
    assert built.returns[0].expression == Literal(1, LONG)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: as_query(query("q")),
        lambda: query("q").pattern("A"),
        lambda: query("q").pattern(a).where(True),
        lambda: query("q").within("a while"),
        lambda: query("q").slide("a while"),
        lambda: query("q").group_by(a.x + 1),
        lambda: query("q").strategy("nxt"),
        lambda: query("q").skip("last"),
        lambda: query("q").suppress("a while"),
        lambda: query("q").suppress("1 hour", per=[a.x + 1]),
        lambda: query("q").suppress("1 hour", per="x"),
        lambda: constant(float("nan")),
        lambda: a.x > 2**63,
        lambda: a.x > object(),
        (a.x + 1).sum,
        b.plus,
    ],
)
def test_mistakes_are_refused(mistake: object) -> None:
    with pytest.raises(QueryError):
        mistake()  # type: ignore[operator]


def test_terms_have_no_truth_value() -> None:
    with pytest.raises(TypeError, match="join predicates with"):
        bool(a.x > 3)
    with pytest.raises(TypeError, match="expected a predicate"):
        (a.x > 3) & True  # type: ignore[operator]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda: query("q").within(10),
            'the window 10 has no unit\n  hint: write "10 seconds", "10 minutes"',
        ),
        (lambda: query("q").within("10"), 'the window 10 has no unit\n  hint: write "10 seconds"'),
        (lambda: query("q").within(1.5), "the window 1.5 has no unit"),
        (lambda: query("q").within(None), 'None is no window\n  hint: write for example "10 minutes"'),
        (lambda: query("q").slide(5), 'the length 5 has no unit\n  hint: write "5 seconds"'),
        (lambda: query("q").suppress(5), "the length 5 has no unit"),
        (lambda: query(None), "None is no name of a query"),
        (lambda: event(4625), '4625 is no name of a type\n  hint: write it as a text: "4625"'),
        (lambda: event("A", 3), "3 is no name of a variable"),
    ],
)
def test_what_is_half_said_is_told_with_a_remedy(build: Callable[[], object], said: str) -> None:
    with pytest.raises(QueryError) as raised:
        build()
    assert said in str(raised.value)


def test_an_event_is_no_list_of_attributes() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(event("A"))  # type: ignore[call-overload]
