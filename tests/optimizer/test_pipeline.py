"""The strategies: figure 3 in its four parts, and what is refused."""

import random
from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.errors import WeftError
from weft.optimizer.pipeline import Optimized, choose_plan, optimize
from weft.optimizer.planning import STRATEGIES, Planning, Strategy
from weft.optimizer.stored_plan import Named, StoredPlan
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import Join, KleeneExpand, Scan


def chosen(workload: Workload, strategy: Strategy | StoredPlan, **options: object) -> Optimized:
    known: dict[str, Any] = {"plan": strategy, "statistics": workload.statistics, "cost": "partial-matches"}
    if not isinstance(strategy, StoredPlan):
        known["steps"] = 300
    settings = Planning(**(known | options))
    return choose_plan(workload.queries, SCHEMA, settings)


def trees_of(optimized: Optimized) -> dict[str, object]:
    return {name: trees[0] for name, trees in optimized.stored.trees.items()}


def n_shared_joins(optimized: Optimized) -> int:
    found = readers(optimized.plan)
    return sum(isinstance(node, Join) and len(found[node]) > 1 for node in topological_order(optimized.plan))


class TestFigure3:
    """A,B,C,D and A,E,C,F within one second; A is a little more frequent than B, C and E."""

    workload = Workload(
        (sequence("ABCD", 1), sequence("AECF", 1)), rates(A=10, B=9, C=9.5, D=100, E=9, F=100)
    )
    leaves = 10 + 9 + 9.5 + 100 + 9 + 100
    unshared_leaves = leaves + 10 + 9.5
    triples = 2 * 10 * 9 * 9.5 / 6
    wholes = 2 * 10 * 9 * 9.5 * 100 / 24

    def test_a_neither(self) -> None:
        plan = chosen(self.workload, "trivial")
        assert trees_of(plan) == {"P1": [[["a", "b"], "c"], "d"], "P2": [[["a", "e"], "c"], "f"]}
        assert n_shared_joins(plan) == 0
        pairs = 2 * 10 * 9 / 2
        assert plan.cost == pytest.approx(self.unshared_leaves + pairs + self.triples + self.wholes)

    @pytest.mark.parametrize("prefix_only", [False, True])
    def test_b_reordering_without_sharing(self, prefix_only: bool) -> None:
        plan = chosen(self.workload, "reorder", prefix_only=prefix_only)
        assert trees_of(plan) == {"P1": [["a", ["b", "c"]], "d"], "P2": [["a", ["e", "c"]], "f"]}
        assert n_shared_joins(plan) == 0
        pairs = 2 * 9 * 9.5 / 2
        assert plan.cost == pytest.approx(self.unshared_leaves + pairs + self.triples + self.wholes)

    @pytest.mark.parametrize("prefix_only", [False, True])
    def test_d_a_combination_shares_what_is_best_for_neither(self, prefix_only: bool) -> None:
        plan = chosen(self.workload, "auto", prefix_only=prefix_only)
        assert trees_of(plan) == {"P1": [[["a", "c"], "b"], "d"], "P2": [[["a", "c"], "e"], "f"]}
        assert n_shared_joins(plan) == 1
        pairs = 10 * 9.5 / 2
        assert plan.cost == pytest.approx(self.leaves + pairs + self.triples + self.wholes)


def test_sharing_alone_shares_whatever_it_costs() -> None:
    workload = Workload((sequence("ABC", 1), sequence("ABD", 1)), rates(A=900, B=900, C=1, D=1))
    shared, reordered, best = (chosen(workload, name) for name in ("share", "reorder", "auto"))
    assert n_shared_joins(shared) == 1
    assert n_shared_joins(best) == 0
    assert best.cost < reordered.cost < shared.cost


