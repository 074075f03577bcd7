"""Plans drawn at random: any trees, shared or not, whatever the statistics say."""

import random
from collections.abc import Sequence

from tests.helpers.engine import derived_schema
from tests.helpers.random_trees import random_tree
from tests.helpers.strategies import Case

from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree
from weft.optimizer.weave import Weave
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.statistics.model import ItemKey, Statistics


def random_statistics(dice: random.Random) -> Statistics:
    """Return statistics that have nothing to do with the events: plans may be bad, but not wrong."""
    return Statistics(
        rates={ItemKey(name): 10 ** dice.uniform(-2, 2) for name in "ABCD" if dice.random() < 0.9},
        agreements={name: dice.uniform(0.01, 1) for name in ("k", "name", "y")},
        total_rate=10 ** dice.uniform(-1, 2),
        duration=10 ** dice.uniform(-1, 3),
    )


def woven(case: Case, dice: random.Random, queries: Sequence[Query] | None = None) -> Weave:
    """Return a loom with random trees, the same tree for patterns of one size more often than not."""
    weave = weave_for(
        derived_schema(case), Planning(statistics=random_statistics(dice), cost="partial-matches")
    )
    number, is_alike = dice.randrange(1_000), dice.random() < 0.7

    def tree_of(pattern: Pattern) -> Tree:
        return random_tree(pattern, random.Random(number + pattern.n_items) if is_alike else dice)

    for query in case.queries if queries is None else queries:
        weave.add(query, tree_of)
    return weave


def random_plan(case: Case, seed: int) -> Plan:
    """Return a plan with random trees, shared or not."""
    dice = random.Random(seed)
    return plan_of_weave(woven(case, dice), case.queries, derived_schema(case), is_shared=dice.random() < 0.9)
