"""The search for a plan: where it begins, when it ends, and what is said of it."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.optimizer import starts
from weft.optimizer.pipeline import Optimized, choose_plan, weave_for
from weft.optimizer.planning import SECONDS, Planning
from weft.optimizer.search import (
    LEAST_SECONDS,
    SEARCH_SHARE,
    UNDERESTIMATE,
    Search,
    merge_searches,
    search_plan,
    seconds_of,
)
from weft.optimizer.sharing.efforts import Effort
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.stored_plan import StoredPlan
from weft.optimizer.weave import Weave
from weft.pattern.nodes import Query
from weft.statistics.model import Statistics

HELPFUL = ("ACD", "BCD", "ECD")  # C with D is worth sharing, if all three do it together
HARMFUL = ("ACFG", "HFG")  # F with G is not
RATES = rates(A=9, B=9, C=10, D=10, E=9, F=100, G=100, H=1)


def workload_of(*types: str) -> Workload:
    return Workload(tuple(sequence(names, 1) for names in types), RATES)


def planned(workload: Workload, **options: Any) -> Optimized:
    planning = Planning(**{"statistics": workload.statistics, "cost": "partial-matches", **options})
    return choose_plan(workload.queries, SCHEMA, planning)


def random_one(seed: int) -> Workload:
    return random_workload(
        random.Random(seed), 7, (2, 3, 4), windows=(1, 2), has_lists=True, has_negations=True
    )


def search_of(optimized: Optimized) -> Search:
    assert optimized.search is not None
    return optimized.search


@pytest.mark.parametrize("plan", ["auto", "mcep"])
@pytest.mark.parametrize("seed", range(6))
def test_more_steps_never_give_a_dearer_plan(plan: str, seed: int) -> None:
    workload = random_one(seed)
    counts = (0, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640)
    costs = [planned(workload, plan=plan, steps=n, seed=seed).cost for n in counts]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_longer_search_begins_as_a_shorter_one_does(seed: int) -> None:
    workload = random_one(seed)
    dearest = planned(workload, steps=0).cost
    for n_steps in (30, 300):
        search = search_of(planned(workload, steps=n_steps))
        assert search.start_cost == pytest.approx(dearest)
        assert search.steps <= n_steps
        gained = sum(effort.gain for effort in search.strategy.values())
        assert search.start_cost - search.cost == pytest.approx(gained)


@pytest.mark.parametrize("seed", range(6))
def test_components_planned_alone_or_together_cost_the_same(seed: int) -> None:
    """Types of the one are not those of the other; each has time until nothing is gained."""
    dice = random.Random(seed)
    own: list[tuple[str, ...]] = [
        tuple(sequence("".join(dice.sample(types, dice.choice((3, 4)))), 1) for _ in range(4))
        for types in ("ABCD", "EFGH")
    ]
    known = rates(**{name: dice.uniform(0.5, 20) for name in "ABCDEFGH"})
    alone = [planned(Workload(texts, known), steps=1_000_000) for texts in own]
    together = planned(Workload(own[0] + own[1], known), steps=1_000_000)
    assert [search_of(one).stopped_by for one in (*alone, together)] == ["settled"] * 3
    assert together.cost == pytest.approx(sum(one.cost for one in alone), rel=1e-9)


def test_a_harmful_pair_does_not_spoil_the_rest() -> None:
    """All is one component: as a whole, its maximal sharing is dearer than the best trees alone."""
    workload = workload_of(*HELPFUL, *HARMFUL)
    weave = workload.weave()
    assert len(weave.sharables.components()) == 1
    before = weave.cost
    starts.start_with_sharing(weave, Limit(), repairs=False)
    assert weave.cost == before
    starts.start_with_sharing(weave, Limit())
    assert weave.cost < before
    trees = weave.stored_plan().trees
    helped = planned(workload_of(*HELPFUL), steps=1_000)
    assert {name: trees[name] for name in helped.stored.trees} == helped.stored.trees
    harmed = planned(workload_of(*HARMFUL), plan="reorder")
    assert trees["P5"] == harmed.stored.trees["P2"]


def test_without_the_time_for_it_no_more_is_shared() -> None:
    weave = workload_of(*HELPFUL, *HARMFUL).weave()
    before = weave.cost
    starts.start_with_sharing(weave, Limit(seconds=4 * starts.SHARING_PACE, clock=lambda: 0.0))
    assert weave.cost == before
    starts.start_with_sharing(weave, Limit(seconds=6 * starts.SHARING_PACE, clock=lambda: 0.0))
    assert weave.cost < before


def begun_with(weave: Weave, begin: Callable[..., Limit], **options: Any) -> Search:
    return search_plan(weave, Planning(**{"cost": "partial-matches", **options}), begin, is_stream=False)[0]


class Clock:
    """Time stands still for so many looks, then all of it is over."""

    def __init__(self, n_looks: int) -> None:
        self.n_looks = n_looks

    def __call__(self) -> float:
        self.n_looks -= 1
        return 0.0 if self.n_looks > 0 else 1e9

    @property
    def is_over(self) -> bool:
        return self.n_looks <= 0


@pytest.mark.parametrize("n_looks", [2, 5, 10, 30, 100, 300, 1_000])
def test_when_time_is_up_no_tree_is_looked_for_any_more(
    n_looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, n_late = Clock(10**9), 0
    reply = LocalPlans.reply

    def counted(self: LocalPlans, *given: Any) -> Any:
        nonlocal n_late
        n_late += clock.is_over
        return reply(self, *given)

    monkeypatch.setattr(LocalPlans, "reply", counted)
    weave = random_workload(random.Random(1), 40, (3, 4, 5), n_types=8).weave()
    clock.n_looks = n_looks
    before = weave.cost
    search = begun_with(weave, lambda seconds, steps: Limit(seconds, steps, clock=clock), search_seconds=60)
    assert search.stopped_by == "seconds"
    assert n_late <= 1  # one may be under way
    assert weave.cost <= before


def test_no_more_patterns_are_rewritten_than_time_allows_for() -> None:
    weave = random_workload(random.Random(1), 60, (3, 4, 5), n_types=8).weave()
    assert starts.start_with_rewriting(weave, Limit(seconds=0), 0) == 0
    assert starts.start_with_rewriting(weave, Limit(seconds=starts.PACE, clock=lambda: 0.0), 0) == 0
    assert starts.start_with_rewriting(weave, Limit(steps=10), 0) > 0
    few = workload_of(*HELPFUL).weave()
    assert starts.start_with_rewriting(few, Limit(seconds=60), 0) == 3


def test_all_patterns_can_be_rewritten_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "MOST_TOGETHER", 8)
    weave = random_workload(random.Random(1), 30, (3, 4), n_types=8).weave()
    before = weave.cost
    assert starts.start_with_rewriting(weave, Limit(), 0) == 30
    assert weave.cost <= before


def test_what_was_not_rewritten_is_said() -> None:
    weave, late = random_workload(random.Random(1), 60, (3, 4, 5), n_types=8).weave(), Clock(2_000)
    planning = Planning(cost="partial-matches", search_seconds=starts.PACE)
    _, notes = search_plan(weave, planning, lambda s, n: Limit(s, n, clock=late), is_stream=False)
    assert notes == ["Rewriting: 0 of 60 patterns were looked at, the dearest first, in 25% of the search"]


def test_the_nearest_come_first() -> None:
    weave = workload_of("CDA", "FGB", "CDE", "FGHE").weave()
    names = [name for name, _ in starts.nearest_first(weave, list(weave.multitree.trees))]
    assert set(names[:2]) == {"P2", "P4"}
    assert set(names) == {"P1", "P2", "P3", "P4"}


@pytest.mark.parametrize(
    ("options", "ending"),
    [
        ({"search_seconds": 0}, "seconds"),
        ({"steps": 0}, "steps"),
        ({"steps": 7}, "steps"),
        ({"steps": 10**6}, "settled"),
        ({"search_seconds": 600}, "settled"),
    ],
)
def test_a_search_says_what_ended_it(options: dict[str, Any], ending: str) -> None:
    assert search_of(planned(workload_of(*HELPFUL), **options)).stopped_by == ending


def test_a_search_that_is_cancelled_says_so() -> None:
    workload = workload_of(*HELPFUL)
    chosen = choose_plan(workload.queries, SCHEMA, Planning(), is_cancelled=lambda: True)
    assert search_of(chosen).stopped_by == "cancelled"


def test_a_share_of_the_run_is_not_the_limit_of_a_user() -> None:
    weave = random_one(1).weave()
    planning = Planning(statistics=Statistics(duration=1.0))
    late = Clock(40)
    search, _ = search_plan(weave, planning, lambda s, n: Limit(s, n, clock=late), is_stream=False)
    assert search.stopped_by == "share of the run"


def test_the_default_limit_follows_the_work_to_come() -> None:
    def seconds(planning: Planning, nanoseconds: float = 0.0, *, is_stream: bool = False) -> Any:
        return seconds_of(planning, nanoseconds, is_stream=is_stream)

    batch = Planning(statistics=Statistics(duration=10.0))
    share = SEARCH_SHARE * UNDERESTIMATE
    assert seconds(batch) == (LEAST_SECONDS, True)
    assert seconds(batch, 1e8) == (pytest.approx(share), True)
    assert seconds(batch, 1e12) == (SECONDS, False)
    assert seconds(batch, is_stream=True) == (SECONDS, False)
    unknown = Planning(statistics=Statistics())  # nobody knows how long it lasts
    assert seconds(unknown) == (LEAST_SECONDS, True)
    assert seconds(unknown, 1e6) == (pytest.approx(share * 1e-3 * Statistics().span), True)
    assert seconds(replace(batch, cost="partial-matches")) == (SECONDS, False)
    assert seconds(replace(batch, objective=0.5)) == (SECONDS, False)  # no time, but a weighed one
    assert seconds(replace(batch, search_seconds=60)) == (60, False)
    assert seconds(replace(batch, search_seconds=60, steps=3)) == (None, False)


@pytest.mark.parametrize("plan", ["trivial", "reorder", "share", "lcse", "spass"])
def test_where_nothing_is_searched_for_there_is_no_report(plan: str) -> None:
    assert planned(workload_of(*HELPFUL), plan=plan).search is None


@pytest.mark.parametrize("plan", ["motto", "mst"])
def test_rewriting_alone_is_a_search_too(plan: str) -> None:
    search = search_of(planned(workload_of(*HELPFUL), plan=plan, steps=50))
    assert list(search.strategy) == ["rewriting"]
    assert search.stopped_by == "settled"


@pytest.mark.parametrize("heuristic", ["annealing", "tabu"])
def test_a_published_search_is_reported_by_its_name(heuristic: str) -> None:
    search = search_of(planned(workload_of(*HELPFUL), heuristic=heuristic, steps=200))
    assert heuristic in search.strategy
    assert "replies" not in search.strategy


def test_all_methods_have_their_turn() -> None:
    workload = random_workload(random.Random(3), 20, (3, 4), n_types=6)
    strategy = search_of(planned(workload, steps=2_000)).strategy
    assert {"sharing", "rewriting", "replies", "edge", "vertex of 4", "warm edge"} <= strategy.keys()
    assert "vertex of 4" not in search_of(planned(workload, steps=2_000, neighborhood="edge")).strategy


def test_a_stored_plan_is_improved_only_if_that_is_asked_for() -> None:
    workload = workload_of(*HELPFUL)
    stored = planned(workload, plan="trivial").stored
    kept = planned(workload, plan=stored)
    assert (kept.stored, kept.search) == (stored, None)
    for end in ({"steps": 200}, {"search_seconds": 60}):
        better = planned(workload, plan=stored, **end)
        assert better.cost < kept.cost
        assert better.stored.is_shared
        assert better.cost == pytest.approx(planned(workload, steps=200).cost)


def test_a_search_from_a_stored_plan_is_never_dearer_than_it() -> None:
    for seed in range(4):
        workload = random_one(seed)
        stored = planned(workload, steps=300).stored
        kept, again = planned(workload, plan=stored), planned(workload, plan=stored, steps=20)
        assert again.cost <= kept.cost
        assert search_of(again).start_cost == pytest.approx(kept.cost)


def test_queries_that_are_new_to_a_stored_plan_take_part_in_its_search() -> None:
    workload = workload_of(*HELPFUL)
    stored = StoredPlan({"P1": ([["a", "c"], "d"],)})
    better = planned(workload, plan=stored, steps=200)
    assert better.notes == ("added to the stored plan: P2, P3",)
    assert better.cost == pytest.approx(planned(workload, steps=200).cost)


REPORT = Search(0.25, 1_200, "share of the run", 2_187.0, 6_587.0, {"edge": Effort(9, 0.1, 4_400.0)})


def test_a_report_is_said_in_two_lines_and_has_plain_values() -> None:
    assert REPORT.lines() == [
        "Search: 1,200 steps in 0.25 s, ended by share of the run; cost 6,587.0 before, 2,187.0 after",
        "Gained by: edge 4,400.0",
    ]
    none = replace(REPORT, stopped_by="settled", strategy={"edge": Effort(9, 0.1, 0.0)})
    assert none.lines(1000.0) == [
        "Search: 1,200 steps in 0.25 s, until nothing was gained; cost 6.6 before, 2.2 after"
    ]
    assert REPORT.to_dict() == {
        "seconds": 0.25,
        "steps": 1_200,
        "stopped_by": "share of the run",
        "cost": 2_187.0,
        "start_cost": 6_587.0,
        "strategy": {"edge": {"steps": 9, "seconds": 0.1, "gain": 4_400.0}},
    }


def test_several_reports_are_one() -> None:
    assert merge_searches([]) is None
    settled = Search(1.0, 10, "settled", 5.0, 6.0, {"edge": Effort(1, 1.0, 1.0), "replies": Effort()})
    assert merge_searches([settled, REPORT]) == Search(
        1.25,
        1_210,
        "share of the run",
        2_192.0,
        6_593.0,
        {"edge": Effort(10, 1.1, 4_401.0), "replies": Effort()},
    )


def test_a_pattern_alone_takes_its_best_tree_under_the_statistics() -> None:
    workload = Workload((sequence("ABC", 1),), rates(A=50, B=10, C=1))
    stored = StoredPlan({"P1": ([["a", "b"], "c"],)})
    assert planned(workload, plan=stored).stored == stored
    assert planned(workload, plan=stored, steps=1).stored.trees == {"P1": (["a", ["b", "c"]],)}


@pytest.mark.parametrize("limit", [{"steps": 500}, {"search_seconds": 0.3}], ids=str)
def test_progress_goes_up_through_all_of_a_search(limit: dict[str, Any]) -> None:
    workload = random_workload(random.Random(3), 12, (3, 4), n_types=6)
    planning = Planning(statistics=workload.statistics, cost="partial-matches", **limit)
    told: list[tuple[float, float]] = []
    choose_plan(workload.queries, SCHEMA, planning, progress=lambda used, cost: told.append((used, cost)))
    shares = [used for used, _ in told]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert all(0 <= used <= 1 for used in shares)
    assert all(cost > 0 for _, cost in told)


def test_a_query_is_planned_however_it_is_bound() -> None:
    weave = weave_for(SCHEMA, Planning(cost="partial-matches"))
    queries: tuple[Query, ...] = workload_of(*HELPFUL).queries
    for query in queries:
        weave.add(query)
    assert begun_with(weave, Limit, steps=10).steps <= 10


def test_when_time_is_up_components_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    weave = workload_of(*HELPFUL, *HARMFUL).weave()
    monkeypatch.setattr(Weave, "components", None)
    assert weave.improve(Limit(seconds=0)).by_method == {}
