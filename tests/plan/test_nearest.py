"""Joins of which only the nearest pairs are wanted: which these are, and that nothing is lost."""

import random
from collections.abc import Sequence
from typing import TypeAlias

import pytest
from tests.helpers.engine import arrow_events, expected_outcome, outcome_of
from tests.helpers.notation import stream
from tests.helpers.strategies import SCHEMA, Case, event

from weft.normalize.pipeline import normalize
from weft.optimizer.assemble import assemble
from weft.optimizer.pipeline import branch_of, context_of
from weft.optimizer.trees import Demands, Tree, leaf, pair, uncheck
from weft.plan.invariants import check_plan
from weft.plan.nearest import nearest_joins
from weft.plan.nodes import Output, Plan, column_types
from weft.reference.events import ReferenceEvent
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.join import BoundJoin
from weft.runtime.matches.nearest import NearestJoin
from weft.runtime.matches.program import Program

Shape: TypeAlias = "int | tuple[Shape, Shape] | Tree"
Queries: TypeAlias = Sequence[tuple[str, Shape]]  # a pattern, and the tree of its items by number
WINDOW = "WITHIN 8 microseconds"


def tree_of(shape: Shape) -> Tree:
    match shape:
        case Tree():
            return shape
        case int():
            return leaf(shape)
        case (left, right):
            return pair(tree_of(left), tree_of(right))


def case_of(queries: Queries, events: tuple[ReferenceEvent, ...] = ()) -> Case:
    """Return a case with queries q0, q1, ..."""
    texts = [
        f"QUERY q{number} PATTERN {text}".replace("NEXT", f"{WINDOW} STRATEGY NEXT").replace(
            "STRICT", f"{WINDOW} STRATEGY STRICT"
        )
        for number, (text, _) in enumerate(queries)
    ]
    return Case("\n\n".join(texts), events)


def plan_of(queries: Queries) -> Plan:
    """Return the plan of patterns without alternatives along the trees given."""
    outputs = []
    for query, (_, shape) in zip(case_of(queries).queries, queries, strict=True):
        (form,) = normalize(query)
        built = assemble(form, tree_of(shape), context_of(SCHEMA))
        outputs.append(Output(query.name, (), (branch_of(query, built.node, built.variables),)))
    plan = Plan(tuple(outputs))
    check_plan(plan, "assemble")
    return plan


def pruned(plan: Plan) -> list[str]:
    """Return the joins of which the nearest are wanted: the types of the columns, the nearest in brackets."""
    shown = []
    for join, nearest in nearest_joins(plan).items():
        types = column_types(join)
        shown.append("".join(f"[{name}]" if place == nearest else name for place, name in enumerate(types)))
    return sorted(shown)


def matches_of(case: Case, plan: Plan, *, prunes: bool, n_batches: int = 1) -> dict[str, set[object]]:
    """Run a plan, with its joins pruned or not."""
    program = Program(plan)
    for node, bound in program.bound.items():
        if isinstance(bound, NearestJoin) and not prunes:
            program.bound[node] = BoundJoin(bound.node)
    table, layout = arrow_events(case)
    events, executor = ingest(table, layout), Executor(program)
    cuts = [round(events.n_events * number / n_batches) for number in range(n_batches + 1)]
    found = []
    for start, stop in zip(cuts, cuts[1:], strict=False):
        frontier = int(events.times[stop]) if stop < events.n_events else (1 << 63) - 1
        found += executor.process(events.take(slice(start, stop)), frontier)
    return {name: set(own) for name, own in outcome_of(plan, found).matches.items()}


def random_events(dice: random.Random) -> tuple[ReferenceEvent, ...]:
    """Return events of few types and values, some at the same time."""
    times = sorted(dice.randrange(14) for _ in range(16))
    xs = [0, 1, 2, 3, 3, 9, 9, None]
    return tuple(
        event(row, dice.choice("AABBBCCD"), time, k=dice.choice([1, 1, 1, 2]), x=dice.choice(xs))
        for row, time in enumerate(times)
    )


