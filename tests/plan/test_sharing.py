"""Sound sharing: what is equal is one node, what differs in one detail never is."""

import random
import re
from dataclasses import replace

import pytest
from tests.helpers.engine import STEPS, expected_outcome, is_supported, run_case
from tests.helpers.strategies import SCHEMA, Case, event, matching_case
from tests.helpers.tally import Count, seed_blocks

from weft.errors import QueryError
from weft.expressions import Attribute, Comparison, Literal
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Event, Query
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import Extent, Join, NegationCheck, Node, Plan, Project
from weft.schema import BOOLEAN, DOUBLE, LONG, STRING, Schema, Type, decimal


def plan_of(*patterns: str, schema: Schema = SCHEMA) -> Plan:
    """Return the plan of queries q0, q1, ... with the given patterns and conditions."""
    text = "\n".join(f"QUERY q{number} PATTERN {pattern}" for number, pattern in enumerate(patterns))
    return optimize(
        bind(parse(text), schema, source=text), schema, Planning(steps=STEPS, cost="partial-matches")
    )


def roots(plan: Plan) -> list[Node]:
    """Return the node of the only branch of each query."""
    return [output.branches[0].node for output in plan.outputs]


EQUAL = {
    "other variables": ("SEQ(A a, B b) WITHIN 1 minute", "SEQ(A p, B q) WITHIN 1 minute"),
    "variables whose names sort the other way": (
        "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute",
        "SEQ(A z, B c) WHERE z.x < c.x WITHIN 1 minute",
    ),
    "a comparison from the other side": (
        "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute",
        "SEQ(A a, B b) WHERE b.x > a.x WITHIN 1 minute",
    ),
    "a comparison under NOT": (
        "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute",
        "SEQ(A a, B b) WHERE NOT a.x >= b.x WITHIN 1 minute",
    ),
    "conditions in another order": (
        "SEQ(A a, B b) WHERE a.x < b.x AND a.y = b.y WITHIN 1 minute",
        "SEQ(A a, B b) WHERE a.y = b.y AND a.x < b.x WITHIN 1 minute",
    ),
    "members of OR in another order": (
        "A a WHERE a.x = 1 OR a.y = 1.5",
        "A a WHERE a.y = 1.5 OR a.x = 1",
    ),
    "keys in another order": (
        "SEQ(A a, B b) WHERE [k, name] WITHIN 1 minute",
        "SEQ(A a, B b) WHERE [name] AND [k] WITHIN 1 minute",
    ),
    "a nested sequence": ("SEQ(A a, B b, C c)", "SEQ(SEQ(A a, B b), C c)"),
    "the window in another unit": ("SEQ(A a, B b) WITHIN 1 minute", "SEQ(A a, B b) WITHIN 60 seconds"),
    "a negation with other variables": (
        "SEQ(A a, NOT C x, B b) WHERE x.x < a.x WITHIN 1 minute",
        "SEQ(A z, NOT C a, B b) WHERE z.x > a.x WITHIN 1 minute",
    ),
    "a list with another variable": (
        "SEQ(A a, B+ l[]) WHERE l[i].x > l[i-1].x WITHIN 1 minute",
        "SEQ(A z, B+ b[]) WHERE b[i-1].x < b[i].x WITHIN 1 minute",
    ),
    "one or more in two spellings": (
        "SEQ(A a, B+ l[]) WITHIN 1 minute",
        "SEQ(A a, B{1,} l[]) WITHIN 1 minute",
    ),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_equal_patterns_are_one_node(pair: tuple[str, str]) -> None:
    plan = plan_of(*pair)
    first, second = roots(plan)
    assert first == second
    assert all(queries == {"q0", "q1"} for queries in readers(plan).values())


DIFFERENT = {
    "the attribute": ("SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A a, B b) WHERE a.k < b.x"),
    "the operator": ("SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A a, B b) WHERE a.x <= b.x"),
    "the direction": ("SEQ(A a, A b) WHERE a.x < b.x", "SEQ(A a, A b) WHERE b.x < a.x"),
    "which variable is which": ("SEQ(A a, A b) WHERE a.x = 1", "SEQ(A a, A b) WHERE b.x = 1"),
    "the literal": ("A a WHERE a.x < 1", "A a WHERE a.x < 2"),
    "the sign of the literal": ("A a WHERE a.x < 1", "A a WHERE a.x < -1"),
    "the type of the literal": ("A a WHERE a.x < 1", "A a WHERE a.x < 1.0"),
    "the case of a string": ("A a WHERE a.name = 'ann'", "A a WHERE a.name = 'Ann'"),
    "an item of IN": ("A a WHERE a.x IN (1, 2)", "A a WHERE a.x IN (1, 3)"),
    "the pattern of LIKE": ("A a WHERE a.name LIKE 'a%'", "A a WHERE a.name LIKE 'a_'"),
    "a condition more": ("SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A a, B b)"),
    "IS NULL or not": ("A a WHERE a.x IS NULL", "A a WHERE a.x IS NOT NULL"),
    "the type": ("SEQ(A a, B b)", "SEQ(A a, C b)"),
    "the order": ("SEQ(A a, B b)", "AND(A a, B b)"),
    "which comes first": ("SEQ(A a, B b)", "SEQ(B b, A a)"),
    "part of the order": ("SEQ(AND(A a, B b), C c)", "AND(SEQ(A a, C c), B b)"),
    "the window": ("SEQ(A a, B b) WITHIN 2 seconds", "SEQ(A a, B b) WITHIN 3 seconds"),
    "a window or none": ("SEQ(A a, B b) WITHIN 2 seconds", "SEQ(A a, B b)"),
    "the unit of the window": ("SEQ(A a, B b) WITHIN 5 EVENTS", "SEQ(A a, B b) WITHIN 4 microseconds"),
    "the partition of a count window": (
        "SEQ(A a, B b) WHERE [k] WITHIN 5 EVENTS",
        "SEQ(A a, B b) WITHIN 5 EVENTS PARTITION BY k",
    ),
    "the key": ("SEQ(A a, B b) WHERE [k]", "SEQ(A a, B b) WHERE [name]"),
    "a key more": ("SEQ(A a, B b) WHERE [k]", "SEQ(A a, B b) WHERE [k, name]"),
    "the key of one event": ("A a WHERE [k]", "A a"),
    "a negation or none": ("SEQ(A a, NOT C x, B b)", "SEQ(A a, B b)"),
    "the side of the negation": (
        "SEQ(A a, NOT C x, B b) WITHIN 2 seconds",
        "SEQ(NOT C x, A a, B b) WITHIN 2 seconds",
    ),
    "the end of the scope": (
        "SEQ(A a, NOT C x, B b) WITHIN 2 seconds",
        "SEQ(A a, B b, NOT C x) WITHIN 2 seconds",
    ),
    "the negated type": ("SEQ(A a, NOT C x, B b)", "SEQ(A a, NOT D x, B b)"),
    "the condition of the negation": (
        "SEQ(A a, NOT C x, B b) WHERE x.x = a.x",
        "SEQ(A a, NOT C x, B b) WHERE x.x = b.x",
    ),
    "a condition on the negated event alone": (
        "SEQ(A a, NOT C x, B b) WHERE x.x = 1",
        "SEQ(A a, NOT C x, B b) WHERE x.x = 2",
    ),
    "NOT of one or of two events": ("SEQ(A a, NOT C x, B b)", "SEQ(A a, NOT C{2} x[], B b)"),
    "NOT of a sequence or of a conjunction": (
        "SEQ(A a, NOT SEQ(C x, D y), B b)",
        "SEQ(A a, NOT AND(C x, D y), B b)",
    ),
    "the least length": ("A{1,3} a[]", "A{2,3} a[]"),
    "the greatest length": ("A{1,3} a[]", "A{1,4} a[]"),
    "a bound or none": ("A{1,3} a[]", "A+ a[]"),
    "an event or a list of one": ("A a", "A{1} a[]"),
    "FIRST or LAST": ("A+ a[] WHERE FIRST(a).x = 1", "A+ a[] WHERE LAST(a).x = 1"),
    "each or FIRST": ("A+ a[] WHERE a.x = 1", "A+ a[] WHERE FIRST(a).x = 1"),
    "current or previous": (
        "A+ a[] WHERE a[i].x > a[i-1].x",
        "A+ a[] WHERE a[i-1].x > a[i].x",
    ),
    "the aggregate": ("A+ a[] WHERE SUM(a.x) > 1", "A+ a[] WHERE MAX(a.x) > 1"),
    "COUNT of events or of values": ("A+ a[] WHERE COUNT(a) > 1", "A+ a[] WHERE COUNT(a.x) > 1"),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_patterns_that_differ_in_one_detail_are_two_nodes(pair: tuple[str, str]) -> None:
    plan = plan_of(*pair)
    first, second = roots(plan)
    assert first != second
    assert readers(plan)[first] != readers(plan)[second]


def test_a_prefix_is_shared_and_the_rest_is_not() -> None:
    plan = plan_of("SEQ(A a, B b, C c) WHERE a.x < b.x", "SEQ(A p, B q, D r) WHERE p.x < q.x")
    first, second = roots(plan)
    assert isinstance(first, Join)
    assert isinstance(second, Join)
    assert first.left == second.left
    assert sum(len(queries) == 2 for queries in readers(plan).values()) == 3  # two scans and their join
    assert len(topological_order(plan)) == 7


def test_a_join_serves_the_longest_window_and_shorter_ones_are_filtered_on_the_way_out() -> None:
    plan = plan_of("SEQ(A a, B b) WITHIN 2 seconds", "SEQ(A a, B b, C c) WITHIN 3 seconds")
    shorter, longer = roots(plan)
    assert isinstance(shorter, Project)
    assert isinstance(longer, Join)
    shared = shorter.input
    assert readers(plan)[shared] == {"q0", "q1"}
    assert isinstance(shared, Join)
    assert shared in (longer.left, longer.right)
    assert (shorter.extent, shared.extent) == (Extent("time", 2_000_000), Extent("time", 3_000_000))


def test_what_a_negation_forbids_is_shared_with_a_query_that_wants_it() -> None:
    plan = plan_of("SEQ(A a, NOT SEQ(C x, D y), B b) WITHIN 1 minute", "SEQ(C c, D d) WITHIN 1 minute")
    refused, wanted = roots(plan)
    assert isinstance(refused, NegationCheck)
    assert refused.absence.negated == wanted


def test_a_query_named_alike_but_for_its_return_shares_its_matches() -> None:
    plan = plan_of("SEQ(A a, B b) RETURN a.x AS one", "SEQ(A a, B b) RETURN b.x AS two")
    first, second = roots(plan)
    assert first == second
    assert plan.outputs[0].branches[0].returns != plan.outputs[1].branches[0].returns


def test_overlapping_types_keep_events_of_two_types_apart() -> None:
    """Where one event may have both types, it must not be bound twice."""
    overlapping = replace(SCHEMA, types=frozenset("AB"), types_overlap=True)
    (plain,) = roots(plan_of("AND(A a, B b)"))
    (guarded,) = roots(plan_of("AND(A a, B b)", schema=overlapping))
    assert isinstance(plain, Join)
    assert isinstance(guarded, Join)
    assert plain.distinct == ()
    assert guarded.distinct == ((0, 1),)


@pytest.mark.parametrize("pair", [(LONG, DOUBLE), (LONG, BOOLEAN), (decimal(1), decimal(2)), (LONG, STRING)])
def test_literals_equal_in_python_but_not_in_type_are_two(pair: tuple[Type, Type]) -> None:
    def query(name: str, kind: Type) -> Query:
        less = Comparison("<", Attribute("a", "x", type=kind), Literal(1, kind))
        return Query(name, Event("A", "a"), (less,))

    plan = optimize([query("p", pair[0]), query("q", pair[1])], None)
    first, second = roots(plan)
    assert first != second


MUTATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?<=[ \])])(<=|>=|!=|<|>|=)(?= )", ("<", "<=", ">", ">=", "=", "!=")),
    (r"\b(SEQ|AND)(?=\()", ("SEQ", "AND")),
    (r"\b[ABCD](?=[ +*?{])", ("A", "B", "C", "D")),
    (r"(?<=\{)\d", ("0", "1", "2", "3")),
    (r"(?<=WITHIN )\d+", ("1", "2", "3", "1500")),
    (r"(?<=WITHIN )\d+ \w+", ("3 EVENTS", "2 seconds")),
    (r"(?<=\.)(x|k|rank)\b", ("x", "k", "rank")),
    (r"(?<=\.)(ts|seen|time)\b", ("ts", "seen", "time")),
    (r"\b(MIN|MAX|SUM|FIRST|LAST)(?=\()", ("MIN", "MAX", "SUM", "FIRST", "LAST")),
    (r"\[(k|name|k, name)\]", ("[k]", "[name]", "[k, name]")),
    (r"(?<=[<>=] )-?\d\b(?!\.)", ("0", "1", "2", "-1")),
    (r"\bNOT (?=[A-Z(])", ("",)),
)


