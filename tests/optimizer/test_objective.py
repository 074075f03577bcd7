"""Plans for throughput and for latency, and for both."""

import random
from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.cost.late_work import LateWork
from weft.cost.measured import Measured
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import local_cost
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree
from weft.optimizer.pipeline import Optimized, choose_plan, weave_for
from weft.optimizer.planning import LATENCY, Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.trees import Tree, join_all, leaf, order_tree, pair
from weft.optimizer.weave import Weave
from weft_lab.exhaustive import all_trees

RARE_LAST = Workload((sequence("ABCD"),), rates(A=5, B=5, C=5, D=0.01))
WEIGHTS = (0.0, 0.3, 0.7, 0.95, LATENCY)


def planned(workload: Workload, **options: Any) -> Optimized:
    return choose_plan(workload.queries, SCHEMA, Planning(statistics=workload.statistics, **options))


def shapes(workload: Workload) -> list[Shape]:
    return [pattern.shape for pattern in workload.patterns.values()]


def woven(workload: Workload, objective: float, plan: str = "auto") -> Weave:
    """Return a loom with the best tree of each query, by an objective."""
    planning = Planning(
        plan=plan,  # type: ignore[arg-type]
        statistics=workload.statistics,
        cost="partial-matches",
        objective=objective,
    )
    weave = weave_for(SCHEMA, planning)
    for query in workload.queries:
        weave.add(query, weave.plans.best)
    return weave


@pytest.mark.parametrize("cost", ["measured", "partial-matches"])
@pytest.mark.parametrize("plan", ["auto", "mcep", "reorder"])
def test_for_latency_the_last_item_is_joined_last(plan: str, cost: str) -> None:
    options = {"plan": plan, "cost": cost, "steps": 50}
    ((fast,),) = planned(RARE_LAST, objective="latency", **options).stored.trees.values()
    ((lean,),) = planned(RARE_LAST, objective="throughput", **options).stored.trees.values()
    assert fast[1] == "d"
    assert lean[1] != "d"  # by far the rarest: all others are joined to it


@pytest.mark.parametrize("seed", range(20))
def test_for_latency_the_last_of_any_sequence_is_joined_last(seed: int) -> None:
    dice = random.Random(seed)
    types = "ABCDEF"[: dice.randint(3, 6)]
    known = rates(**{name: 10 ** dice.uniform(-2, 1) for name in types})
    (shape,) = shapes(Workload((sequence(types),), known))
    last = leaf(shape.n_items - 1)
    assert last in exact_tree(shape, LateWork(PartialMatches(), LATENCY)).parts
    assert exact_order(shape, LateWork(PartialMatches(), LATENCY))[-1] == shape.n_items - 1


@pytest.mark.parametrize("model", [PartialMatches(), Measured()], ids=["partial matches", "measured"])
@pytest.mark.parametrize("seed", range(15))
def test_the_tree_is_the_cheapest_by_the_objective(seed: int, model: CostModel) -> None:
    workload = random_workload(
        random.Random(seed), 1, (3, 4, 5), has_lists=bool(seed % 2), has_negations=True
    )
    (shape,) = shapes(workload)
    late = LateWork(model, WEIGHTS[1 + seed % 4])
    trees = [tree for tree in all_trees(shape.everything) if keeps_lists_late(tree, shape)]
    least = min(local_cost(tree, shape, late) for tree in trees)
    assert local_cost(exact_tree(shape, late), shape, late) == pytest.approx(least)


def keeps_lists_late(tree: Tree, shape: Shape) -> bool:
    """Say whether no lists are joined to each other before anything else."""
    if tree.is_leaf:
        return True
    only_lists = not tree.mask & ~shape.list_mask
    return not only_lists and all(keeps_lists_late(part, shape) for part in tree.parts)


