"""Nodes of plans, and plans as JSON and back."""

import json
import math
from decimal import Decimal

import pytest
from tests.helpers.engine import STEPS, derived_schema, is_supported
from tests.helpers.strategies import random_case

from weft.codec import from_json, to_json
from weft.errors import DataError
from weft.expressions import Attribute, Comparison, InList, Literal
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.plan.dag import topological_order
from weft.plan.nodes import Branch, Extent, Filter, Join, Output, Plan, Project, Scan
from weft.schema import BOOLEAN, DOUBLE, LONG, STRING, decimal

SMALL = Plan((Output("q", (), (Branch(Scan("A"), ("a",), ()),)),))


def plan_with(literal: Literal) -> Plan:
    """Return a plan that compares an attribute with a literal."""
    attribute = Attribute("$0", "x", type=literal.type)
    node = Filter(Scan("A"), (Comparison("<", attribute, literal), InList(attribute, (literal, literal))))
    return Plan((Output("q", (), (Branch(node, ("a",), (literal,)),)),))


def literal_of(plan: Plan) -> Literal:
    """Return the literal of such a plan."""
    (literal,) = plan.outputs[0].branches[0].returns
    assert isinstance(literal, Literal)
    return literal


@pytest.mark.parametrize("seed", range(62_000, 62_060))
def test_a_plan_survives_the_round_trip(seed: int) -> None:
    case = random_case(seed, most_events=3)
    if not is_supported(case):
        case = random_case(seed + 1_000, most_events=3)
    plan = optimize(case.queries, derived_schema(case), Planning(steps=STEPS, cost="partial-matches"))
    again = from_json("plan", to_json("plan", plan))
    assert again == plan
    assert repr(again) == repr(plan)  # also where Python's == forgives: True and 1, 0.0 and -0.0
    assert topological_order(again) == topological_order(plan)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1])
def test_a_double_survives_to_the_last_bit(value: float) -> None:
    again = literal_of(from_json("plan", to_json("plan", plan_with(Literal(value, DOUBLE)))))
    assert isinstance(again.value, float)
    assert again.value.hex() == value.hex()


def test_nan_survives() -> None:
    again = literal_of(from_json("plan", to_json("plan", plan_with(Literal(math.nan, DOUBLE)))))
    assert isinstance(again.value, float)
    assert math.isnan(again.value)


@pytest.mark.parametrize("text", ["0.00", "-1.50", "9999999999999999.99", "0.01", "-9999999999999999.99"])
def test_a_decimal_keeps_its_digits(text: str) -> None:
    again = literal_of(from_json("plan", to_json("plan", plan_with(Literal(Decimal(text), decimal(2))))))
    assert isinstance(again.value, Decimal)
    assert str(again.value) == text
    assert again.type == decimal(2)


@pytest.mark.parametrize(
    "literal",
    [
        Literal(2**63 - 1, LONG),
        Literal(-(2**63), LONG),
        Literal(True, BOOLEAN),
        Literal(None, STRING),
        Literal("zoé\n\"'\u2028\U0001f600", STRING),
        Literal("", STRING),
    ],
    ids=repr,
)
def test_other_literals_survive(literal: Literal) -> None:
    again = literal_of(from_json("plan", to_json("plan", plan_with(literal))))
    assert again == literal
    assert type(again.value) is type(literal.value)


def test_a_shared_node_is_written_once() -> None:
    shared = Join(Scan("A"), Scan("B"), ((0, 1),), (), (), None)
    longer = Join(shared, Scan("B"), ((1, 2),), (), (), None)
    plan = Plan(
        (
            Output("p", (), (Branch(shared, ("a", "b"), ()),)),
            Output("q", (), (Branch(longer, ("a", "b", "c"), ()),)),
        )
    )
    document = json.loads(to_json("plan", plan))
    assert [node["$class"] for node in document["nodes"]] == ["Scan", "Scan", "Join", "Join"]
    again = from_json("plan", to_json("plan", plan))
    longer_again = again.outputs[1].branches[0].node
    assert isinstance(longer_again, Join)
    assert longer_again.left is again.outputs[0].branches[0].node


def test_text_grows_with_the_nodes_not_with_the_paths_to_them() -> None:
    """Each join reads the one before twice: 4,096 paths to the scan, 13 nodes."""
    node: Scan | Join = Scan("A")
    for _ in range(12):
        node = Join(node, node, (), (), (), None)
    plan = Plan((Output("q", (), (Branch(node, ("a",) * 2**12, ()),)),))
    assert len(json.loads(to_json("plan", plan))["nodes"]) == 13


def test_projections_and_copies_of_scans_travel() -> None:
    pairs = Join(Scan("A", 3), Scan("B"), ((0, 1),), (), (), Extent("time", 9))
    node = Project(pairs, (1, 0), Extent("position", 4, ("k",)))
    plan = Plan((Output("q", (), (Branch(node, ("b", "a"), ()),)),))
    assert from_json("plan", to_json("plan", plan)) == plan
    assert Scan("A", 3) != Scan("A")


def test_a_scan_written_without_a_copy_number_is_the_first() -> None:
    document = json.loads(to_json("plan", SMALL))
    del document["nodes"][0]["copy"]
    assert from_json("plan", json.dumps(document)) == SMALL


@pytest.mark.parametrize("name", ["Popen", "Plan", "object", "builtins.eval"])
def test_an_unknown_class_is_refused(name: str) -> None:
    document = json.loads(to_json("plan", SMALL))
    document["nodes"][0]["$class"] = name
    with pytest.raises(DataError, match="a stored plan is damaged"):
        from_json("plan", json.dumps(document))


def test_an_unknown_field_is_refused() -> None:
    document = json.loads(to_json("plan", SMALL))
    document["nodes"][0]["color"] = "red"
    with pytest.raises(DataError, match="color"):
        from_json("plan", json.dumps(document))
