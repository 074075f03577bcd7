"""Strategies as negations: what each shape of pattern forbids."""

import pytest
from tests.helpers.notation import query_of

from weft.explanation.trends import where_text
from weft.normalize.apply_strategy import without_strategy
from weft.normalize.pipeline import normalize
from weft.pattern.normal_form import EVERY_TYPE, NegatedForm


def told(negation: NegatedForm) -> str:
    """Write what is forbidden: a type between variables, in the gaps of a list, or inside the match.

    The event that is forbidden is called x.
    """
    (item,) = negation.form.items
    sides = f"{','.join(negation.after)}..{','.join(negation.before)}"
    scopes = {"gap": f"gaps of {negation.after[0:1] and negation.after[0]}", "match": f"match {sides}"}
    conditions = where_text((*negation.form.predicates, *negation.predicates))
    conditions = conditions.replace(f'"{item.variable}"', "x").replace('"\0rank"', "rank")
    name = "every" if item.type == EVERY_TYPE else item.type
    return f"{name} {scopes.get(negation.scope, sides)}{conditions}"


def forbidden(text: str) -> list[list[str]]:
    """Return what the strategy of a query forbids, for each of its alternatives."""
    return [
        [told(negation) for negation in form.negations if negation.is_strategic]
        for form in normalize(query_of(text))
    ]


NEXT = {
    # no event may have been taken earlier
    "A a": [],
    "SEQ(A a, B b, C c)": ["B a..b", "C b..c"],
    "SEQ(A a, NOT D n, B b) WHERE n.x = b.x": ["B a..b"],
    "AND(A a, B b)": ["A match ..a", "B match ..b"],
    "AND(A a, SEQ(B b, C c))": ["A match ..a", "B match ..b", "C b..c"],
    "SEQ(A a, AND(B b, C c), D d)": ["B a..b", "C a..c", "D b,c..d"],
    "SEQ(AND(A a, B b), C c)": ["A match ..a", "B match ..b", "C a,b..c"],
    # lists without an upper bound go on to the end; with one, as long as they are shorter
    "B{2,} b[]": ["B gaps of b"],
    "SEQ(A a, B+ b[])": ["B a..b", "B gaps of b"],
    "SEQ(A+ a[], B b)": ["A gaps of a", "A a..b", "B a..b"],
    "SEQ(A a, B+ b[], C c)": ["B a..b", "B gaps of b", "B b..c", "C b..c"],
    "SEQ(A a, B{1,3} b[], C c)": ["B a..b", "B gaps of b", "B b..c where COUNT(b) < 3", "C b..c"],
    "SEQ(A a, B{2} b[], C c)": ["B a..b", "B gaps of b", "C b..c"],
    "SEQ(A a, B{1} b[], C c)": ["B a..b", "C b..c"],
    "AND(A a, B+ b[])": ["A match ..a", "B match ..b", "B gaps of b"],
    # conditions with what comes earlier are asked, those with what comes later are not
    "SEQ(A a, B b, C c) WHERE b.x = 1 AND b.x > a.x AND b.x < c.x": [
        "B a..b where x.x = 1 AND a.x < x.x",
        "C b..c where b.x < x.x",
    ],
    "SEQ(A a, B b, C c) WHERE NOT (b.x > 1 OR c.x > 2)": ["B a..b", "C b..c where x.x <= 2 AND b.x <= 1"],
    # those with what nothing orders are asked where that comes before
    "AND(A a, B b) WHERE a.x < b.x": [
        "A match ..a where b.rank >= x.rank OR x.x < b.x",
        "B match ..b where a.rank >= x.rank OR a.x < x.x",
    ],
    "SEQ(A a, AND(B+ b[], C c)) WHERE b.x < c.x": [
        "B a..b where c.rank >= x.rank OR x.x < c.x",
        "B gaps of b where c.rank >= x.rank OR x.x < c.x",
        "C a..c where LAST(b).rank >= x.rank OR b.x < x.x",
    ],
    "SEQ(A a, AND(B+ b[], C c)) WHERE FIRST(b).x < c.x": [
        "B a..b",
        "B gaps of b",
        "C a..c where FIRST(b).rank >= x.rank OR FIRST(b).x < x.x",
    ],
    "SEQ(A a, AND(B+ b[], C c)) WHERE FIRST(b).x < c.x AND SUM(b.x) > c.x": [
        "B a..b",
        "B gaps of b",
        "C a..c where (FIRST(b).rank >= x.rank OR FIRST(b).x < x.x) AND "
        "(LAST(b).rank >= x.rank OR SUM(b.x) > x.x)",
    ],
    # what is said of elements is asked of each, what is said of neighbors after the one before
    "SEQ(A a, B+ b[], C c) WHERE b.x > a.x": [
        "B a..b where a.x < x.x",
        "B gaps of b where a.x < x.x",
        "B b..c where a.x < x.x",
        "C b..c",
    ],
    "SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x": [
        "B a..b",
        "B gaps of b where x.x > b[i-1].x",
        "B b..c where x.x > LAST(b).x",
        "C b..c",
    ],
    # what is said of a whole list is asked of what comes after it alone
    "SEQ(A a, B+ b[], C c) WHERE COUNT(b) > 2 AND SUM(b.x) < a.x AND FIRST(b).x = 1 AND LAST(b).x = 2": [
        "B a..b",
        "B gaps of b",
        "B b..c",
        "C b..c",
    ],
    "SEQ(A a, B+ b[], C c) WHERE c.x > LAST(b).x AND COUNT(b) < c.k": [
        "B a..b",
        "B gaps of b",
        "B b..c",
        "C b..c where LAST(b).x < x.x AND COUNT(b) < x.k",
    ],
    # of a condition on a negated event nothing is asked
    "SEQ(A a, NOT D n, B b) WHERE n.x < b.x AND b.x > 1": ["B a..b where x.x > 1"],
}


