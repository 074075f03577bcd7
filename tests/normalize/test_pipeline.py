"""Queries to normal forms: cases as data, the cap, projections, and invariants that can fail."""

import dataclasses
import textwrap
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from tests.helpers.notation import query_of
from tests.helpers.strategies import SCHEMA, matching_case, random_case

from weft.errors import QueryError
from weft.explanation.plans import explain
from weft.expressions import Attribute, Comparison
from weft.language.binder import bind
from weft.language.parser import parse
from weft.normalize.pipeline import normalize
from weft.normalize.split_alternatives import Alternative
from weft.pattern.invariants import InvariantError, check_form
from weft.pattern.nodes import Event, Query, Sequence
from weft.pattern.normal_form import Item, NegatedForm, NormalForm, project
from weft.plan.invariants import check_plan
from weft.plan.nodes import (
    Absence,
    Branch,
    DistinctUnion,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Output,
    Plan,
    Scan,
)
from weft.reference.evaluate import holds
from weft.reference.events import ReferenceEvent
from weft.reference.stream import Stream, prepare
from weft.schema import LONG


def load_cases() -> list[object]:
    """Return the cases of all files: `=== title`, the query, `---`, and its normal forms."""
    found: list[object] = []
    for path in sorted((Path(__file__).parent / "cases").glob("*.txt")):
        for case in path.read_text(encoding="utf-8").removeprefix("=== ").split("\n=== "):
            title, rest = case.split("\n", 1)
            text, forms = rest.split("\n---\n")
            found.append(pytest.param(text, forms.rstrip("\n"), id=f"{path.stem}: {title}"))
    return found


def shown_forms(text: str) -> str:
    """Return the normal forms of a query as `explain` shows them, without headings and indentation."""
    shown = explain(bind(parse(text), SCHEMA, source=text), SCHEMA)
    _, _, forms = shown.split("\n\nShared plan")[0].split("\n", 2)
    return textwrap.dedent(forms)


@pytest.mark.parametrize(("text", "forms"), load_cases())
def test_a_query_has_the_normal_forms(text: str, forms: str) -> None:
    assert shown_forms(text) == forms


def test_keys_hold_inside_a_negation() -> None:
    (form,) = normalize(query_of("SEQ(A a, NOT SEQ(B x, C y)) WHERE [k] WITHIN 1 minute"))
    assert form.negations[0].form.keys == ("k",)


def test_a_condition_on_consecutive_elements_stays_whole() -> None:
    """Split, `b.x > 3` would also be asked of a match whose list has one element."""
    (form,) = normalize(query_of("SEQ(A+ v[], B b) WHERE NOT (v[i].x <= v[i-1].x OR b.x <= 3)"))
    assert len(form.predicates) == 1


def test_twelve_operands_of_some_are_allowed() -> None:
    operands = ", ".join(f"A{'+' * (not place)} a{place}" for place in range(12))
    assert len(normalize(query_of(f"SOME({operands})"))) == 4_095


@pytest.mark.parametrize("n_operands", [4, 13, 100])
def test_some_of_many_single_events_is_one_form(n_operands: int) -> None:
    operands = ", ".join(f"A a{place}" for place in range(n_operands))
    (form,) = normalize(query_of(f"SOME({operands})"))
    assert form.is_some
    assert len(form.items) == n_operands
    for other in (f"SEQ(SOME({operands}), B b)", f"SOME({operands}) WITHIN 1 minute STRATEGY NEXT"):
        if n_operands < 13:
            assert not any(form.is_some for form in normalize(query_of(other)))


def test_a_condition_on_some_stays_whole() -> None:
    """Split, `a.x > 3` would also be asked of a match without a b."""
    (form,) = normalize(query_of("SOME(A a, A b, A c, A d) WHERE NOT (a.x <= 3 OR b.x <= 3)"))
    assert len(form.predicates) == 1


def optional_items(number: int) -> str:
    return ", ".join(f"B? b{place}" for place in range(number))


def test_256_alternatives_are_allowed() -> None:
    assert len(normalize(query_of(f"SEQ(A a, {optional_items(8)})"))) == 256


@pytest.mark.parametrize(
    ("pattern", "most"),
    [
        (f"SEQ(A a, {optional_items(9)})", 256),
        (f"AND(A a, {optional_items(9)})", 256),
        (f"OR({', '.join(f'A a{place}' for place in range(257))})", 256),
        (f"SEQ(A a, NOT AND({optional_items(9)}))", 256),
        (f"SEQ(SOME({', '.join(f'A a{place}' for place in range(13))}), B b)", 4_096),
        (f"SOME({', '.join(f'A? a{place}' for place in range(8))})", 4_096),
    ],
    ids=["SEQ", "AND", "OR", "NOT", "SOME", "SOME of optional items"],
)
def test_more_alternatives_are_refused_with_a_remedy(pattern: str, most: int) -> None:
    with pytest.raises(QueryError) as refused:
        normalize(query_of(pattern))
    message = str(refused.value)
    assert f"query q: more than {most} alternatives after splitting OR, SOME and optional items" in message
    assert "hint: use fewer OR, * and ? in one query, or write several queries; SOME has" in message


