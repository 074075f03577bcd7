"""What every search for a cheaper plan promises, and how near the searches come to the cheapest one."""

import random
from collections.abc import Callable
from functools import cache

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.simulated_annealing import simulated_annealing
from weft.optimizer.sharing.tabu_search import tabu_search
from weft.optimizer.trees import Tree, order_tree
from weft.optimizer.weave import Heuristic
from weft_lab.exhaustive import cheapest_multitree

Search = Callable[[Workload, MultiTree[str], Limit, int], None]


def annealing(k: int, warmth: float = 1.0) -> Search:
    def search(workload: Workload, multitree: MultiTree[str], limit: Limit, seed: int) -> None:
        neighborhood = Neighborhood(
            multitree, workload.sharables(), LocalPlans(MODEL), list(workload.patterns), k
        )
        simulated_annealing(neighborhood, limit, random.Random(seed), warmth=warmth)

    return search


def tabu(k: int, capacity: int = 10_000) -> Search:
    def search(workload: Workload, multitree: MultiTree[str], limit: Limit, seed: int) -> None:
        neighborhood = Neighborhood(
            multitree, workload.sharables(), LocalPlans(MODEL), list(workload.patterns), k
        )
        tabu_search(neighborhood, limit, random.Random(seed), n_neighbors=20, capacity=capacity)

    return search


def replies(workload: Workload, multitree: MultiTree[str], limit: Limit, seed: int) -> None:
    best_reply(multitree, workload.sharables(), LocalPlans(MODEL), list(workload.patterns), limit)


