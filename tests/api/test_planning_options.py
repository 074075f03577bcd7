"""Planning options through the API, without Spark: to the plan, and to what explain says of it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, rates, sequence

from weft.api.planning import PlannedGroup, compare_costs, plan_group, plan_groups, why_lines, work_of
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


def test_of_defaults_only_the_search_is_said() -> None:
    cost, search = said(Planning(search_seconds=0))
    assert cost.startswith("Cost in microseconds for a second of events: this plan ")
    assert search.startswith("Search: 0 steps in ")
    assert ", ended by seconds; cost " in search
    (cost,) = said(Planning(plan="share"))


def test_a_search_is_said_with_what_gained() -> None:
    _, _, search, gains = said(Planning(cost="partial-matches", steps=200))
    assert search.startswith("Search: ")
    assert search.endswith("cost 1,630.0 before, 1,530.0 after")
    assert gains.startswith("Gained by: ")


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
    cost, used, *_ = said(planning)
    assert cost.startswith("Partial matches at a moment: this plan 1,530.0, ")
    assert used == "Planning: cost partial-matches, steps 200"


def test_what_is_redundant_is_said() -> None:
    _, used, note = said(Planning(plan="spass", cost="partial-matches"))
    assert used == "Planning: cost partial-matches"
    assert note == "Redundancy: no sub-pattern is worth sharing"  # no two operands next to each other


def test_a_cost_by_latency_is_told_from_the_work() -> None:
    planning = Planning(cost="partial-matches", steps=200, objective="latency")
    cost, used, *_ = said(planning)
    assert cost.startswith(
        "Partial matches at a moment, 100% by what waits for the last event of a match: this plan "
    )
    assert used == "Planning: cost partial-matches, objective latency, steps 200"
    fast, lean = planned(planning), planned(replace(planning, objective="throughput"))
    work = [work_of(one, SCHEMA, planning, WORKLOAD.statistics) for one in (fast, lean)]
    assert lean.optimized.cost == pytest.approx(work[1])
    assert fast.optimized.cost < 0.9 * work[0]  # not all of the work waits
    assert work[1] <= work[0]


def test_prefixes_cost_more_where_trees_share_two_sub_patterns() -> None:
    trees, orders = (
        planned(Planning(cost="partial-matches", steps=200, prefix_only=prefix_only)).optimized
        for prefix_only in (False, True)
    )
    assert trees.cost < orders.cost
    assert trees.stored.trees["P1"] == ([["a", "c"], ["b", "d"]],)


HALVES = [QueryGroup(WORKLOAD.queries[:1], Together()), QueryGroup(WORKLOAD.queries[1:], Together())]


def test_all_groups_together_have_the_seconds_that_are_given() -> None:
    given: list[float | None] = []

    def plan(group: QueryGroup, planning: Planning) -> PlannedGroup:
        given.append(planning.search_seconds)
        return plan_group(group, SCHEMA, replace(planning, steps=0), WORKLOAD.statistics)

    planned = plan_groups(HALVES, plan, Planning(search_seconds=30))
    used = planned[0].optimized.search
    assert used is not None
    assert given == [10, pytest.approx(30 - used.seconds)]
    given.clear()
    plan_groups(HALVES, plan, Planning())
    assert given == [None, None]


def test_a_plan_that_was_searched_for_is_kept_in_its_groups_and_told_once() -> None:
    def plan(group: QueryGroup, planning: Planning) -> PlannedGroup:
        return plan_group(group, SCHEMA, planning, WORKLOAD.statistics)

    whole = planned(Planning(cost="partial-matches", steps=200)).optimized
    kept = plan_groups(HALVES, plan, Planning(cost="partial-matches", heuristic="tabu"), whole)
    assert {**kept[0].optimized.stored.trees, **kept[1].optimized.stored.trees} == whole.stored.trees
    assert [one.optimized.search for one in kept] == [whole.search, None]