def is_match(form: NormalForm, bound: Mapping[str, tuple[ReferenceEvent, ...]], stream: Stream) -> bool:
    """Say whether events satisfy a form, negations aside."""
    every = [event for events in bound.values() for event in events]
    return (
        set(bound) == set(form.variables)
        and all(item.type in event.types for item in form.items for event in bound[item.variable])
        and all(
            item.least <= len(bound[item.variable]) <= (item.most or len(every))
            and all(map(stream.is_before, bound[item.variable], bound[item.variable][1:]))
            for item in form.items
        )
        and all(stream.is_before(a, b) for x, y in form.order for a in bound[x] for b in bound[y])
        and all(stream.fit_together(a, b) for a, b in combinations(every, 2))
        and all(holds(predicate, bound) for predicate in form.predicates)
    )


@pytest.mark.parametrize("seed", range(64_000, 64_040))
def test_a_match_restricted_to_some_items_is_a_match_of_the_projection(seed: int) -> None:
    case = matching_case(seed, most_queries=2, most_events=10)
    events = {event.row: event for event in case.events}
    for query in case.queries:
        stream = prepare(query, case.events, tie_break=case.tie_break)
        forms = normalize(query)
        for match in case.expected()[query.name]:
            bound = {variable: tuple(map(events.__getitem__, rows)) for variable, rows in match.bindings}
            fitting = [form for form in forms if is_match(form, bound, stream)]
            assert fitting
            for form in fitting:
                for kept in subsets(form):
                    restricted = {variable: bound[variable] for variable in kept}
                    assert is_match(project(form, kept), restricted, stream)


@pytest.mark.parametrize("seed", range(65_000, 65_060))
def test_a_projection_is_again_a_normal_form(seed: int) -> None:
    for query in random_case(seed, most_events=0).queries:
        for form in normalize(query):
            assert project(form, set(form.variables)).items == form.items
            for kept in subsets(form):
                projected = project(form, kept)
                check_form(projected, "project")
                assert set(projected.variables) == kept


def subsets(form: NormalForm) -> list[set[str]]:
    """Return the proper, non-empty subsets of the variables of a form."""
    variables = form.variables
    return [set(kept) for size in range(1, len(variables)) for kept in combinations(variables, size)]


A, B, C = Item("a", "A"), Item("b", "B"), Item("c", "C")
LESS = Comparison("<", Attribute("a", "x", type=LONG), Attribute("b", "x", type=LONG))
BROKEN_FORMS = {
    "a normal form has at least one item": NormalForm((), frozenset()),
    "variables are distinct": NormalForm((A, A), frozenset()),
    "the order relates items only": NormalForm((A,), frozenset({("a", "b")})),
    "the order is strict": NormalForm((A, B), frozenset({("a", "b"), ("b", "a")})),
    "the order is transitively closed": NormalForm((A, B, C), frozenset({("a", "b"), ("b", "c")})),
    "predicates mention items only": NormalForm((A,), frozenset(), (LESS,)),
    "no item is optional": NormalForm((Item("a", "A", is_list=True, least=0),), frozenset()),
    "a scope is bounded by items": NormalForm(
        (A,), frozenset(), negations=(NegatedForm(NormalForm((B,), frozenset()), ("c",), ()),)
    ),
    "a negation mentions its own and outer items only": NormalForm(
        (C,), frozenset(), negations=(NegatedForm(NormalForm((B,), frozenset()), (), (), (LESS,)),)
    ),
}


@pytest.mark.parametrize(("what", "form"), BROKEN_FORMS.items(), ids=BROKEN_FORMS)
def test_a_broken_form_is_reported_with_the_step(what: str, form: NormalForm) -> None:
    with pytest.raises(InvariantError, match=f"^after some_rule: {what}$"):
        check_form(form, "some_rule")


def test_a_form_broken_inside_a_negation_is_reported() -> None:
    broken = NegatedForm(BROKEN_FORMS["variables are distinct"], ("c",), ())
    with pytest.raises(InvariantError, match="after some_rule: variables are distinct"):
        check_form(NormalForm((C,), frozenset(), negations=(broken,)), "some_rule")


def test_a_step_that_leaves_an_or_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    query = query_of("OR(A a, B b)")
    unsplit = (Alternative(query.pattern),)
    monkeypatch.setattr("weft.normalize.pipeline.split_alternatives", lambda *_: unsplit)
    with pytest.raises(InvariantError, match="after split_alternatives: no OR and no SOME remains"):
        normalize(query)


