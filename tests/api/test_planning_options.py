"""Planning options through the API, without Spark: to the plan, and to what explain says of it."""

from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, rates, sequence

from weft.api.planning import PlannedGroup, compare_costs, plan_group, why_lines
from weft.hosts.divide import QueryGroup, Together
from weft.optimizer.planning import Planning

WORKLOAD = Workload(
    tuple(sequence(types, 1) for types in ("ABCD", "AECF", "GBHD")),
    rates(A=10, B=10, C=10, D=10, E=10, F=10, G=10, H=10),
)


def planned(planning: Planning) -> PlannedGroup:
    return plan_group(QueryGroup(WORKLOAD.queries, Together()), SCHEMA, planning, WORKLOAD.statistics)


def said(planning: Planning) -> list[str]:
    chosen = planned(planning)
    return why_lines(compare_costs(chosen, SCHEMA, planning, WORKLOAD.statistics), chosen, planning)


def test_nothing_is_said_of_defaults() -> None:
    (cost,) = said(Planning(search_seconds=0))
    assert cost.startswith("Cost in microseconds for a second of events: this plan ")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"heuristic": "annealing"}, "Planning: heuristic annealing, steps 99"),
        ({"neighborhood": "vertex", "k": 3}, "Planning: neighborhood vertex of 3, steps 99"),
        ({"plan": "mcep", "prefix_only": True, "seed": 4}, "Planning: prefix_only True, steps 99, seed 4"),
    ],
)
def test_explain_says_which_options_were_used(options: dict[str, Any], expected: str) -> None:
    assert said(Planning(steps=99, **options))[1] == expected


def test_costs_are_shown_in_their_unit() -> None:
    planning = Planning(cost="partial-matches", steps=200)
    cost, used = said(planning)
    assert cost.startswith("Partial matches at a moment: this plan 1,530.0, ")
    assert used == "Planning: cost partial-matches, steps 200"


def test_prefixes_cost_more_where_trees_share_two_sub_patterns() -> None:
    trees, orders = (
        planned(Planning(cost="partial-matches", steps=200, prefix_only=prefix_only)).optimized
        for prefix_only in (False, True)
    )
    assert trees.cost < orders.cost
    assert trees.stored.trees["P1"] == ([["a", "c"], ["b", "d"]],)
