"""MOTTO's plans: what they share, and what they cost."""

import random
from dataclasses import replace

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.cost.measured import Measured
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.rewriting.rewrite_graph import ROOT, RewriteGraph, Techniques
from weft.optimizer.rewriting.rewrite_plan import RewritePlan, rewrite_plan, shared_cost
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.trees import Demands, Tree, nodes_of, order_tree

TECHNIQUES: tuple[Techniques, ...] = ("motto", "mst")


def planned(workload: Workload, techniques: Techniques = "motto", steps: int = 2_000) -> RewritePlan[str]:
    return rewrite_plan(workload.patterns, MODEL, Limit(steps=steps), techniques=techniques)


def shown(workload: Workload, techniques: Techniques = "motto") -> list[str]:
    return list(workload.shown(planned(workload, techniques).trees).values())


def in_pattern_order(workload: Workload) -> dict[str, Tree]:
    return {key: order_tree(pattern_order(pattern.shape)) for key, pattern in workload.patterns.items()}


def cost(workload: Workload, trees: dict[str, Tree]) -> float:
    return shared_cost(workload.patterns, MODEL, trees)


FIGURE_12 = Workload(
    (*map(sequence, ("ABC", "AC", "ABD", "BDC")), "AND(A a, C c) WITHIN 10 seconds"),
    rates(A=1, B=1, C=1, D=1),
)


def test_the_workload_of_figure_12() -> None:
    plan = planned(FIGURE_12)
    assert list(FIGURE_12.shown(plan.trees).values()) == [
        "((a c) b)",
        "(a c)",
        "(a (b d))",
        "((b d) c)",
        "(a c)",
    ]
    assert [plan.trees[key].computed_for is not None for key in ("P2", "P5")] == [True, False]
    merged = plan.trees["P1"].left
    assert merged is not None
    assert (
        merged.computed_for
        == plan.trees["P2"].computed_for
        == Demands(frozenset(), FIGURE_12.patterns["P5"].extent)
    )
    assert plan.is_optimal
    assert FIGURE_12.multitree(plan.trees).n_shared() == 2


def test_merging_alone_shares_whole_queries() -> None:
    assert shown(FIGURE_12, "mst") == ["((a c) b)", "(a c)", "((a b) d)", "((b d) c)", "(a c)"]
    trees = planned(FIGURE_12, "mst").trees.values()
    assert not any(node.computed_for for tree in trees for node in nodes_of(tree))


def test_merging_alone_keeps_to_one_window_and_to_the_operator() -> None:
    texts = (sequence("AC"), sequence("ABC", window=20), "AND(A a, C c, D d) WITHIN 10 seconds")
    workload = Workload(texts, rates(A=1, B=1, C=1, D=1))
    assert planned(workload, "mst").trees == in_pattern_order(workload)


def test_a_longer_window_serves_a_shorter_one() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD", window=20)), rates(A=1, B=1, C=1, D=1))
    part = planned(workload).trees["P1"].left
    assert part is not None
    assert part.computed_for is not None
    assert part.computed_for.extent == workload.patterns["P2"].extent


@pytest.mark.parametrize(("rate", "pays"), [(0.0001, False), (9, True)])
def test_a_window_is_extended_only_where_that_pays(rate: float, *, pays: bool) -> None:
    workload = Workload((sequence("ABC"), sequence("DAB", window=20)), rates(A=9, B=9, C=0.01, D=rate))
    part = planned(workload).trees["P1"].left
    assert part is not None
    assert (part.computed_for is not None) == pays


def test_a_nested_query_shares_its_inner_level() -> None:
    texts = ("SEQ(X x, AND(A a, B b), Y y) WITHIN 10 seconds", "AND(A a, B b, Z z) WITHIN 10 seconds")
    workload = Workload(texts, rates(A=1, B=1, X=5, Y=5, Z=5))
    assert shown(workload) == ["((x (a b)) y)", "((a b) z)"]