def with_mutant(seed: int) -> Case:
    """Return a workload of a query that has matches and the same query with one detail changed."""
    case, dice = matching_case(seed, most_queries=1, accepts=is_supported), random.Random(seed)
    body = case.text.removeprefix("QUERY q0")
    changes = [
        body[: found.start()] + other + body[found.end() :]
        for pattern, others in MUTATIONS
        for found in re.finditer(pattern, body)
        for other in others
        if other != found.group()
    ]
    dice.shuffle(changes)
    for change in changes:
        both = replace(case, text=f"{case.text}\n\nQUERY mutant{change}")
        try:
            assert len(both.queries) == 2
        except QueryError:
            continue
        if is_supported(both):
            return both
    return with_mutant(seed + 1_000)


@pytest.mark.parametrize("seeds", seed_blocks(63_000, 80, soak=1_000))
def test_a_query_and_its_mutant_both_give_the_reference_result(seeds: range, count: Count) -> None:
    n_differ = 0
    for seed in seeds:
        case = with_mutant(seed)
        expected = expected_outcome(case)
        assert run_case(case).matches == expected, case
        first, second = expected.values()
        n_differ += first.keys() != second.keys()
    assert n_differ > len(seeds) // 5
    count(cases=len(seeds))


@pytest.mark.parametrize(
    "pair",
    [
        ("SEQ(A a, A b) WHERE a.x < b.x", "SEQ(A a, A b) WHERE b.x < a.x"),
        ("SEQ(A a, B b) WITHIN 2 seconds", "SEQ(A a, B b) WITHIN 3 seconds"),
        ("SEQ(A a, NOT C x, B b)", "SEQ(A a, NOT C x, B b) WHERE x.x = 1"),
    ],
)
def test_queries_that_share_scans_find_their_own_matches(pair: tuple[str, str]) -> None:
    events = (
        event(0, "A", 0, x=1),
        event(1, "C", 1, x=2),
        event(2, "A", 2, x=3),
        event(3, "A", 3, x=2),
        event(4, "B", 2_500_000, x=1),
    )
    text = "\n".join(f"QUERY q{number} PATTERN {pattern}" for number, pattern in enumerate(pair))
    found = run_case(Case(text, events)).matches
    assert found == expected_outcome(Case(text, events))
    assert found["q0"] != found["q1"]
