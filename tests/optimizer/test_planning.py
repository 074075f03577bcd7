"""Planning options: each is checked, reaches the search, and gives plans that agree with the reference."""

import random
from dataclasses import replace
from typing import Any, get_args

import pytest
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.strategies import SCHEMA, Case, random_case
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.cost.measured import Measured
from weft.cost.partial_matches import PartialMatches
from weft.errors import WeftError
from weft.optimizer.pipeline import Optimized, choose_plan
from weft.optimizer.planning import SECONDS, NeighborhoodName, Planning
from weft.optimizer.sharing.efforts import Efforts
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.stored_plan import StoredPlan, tree_from_names
from weft.optimizer.trees import order_of
from weft.optimizer.weave import Weave
from weft.statistics.model import Statistics

STORED = StoredPlan({"q": ("a",)})
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "plan": ({"plan": "fast"}, "plan is 'fast'; expected 'auto', .*weft.load_plan"),
    "heuristic": (
        {"heuristic": "genetic"},
        "heuristic is 'genetic'; expected 'replies', 'annealing', 'tabu'",
    ),
    "neighborhood": ({"neighborhood": "face"}, "neighborhood is 'face'; expected 'mixed', 'edge', 'vertex'"),
    "cost": ({"cost": "money"}, "cost is 'money'; expected 'measured', 'partial-matches'"),
    "objective": (
        {"objective": "speed"},
        "objective is 'speed'; expected 'throughput', 'latency' or a number",
    ),
    "weight": ({"objective": 1.5}, "objective is 1.5; expected 'throughput', 'latency' or a number from 0"),
    "no weight": ({"objective": float("nan")}, "objective is nan; expected 'throughput'"),
    "sharing": ({"sharing": "all"}, "sharing is 'all'; expected 'dynamic', 'static', 'none'"),
    "seconds": ({"search_seconds": -1}, "search_seconds is -1; it must not be negative"),
    "seconds that are no number": ({"search_seconds": float("nan")}, "search_seconds is nan"),
    "steps": ({"steps": -1}, "steps is -1; expected a whole number"),
    "half a step": ({"steps": 0.5}, "steps is 0.5; expected a whole number"),
    "seed": ({"seed": "x"}, "seed is 'x'; expected a whole number"),
    "k": ({"neighborhood": "vertex", "k": 1}, "k is 1; expected a whole number of at least 2"),
    "k of an edge": (
        {"k": 4, "neighborhood": "edge"},
        "k is 4, but .*set neighborhood='vertex' or leave out k",
    ),
    "k of a published search": ({"k": 4, "heuristic": "tabu"}, "k is 4, but .*set neighborhood='vertex'"),
    "no search": ({"plan": "share", "heuristic": "tabu"}, "plan='share' does not use; .* 'auto', 'mcep'"),
    "a plan that is given": (
        {"plan": STORED, "neighborhood": "vertex"},
        "neighborhood is 'vertex', which plan=a stored plan does not use",
    ),
    "no orders": ({"plan": "motto", "prefix_only": True}, "prefix_only is True.* 'auto', 'mcep', 'reorder'"),
}

FIGURE_3 = Workload((sequence("ABCD", 1), sequence("AECF", 1)), rates(A=10, B=9, C=11, D=100, E=9, F=100))


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_names_the_argument_and_the_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WeftError, match=message):
        Planning(**options)


def test_the_defaults_are_those_of_the_optimizer() -> None:
    planning = Planning()
    assert planning.plan == "auto"
    assert (planning.heuristic, planning.sizes, planning.prefix_only) == ("replies", (2, 4), False)
    assert planning.model(Statistics()) == Measured().at_rate(Statistics().events_per_second)
    assert (planning.search_seconds, planning.steps, planning.seed) == (None, None, 0)
    assert planning.options() == {}
    assert Planning(k=8).options() == {"neighborhood": "mixed of 8"}
    assert [Planning(neighborhood=name).sizes for name in get_args(NeighborhoodName)] == [(2, 4), (2,), (4,)]


def searches_of(planning: Planning, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Limit, dict[str, Any]]]:
    calls: list[tuple[Limit, dict[str, Any]]] = []

    def improve(self: Weave, limit: Limit, **options: Any) -> Efforts:
        calls.append((limit, options))
        return Efforts(self.multitree.nodes)

    monkeypatch.setattr(Weave, "improve", improve)
    choose_plan(FIGURE_3.queries, SCHEMA, replace(planning, statistics=FIGURE_3.statistics))
    return calls


def test_the_seconds_of_a_user_are_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    ((limit, _),) = searches_of(Planning(plan="mcep", search_seconds=1e9), monkeypatch)
    assert limit.seconds == 1e9


def test_options_reach_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    planning = Planning(heuristic="tabu", neighborhood="vertex", prefix_only=True, seed=7, steps=9)
    calls = searches_of(planning, monkeypatch)
    assert [(limit.seconds, limit.steps) for limit, _ in calls] == [(None, 9)]  # time must not decide
    assert [options for _, options in calls] == [{"heuristic": "tabu", "sizes": (4,), "seed": 7}]
    assert replace(planning, k=8).sizes == (8,)
    assert planning.options() == {
        "heuristic": "tabu",
        "neighborhood": "vertex of 4",
        "prefix_only": "True",
        "steps": "9",
        "seed": "7",
    }


