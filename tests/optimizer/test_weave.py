"""Queries on the loom: they come and go, and searches make their plan cheaper, never dearer."""

import random

import pytest
from tests.helpers.random_trees import random_tree
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.stored_plan import Named, StoredPlan
from weft.optimizer.trees import order_tree
from weft.optimizer.weave import Heuristic, Weave
from weft.plan.dag import topological_order
from weft.plan.nodes import Join, KleeneExpand

HEURISTICS: list[Heuristic] = ["replies", "annealing", "tabu"]


def workload_of(seed: int, n_patterns: int = 6) -> Workload:
    return random_workload(
        random.Random(seed), n_patterns, (3, 4), windows=(1, 2), has_lists=True, has_negations=True
    )


def empty(workload: Workload, *, prefix_only: bool = False) -> Weave:
    return weave_for(
        SCHEMA, Planning(statistics=workload.statistics, prefix_only=prefix_only, cost="partial-matches")
    )


def test_a_query_is_added_with_the_best_reply_to_what_is_there() -> None:
    """Alone, P2 would begin with E; next to P1 it takes A with C, which is there."""
    workload = Workload((sequence("AC", 1), sequence("AEC", 1)), rates(A=10, C=10, E=5))
    weave = empty(workload)
    for query in workload.queries:
        weave.add(query)
    assert weave.stored_plan().trees["P2"] == ([["a", "c"], "e"],)
    alone = empty(workload)
    alone.add(workload.queries[1])
    assert alone.stored_plan().trees["P2"] != ([["a", "c"], "e"],)


@pytest.mark.parametrize("seed", range(8))
def test_a_best_reply_is_never_dearer_than_the_best_tree_alone(seed: int) -> None:
    workload = workload_of(seed)
    weave = empty(workload)
    for query in workload.queries:
        before = weave.multitree.nodes.total
        weave.add(query, weave.plans.best)
        alone = weave.multitree.nodes.total
        weave.remove(query.name)
        assert weave.multitree.nodes.total == before
        weave.add(query)
        assert weave.multitree.nodes.total <= alone


@pytest.mark.parametrize("seed", range(8))
def test_queries_that_come_and_go_leave_nothing_behind(seed: int) -> None:
    workload, dice = workload_of(seed), random.Random(seed)
    weave = empty(workload)
    for _ in range(30):
        query = dice.choice(workload.queries)
        if query.name in weave.queries:
            weave.remove(query.name)
        else:
            weave.add(query)
        if dice.random() < 0.2:
            weave.improve(Limit(steps=10), seed=seed)
        trees = {name: tree for (name, _), tree in weave.multitree.trees.items()}
        assert trees.keys() == weave.queries.keys()
        keys = {key for component in weave.sharables.components() for key in component}
        assert keys == weave.multitree.trees.keys()
    for name in list(weave.queries):
        weave.remove(name)
    assert weave.cost == 0
    assert weave.sharables.components() == []


def test_a_query_is_added_once() -> None:
    workload = Workload((sequence("AB"),))
    weave = workload.weave()
    with pytest.raises(ValueError, match="'P1' already"):
        weave.add(workload.queries[0])


def test_each_alternative_of_a_query_has_a_tree() -> None:
    workload = Workload(("SEQ(A a, OR(B b, C c), D d)", sequence("ABD")))
    weave = workload.weave()
    assert set(weave.multitree.trees) == {("P1", 0), ("P1", 1), ("P2", 0)}
    assert len(weave.stored_plan().trees["P1"]) == 2
    weave.remove("P1")
    assert set(weave.multitree.trees) == {("P2", 0)}


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize("sizes", [(2,), (4,), (2, 8)])
@pytest.mark.parametrize("prefix_only", [False, True])
def test_improving_never_makes_a_plan_dearer(
    heuristic: Heuristic, sizes: tuple[int, ...], prefix_only: bool
) -> None:
    for seed in range(4):
        workload, dice = workload_of(seed), random.Random(seed)
        weave = empty(workload, prefix_only=prefix_only)
        for query in workload.queries:
            is_poor = dice.random() < 0.5
            weave.add(query, (lambda p: order_tree(range(p.n_items)[::-1])) if is_poor else weave.plans.best)
        for n_steps in (1, 10, 80):
            start = weave.multitree.nodes.total
            weave.improve(Limit(steps=n_steps), heuristic=heuristic, sizes=sizes, seed=seed)
            assert weave.multitree.nodes.total <= start


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_steps_and_a_seed_give_one_plan(heuristic: Heuristic) -> None:
    choices = []
    for _ in range(2):
        weave = workload_of(3).weave()
        weave.improve(Limit(steps=100), heuristic=heuristic, seed=5)
        choices.append(weave.stored_plan())
    assert choices[0] == choices[1]