@pytest.mark.parametrize(("pattern", "expected"), NEXT.items(), ids=NEXT)
def test_next_forbids_what_could_have_been_taken(pattern: str, expected: list[str]) -> None:
    assert forbidden(f"{pattern} STRATEGY NEXT") == [expected]


OPTIONAL = {
    "SEQ(A a, B? b, C c)": [["C a..c", "B a..c"], ["B a..b", "C b..c"]],
    "SEQ(A a, B* b[], C c)": [["C a..c", "B a..c"], ["B a..b", "B gaps of b", "B b..c", "C b..c"]],
    "SEQ(A a, B{0,2} b[], C c)": [
        ["C a..c", "B a..c"],
        ["B a..b", "B gaps of b", "B b..c where COUNT(b) < 2", "C b..c"],
    ],
    "SEQ(A a, B? b)": [[], ["B a..b"]],
    "SEQ(B? b, A a)": [[], ["A b..a"]],
    "AND(A a, B? b)": [[], ["A match ..a", "B match ..b"]],
    "SEQ(A a, AND(B? b, C c), D d)": [["C a..c", "D c..d", "B a..d"], ["B a..b", "C a..c", "D b,c..d"]],
    "SEQ(A a, B? b, C? c, D d)": [
        ["D a..d", "B a..d", "C a..d"],
        ["C a..c", "D c..d", "B a..c"],
        ["B a..b", "D b..d", "C b..d"],
        ["B a..b", "C b..c", "D c..d"],
    ],
    "SEQ(A a, B? b, C c) WHERE b.x > a.x AND c.x > b.x": [
        ["C a..c", "B a..c where a.x < x.x"],
        ["B a..b where a.x < x.x", "C b..c where b.x < x.x"],
    ],
    "SEQ(A a, B? b, C c) WHERE COUNT(b) < c.x": [
        ["C a..c where x.x > 0", "B a..c"],
        ["B a..b", "C b..c where COUNT(b) < x.x"],
    ],
    "SEQ(A a, OR(B b, C c)) WHERE b.x = 1": [["B a..b where x.x = 1"], ["C a..c"]],
}


@pytest.mark.parametrize(("pattern", "expected"), OPTIONAL.items(), ids=OPTIONAL)
def test_next_takes_an_optional_event_where_one_stands_on_each_side(
    pattern: str, expected: list[list[str]]
) -> None:
    assert sorted(forbidden(f"{pattern} STRATEGY NEXT")) == sorted(expected)


STRICT = {
    "A a": [],
    "SEQ(A a, B b, C c)": ["every a..b", "every b..c"],
    "SEQ(A a, NOT D n, B b) WHERE b.x > a.x": ["every a..b"],
    "A+ a[]": ["every gaps of a"],
    "SEQ(A a, B{1,3} b[], C c)": ["every a..b", "every b..c", "every gaps of b"],
    "AND(A a, B b)": ["every match .. where a.rank != x.rank AND b.rank != x.rank"],
    "AND(A a, B+ b[])": ["every match .. where a.rank != x.rank AND b.rank != x.rank"],
    "SEQ(A a, AND(B b, C c))": [
        "every match .. where a.rank != x.rank AND b.rank != x.rank AND c.rank != x.rank"
    ],
}


@pytest.mark.parametrize(("pattern", "expected"), STRICT.items(), ids=STRICT)
def test_strict_forbids_any_event_between(pattern: str, expected: list[str]) -> None:
    """Between neighbors where the order says which these are, else anywhere in the match."""
    assert forbidden(f"{pattern} STRATEGY STRICT") == [expected]


@pytest.mark.parametrize("strategy", ["NEXT", "STRICT"])
def test_what_is_forbidden_agrees_on_the_keys(strategy: str) -> None:
    text = f"SEQ(A a, B+ b[], C c) WHERE [k] WITHIN 9 EVENTS PARTITION BY name STRATEGY {strategy}"
    (form,) = normalize(query_of(text))
    assert form.keys == ("k", "name")
    assert form.negations
    for negation in form.negations:
        assert negation.form.keys == form.keys
        assert (negation.form.window, negation.form.partition_by) == (form.window, form.partition_by)


@pytest.mark.parametrize("strategy", ["NEXT", "STRICT"])
@pytest.mark.parametrize("pattern", [*NEXT, *OPTIONAL])
def test_without_the_strategy_the_form_is_that_of_any(pattern: str, strategy: str) -> None:
    forms = normalize(query_of(f"{pattern} STRATEGY {strategy}"))
    assert tuple(map(without_strategy, forms)) == normalize(query_of(pattern))
    assert normalize(query_of(f"{pattern} STRATEGY ANY")) == normalize(query_of(pattern))
    for form in forms:
        assert {item.strategy for item in form.items if item.is_list} <= {strategy.lower()}
        assert {item.strategy for item in form.items if not item.is_list} <= {"any"}