def test_the_cost_of_the_papers_counts_partial_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    planning = Planning(plan="mcep", cost="partial-matches")
    assert planning.model(Statistics()) == PartialMatches()
    ((limit, _),) = searches_of(planning, monkeypatch)
    assert limit.seconds == SECONDS  # the cost is no time


def test_a_plan_that_is_given_is_searched_from_where_the_end_of_the_search_is_given_too() -> None:
    assert not Planning(plan=STORED).searches
    for end in ({"search_seconds": 1.0}, {"steps": 5}):
        planning = Planning(plan=STORED, heuristic="annealing", neighborhood="vertex", **end)
        assert planning.searches
        assert planning.rewrites
        assert planning.needs_statistics(FIGURE_3.queries)


def planned(workload: Workload, **options: Any) -> Optimized:
    planning = Planning(**{"steps": 200, "statistics": workload.statistics, **options})
    return choose_plan(workload.queries, SCHEMA, planning)


def test_each_cost_has_its_best_plan() -> None:
    """To the papers, A with C is worth sharing; this engine has little to do anyway."""
    shared = planned(FIGURE_3, cost="partial-matches")
    assert shared.cost == pytest.approx(10 + 9 + 11 + 100 + 9 + 100 + 55 + 2 * (165 + 4125), rel=0.5)
    assert shared.cost < planned(FIGURE_3, cost="partial-matches", plan="reorder").cost
    assert planned(FIGURE_3).cost != shared.cost


SEARCHES: dict[str, dict[str, Any]] = {
    "replies": {"heuristic": "replies"},
    "annealing": {"heuristic": "annealing"},
    "tabu search": {"heuristic": "tabu"},
    "a vertex": {"neighborhood": "vertex", "k": 3},
    "edges alone": {"neighborhood": "edge"},
    "prefixes": {"plan": "mcep", "prefix_only": True, "heuristic": "annealing"},
    "prefixes, by default": {"prefix_only": True},
    "partial matches": {"cost": "partial-matches"},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_steps_and_a_seed_give_one_plan(options: dict[str, Any]) -> None:
    workload = random_workload(random.Random(3), 8, (3, 4), n_types=5, windows=(1, 2))
    first, again = (planned(workload, seed=5, **options) for _ in range(2))
    assert first.stored == again.stored
    assert first.cost == again.cost
    assert first.cost <= planned(workload, **{**options, "steps": 0}).cost


def test_another_seed_goes_another_way() -> None:
    workload = random_workload(random.Random(4), 12, (3, 4, 5), n_types=5, windows=(1, 2))
    options = {"heuristic": "annealing", "plan": "mcep", "cost": "partial-matches", "steps": 60}
    plans = {planned(workload, seed=seed, **options).stored.to_json() for seed in range(8)}
    assert len(plans) > 1


@pytest.mark.parametrize("plan", ["auto", "mcep", "reorder"])
def test_with_prefix_only_every_tree_is_an_order(plan: str) -> None:
    workload = random_workload(random.Random(1), 8, (4, 5), n_types=6)
    trees = planned(workload, plan=plan, prefix_only=True).stored.trees
    for name, (tree,) in trees.items():
        found = tree_from_names(tree, workload.patterns[name].variables)
        assert found is not None
        assert order_of(found) is not None


def test_only_trees_share_two_sub_patterns_at_once() -> None:
    """The example of section 5: P1 shares A with C, and B with D, with two others."""
    texts = (sequence("ABCD", 1), sequence("AECF", 1), sequence("GBHD", 1))
    workload = Workload(texts, rates(A=10, B=10, C=10, D=10, E=10, F=10, G=10, H=10))
    trees = planned(workload, cost="partial-matches")
    orders = planned(workload, cost="partial-matches", prefix_only=True)
    assert trees.stored.trees["P1"] == ([["a", "c"], ["b", "d"]],)
    assert trees.cost < orders.cost


def cases_with_matches(seed: int, n_cases: int) -> list[tuple[Case, dict[str, Any]]]:
    """Return random cases of which the reference finds matches."""
    found: list[tuple[Case, dict[str, Any]]] = []
    while len(found) < n_cases:
        case = random_case(seed + len(found) * 101)
        expected = expected_outcome(case)
        if any(expected.values()):
            found.append((case, expected))
        seed += 1
    return found


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_every_option_finds_what_the_reference_finds(options: dict[str, Any]) -> None:
    start = 40_000 + 1_000 * list(SEARCHES.values()).index(options)
    for number, (case, expected) in enumerate(cases_with_matches(start, 6)):
        known = Statistics(rates={}, total_rate=10.0 ** (number - 2))
        planning = Planning(steps=60, seed=number, statistics=known, **options)
        plan = choose_plan(case.queries, derived_schema(case), planning).plan
        assert run_plan(case, plan).matches == expected