def test_a_nested_query_takes_all_its_inner_levels_from_others() -> None:
    outer = "SEQ(AND(A a, B b), AND(C c, D d)) WITHIN 10 seconds"
    inner = ("AND(A a, B b) WITHIN 10 seconds", "AND(C c, D d) WITHIN 10 seconds")
    workload = Workload((outer, *inner), rates(A=1, B=1, C=1, D=1))
    plan = planned(workload)
    assert workload.shown(plan.trees)["P1"] == "((a b) (c d))"
    assert workload.multitree(plan.trees).n_shared() == 2


def test_a_sequence_is_had_from_the_combination_of_all_operands() -> None:
    text = "QUERY p PATTERN SOME(A a, B b) WITHIN 9 seconds QUERY q PATTERN SEQ(A a, B b) WITHIN 9 seconds"
    weave = weave_for(SCHEMA, Planning(cost="partial-matches"))
    for query in bind(parse(text), SCHEMA, source=text):
        weave.add(query, weave.plans.best)
    trees = rewrite_plan(weave.multitree.patterns, MODEL, Limit(steps=100)).trees
    assert len(trees) == 4
    assert trees["q", 0].computed_for is not None
    weave.multitree.replace(trees)
    assert weave.multitree.n_shared() == 1


def test_when_it_is_late_no_more_sub_queries_are_looked_for() -> None:
    graph = RewriteGraph(FIGURE_12.patterns, MODEL, limit=Limit(is_cancelled=lambda: True))
    assert graph.n_candidates == 0
    assert len(graph.terminals) == 5
    assert not graph.is_complete
    assert RewriteGraph(FIGURE_12.patterns, MODEL).is_complete


def test_when_time_is_up_the_most_promising_is_still_found() -> None:
    plan = rewrite_plan(FIGURE_12.patterns, MODEL, Limit(seconds=0))
    assert not plan.is_complete
    assert not plan.is_optimal
    assert plan.n_chosen or FIGURE_12.multitree(plan.trees).n_shared()
    mst = rewrite_plan(FIGURE_12.patterns, MODEL, Limit(seconds=0), techniques="mst")
    assert mst.is_complete
    assert cost(FIGURE_12, plan.trees) <= cost(FIGURE_12, mst.trees)


def test_the_gap_is_that_of_the_steiner_tree() -> None:
    plan = planned(FIGURE_12)
    assert (plan.gap, plan.is_rewritten) == (0.0, True)
    dear = replace(plan, steiner=replace(plan.steiner, bound=plan.steiner.cost / 2))
    assert dear.gap == pytest.approx(0.5)
    assert not dear.is_optimal


def test_hundreds_of_patterns_within_a_short_time() -> None:
    workload = random_workload(random.Random(1), 300, (3, 4, 5), n_types=8)
    plan = rewrite_plan(workload.patterns, MODEL, Limit(seconds=0.5))
    assert not plan.is_complete
    assert plan.n_candidates
    assert cost(workload, plan.trees) < cost(workload, in_pattern_order(workload))


def test_example_6() -> None:
    texts = ("AND(A a, B b, D d) WITHIN 10 seconds", sequence("ABC"))
    workload = Workload(texts, rates(A=1, B=1, C=1, D=1))
    plan = planned(workload)
    assert list(workload.shown(plan.trees).values()) == ["((a b) d)", "((a b) c)"]


def test_conditions_keep_apart_what_looks_the_same() -> None:
    texts = ("SEQ(A a, B b, C c) WHERE a.x = c.x WITHIN 10 seconds", sequence("ABC"))
    workload = Workload(texts, rates(A=5, B=1, C=1))
    plan = planned(workload)
    assert plan.n_candidates == 2  # a before b, and b before c
    assert shown(workload) == ["(a (b c))", "(a (b c))"]