OF_TWO, OF_THREE = (0, 1), ((0, 1), 2)
A_THEN_B = ("SEQ(A a, B b) NEXT", OF_TWO)
WANTED: dict[str, tuple[Queries, list[str]]] = {
    "the next event": ([A_THEN_B], ["A[B]"]),
    "the next of those that compare": ([("SEQ(A a, B b) WHERE a.x < b.x NEXT", OF_TWO)], ["A[B]"]),
    "the next of those that are asked for": ([("SEQ(A a, B b) WHERE b.x > 1 NEXT", OF_TWO)], ["A[B]"]),
    "the next of every type": ([("SEQ(A a, B b) STRICT", OF_TWO)], ["A[B]"]),
    "the next of every type with the same key": ([("SEQ(A a, B b) WHERE [k] STRICT", OF_TWO)], ["A[B]"]),
    "one join after the other": ([("SEQ(A a, B b, C c) NEXT", OF_THREE)], ["AB[C]", "A[B]"]),
    "a NOT that the pattern has itself": ([(f"SEQ(A a, NOT B n, B b) {WINDOW}", OF_TWO)], ["A[B]"]),
    "a pair that follows": ([("SEQ(A a, B b, C c) NEXT", (0, (1, 2)))], ["A[B]C", "B[C]"]),
    "the nearest stands left, between two on the right": (
        [("SEQ(A a, B b, C c) NEXT", ((0, 2), 1))],
        ["[B]AC"],
    ),
    "a join that leaves its check to a join that reads it": (
        [("SEQ(A a, B b, C c) NEXT", (uncheck(pair(leaf(0), leaf(1))), 2))],
        ["AB[C]", "A[B]"],
    ),
    "a key through another column": (
        [("SEQ(A a, B b, C c) WHERE [k] NEXT", (0, (1, 2)))],
        ["A[B]C", "B[C]"],
    ),
    "a join narrowed in time and order for a reader that wants the nearest": (
        [
            A_THEN_B,
            ("SEQ(A a, B b, C c) NEXT", (uncheck(pair(leaf(0), leaf(1))), 2)),
        ],
        ["AB[C]", "A[B]"],
    ),
    "two queries that want the same": ([A_THEN_B, ("SEQ(A x, B y) STRICT", OF_TWO)], ["A[B]"]),
    "two events after one, each without the other": (
        [("SEQ(A a, AND(B b, C c)) NEXT", OF_THREE)],
        ["A[B]", "AB[C]"],
    ),
}
NOT_WANTED: dict[str, Queries] = {
    "all pairs are matches": [(f"SEQ(A a, B b) {WINDOW}", OF_TWO)],
    "a second reader delivers the join": [A_THEN_B, (f"SEQ(A a, B b) {WINDOW}", OF_TWO)],
    "a second reader wants pairs that differ in what is asked": [
        (f"SEQ(A a, NOT B n, B b) WHERE n.x > 1 {WINDOW}", OF_TWO),
    ],
    "nothing orders the events": [("AND(A a, B b) NEXT", OF_TWO)],
    "events of one type must be distinct": [("AND(B a, B b) NEXT", OF_TWO)],
    "another type is forbidden": [(f"SEQ(A a, NOT C n, B b) {WINDOW}", OF_TWO)],
    "more is forbidden to be passed over than is bound": [
        (f"SEQ(A a, NOT B n, B b) WHERE b.x > 1 {WINDOW}", OF_TWO)
    ],
    "less is forbidden to be passed over than is bound": [
        (f"SEQ(A a, NOT B n, B b) WHERE n.x > 1 {WINDOW}", OF_TWO)
    ],
    "what is forbidden compares and what is bound does not": [
        (f"SEQ(A a, NOT B n, B b) WHERE n.x > a.x {WINDOW}", OF_TWO)
    ],
    "what is forbidden agrees on a key that what is bound does not have": [
        (f"SEQ(A a, NOT B n, B b) WHERE n.k = a.k {WINDOW}", OF_TWO)
    ],
    "the window bounds what is forbidden": [(f"SEQ(NOT B n, A a, B b) {WINDOW}", OF_TWO)],
    "what is forbidden is a pattern": [(f"SEQ(A a, NOT B{{2}} n[], B b) {WINDOW}", OF_TWO)],
}
INNER_ONLY: dict[str, tuple[Queries, list[str]]] = {
    "a condition with what another join brings": (
        [("SEQ(A a, B b, C c) WHERE b.x > a.x AND c.x > a.x NEXT", (0, (1, 2)))],
        ["A[B]C"],
    ),
    "a condition with two events of which one is on the side of the nearest": (
        [
            (
                f"SEQ(C c, A a, NOT B n, B b) WHERE c.x + a.x < b.x AND c.x + a.x < n.x {WINDOW}",
                (1, (0, 2)),
            )
        ],
        [],
    ),
    "a key of an event that has nothing to do with the others": (
        [(f"SEQ(D d, A a, NOT B n, B b) WHERE a.k = b.k AND n.k = d.k {WINDOW}", (0, (1, 2)))],
        [],
    ),
    "a negation inside a negation looks at the join": (
        [
            (
                "SEQ(A a, NOT SEQ(C c, NOT SEQ(A p, B r), C e), B b) "
                "WHERE a.x < b.x AND p.x < r.x AND r.k = a.k NEXT",
                OF_TWO,
            )
        ],
        [],
    ),
    "the event that is forbidden may be bound by another variable": (
        [("AND(B d, SEQ(A a, B b)) NEXT", (0, (1, 2)))],
        [],
    ),
    "a join in any order, and its reader's": (
        [
            (
                "SEQ(A a, B b) NEXT",
                tree_of(OF_TWO)._replace(computed_for=Demands(frozenset(), None)),
            )
        ],
        [],
    ),
}
ALL = {name: queries for name, (queries, _) in {**WANTED, **INNER_ONLY}.items()} | NOT_WANTED


