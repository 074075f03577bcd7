"""Any tree of joins, lists and checks gives the reference's matches, in one batch and in many."""

import random
from collections.abc import Iterable

import pytest
from tests.helpers.arbitrary_trees import TreeWriter
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.strategies import SECOND, Case, event, matching_case
from tests.helpers.tally import Count, seed_blocks

from weft.codec import from_json, to_json
from weft.expressions import Aggregate, Attribute, Comparison, ComparisonOperator, Expression
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
    Project,
    Scan,
)
from weft.schema import LONG

PATTERNS = (
    "SEQ(A a, B b, C c, D d)",
    "AND(SEQ(A a, C c), SEQ(B b, D d))",
    "SEQ(AND(A a, A b), AND(B c, B d))",
    "SEQ(A a, B{1,3} l[], C c)",
    "AND(A a, B{1,2} l[], C c)",
    "SEQ(A{1,2} l[], NOT C x, B{1,2} m[], D d)",
    "SEQ(A a, NOT B x, C c, D d)",
    "SEQ(A a, C c, NOT B x)",
    "SEQ(NOT B x, A a, C c)",
    "AND(A a, NOT B x, C c)",
    "AND(SEQ(A a, NOT B x, C c), D d)",
    "SEQ(A a, OR(NOT B x, C c), D d)",
    "AND(A a, OR(NOT C c, NOT D d), B b)",
    "SEQ(A a, OR(NOT B x, NOT SEQ(B y, NOT C z)), D d)",
    "SEQ(A a, B b, NOT SEQ(C x, NOT D y))",
    "AND(SEQ(A a, NOT SEQ(B x, NOT C y), D d), E e)",
    "SEQ(A a, NOT SEQ(B x, NOT C y), D d, E{1,2} l[])",
    "SEQ(A a, NOT SEQ(NOT C y, B x), D d) WHERE y.x = a.x",
    "SEQ(NOT SEQ(NOT C y, B x), A a, D d) WHERE y.x = a.x",
)
WINDOWS = (
    "",
    "WITHIN 1 second",
    "WITHIN 2 seconds",
    "WITHIN 4 seconds",
    "WITHIN 6 EVENTS",
    "WITHIN 4 EVENTS PARTITION BY k",
)
A, B, C, D = map(Scan, "ABCD")
SHORT, LONGER = Extent("time", 2 * SECOND), Extent("time", 3 * SECOND)