SEARCHES: dict[str, Search] = {
    "annealing of edges": annealing(2),
    "annealing of 4 patterns": annealing(4),
    "annealing of 8 patterns": annealing(8),
    "cold annealing": annealing(2, warmth=0.0),
    "tabu search of edges": tabu(2),
    "tabu search of 4 patterns": tabu(4),
    "tabu search of 8 patterns": tabu(8),
    "tabu search with a short memory": tabu(2, capacity=2),
    "best replies": replies,
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def workload_of(seed: int, n_patterns: int = 6) -> Workload:
    return random_workload(
        random.Random(seed), n_patterns, (3, 4), windows=(1, 2), has_lists=True, has_negations=True
    )


def costs_anew(workload: Workload, multitree: MultiTree[str]) -> float:
    """Return the cost of the same trees in new books."""
    return workload.multitree(multitree.trees).cost


@every_search
@pytest.mark.parametrize("seed", range(4))
def test_the_result_is_never_dearer_than_the_start(search: Search, seed: int) -> None:
    workload, dice = workload_of(seed), random.Random(seed)
    good = workload.multitree()
    poor = workload.multitree(
        {key: order_tree(dice.sample(range(p.n_items), p.n_items)) for key, p in workload.patterns.items()}
    )
    for multitree in (good, poor):
        for n_steps in (1, 7, 60):
            start = multitree.nodes.total
            search(workload, multitree, Limit(steps=n_steps), seed)
            assert multitree.nodes.total <= start
            assert multitree.cost == costs_anew(workload, multitree)
            assert list(multitree.trees) == list(workload.patterns)
            assert all(
                tree.mask == workload.patterns[key].shape.everything for key, tree in multitree.trees.items()
            )


@every_search
def test_a_number_of_steps_and_a_seed_give_one_result(search: Search) -> None:
    trees = []
    for _ in range(2):
        workload = workload_of(1)
        multitree = workload.multitree()
        search(workload, multitree, Limit(steps=50), 7)
        trees.append(multitree.trees)
    assert trees[0] == trees[1]


@every_search
def test_no_more_steps_are_taken_than_allowed(search: Search) -> None:
    workload = workload_of(2)
    for n_steps in (0, 1, 20):
        limit = Limit(steps=n_steps)
        search(workload, workload.multitree(), limit, 0)
        assert limit.taken <= n_steps


@pytest.mark.parametrize("k", [2, 4, 8])
def test_no_more_neighbors_are_looked_at_than_allowed(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n_proposed = 0
    propose = Neighborhood.propose

    def counted(self: Neighborhood[str], dice: random.Random) -> dict[str, Tree] | None:
        nonlocal n_proposed
        n_proposed += 1
        return propose(self, dice)

    monkeypatch.setattr(Neighborhood, "propose", counted)
    workload = workload_of(2)
    for search in (tabu(k), annealing(k)):
        n_proposed = 0
        search(workload, workload.multitree(), Limit(steps=20), 0)
        assert n_proposed <= 20


@every_search
@pytest.mark.parametrize(
    "limit_of",
    [lambda: Limit(seconds=0), lambda: Limit(steps=0), lambda: Limit(is_cancelled=lambda: True)],
    ids=["no time", "no steps", "cancelled"],
)
def test_a_search_that_may_not_start_changes_nothing(search: Search, limit_of: Callable[[], Limit]) -> None:
    workload = workload_of(3)
    multitree = workload.multitree()
    before = dict(multitree.trees)
    limit = limit_of()
    search(workload, multitree, limit, 0)
    assert multitree.trees == before
    assert limit.taken == 0


@every_search
def test_a_search_ends_when_it_is_cancelled(search: Search) -> None:
    workload = workload_of(4)
    asked = 0

    def is_cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 5

    multitree = workload.multitree()
    limit = Limit(is_cancelled=is_cancelled)
    start = multitree.nodes.total
    search(workload, multitree, limit, 0)
    assert limit.taken <= 5
    assert multitree.nodes.total <= start


@every_search
def test_progress_tells_shares_of_the_limit_and_costs(search: Search) -> None:
    workload = workload_of(5, n_patterns=12)
    multitree = workload.multitree()
    told: list[tuple[float, float]] = []
    search(workload, multitree, Limit(steps=700, progress=lambda used, cost: told.append((used, cost))), 0)
    assert told
    shares = [used for used, _ in told]
    assert all(0 <= used <= 1 for used in shares)
    assert shares == sorted(shares)
    assert all(cost > 0 for _, cost in told)


@every_search
def test_patterns_without_anything_in_common_are_left_alone(search: Search) -> None:
    workload = Workload((sequence("ABC"), sequence("DEF")))
    multitree = workload.multitree()
    before = dict(multitree.trees)
    search(workload, multitree, Limit(steps=50), 0)
    assert multitree.trees == before


@pytest.mark.parametrize("name", ["annealing of edges", "tabu search of edges", "annealing of 4 patterns"])
def test_figure_9_is_found(name: str) -> None:
    workload = Workload(
        (sequence("ABCD", 4), sequence("AECF", 4), sequence("GBHD", 4)),
        rates(A=1, B=0.9, C=1, D=0.9, E=10, F=12, G=10, H=12),
    )
    multitree = workload.multitree()
    SEARCHES[name](workload, multitree, Limit(steps=300), 0)
    assert workload.shown(multitree.trees) == {
        "P1": "((a c) (b d))",
        "P2": "(((a c) e) f)",
        "P3": "((g (b d)) h)",
    }


def test_one_pattern_after_the_other_cannot_find_what_all_must_do_together() -> None:
    """C with D is no best part of either pattern, but of both: neither gains by it alone."""
    workload = Workload((sequence("ACD", 1), sequence("BCD", 1)), rates(A=9, B=9, C=10, D=10))
    alone, together = workload.multitree(), workload.multitree()
    replies(workload, alone, Limit(steps=100), 0)
    annealing(2)(workload, together, Limit(steps=100), 0)
    assert alone.n_shared() == 0
    assert together.n_shared() == 1
    assert together.cost == cheapest_multitree(workload.patterns, workload.numbers, MODEL)[0] < alone.cost


N_SMALL = 60


@cache
def small(seed: int) -> tuple[Workload, float]:
    """Return a small workload, and what its cheapest plan costs."""
    workload = random_workload(random.Random(seed), 3, (3, 4), n_types=4, windows=(1, 2))
    found = workload.multitree()
    replies(workload, found, Limit(steps=100), seed)
    return workload, cheapest_multitree(workload.patterns, workload.numbers, MODEL, bound=found.cost)[0]


@pytest.mark.parametrize(
    ("name", "share"),
    [("annealing of edges", 0.95), ("tabu search of 4 patterns", 0.95), ("best replies", 0.8)],
)
def test_small_workloads_are_solved_nearly_always(name: str, share: float) -> None:
    n_near = 0
    for seed in range(N_SMALL):
        workload, best = small(seed)
        multitree = workload.multitree()
        SEARCHES[name](workload, multitree, Limit(steps=300), seed)
        assert multitree.cost >= best
        n_near += multitree.cost <= 1.01 * best
    assert n_near >= share * N_SMALL


@pytest.mark.parametrize("heuristic", ["replies", "annealing", "tabu"])
def test_all_searches_together_solve_small_workloads_nearly_always(heuristic: Heuristic) -> None:
    n_near = 0
    for seed in range(N_SMALL):
        workload, best = small(seed)
        weave = workload.weave()
        weave.improve(Limit(steps=300), heuristic=heuristic, seed=seed)
        assert weave.cost >= best * (1 - 1e-9)
        n_near += weave.cost <= 1.01 * best
    assert n_near >= 0.95 * N_SMALL


def test_the_small_workloads_are_not_trivial() -> None:
    """Without sharing, most plans are dearer, and the best trees of single patterns often are."""
    n_worse = sum(small(seed)[0].multitree().cost > 1.01 * small(seed)[1] for seed in range(N_SMALL))
    assert n_worse > N_SMALL / 4