def test_a_step_that_leaves_a_nested_sequence_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.normalize.pipeline.flatten_operators", lambda pattern: pattern)
    nested = Sequence((Event("A", "a"), Sequence((Event("B", "b"), Event("C", "c")))))
    with pytest.raises(InvariantError, match="after flatten_operators: Sequence is flat"):
        normalize(Query("q", nested))


SCAN, NONE = Scan("A"), ()
JOIN = Join(SCAN, SCAN, ((0, 1),), NONE, NONE, None)
OF_THIRD = Comparison("<", Attribute("$0", "x", type=LONG), Attribute("$2", "x", type=LONG))
LISTS = KleeneExpand(None, SCAN, 1, None, NONE, NONE, NONE, None)
NEAR, FAR = Extent("time", 1), Extent("time", 2)
BROKEN_NODES: dict[str, tuple[Node, str]] = {
    "filter on a column that is not there": (
        Filter(SCAN, (OF_THIRD,)),
        "Filter: predicates mention columns of the inputs only",
    ),
    "join on a column that is not there": (
        dataclasses.replace(JOIN, predicates=(OF_THIRD,)),
        "Join: predicates mention columns of the inputs only",
    ),
    "order of a column that is not there": (
        dataclasses.replace(JOIN, order=((0, 2),)),
        "Join: order and distinct relate existing columns",
    ),
    "order in a circle": (dataclasses.replace(JOIN, order=((0, 1), (1, 0))), "Join: the order is strict"),
    "list of pairs": (
        dataclasses.replace(LISTS, elements=JOIN),
        "KleeneExpand: elements are single events",
    ),
    "list of lists": (dataclasses.replace(LISTS, elements=LISTS), "KleeneExpand: elements are single events"),
    "empty list": (dataclasses.replace(LISTS, least=0), "KleeneExpand: 1 <= least <= most"),
    "most below least": (dataclasses.replace(LISTS, least=3, most=2), "KleeneExpand: 1 <= least <= most"),
    "scope after a negated column": (
        NegationCheck(SCAN, Absence(SCAN, (1,), NONE, NONE, NONE, None)),
        "NegationCheck: the scope is bounded by columns of the input",
    ),
    "negated condition on a column that is not there": (
        NegationCheck(SCAN, Absence(SCAN, NONE, NONE, NONE, (OF_THIRD,), None)),
        "NegationCheck: predicates mention columns of the inputs only",
    ),
    "inner NOT with a scope outside its columns": (
        NegationCheck(
            SCAN,
            Absence(SCAN, NONE, NONE, NONE, NONE, None, (Absence(SCAN, (2,), NONE, NONE, NONE, None),)),
        ),
        "NegationCheck: the scope is bounded by columns of the input",
    ),
    "union of a list and an event": (
        DistinctUnion((SCAN, LISTS)),
        "DistinctUnion: inputs have the same columns",
    ),
    "input with a shorter window": (
        Join(dataclasses.replace(JOIN, extent=NEAR), SCAN, ((1, 2),), NONE, NONE, FAR),
        "Join: an input reaches at least as far as its reader",
    ),
}


def plan_of(node: Node, variables: tuple[str, ...], *, names: tuple[str, ...] = ("q",)) -> Plan:
    return Plan(tuple(Output(name, (), (Branch(node, variables, ()),)) for name in names))


@pytest.mark.parametrize(("node", "what"), BROKEN_NODES.values(), ids=BROKEN_NODES)
def test_a_broken_plan_is_reported_with_the_step_and_the_node(node: Node, what: str) -> None:
    with pytest.raises(InvariantError, match=f"^after some_step: {what}$"):
        check_plan(plan_of(node, ("a",)), "some_step")


def test_an_unnamed_column_is_reported() -> None:
    check_plan(plan_of(JOIN, ("a", "b")), "some_step")
    with pytest.raises(InvariantError, match="after some_step: query q names every column"):
        check_plan(plan_of(JOIN, ("a",)), "some_step")


def test_two_outputs_of_one_name_are_reported() -> None:
    check_plan(plan_of(SCAN, ("a",), names=("p", "q")), "some_step")
    with pytest.raises(InvariantError, match="after some_step: query names are distinct"):
        check_plan(plan_of(SCAN, ("a",), names=("q", "q")), "some_step")


def test_a_projection_drops_a_negation_that_a_dropped_item_may_satisfy() -> None:
    (query,) = bind(parse("PATTERN AND(SEQ(A a, NOT C x, B b), C c)"), None)
    (form,) = normalize(query)
    assert not project(form, {"a", "b"}).negations
    assert project(form, {"a", "b", "c"}).negations
