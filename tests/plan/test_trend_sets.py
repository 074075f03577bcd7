"""Which trend queries may share, and their merged template."""

from dataclasses import replace

import pytest

from weft.expressions import Aggregate, Attribute, Comparison, CountTrends, Expression
from weft.normalize.template import template_of
from weft.pattern.nodes import (
    Conjunction,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    Sequence,
    TimeWindow,
)
from weft.plan.template import Template
from weft.plan.trend_sets import (
    TrendSet,
    kleene_types,
    merged_template_lines,
    sharable_sets,
)
from weft.schema import LONG

A, B, C, D = (Event(name, name.lower()) for name in "ABCD")


def plus(operand: Pattern) -> Kleene:
    return Kleene(operand, 1, None)


def template(
    name: str,
    *operands: Pattern,
    where: tuple[Expression, ...] = (),
    window: tuple[int, int] | None = None,
    group_by: tuple[str, ...] = (),
) -> Template:
    return template_of(
        Query(
            name,
            Sequence(operands),
            where,
            None if window is None else TimeWindow(window[0]),
            returns=(ReturnColumn("n", CountTrends()),),
            slide=None if window is None else window[1],
            group_by=group_by,
        )
    )


FIRST = template("q1", A, plus(B))
SECOND = template("q2", C, plus(B))


def test_figure_3() -> None:
    assert merged_template_lines([FIRST, SECOND]) == [
        "start -> A: q1",
        "start -> C: q2",
        "A -> B: q1",
        "B -> B: q1, q2 (B+ is sharable)",
        "C -> B: q2",
        "B -> end: q1, q2",
    ]
    assert merged_template_lines([FIRST]) == ["start -> A: q1", "A -> B: q1", "B -> B: q1", "B -> end: q1"]


def test_queries_with_a_kleene_type_in_common_share_it() -> None:
    assert sharable_sets([FIRST, SECOND]) == (TrendSet((0, 1), ("B",), None),)


def test_a_pane_divides_all_windows() -> None:
    templates = [template("p", A, plus(B), window=(10, 5)), template("q", C, plus(B), window=(15, 5))]
    assert sharable_sets(templates) == (TrendSet((0, 1), ("B",), 5),)
    templates.append(template("r", plus(D), window=(9, 6)))
    assert sharable_sets(templates)[1] == TrendSet((2,), (), 3)


@pytest.mark.parametrize(
    "other",
    [
        template("r", A, B),
        template("r", A, plus(D)),
        template("r", C, plus(B), group_by=("site",)),
        template("r", C, plus(B), window=(10, 5)),
        template("r", plus(Sequence((A, B)))),
    ],
)
def test_queries_that_do_not_share(other: Template) -> None:
    assert sharable_sets([FIRST, other]) == (
        TrendSet((0,), (), None),
        TrendSet((1,), (), None if other.length is None else 5),
    )


def test_the_order_of_groups_and_the_aggregates_do_not_matter() -> None:
    one = template("q", A, plus(B), group_by=("site", "zone"))
    other = template("r", C, plus(B), group_by=("zone", "site"))
    query = Query("s", plus(B), returns=(ReturnColumn("m", Aggregate("max", "b", "v", LONG)),))
    highest = template_of(replace(query, group_by=("site", "zone")))
    assert sharable_sets([one, other, highest]) == (TrendSet((0, 1, 2), ("B",), None),)


def test_all_queries_of_a_set_have_a_type_in_common() -> None:
    """A chain of queries, each sharing with the next: the type of most of them comes first."""
    templates = [
        template("p", plus(A), plus(B)),
        template("q", plus(B), plus(C)),
        template("r", plus(C), plus(D)),
        template("s", plus(D), A),
        template("t", C, plus(B)),
        FIRST,
    ]
    assert sharable_sets(templates) == (
        TrendSet((0, 1, 4, 5), ("B",), None),
        TrendSet((2, 3), ("D",), None),
    )


def test_a_set_shares_every_type_that_all_have() -> None:
    templates = [template("p", plus(A), plus(B), plus(C)), template("q", plus(B), plus(A))]
    assert sharable_sets(templates) == (TrendSet((0, 1), ("A", "B"), None),)


def test_no_templates_no_sets() -> None:
    assert sharable_sets([]) == ()
    assert merged_template_lines([]) == []


def test_kleene_types() -> None:
    rises = Comparison("<", Attribute("b", "v", "previous", LONG), Attribute("b", "v", "current", LONG))
    assert kleene_types(template("q", A, plus(B))) == {"B"}
    assert kleene_types(template("q", A, plus(B), where=(rises,))) == set()
    assert kleene_types(template("q", A, plus(plus(B)), where=(rises,))) == {"B"}
    assert kleene_types(template("q", A, Kleene(B, 2, None), Kleene(C, 2, 4))) == {"B"}
    assert kleene_types(template("q", plus(Sequence((A, Negation(C), B))))) == set()
    assert kleene_types(template("q", plus(Disjunction((A, Sequence((B, C))))))) == {"A"}


def test_operands_of_and_are_merged_side_by_side() -> None:
    both = template("q", Conjunction((Sequence((A, plus(B))), plus(C))))
    assert merged_template_lines([both]) == [
        "start -> A: q",
        "start -> C: q",
        "A -> B: q",
        "B -> B: q",
        "C -> C: q",
        "B -> end: q",
        "C -> end: q",
    ]