def test_reordering_takes_the_rarest_first_and_shares_nothing() -> None:
    workload = Workload((sequence("ABC", 1), sequence("ABD", 1)), rates(A=900, B=9, C=1, D=1))
    plan = chosen(workload, "reorder")
    assert trees_of(plan) == {"P1": ["a", ["b", "c"]], "P2": ["a", ["b", "d"]]}
    scans = [node for node in topological_order(plan.plan) if isinstance(node, Scan)]
    assert len(scans) == 6  # not even the events are shared


@pytest.mark.parametrize("seed", range(10))
def test_the_combination_is_never_dearer_than_either_alone(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 4, (2, 3, 4), n_types=4, windows=(1, 2), has_lists=True, has_negations=True
    )
    costs = {name: chosen(workload, name).cost for name in STRATEGIES}
    assert costs["auto"] <= costs["reorder"] * (1 + 1e-9)
    assert costs["reorder"] <= costs["trivial"] * (1 + 1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stored_plan_gives_the_same_plan(strategy: Strategy) -> None:
    for seed in range(5):
        workload = random_workload(random.Random(seed), 4, (2, 3, 4), has_lists=True, has_negations=True)
        first = chosen(workload, strategy)
        again = chosen(workload, StoredPlan.from_json(first.stored.to_json()))
        assert again.plan == first.plan
        assert again.cost == pytest.approx(first.cost)
        assert again.stored == first.stored
        assert again.notes == ()


def test_a_query_that_a_stored_plan_does_not_know_is_added_with_a_note() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD")))
    stored = StoredPlan({"P1": ([["a", "c"], "b"],)})
    plan = chosen(workload, stored)
    assert trees_of(plan)["P1"] == [["a", "c"], "b"]
    assert set(plan.stored.trees) == {"P1", "P2"}
    assert plan.notes == ("added to the stored plan without a search: P2",)


def test_a_stored_plan_may_know_queries_that_are_gone() -> None:
    workload = Workload((sequence("AB"),))
    assert chosen(workload, StoredPlan({"P1": (["a", "b"],), "old": ("x",)})).notes == ()


def test_a_stored_plan_that_does_not_fit_is_refused() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD")))
    with pytest.raises(WeftError, match=r"does not fit P2: .* Make the plan anew"):
        chosen(workload, StoredPlan({"P2": ([["a", "c"], "b"],)}))


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(WeftError, match="'best'; expected 'auto', 'trivial', 'reorder', 'share'"):
        chosen(Workload((sequence("AB"),)), "best")  # type: ignore[arg-type]


def test_steps_and_a_seed_give_one_plan() -> None:
    workload = random_workload(random.Random(4), 6, (3, 4), windows=(1, 2))
    plans = [
        optimize(
            workload.queries,
            SCHEMA,
            Planning(statistics=workload.statistics, steps=50, cost="partial-matches"),
        )
        for _ in range(2)
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_are_expected_of_every_join_and_list(strategy: Strategy) -> None:
    for seed in range(5):
        workload = random_workload(random.Random(seed), 4, (2, 3, 4), has_lists=True, has_negations=True)
        plan = chosen(workload, strategy)
        nodes = [n for n in topological_order(plan.plan) if isinstance(n, Join | KleeneExpand | Scan)]
        assert all(plan.expected[node] >= 0 for node in nodes)


def test_the_rows_expected_of_a_join_are_those_of_its_window() -> None:
    workload = Workload((sequence("AB", 10), sequence("ABC", 20)), rates(A=1, B=2, C=3))
    longer = {"clock": "time", "length": 20_000_000, "partition_by": []}
    shared: Named = {"parts": ["a", "b"], "order": [["a", "b"]], "extent": longer}
    plan = chosen(workload, StoredPlan({"P1": (shared,), "P2": ([["a", "b"], "c"],)}))
    joins = [node for node in topological_order(plan.plan) if isinstance(node, Join)]
    assert sorted(plan.expected[join] for join in joins) == pytest.approx([1 * 2 * 20, 1 * 2 * 3 * 20**2 / 2])
