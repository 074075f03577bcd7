"""Cost_ord and Cost_tree of examples computed by hand."""

import pytest
from tests.helpers.plan_costs import order_cost, tree_cost

from weft.cost.model import PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Check, Group, ListBounds, Shape

SEQUENCE = Shape(rates=(1.0, 2.0, 3.0), before=(0, 0b001, 0b011), window=10.0)
CONJUNCTION = Shape(rates=(1.0, 2.0, 3.0), before=(0, 0, 0), window=10.0, groups=(Group(0b101, 0.1),))


def test_an_order_costs_what_its_prefixes_hold() -> None:
    """Ten, twenty and thirty events in the window; pairs in order are one in two, triples one in six."""
    assert order_cost(SEQUENCE, (0, 1, 2)) == pytest.approx(10 + 10 * 20 / 2 + 10 * 20 * 30 / 6)
    assert order_cost(SEQUENCE, (2, 1, 0)) == pytest.approx(30 + 30 * 20 / 2 + 10 * 20 * 30 / 6)
    assert order_cost(CONJUNCTION, (0, 1, 2)) == pytest.approx(10 + 10 * 20 + 10 * 20 * 30 * 0.1)
    assert order_cost(CONJUNCTION, (0, 2, 1)) == pytest.approx(10 + 10 * 30 * 0.1 + 10 * 20 * 30 * 0.1)


def test_a_tree_costs_what_its_nodes_hold() -> None:
    leaves = (0b001, 0b010, 0b100)
    assert tree_cost(SEQUENCE, (*leaves, 0b011, 0b111)) == pytest.approx(60 + 100 + 1000)
    assert tree_cost(SEQUENCE, (*leaves, 0b110, 0b111)) == pytest.approx(60 + 300 + 1000)
    assert tree_cost(CONJUNCTION, (*leaves, 0b101, 0b111)) == pytest.approx(60 + 30 + 600)


def test_a_node_costs_what_it_holds_in_the_window_it_is_kept_for() -> None:
    model = PartialMatches()
    step = PlanStep(0b011, 0b001, 0b010)
    assert model.node(SEQUENCE, step, 10.0) == pytest.approx(100)
    assert model.node(SEQUENCE, step, 20.0) == pytest.approx(400)


def test_a_check_costs_nothing_and_what_stands_above_it_costs_less() -> None:
    model = PartialMatches()
    shape = Shape((1.0, 2.0, 3.0), (0, 0b001, 0b011), 10.0, checks=(Check(0b011, 0.25),))
    assert model.node(shape, PlanStep(0b011, 0b001, 0b010, checks=0), 10.0) == pytest.approx(100)
    assert model.node(shape, PlanStep(0b011, 0b011, 0, checks=0), 10.0) == 0
    assert model.node(shape, PlanStep(0b111, 0b011, 0b100, checks=1), 10.0) == pytest.approx(250)


def test_a_list_costs_its_elements_until_it_is_joined() -> None:
    shape = Shape((1.0, 0.2), (0, 0b01), 10.0, lists={1: ListBounds(1, 2)})
    assert tree_cost(shape, (0b01, 0b10)) == pytest.approx(10 + 2)
    # Two elements after one event: half of them come after it, and a third of all pairs come both
    # after it, one pair of two in the order of a list.
    assert tree_cost(shape, (0b11,)) == pytest.approx(10 * (2 / 2 + 4 / 2 / 3))