@pytest.mark.parametrize(("queries", "expected"), WANTED.values(), ids=WANTED)
def test_the_nearest_are_wanted(queries: Queries, expected: list[str]) -> None:
    assert pruned(plan_of(queries)) == sorted(expected)


@pytest.mark.parametrize("queries", NOT_WANTED.values(), ids=NOT_WANTED)
def test_all_pairs_are_wanted(queries: Queries) -> None:
    assert pruned(plan_of(queries)) == []


@pytest.mark.parametrize(("queries", "expected"), INNER_ONLY.values(), ids=INNER_ONLY)
def test_some_are_wanted(queries: Queries, expected: list[str]) -> None:
    assert pruned(plan_of(queries)) == sorted(expected)


@pytest.mark.parametrize("queries", ALL.values(), ids=ALL)
def test_nothing_is_lost(queries: Queries) -> None:
    plan, dice, n_matches = plan_of(queries), random.Random(7), 0
    for _ in range(40):
        case = case_of(queries, random_events(dice))
        expected = {name: set(own) for name, own in expected_outcome(case).items()}
        assert matches_of(case, plan, prunes=False) == expected, case
        assert matches_of(case, plan, prunes=True) == expected, case
        assert matches_of(case, plan, prunes=True, n_batches=4) == expected, case
        n_matches += case.n_matches
    assert n_matches > 20


LOST_IF_PRUNED: dict[str, tuple[str, str]] = {
    "a condition with two events of which one is on the side of the nearest": (
        "C 0 x=0; C 1 x=10; A 2 x=0; B 3 x=5; B 4 x=20",
        "a=2 b=4 c=1",
    ),
    "a key of an event that has nothing to do with the others": (
        "D 0 k=2; A 1 k=1; B 2 k=1; B 3 k=1",
        "a=1 b=3 d=0",
    ),
    "a negation inside a negation looks at the join": (
        "A 0 x=5 k=1; C 1; A 2 x=0; B 3 x=1 k=2; B 4 x=1 k=1; C 5; B 6 x=6",
        "a=0 b=6",
    ),
}


@pytest.mark.parametrize(("name", "found"), LOST_IF_PRUNED.items(), ids=LOST_IF_PRUNED)
def test_a_pair_is_not_pruned_for_one_that_is_not_forbidden(name: str, found: tuple[str, str]) -> None:
    text, match = found
    case = case_of(ALL[name], tuple(stream(text)))
    bindings = frozenset(
        (variable, (int(row),)) for variable, row in (one.split("=") for one in match.split())
    )
    assert bindings in expected_outcome(case)["q0"]
    assert bindings in matches_of(case, plan_of(ALL[name]), prunes=True)["q0"]
