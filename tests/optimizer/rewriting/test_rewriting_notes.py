"""What is said about a plan of rewritten queries."""

from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, sequence

from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.rewriting import rewrite_plan

WORKLOAD = Workload(tuple(map(sequence, ("ABC", "ABD", "ABE"))))


def note(**limit: Any) -> str:
    planning = Planning(plan="motto", cost="partial-matches", **limit)
    (said,) = choose_plan(WORKLOAD.queries, SCHEMA, planning).notes
    return said


def test_the_best_of_all() -> None:
    assert note(steps=100) == "Rewriting: 1 sub-queries looked at, 1 chosen, the best of these"


def test_the_best_of_some() -> None:
    said = note(search_seconds=0)
    assert said.startswith("Rewriting: 0 sub-queries looked at")
    assert said.endswith(", and not all sub-queries were looked at")


def test_nothing_is_chosen_where_pattern_order_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter((2.0, 1.0))
    monkeypatch.setattr(rewrite_plan, "shared_cost", lambda *_: next(costs))
    assert note(steps=100) == ("Rewriting: 1 sub-queries looked at, pattern order is cheaper than all found")