@pytest.mark.parametrize("heuristic", HEURISTICS)
@pytest.mark.parametrize(
    "limit",
    [Limit(seconds=0), Limit(steps=0), Limit(is_cancelled=lambda: True)],
    ids=["time", "steps", "word"],
)
def test_nothing_changes_when_nothing_may_be_done(heuristic: Heuristic, limit: Limit) -> None:
    weave = workload_of(3).weave()
    before = weave.stored_plan()
    weave.improve(limit, heuristic=heuristic)
    assert weave.stored_plan() == before


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_progress_counts_up_over_all_components(heuristic: Heuristic) -> None:
    texts = tuple(sequence(types, 1) for types in ("ABC", "ABD", "BCD", "EFG", "EFH", "FGH"))
    weave = Workload(texts).weave()
    assert len(weave.sharables.components()) == 2
    told: list[float] = []
    limit = Limit(steps=4_000, progress=lambda used, cost: told.append(used))
    weave.improve(limit, heuristic=heuristic)
    assert told
    assert all(0 <= used <= 1 for used in told)
    assert told == sorted(told)
    assert 0 < limit.taken <= 4_000


def test_without_sharing_every_query_pays_for_itself() -> None:
    workload = Workload(("SEQ(A a, B b, A c) WITHIN 1 second", sequence("AB", 1)), rates(A=1, B=2))
    weave = workload.weave()
    alone = 0.0
    for query in workload.queries:
        single = empty(workload)
        single.add(query, single.plans.best)
        alone += single.cost
    assert weave.cost_unshared >= weave.cost * (1 - 1e-9)
    assert weave.cost_unshared == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_choice_is_adopted_as_it_was(seed: int) -> None:
    workload = workload_of(seed)
    weave = workload.weave()
    weave.improve(Limit(steps=100), seed=seed)
    stored = StoredPlan.from_json(weave.stored_plan().to_json())
    other = workload.weave()
    assert other.adopt(stored) == []
    assert other.stored_plan() == weave.stored_plan()
    assert other.cost == weave.cost


def test_queries_that_a_choice_does_not_fit_are_named_and_left_alone() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD"), sequence("AB")))
    weave = workload.weave()
    before = weave.stored_plan().trees
    fitting: Named = [["a", "d"], "b"]
    stored = StoredPlan(
        {"P1": ([["a", "x"], "b"],), "P2": (fitting,), "P3": (["a", "b"], ["a", "b"]), "P9": ("z",)}
    )
    assert weave.adopt(stored) == ["P1", "P3"]
    assert weave.stored_plan().trees == {**before, "P2": (fitting,)}


def test_a_choice_that_misses_or_repeats_a_variable_does_not_fit() -> None:
    wrong: list[Named] = [["a", "b"], [["a", "a"], "b"], [["a", "b"], ["c", "c"]], "a"]
    for tree in wrong:
        assert Workload((sequence("ABC"),)).weave().adopt(StoredPlan({"P1": (tree,)})) == ["P1"]


@pytest.mark.parametrize("seed", range(30))
def test_what_the_books_count_once_is_one_node_of_the_plan(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 4, (2, 3, 4), n_types=3, windows=(5, 10), has_lists=True, has_negations=True
    )
    weave = empty(workload)
    for query in workload.queries:
        weave.add(query, lambda pattern: random_tree(pattern, random.Random(seed + pattern.n_items)))
    if seed % 2:
        weave.multitree.replace(maximal_sharing(weave.sharables.graph, weave.multitree.patterns))
    plan = plan_of_weave(weave, workload.queries, SCHEMA)
    joins = [node for node in topological_order(plan) if isinstance(node, Join | KleeneExpand)]
    priced = weave.numbers.priced
    counted = {
        number
        for key, tree in weave.multitree.trees.items()
        for number, _ in weave.multitree.patterns[key].number_nodes(tree).nodes
        if priced[number][1].is_join
    }
    assert len(joins) == len(counted)


def general(order: list[list[str]], clock: str, length: int, *partition_by: str) -> Named:
    extent = {"clock": clock, "length": length, "partition_by": list(partition_by)}
    return [{"bare": ["a", "b"], "order": order, "extent": extent}, "c"]


