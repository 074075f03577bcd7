"""What the engine does, for an example computed by hand."""

import pytest

from weft.cost.measured import Measured
from weft.cost.model import PlanStep
from weft.cost.shape import Check, Shape

MODEL = Measured(fixed=1000.0, row_in=1.0, candidate=0.1, row_out=10.0, row_checked=100.0)
SHAPE = Shape((1.0, 2.0, 3.0), (0, 0b001, 0b011), 10.0, checks=(Check(0b011, 0.25), Check(0b011, 0.5)))


def test_a_leaf_has_nothing_to_do_for_its_rows() -> None:
    assert MODEL.node(SHAPE, PlanStep(0b001), 10.0) == 1000


def test_a_join_reads_looks_at_pairs_and_builds() -> None:
    """A hundred pairs of a and b exist at a moment, and twenty come into being in a second."""
    cost = 1000 + 1 * (1 + 2) + 0.1 * (1 * 2 * 10) + 10 * 20
    assert MODEL.node(SHAPE, PlanStep(0b011, 0b001, 0b010), 10.0) == pytest.approx(cost)


def test_a_check_looks_at_the_rows_that_passed_those_before_it() -> None:
    assert MODEL.node(SHAPE, PlanStep(0b011, 0b011, 0, checks=0b00), 10.0) == pytest.approx(1000 + 100 * 20)
    assert MODEL.node(SHAPE, PlanStep(0b011, 0b011, 0, checks=0b01), 10.0) == pytest.approx(1000 + 100 * 5)


def test_a_join_reads_and_builds_only_what_passed_the_checks_below() -> None:
    """Of a, b and c there are a thousand at a moment, three hundred in a second; an eighth has passed."""
    cost = 1000 + 1 * (20 / 8 + 3) + 0.1 * (20 / 8 * 3 * 10) + 10 * 300 / 8
    assert MODEL.node(SHAPE, PlanStep(0b111, 0b011, 0b100, checks=0b11), 10.0) == pytest.approx(cost)


def test_the_busier_the_stream_the_more_a_node_has_to_attend_to() -> None:
    assert MODEL.at_rate(2e6).fixed == pytest.approx(2 * MODEL.at_rate(1e6).fixed)