def stream_case(text: str, seed: int, *, types: str = "ABCDE", most_events: int = 18) -> Case:
    """Return a query on a random stream with ties, in which the windows of WINDOWS end often."""
    dice = random.Random(seed)
    tick = dice.choice((SECOND // 3, SECOND // 2, SECOND))
    events = (
        event(row, dice.choice(types), dice.randint(0, 20) * tick, k=dice.randint(1, 2), x=dice.randint(0, 2))
        for row in range(dice.randint(most_events // 2, most_events))
    )
    return Case(text, tuple(events))


def assert_right(case: Case, plan: Plan, seed: int = 0) -> None:
    """Run a plan in one batch, in a few and in many."""
    check_plan(plan, "test")
    travelled = from_json("plan", to_json("plan", plan))
    assert travelled == plan
    expected = expected_outcome(case)
    for n_batches in (1, 3, 12):
        assert run_plan(case, travelled, n_batches=n_batches, seed=seed).matches == expected, n_batches


@pytest.mark.parametrize("seeds", seed_blocks(60_000, 60, soak=2_000))
def test_any_tree_of_any_query_gives_the_reference_result(seeds: range, count: Count) -> None:
    cases = [matching_case(seed) for seed in seeds]
    for seed, case in zip(seeds, cases, strict=True):
        assert_right(case, TreeWriter(derived_schema(case), seed).plan(case.queries), seed)
    count(cases=len(cases), matches=sum(case.n_matches for case in cases))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_any_tree_forgets_only_what_no_reader_needs(pattern: str) -> None:
    for seed in range(12):
        dice = random.Random(seed)
        where = dice.choice(("", "WHERE [k]")) if "WHERE" not in pattern else ""
        case = stream_case(f"PATTERN {pattern} {where} {dice.choice(WINDOWS)}", seed)
        assert_right(case, TreeWriter(derived_schema(case), seed).plan(case.queries), seed)


def compare(left: Expression, operator: ComparisonOperator, right: Expression) -> Expression:
    return Comparison(operator, left, right)


def x_of(column: int) -> Attribute:
    return Attribute(f"${column}", "x", type=LONG)


def plan_of(nodes: Iterable[tuple[str, Node, str]]) -> Plan:
    """Return a plan from (query, node, variables as letters)."""
    return Plan(tuple(Output(name, (), (Branch(node, tuple(letters), ()),)) for name, node, letters in nodes))


def pairs(left: Node, right: Node, *order: tuple[int, int], extent: Extent | None = SHORT) -> Join:
    return Join(left, right, order, (), (), extent)


SEQUENCE_TREES: dict[str, tuple[Node, str]] = {
    "from the left": (pairs(pairs(pairs(A, B, (0, 1)), C, (1, 2)), D, (2, 3)), "abcd"),
    "from the right": (pairs(A, pairs(B, pairs(C, D, (0, 1)), (0, 1)), (0, 1)), "abcd"),
    "from the right, mirrored": (pairs(pairs(pairs(D, C, (1, 0)), B, (2, 1)), A, (3, 2)), "dcba"),
    "two pairs": (pairs(pairs(A, B, (0, 1)), pairs(C, D, (0, 1)), (1, 2)), "abcd"),
    "two pairs, mirrored": (pairs(pairs(D, C, (1, 0)), pairs(B, A, (1, 0)), (2, 1)), "dcba"),
    "one pair inside the other": (pairs(pairs(A, D, (0, 1)), pairs(B, C, (0, 1)), (0, 2), (3, 1)), "adbc"),
    "one pair around the other": (pairs(pairs(C, B, (1, 0)), pairs(D, A, (1, 0)), (0, 2), (3, 1)), "cbda"),
    "interleaved": (pairs(pairs(A, C, (0, 1)), pairs(B, D, (0, 1)), (0, 2), (2, 1), (1, 3)), "acbd"),
    "unrelated first": (pairs(pairs(A, D), pairs(B, C, (0, 1)), (0, 2), (3, 1)), "adbc"),
}


@pytest.mark.parametrize(("node", "letters"), SEQUENCE_TREES.values(), ids=SEQUENCE_TREES)
def test_a_sequence_in_any_tree(node: Node, letters: str) -> None:
    for seed in range(6):
        case = stream_case("PATTERN SEQ(A a, B b, C c, D d) WITHIN 2 seconds", seed, types="ABCD")
        assert_right(case, plan_of([("query", node, letters)]), seed)


LISTS = KleeneExpand(None, B, 1, 3, (), (), (), SHORT)
AFTER_A = KleeneExpand(A, B, 1, 3, ((0, 1),), (), (), SHORT)
SUM_BELOW = compare(Aggregate("sum", "$0", "x", LONG), "<", x_of(1))
LIST_TREES: dict[str, tuple[str, Node, str]] = {
    "list, then the event after it": (
        "SEQ(A a, B{1,3} l[], C c) WHERE l.x <= c.x",
        Join(AFTER_A, C, ((1, 2),), (), (compare(x_of(1), "<=", x_of(2)),), SHORT),
        "alc",
    ),
    "event, then the list before it, alone": (
        "SEQ(B{1,3} l[], C c) WHERE SUM(l.x) < c.x",
        Join(LISTS, C, ((0, 1),), (), (SUM_BELOW,), SHORT),
        "lc",
    ),
    "list on the right": (
        "SEQ(C c, B{1,3} l[]) WHERE l.x != c.x",
        Join(C, LISTS, ((0, 1),), (), (compare(x_of(0), "!=", x_of(1)),), SHORT),
        "cl",
    ),
    "list on the left of what comes before it": (
        "SEQ(C c, B{1,3} l[]) WHERE l.x = c.x",
        Join(LISTS, C, ((1, 0),), (), (compare(x_of(0), "=", x_of(1)),), SHORT),
        "lc",
    ),
    "two lists, joined": (
        "SEQ(B{1,3} l[], C{2,} m[]) WHERE l.x <= m.x",
        Join(
            LISTS,
            KleeneExpand(None, C, 2, None, (), (), (), SHORT),
            ((0, 1),),
            (),
            (compare(x_of(0), "<=", x_of(1)),),
            SHORT,
        ),
        "lm",
    ),
    "list on a list": (
        "SEQ(A a, B{1,3} l[], C{1,2} m[]) WHERE m.x >= l.x",
        KleeneExpand(AFTER_A, C, 1, 2, ((1, 2),), (), (compare(x_of(2), ">=", x_of(1)),), SHORT),
        "alm",
    ),
    "list and event of one type": (
        "AND(B{1,2} l[], B b)",
        Join(KleeneExpand(None, B, 1, 2, (), (), (), SHORT), B, (), ((0, 1),), (), SHORT),
        "lb",
    ),
    "two lists of one type": (
        "AND(B{1,2} l[], B{1,2} m[])",
        KleeneExpand(KleeneExpand(None, B, 1, 2, (), (), (), SHORT), B, 1, 2, (), ((0, 1),), (), SHORT),
        "lm",
    ),
    "list against a pair": (
        "SEQ(A a, B{1,3} l[], C c)",
        Join(pairs(A, C, (0, 1)), LISTS, ((0, 2), (2, 1)), (), (), SHORT),
        "acl",
    ),
}


@pytest.mark.parametrize(("pattern", "node", "letters"), LIST_TREES.values(), ids=LIST_TREES)
def test_lists_anywhere_in_the_tree(pattern: str, node: Node, letters: str) -> None:
    for seed in range(6):
        case = stream_case(f"PATTERN {pattern} WITHIN 2 seconds", seed, types="ABBC", most_events=14)
        assert_right(case, plan_of([("query", node, letters)]), seed)


def checked(node: Node, after: tuple[int, ...], before: tuple[int, ...], extent: Extent | None) -> Node:
    return NegationCheck(node, Absence(D, after, before, (), (), extent))


def test_one_node_serves_windows_of_different_lengths() -> None:
    """The shared join reaches as far as its longest reader; others take what fits them."""
    shared = pairs(A, B, (0, 1), extent=LONGER)
    plan = plan_of(
        [
            ("far", shared, "ab"),
            ("near", Project(shared, (0, 1), SHORT), "ab"),
            ("longer", pairs(shared, C, (1, 2), extent=SHORT), "abc"),
            ("ahead", pairs(C, shared, (0, 1), extent=SHORT), "cab"),
            ("listed", KleeneExpand(shared, C, 1, 2, ((1, 2),), (), (), SHORT), "abm"),
            ("quiet", checked(Project(shared, (1, 0), SHORT), (0,), (), SHORT), "ba"),
            ("inner", Project(checked(shared, (0,), (1,), LONGER), (1, 0), SHORT), "ba"),
        ]
    )
    text = """
        QUERY far PATTERN SEQ(A a, B b) WITHIN 3 seconds
        QUERY near PATTERN SEQ(A a, B b) WITHIN 2 seconds
        QUERY longer PATTERN SEQ(A a, B b, C c) WITHIN 2 seconds
        QUERY ahead PATTERN SEQ(C c, A a, B b) WITHIN 2 seconds
        QUERY listed PATTERN SEQ(A a, B b, C{1,2} m[]) WITHIN 2 seconds
        QUERY quiet PATTERN SEQ(A a, B b, NOT D x) WITHIN 2 seconds
        QUERY inner PATTERN SEQ(A a, NOT D x, B b) WITHIN 2 seconds
    """
    for seed in range(20):
        assert_right(stream_case(text, seed, types="ABCD"), plan, seed)


@pytest.mark.parametrize("partition", ["", " PARTITION BY k"])
def test_one_node_serves_count_windows_of_different_lengths(partition: str) -> None:
    def extent(n_events: int) -> Extent:
        return Extent("position", n_events - 1, ("k",) if partition else ())

    key = compare(Attribute("$0", "k", type=LONG), "=", Attribute("$1", "k", type=LONG))
    shared = Join(A, B, ((0, 1),), (), (key,) if partition else (), extent(6))
    plan = plan_of(
        [("far", shared, "ab"), ("near", Project(shared, (1, 0), extent(3)), "ba"), ("single", A, "a")]
    )
    text = f"""
        QUERY far PATTERN SEQ(A a, B b) WITHIN 6 EVENTS{partition}
        QUERY near PATTERN SEQ(A a, B b) WITHIN 3 EVENTS{partition}
        QUERY single PATTERN A a
    """
    for seed in range(20):
        assert_right(stream_case(text, seed, types="ABC"), plan, seed)


def test_alternatives_in_different_orders_are_one_match_each() -> None:
    """A pair without C between and one without D after it are decided in different batches."""
    between = NegationCheck(pairs(A, B, (0, 1)), Absence(C, (0,), (1,), (), (), SHORT))
    after = NegationCheck(pairs(B, A, (1, 0)), Absence(D, (0,), (), (), (), SHORT))
    plan = plan_of([("either", DistinctUnion((Project(between, (1, 0)), after)), "ba")])
    text = """
        QUERY inner PATTERN SEQ(A a, NOT C x, B b) WITHIN 2 seconds
        QUERY outer PATTERN SEQ(A a, B b, NOT D x) WITHIN 2 seconds
    """
    for seed in range(20):
        case = stream_case(text, seed)
        expected = expected_outcome(case)
        for n_batches in (1, 3, 12):
            found = run_plan(case, plan, n_batches=n_batches, seed=seed).matches
            assert found["either"] == expected["inner"] | expected["outer"]


def test_a_join_waits_for_rows_that_are_decided_late() -> None:
    """The pair is decided when a C after x can no longer come: then E is long past."""
    text = "PATTERN AND(SEQ(A a, NOT SEQ(B x, NOT C y), D d), E e) WITHIN 2 seconds"
    unanswered = NegationCheck(B, Absence(C, (0,), (), (), (), SHORT))
    check = NegationCheck(pairs(A, D, (0, 1)), Absence(unanswered, (0,), (1,), (), (), SHORT))
    times = (0, 1, 1, 2, 2, 3, 4, 5)
    events = tuple(event(row, kind, times[row] * SECOND) for row, kind in enumerate("AEBDCEEE"))
    case = Case(text, events)
    assert expected_outcome(case)["query"]
    for node, letters in ((pairs(check, Scan("E")), "ade"), (pairs(Scan("E"), check), "ead")):
        for seed in range(10):
            assert_right(case, plan_of([("query", node, letters)]), seed)


def test_copies_of_a_scan_are_different_nodes_with_the_same_rows() -> None:
    plan = plan_of([("p", pairs(Scan("A", 1), B, (0, 1)), "ab"), ("q", pairs(Scan("A", 2), B, (0, 1)), "ab")])
    text = "QUERY p PATTERN SEQ(A a, B b) WITHIN 2 seconds\nQUERY q PATTERN SEQ(A a, B b) WITHIN 2 seconds"
    assert_right(stream_case(text, 1, types="AB"), plan)


def test_conditions_may_wait_for_a_filter_above() -> None:
    node = Filter(pairs(A, B, (0, 1)), (compare(x_of(0), "<", x_of(1)),))
    case = stream_case("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 seconds", 3, types="AB")
    assert_right(case, plan_of([("query", node, "ab")]))
