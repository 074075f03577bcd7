"""Queries that differ in nothing but their clauses share their joins."""

import pytest
from tests.helpers.engine import STEPS
from tests.helpers.strategies import SCHEMA

from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import Join, KleeneExpand, NegationCheck, Node, Plan, inputs_of

PATTERNS = {
    "two": "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute",
    "three": "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.k = c.k AND c.x > 1 WITHIN 1 minute",
    "four": "SEQ(A a, B b, C c, D d) WHERE [k] AND a.x < d.x WITHIN 1 minute",
    "any order": "AND(A a, B b, C c) WHERE a.x < b.x WITHIN 1 minute",
    "some order": "SEQ(A a, AND(B b, C c), D d) WITHIN 1 minute PARTITION BY k",
    "of one type": "SEQ(A a, A b, A c) WHERE a.x < b.x WITHIN 20 EVENTS",
    "a NOT": "SEQ(A a, NOT D n, B b, C c) WHERE n.x = a.x AND [k] WITHIN 1 minute",
    "a NOT of what is bound": "SEQ(A a, NOT B n, B b, C c) WHERE n.x > 1 WITHIN 1 minute",
    "a NOT at each end": "SEQ(NOT D m, A a, B b, C c, NOT D n) WITHIN 1 minute",
    "a NOT of a pattern": "SEQ(A a, NOT SEQ(D m, D n), B b, C c) WHERE n.x = a.x WITHIN 1 minute",
    "a list": "SEQ(A a, B+ b[], C c) WITHIN 1 minute",
    "a list with conditions": "SEQ(A a, B+ b[], C c) WHERE b.x > a.x AND COUNT(b) < c.x WITHIN 1 minute",
    "a list at the end": "SEQ(A a, B b, C{2,4} c[]) WHERE c[i].x > c[i-1].x WITHIN 1 minute",
    "a list at the start": "SEQ(A{2,} a[], NOT D n, B b, C c) WITHIN 1 minute",
    "a list that is joined early": "SEQ(A a, B+ b[], C c, D d) WHERE [k] AND b.x > a.x AND COUNT(b) < d.x "
    "WITHIN 1 minute",
    "an optional event": "SEQ(A a, B? b, C c, D d) WHERE c.x > a.x WITHIN 1 minute",
}
CLAUSES = (
    "STRATEGY ANY",
    "STRATEGY NEXT",
    "STRATEGY STRICT",
    "AFTER MATCH SKIP PAST LAST",
    "STRATEGY NEXT AFTER MATCH SKIP TO NEXT PREFER LONGEST",
    "STRATEGY STRICT SUPPRESS 1 hour",
    "SUPPRESS 1 hour PER a.name",
)


def plan_of(*texts: str) -> Plan:
    text = "\n".join(f"QUERY q{number} PATTERN {one}" for number, one in enumerate(texts))
    queries = bind(parse(text), SCHEMA, source=text)
    return optimize(queries, SCHEMA, Planning(steps=STEPS, cost="partial-matches"))


def joins(plan: Plan) -> set[Node]:
    return {node for node in topological_order(plan) if isinstance(node, Join)}


def has_lists(node: Node) -> bool:
    return isinstance(node, KleeneExpand) or any(map(has_lists, inputs_of(node)))


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_clauses_add_no_join(pattern: str) -> None:
    clauses = [clause for clause in CLAUSES if "a.name" not in clause or "a[]" not in pattern]
    plan = plan_of(*(f"{pattern} {clause}" for clause in clauses))
    alone = plan_of(f"{pattern} STRATEGY ANY")
    assert len(joins(plan)) == len(joins(alone)) > 0
    assert len(plan.outputs) == len(clauses)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_joins_of_single_events_are_shared_whatever_the_strategy(pattern: str) -> None:
    """Lists differ from strategy to strategy, and with them the joins that read them."""
    plan = plan_of(*(f"{pattern} STRATEGY {name}" for name in ("ANY", "NEXT", "STRICT")))
    shared = {node for node in joins(plan) if not has_lists(node)}
    of_others = readers(plan)
    assert all(of_others[node] == {"q0", "q1", "q2"} for node in shared)
    assert shared == joins(plan)


def test_a_strategy_alone_adds_its_checks_and_nothing_else() -> None:
    pattern = PATTERNS["three"]
    alone = topological_order(plan_of(f"{pattern} STRATEGY ANY"))
    both = topological_order(plan_of(f"{pattern} STRATEGY ANY", f"{pattern} STRATEGY NEXT"))
    added = [node for node in both if node not in alone]
    assert len(both) == len(alone) + len(added)
    assert [type(node) for node in added] == [NegationCheck, NegationCheck]
