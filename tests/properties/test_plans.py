"""Every plan of every algorithm gives the reference's matches."""

import random
from dataclasses import replace

import pytest
from tests.engine import derived_schema, expected_outcome, is_supported, run_plan
from tests.random_trees import random_tree
from tests.strategies import Case, random_case

from weft.optimizer.pipeline import STRATEGIES, Settings, choose_plan, plan_of_weave, weave_for
from weft.optimizer.sharing.limits import Limit
from weft.plan.nodes import Plan
from weft.statistics.model import Statistics

SEEDS = range(250)


def random_plan(case: Case, seed: int) -> Plan:
    """Return a plan with random trees."""
    dice = random.Random(seed)
    schema = derived_schema(case)
    weave = weave_for(schema, Settings())
    for query in case.queries:
        weave.add(query, lambda pattern: random_tree(pattern, dice))
    return plan_of_weave(weave, case.queries, schema, is_shared=dice.random() < 0.9)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees_find_what_the_reference_finds(seed: int) -> None:
    case = random_case(seed)
    if is_supported(case):
        plan = random_plan(case, seed)
        n_batches = random.Random(seed).choice([1, 1, 2, 4])
        assert run_plan(case, plan, n_batches=n_batches, seed=seed).matches == expected_outcome(case)
