"""Sharing that costs more than it saves is given up, by all that share it at once."""

import random

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.give_up_sharing import give_up_sharing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.trees import order_tree

PLANS = LocalPlans(MODEL)
PAIR = Workload((sequence("ABC", 1), sequence("ABD", 1)), rates(A=100, B=100, C=1, D=1))


def test_a_pattern_by_itself_gains_nothing_where_all_together_do() -> None:
    multitree = PAIR.multitree({key: order_tree([0, 1, 2]) for key in PAIR.patterns})
    best_reply(multitree, PAIR.sharables(), PLANS, list(PAIR.patterns), Limit())
    assert PAIR.shown(multitree.trees) == {"P1": "((a b) c)", "P2": "((a b) d)"}
    give_up_sharing(multitree, PLANS, list(PAIR.patterns), Limit())
    assert PAIR.shown(multitree.trees) == {"P1": "((a c) b)", "P2": "((a d) b)"}


def test_what_pays_stays_shared() -> None:
    workload = Workload(PAIR.texts, rates(A=2, B=2, C=100, D=100))
    multitree = workload.multitree()
    assert multitree.n_shared() == 1
    give_up_sharing(multitree, PLANS, list(workload.patterns), Limit())
    assert multitree.n_shared() == 1


@pytest.mark.parametrize("seed", range(8))
def test_the_plan_is_never_dearer_and_the_books_stay_right(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 8, (2, 3, 4), n_types=4, windows=(1, 2), has_lists=True, has_negations=True
    )
    for n_steps in (0, 1, 3, 100):
        multitree = workload.multitree(maximal_sharing(workload.graph(), workload.patterns))
        before, limit = multitree.nodes.total, Limit(steps=n_steps)
        give_up_sharing(multitree, PLANS, list(workload.patterns), limit)
        assert multitree.nodes.total <= before
        assert limit.taken <= n_steps
        assert multitree.cost == workload.multitree(multitree.trees).cost