@pytest.mark.parametrize("seed", range(10))
def test_the_more_latency_counts_the_less_work_waits(seed: int) -> None:
    """Of the best trees for growing weights, the late work falls and the work in all grows."""
    (shape,) = shapes(random_workload(random.Random(seed), 1, (4, 5)))
    trees = [exact_tree(shape, LateWork(Measured(), weight)) for weight in WEIGHTS]
    late = [local_cost(tree, shape, LateWork(Measured(), 1.0)) for tree in trees]
    work = [local_cost(tree, shape, Measured()) for tree in trees]
    for i in range(len(WEIGHTS) - 1):
        assert late[i + 1] <= late[i] * (1 + 1e-9)
        assert work[i + 1] >= work[i] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_alone_a_pattern_costs_on_the_loom_what_it_costs_by_itself(seed: int) -> None:
    dice = random.Random(seed)
    drawn = (random_workload(dice, 1, (2, 3, 4), has_lists=True) for _ in range(100))
    weave = woven(next(filter(has_no_type_twice, drawn)), 0.7)
    ((key, tree),) = weave.multitree.trees.items()
    expected = local_cost(tree, weave.multitree.patterns[key].shape, weave.model)
    assert weave.cost == pytest.approx(expected, rel=1e-4)


def has_no_type_twice(workload: Workload) -> bool:
    """Say whether no part of a pattern could be computed once for two."""
    return all(len(pattern.leaf_set) == pattern.n_items for pattern in workload.patterns.values())


def test_shared_work_is_done_once_and_waits_where_it_ends_a_match() -> None:
    workload = Workload((sequence("AB"), sequence("ABC")), rates(A=1.0, B=2.0, C=0.5))
    weave, plain = woven(workload, 0.75, "share"), woven(workload, 0.0, "share")
    for one in (weave, plain):
        one.multitree.replace({("P1", 0): order_tree([0, 1]), ("P2", 0): order_tree([0, 1, 2])})
    assert plain.cost == pytest.approx(10 + 20 + 5 + 100 + 1_000 / 6)  # events, AB, ABC
    assert weave.cost == pytest.approx(10 + 20 + 5 + 100 + 1_000 / 6)  # AB ends P1, ABC ends P2
    weave.remove("P1")
    assert weave.cost == pytest.approx(10 + 20 + 5 + 25 + 1_000 / 6)  # AB is there when C comes


def test_what_others_compute_is_read_but_still_waited_for() -> None:
    """BC ends a match of P2, whoever computes it: what is free is the work, not the wait."""
    workload = Workload((sequence("BCD"), sequence("ABC")), rates(A=1.0, B=1.0, C=1.0, D=1.0))
    weave = woven(workload, 0.5, "share")
    weave.multitree.replace({("P1", 0): join_all([pair(leaf(0), leaf(1)), leaf(2)])})
    known = weave.sharables.of(("P2", 0))
    offers = weave.multitree.existing(("P2", 0), known)
    assert offers[0b110].cost == pytest.approx(0.5 * 50)
    assert not weave.multitree.existing(("P1", 0), weave.sharables.of(("P1", 0))).get(0b011)


@pytest.mark.parametrize("objective", [0.5, LATENCY])
@pytest.mark.parametrize("seed", range(6))
def test_the_search_never_makes_a_plan_dearer_by_its_objective(seed: int, objective: float) -> None:
    workload = random_workload(random.Random(seed), 6, (2, 3, 4), windows=(5, 10), has_negations=True)
    weave = woven(workload, objective)
    before = weave.cost
    weave.improve(Limit(steps=150), seed=seed)
    assert weave.cost <= before
    sums = sorted(
        {node for key, tree in weave.multitree.trees.items() for node in nodes_in(weave, key, tree)}
    )
    assert weave.cost == pytest.approx(longest_sum(weave, sums))


def nodes_in(weave: Weave, key: tuple[str, int], tree: Tree) -> tuple[tuple[int, float], ...]:
    return weave.multitree.patterns[key].number_nodes(tree).nodes


def longest_sum(weave: Weave, nodes: list[tuple[int, float]]) -> float:
    """Return the price of each node for the longest window that it is needed for."""
    return sum(weave.multitree.price(*node) for node in dict(nodes).items())


def test_the_weight_of_an_objective() -> None:
    assert Planning().latency_weight == 0.0
    assert Planning().model(RARE_LAST.statistics) == Planning(objective=0).model(RARE_LAST.statistics)
    latency = Planning(objective="latency", cost="partial-matches")
    assert latency.model(RARE_LAST.statistics) == LateWork(PartialMatches(), LATENCY)
    assert replace(latency, objective=1).latency_weight == LATENCY
    assert latency.options() == {"cost": "partial-matches", "objective": "latency"}
    assert Planning(cost=Measured(), objective=0.25).model(RARE_LAST.statistics) == LateWork(Measured(), 0.25)
