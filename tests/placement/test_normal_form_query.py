"""Projections of queries of the language: texts, kinds, rates and negations."""

import pytest

from weft.errors import WeftError
from weft.language.read import read_queries
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.schema import LONG, STRING, TIMESTAMP, Schema
from weft.statistics.model import ItemKey, Statistics

SCHEMA = Schema({"ts": TIMESTAMP, "user": STRING, "x": LONG, "y": LONG}, time="ts")


def projected(text: str, statistics: Statistics | None = None) -> tuple[NormalFormQuery, ...]:
    queries = read_queries(text, SCHEMA, origin="q.weft", tie_break=False)
    return normal_form_queries(queries, SCHEMA, statistics or Statistics())


def whole_text(pattern: str, rest: str = "") -> str:
    (query,) = projected(f"QUERY q PATTERN {pattern} {rest} WITHIN 1 minute")
    return query.root.text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("SEQ(A a, B b)", "WHERE a.x < b.x"), ("SEQ(A k, B l)", "WHERE l.x > k.x")),
        (("AND(A a, B b, C c)", "WHERE a.x < c.x"), ("AND(C a, A b, B c)", "WHERE a.x > b.x")),
        (("AND(A a, A b, B c)", "WHERE a.x < c.x"), ("AND(A a, A b, B c)", "WHERE b.x < c.x")),
        (
            ("AND(SEQ(A a, B b), SEQ(A c, B d))", "WHERE a.x < d.y"),
            ("AND(SEQ(A a, B b), SEQ(A c, B d))", "WHERE c.x < b.y"),
        ),
        (("SEQ(A a, B+ b[], C c)", "WHERE b.x > 3"), ("SEQ(A p, B+ q[], C r)", "WHERE 3 < q.x")),
        (
            ("SEQ(A a, NOT AND(N n, M m), C c)", "WHERE n.x = a.x AND [user]"),
            ("SEQ(A p, NOT AND(M q, N r), C s)", "WHERE [user] AND p.x = r.x"),
        ),
        (("SEQ(A a, B b)", "WHERE a.x > 3 AND a.y > 4"), ("SEQ(A a, B b)", "WHERE a.y > 4 AND a.x > 3")),
    ],
)
def test_equal_projections_have_equal_texts(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert whole_text(*one) == whole_text(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("SEQ(A a, B b)", ""), ("SEQ(B b, A a)", "")),
        (("SEQ(A a, B b)", ""), ("AND(A a, B b)", "")),
        (("SEQ(A a, B b)", "WHERE a.x < b.x"), ("SEQ(A a, B b)", "WHERE a.x <= b.x")),
        (("SEQ(A a, B b)", "WHERE a.x > 3"), ("SEQ(A a, B b)", "WHERE b.x > 3")),
        (("SEQ(A a, B b)", "WHERE [user]"), ("SEQ(A a, B b)", "")),
        (("SEQ(A a, B+ b[])", ""), ("SEQ(A a, B{2,5} b[])", "")),
        (("SEQ(A a, NOT N n, C c)", ""), ("SEQ(A a, C c)", "")),
        (("SEQ(A a, NOT N n, C c)", ""), ("SEQ(A a, C c, NOT N n)", "")),
        (("SEQ(A a, NOT N n, C c)", "WHERE n.x > 3"), ("SEQ(A a, NOT N n, C c)", "WHERE n.x > 4")),
        (("AND(A a, A b, B c)", "WHERE a.x < c.x"), ("AND(A a, A b, B c)", "WHERE a.x < b.x")),
    ],
)
def test_different_projections_have_different_texts(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert whole_text(*one) != whole_text(*other)


def test_texts_are_readable() -> None:
    assert whole_text("SEQ(A a, NOT N n, AND(C c, B+ b[]))", "WHERE a.x > 3 AND n.x = a.x AND [user]") == (
        "SEQ(A[x > 3], AND(B{1,}, C)) WHERE [user] "
        "NOT (N AFTER $0 BEFORE $1, $2 IF $0.x = $3.x WHERE [user]) WITHIN 1 minute"
    )


def test_projections_of_a_sequence() -> None:
    (query,) = projected("QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x = c.x AND b.y > 1 WITHIN 10 seconds")
    assert query.kinds == ("A", "B[y > 1]", "C")
    assert query.projection(0b010).is_primitive
    assert query.projection(0b101).text == "SEQ(A, C) WHERE $0.x = $1.x WITHIN 10 seconds"
    assert query.projection(0b110).kinds == ("B[y > 1]", "C")
    assert query.form(0b101).variables == ("a", "c")
    assert query.occurrences(query.projection(0b101)) == [0b101]


def test_operators_are_those_of_the_pattern() -> None:
    (query,) = projected("QUERY q PATTERN SEQ(A a, AND(B b, SEQ(C c, D d)), E e) WITHIN 1 minute")
    assert query.operators == (0b01100, 0b01110, 0b11111)
    (single,) = projected("QUERY q PATTERN A a WITHIN 1 minute")
    assert single.operators == (1,)


def test_the_items_of_equal_projections_correspond() -> None:
    one, other = projected(
        "QUERY p PATTERN AND(B b, A a, C c) WHERE a.x = b.x WITHIN 1 minute\n"
        "QUERY q PATTERN AND(D d, A k, B l) WHERE k.x = l.x WITHIN 1 minute"
    )
    assert one.projection(0b011).text == other.projection(0b110).text
    assert one.places(0b011) == (1, 0)
    assert other.places(0b110) == (1, 2)


def test_a_window_is_part_of_a_projection() -> None:
    one, other = projected(
        "QUERY p PATTERN SEQ(A a, B b) WITHIN 1 minute QUERY q PATTERN SEQ(A a, B b) WITHIN 2 minutes"
    )
    assert one.projection(0b11) != other.projection(0b11)
    assert one.projection(0b01) == other.projection(0b01)


def test_factors_give_matches_per_second() -> None:
    (query,) = projected("QUERY q PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 10 seconds")
    known = Statistics(rates={ItemKey("A"): 7.0, ItemKey("B"): 3.0})
    (with_rates,) = projected("QUERY q PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 10 seconds", known)
    assert query.projection(0b11).factor == pytest.approx(10 * 0.1)
    assert with_rates.projection(0b11).factor == pytest.approx(10 * 0.1)
    (triple,) = projected("QUERY q PATTERN AND(A a, B b, C c) WITHIN 10 seconds")
    assert triple.projection(0b111).factor == pytest.approx(3 * 100)


def test_a_kind_of_a_list_is_named_twice() -> None:
    known = Statistics(rates={ItemKey("A"): 2.0, ItemKey("B"): 5.0})
    (query,) = projected("QUERY q PATTERN SEQ(A a, B{1,1} b[]) WITHIN 10 seconds", known)
    (list_query,) = projected("QUERY q PATTERN SEQ(A a, B{1,2} b[]) WITHIN 10 seconds", known)
    projection = list_query.projection(0b11)
    assert projection.kinds == ("A", "B", "B")
    assert list_query.projection(0b10).is_primitive
    pairs = query.projection(0b11)
    assert pairs.factor * 2.0 * 5.0 * 5.0 == pytest.approx(10 * 2 * 5)
    assert projection.factor > pairs.factor


def test_negations_are_checked_where_their_items_are() -> None:
    (query,) = projected("QUERY q PATTERN SEQ(A a, NOT N n, B b, C c) WHERE n.x > 3 WITHIN 1 minute")
    assert query.checked_negations(0b011) == {0}
    assert query.checked_negations(0b101) == frozenset()
    assert query.checked_negations(0b111) == {0}
    assert query.negated_kinds(0) == ("N[x > 3]",)
    assert query.needed_kinds(0b111, (0b011, 0b100)) == frozenset()
    assert query.needed_kinds(0b111, (0b101, 0b010)) == {"N[x > 3]"}
    assert "NOT" in query.projection(0b011).text
    assert "NOT" not in query.projection(0b110).text
    assert len(query.form(0b011).negations) == 1


def test_a_negation_at_the_end_waits_for_the_whole_match() -> None:
    (query,) = projected("QUERY q PATTERN SEQ(A a, B b, NOT N n) WITHIN 1 minute")
    assert query.checked_negations(query.whole) == {0}
    (longer,) = projected("QUERY q PATTERN SEQ(A a, B b, C c, NOT N n) WITHIN 1 minute")
    assert longer.checked_negations(0b011) == frozenset()


def test_a_query_of_one_event_is_primitive_unless_more_decides() -> None:
    (plain,) = projected("QUERY q PATTERN A a WHERE a.x > 3 WITHIN 1 minute")
    assert plain.projection(1).is_primitive
    (negated,) = projected("QUERY q PATTERN SEQ(A a, NOT N n) WITHIN 1 minute")
    assert not negated.projection(1).is_primitive


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 EVENTS", "counts events"),
        ("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN COUNT(*)", "trend"),
    ],
)
def test_what_cannot_be_placed_is_refused(text: str, message: str) -> None:
    with pytest.raises(WeftError, match=message):
        projected(text)
