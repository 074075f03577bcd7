"""Oracle tests: rewritten plans give the reference's matches."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.mutations import WINDOWS, is_valid, renamed, with_window
from tests.helpers.strategies import Case, random_case

from weft.optimizer.pipeline import Settings, plan_of_weave, weave_for
from weft.optimizer.rewriting.lcse import lcse_trees
from weft.optimizer.rewriting.rewrite_graph import Techniques
from weft.optimizer.rewriting.rewrite_plan import motto_trees
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
CONDITIONS = ("", "", " WHERE [k]", " WHERE a.k = d.k", " WHERE b.k < c.k", " WHERE a.k <= c.k")


def overlapping(seed: int) -> Case:
    """Return queries that have much in common, in windows of several lengths, over random events."""
    dice = random.Random(seed)
    case = random_case(seed, most_events=14)
    texts: list[str] = []
    while len(texts) < 6:
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
    weave = weave_for(derived_schema(case), Settings(statistics=known))
    for query in case.queries:
        weave.add(query, weave.plans.best)
    patterns = weave.multitree.patterns
    if name == "lcse":
        weave.multitree.replace(lcse_trees(patterns))
    else:
        techniques: Techniques = "motto" if name == "motto" else "mst"
        weave.multitree.replace(motto_trees(patterns, weave.model, Limit(steps=100), techniques=techniques))
    return weave


def plan_of(case: Case, weave: Weave) -> Plan:
    return plan_of_weave(weave, case.queries, derived_schema(case))


@pytest.mark.parametrize("name", ["motto", "mst", "lcse"])
@pytest.mark.parametrize("seed", range(20))
def test_random_queries(seed: int, name: str) -> None:
    case = random_case(40_000 + seed, most_queries=4)
    found = run_plan(case, plan_of(case, woven(case, random.Random(seed), name)), n_batches=2, seed=seed)
    assert found.matches == expected_outcome(case)


@pytest.mark.parametrize("name", ["motto", "mst", "lcse"])
@pytest.mark.parametrize("seed", range(25))
def test_queries_that_have_much_in_common(seed: int, name: str) -> None:
    case = overlapping(seed)
    found = run_plan(case, plan_of(case, woven(case, random.Random(seed), name)), n_batches=1, seed=seed)
    assert found.matches == expected_outcome(case)


def test_the_plans_share_by_filters() -> None:
    n_general = 0
    for seed in range(25):
        case = overlapping(seed)
        trees = woven(case, random.Random(seed), "motto").multitree.trees.values()
        n_general += sum("computed_for=Demands" in str(tree) for tree in trees)
    assert n_general > 10