def test_equal_patterns_have_one_tree() -> None:
    workload = Workload(("SEQ(A a, B b) WITHIN 10 seconds", "SEQ(A x, B y) WITHIN 10 seconds"))
    plan = planned(workload)
    assert plan.trees["P1"] == plan.trees["P2"]
    assert plan.n_chosen == 0


def test_patterns_of_one_event_and_of_lists_alone() -> None:
    workload = Workload(("A a WITHIN 10 seconds", "SEQ(A+ a[], B+ b[]) WITHIN 10 seconds", sequence("AB")))
    assert shown(workload) == ["a", "(a b)", "(a b)"]


def test_nothing_to_plan() -> None:
    assert rewrite_plan({}, MODEL, Limit(steps=1)).trees == {}


def test_the_same_steps_give_the_same_plan() -> None:
    plans = []
    for _ in range(2):
        workload = random_workload(random.Random(7), 20, (3, 4, 5), n_types=6, windows=(10, 20))
        plans.append(planned(workload, steps=30).trees)
    assert plans[0] == plans[1]


@pytest.mark.parametrize("seed", range(25))
def test_trees_are_right_and_no_dearer_than_pattern_order(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 7, (2, 3, 4, 5), windows=(1, 2, 3), has_lists=True, has_negations=True)
    plans = {techniques: planned(workload, techniques) for techniques in TECHNIQUES}
    for plan in plans.values():
        assert plan.is_optimal
        assert list(plan.trees) == list(workload.patterns)
        for key, tree in plan.trees.items():
            pattern = workload.patterns[key]
            leaves = sorted(node.mask for node in nodes_of(tree) if node.is_leaf)
            assert leaves == [1 << item for item in range(pattern.n_items)]
            assert pattern.admits(tree)
        assert cost(workload, plan.trees) <= cost(workload, in_pattern_order(workload))
    assert plans["motto"].cost <= plans["mst"].cost


def test_filters_have_a_price_where_the_model_gives_them_one() -> None:
    workload = Workload((sequence("AB"), "AND(A a, B b) WITHIN 10 seconds"), rates(A=1, B=1))
    free, priced = (rewrite_plan(workload.patterns, one, Limit(steps=10)) for one in (MODEL, Measured()))
    alone = {
        key: rewrite_plan({key: one}, Measured(), Limit(steps=10)) for key, one in workload.patterns.items()
    }
    assert free.cost == rewrite_plan({"P2": workload.patterns["P2"]}, MODEL, Limit(steps=10)).cost
    assert alone["P2"].cost < priced.cost <= alone["P1"].cost + alone["P2"].cost


@pytest.mark.parametrize("seed", range(15))
def test_a_plan_costs_no_more_than_its_steiner_tree_says(seed: int) -> None:
    workload = random_workload(random.Random(seed), 6, (2, 3, 4), windows=(1, 2))
    plan = planned(workload)
    leaves = {
        (node, window)
        for key, pattern in workload.patterns.items()
        for node, window in pattern.number_nodes(plan.trees[key]).nodes
        if not pattern.numbers.priced[node][1].left
    }
    read = sum(workload.multitree().price(node, window) for node, window in leaves)
    assert cost(workload, plan.trees) <= plan.cost + read + 1e-3


def test_a_strict_limit_leaves_out_what_comes_late() -> None:
    late = Limit(seconds=0)
    plan = rewrite_plan(FIGURE_12.patterns, MODEL, late, is_strict=True)
    lenient = rewrite_plan(FIGURE_12.patterns, MODEL, late)
    assert plan.n_chosen <= lenient.n_chosen
    assert set(plan.steiner.sources.values()) == {ROOT} < set(lenient.steiner.sources.values())
    assert not plan.is_complete
    assert cost(FIGURE_12, plan.trees) <= cost(FIGURE_12, in_pattern_order(FIGURE_12))
    in_time = rewrite_plan(FIGURE_12.patterns, MODEL, Limit(steps=100), is_strict=True)
    assert in_time.is_complete
    assert in_time.cost == planned(FIGURE_12).cost