OUTDATED = {
    "a shorter window than that of the query": general([["a", "b"]], "time", 9_000_000),
    "an order that the query does not ask for": general([["b", "a"]], "time", 20_000_000),
    "another clock": general([["a", "b"]], "position", 20_000_000),
    "another partition": general([["a", "b"]], "time", 20_000_000, "k"),
}


@pytest.mark.parametrize("tree", OUTDATED.values(), ids=OUTDATED)
def test_a_part_for_demands_that_do_not_fit_is_computed_for_the_query_alone(tree: Named) -> None:
    weave = Workload((sequence("ABC", 10),)).weave()
    assert weave.adopt(StoredPlan({"P1": (tree,)})) == []
    assert weave.outdated == ["P1"]
    assert weave.stored_plan().trees == {"P1": ([["a", "b"], "c"],)}
    assert weave.adopt(StoredPlan({"P1": (general([], "time", 20_000_000),)})) == []
    assert weave.outdated == []


def test_a_window_of_one_event_has_its_own_clock() -> None:
    weave = Workload(("AND(A a, B b, C c) WITHIN 1 EVENTS",)).weave()
    assert weave.adopt(StoredPlan({"P1": (general([], "time", 5),)})) == []
    assert weave.outdated == ["P1"]


def test_hundreds_of_patterns_in_any_order_do_not_compare_all_pairs() -> None:
    dice = random.Random(1)
    types = [f"T{number}" for number in range(200)]
    texts = []
    for number in range(300):
        names = dice.sample(types, 4)
        operands = ", ".join(f"{name} {name.lower()}" for name in names)
        texts.append(f"{'AND' if number % 2 else 'SEQ'}({operands}) WITHIN 10 seconds")
    weave = Workload(tuple(texts)).weave()
    near = [pair for key in weave.multitree.trees for pair in weave.sharables.unordered_pairs(key)]
    assert 0 < len(near) < 300
    asked = sum(len(vars(one).get("_known__weaker", ())) for one in weave.multitree.patterns.values())
    assert asked < 3_000


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_a_query_with_nothing_to_share_takes_its_best_tree(heuristic: Heuristic) -> None:
    texts = (sequence("ABC", 1), sequence("DEF", 1))
    workload = Workload(texts, rates(A=50, B=10, C=1, D=50, E=10, F=1))
    weave = empty(workload)
    for query in workload.queries:
        weave.add(query, lambda pattern: order_tree(range(pattern.n_items)))
    assert weave.stored_plan().trees == {"P1": ([["a", "b"], "c"],), "P2": ([["d", "e"], "f"],)}
    weave.improve(Limit(steps=0), heuristic=heuristic)
    assert weave.stored_plan().trees["P1"] == ([["a", "b"], "c"],)
    weave.improve(Limit(steps=1), heuristic=heuristic)
    assert weave.stored_plan().trees == {"P1": (["a", ["b", "c"]],), "P2": ([["d", "e"], "f"],)}
    weave.improve(Limit(steps=1), heuristic=heuristic)
    assert weave.stored_plan() == workload.weave().stored_plan()


def test_other_trees_are_a_start_only_where_they_are_cheaper() -> None:
    """Much is gained by sharing among P1 and P2; among P3 and P4, the start shares what does not pay."""
    texts = tuple(sequence(types, 1) for types in ("ABC", "ABD", "FGH", "FGI"))
    workload = Workload(texts, rates(A=11, B=10, C=9, D=9, F=3, G=3, H=1, I=1))
    weave = workload.weave()
    before, best = weave.cost, weave.stored_plan().trees
    start = {key: order_tree(range(p.n_items)) for key, p in weave.multitree.patterns.items()}
    weave.multitree.replace(start)
    assert weave.cost < before  # all in all
    weave = workload.weave()
    weave.start_with(start)
    assert weave.stored_plan().trees == {**best, "P1": ([["a", "b"], "c"],), "P2": ([["a", "b"], "d"],)}


def test_patterns_that_share_nothing_by_a_start_keep_their_best_trees() -> None:
    """P3 has A with B in common with the others, but its part of the start is another."""
    texts = tuple(sequence(types, 1) for types in ("ABC", "ABD", "ABE"))
    weave = Workload(texts, rates(A=11, B=10, C=9, D=9, E=0.1)).weave()
    start = {key: order_tree([0, 1, 2]) for key in weave.multitree.trees}
    start["P3", 0] = order_tree([0, 2, 1])
    weave.start_with(start)
    assert weave.stored_plan().trees == {
        "P1": ([["a", "b"], "c"],),
        "P2": ([["a", "b"], "d"],),
        "P3": (["a", ["b", "e"]],),
    }
