"""Oracle tests: rewritten plans give the reference's matches."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.mutations import WINDOWS, is_valid, renamed, with_window
from tests.helpers.strategies import SEED_STEP, Case, matching_case, random_case
from tests.helpers.tally import Count, seed_blocks

from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.rewriting.lcse import lcse_trees
from weft.optimizer.rewriting.rewrite_graph import Techniques
from weft.optimizer.rewriting.rewrite_plan import rewrite_plan
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.weave import Weave
from weft.plan.nodes import Plan
from weft.statistics.model import ItemKey, Statistics

TEMPLATES = (
    "SEQ(A a, B b, C c)",
    "SEQ(A a, C c)",
    "SEQ(A a, B b, D d)",
    "SEQ(B b, D d, C c)",
    "AND(A a, C c)",
    "AND(A a, B b, D d)",
    "SEQ(A a, AND(B b, C c))",
    "SEQ(A a, AND(B b, C c), D d)",
    "SEQ(A a, A b, B c)",
    "AND(A a, A b, B c)",
    "SEQ(A a, NOT C n, B b, D d)",
    "SEQ(A a, B{1,2} b[], D d)",
    "AND(SEQ(A a, B b), SEQ(C c, D d))",
)
N_QUERIES = 6
CONDITIONS = ("", "", " WHERE [k]", " WHERE a.k = d.k", " WHERE b.k < c.k", " WHERE a.k <= c.k")


def overlapping(seed: int) -> Case:
    """Return queries that have much in common, half of which have matches, in windows of several lengths."""
    while n_matching(case := _overlapping(seed)) < N_QUERIES / 2:
        seed += SEED_STEP
    return case


def n_matching(case: Case) -> int:
    """Return how many queries have matches."""
    return sum(map(bool, case.expected().values()))


def _overlapping(seed: int) -> Case:
    dice = random.Random(seed)
    case = random_case(seed, most_events=14)
    texts: list[str] = []
    while len(texts) < N_QUERIES:
        pattern, condition = dice.choice(TEMPLATES), dice.choice(CONDITIONS)
        if not all(f" {one}" in pattern for one in "abcd" if f"{one}." in condition) or "[]" in pattern:
            condition = ""
        text = renamed(
            with_window(f"QUERY q\nPATTERN {pattern}\n{condition.strip()}", dice.choice(WINDOWS)),
            f"t{len(texts)}",
        )
        assert is_valid(text, tie_break=case.tie_break), text
        texts.append(text)
    return replace(case, text="\n\n".join(texts))


def woven(case: Case, dice: random.Random, name: str) -> Weave:
    known = Statistics(rates={ItemKey(one): 10 ** dice.uniform(-1, 1) for one in "ABCD"})
    weave = weave_for(derived_schema(case), Planning(statistics=known, cost="partial-matches"))
    for query in case.queries:
        weave.add(query, weave.plans.best)
    patterns = weave.multitree.patterns
    if name == "lcse":
        weave.multitree.replace(lcse_trees(patterns))
    else:
        techniques: Techniques = "motto" if name == "motto" else "mst"
        plan = rewrite_plan(patterns, weave.model, Limit(steps=100), techniques=techniques)
        weave.multitree.replace(plan.trees)
    return weave


def plan_of(case: Case, weave: Weave) -> Plan:
    return plan_of_weave(weave, case.queries, derived_schema(case))


def agrees(case: Case, seed: int, name: str, *, n_batches: int) -> bool:
    plan = plan_of(case, woven(case, random.Random(seed), name))
    return run_plan(case, plan, n_batches=n_batches, seed=seed).matches == expected_outcome(case)


@pytest.mark.parametrize("name", ["motto", "mst", "lcse"])
@pytest.mark.parametrize("seeds", seed_blocks(40_000, 20))
def test_random_queries(seeds: range, name: str, count: Count) -> None:
    cases = [matching_case(seed, most_queries=4) for seed in seeds]
    for seed, case in zip(seeds, cases, strict=True):
        assert agrees(case, seed, name, n_batches=2), case
    count(cases=len(cases), matches=sum(case.n_matches for case in cases))


@pytest.mark.parametrize("name", ["motto", "mst", "lcse"])
@pytest.mark.parametrize("seeds", seed_blocks(0, 25, block=25))
def test_queries_that_have_much_in_common(seeds: range, name: str, count: Count) -> None:
    cases = [overlapping(seed) for seed in seeds]
    for seed, case in zip(seeds, cases, strict=True):
        assert agrees(case, seed, name, n_batches=1), case
    share = sum(map(n_matching, cases)) / (N_QUERIES * len(cases))
    assert share > 0.5
    count(cases=len(cases), matches=sum(case.n_matches for case in cases))


def test_the_plans_share_by_filters() -> None:
    n_general = 0
    for seed in range(25):
        case = overlapping(seed)
        trees = woven(case, random.Random(seed), "motto").multitree.trees.values()
        n_general += sum("computed_for=Demands" in str(tree) for tree in trees)
    assert n_general > 10
