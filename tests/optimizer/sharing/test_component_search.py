"""The search in one component: every method has a turn, and what pays has more of them."""

import random

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload

from weft.optimizer.sharing.component_search import (
    EXPLORED_EVERY,
    MOST_TURN_STEPS,
    REPLIES,
    TURN_STEPS,
    ComponentSearch,
    search_components,
    search_methods,
)
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood

NAMES = [method.name for method in search_methods((2, 4))]


def workload_of(seed: int) -> Workload:
    return random_workload(random.Random(seed), 8, (3, 4), windows=(1, 2))


def search_of(workload: Workload, multitree: MultiTree[str], seed: int = 0) -> ComponentSearch[str]:
    keys = list(workload.patterns)
    return ComponentSearch(multitree, workload.sharables(), LocalPlans(MODEL), keys, (2, 4), seed)


@pytest.mark.parametrize("seed", range(6))
def test_no_turn_makes_the_plan_dearer_and_steps_are_counted(seed: int) -> None:
    workload = workload_of(seed)
    multitree, limit = workload.multitree(), Limit()
    search = search_of(workload, multitree, seed)
    for _ in range(12):
        before = multitree.nodes.total
        search.take_turn(limit)
        assert multitree.nodes.total <= before
        assert multitree.cost == workload.multitree(multitree.trees).cost
    assert search.n_steps == limit.taken == sum(own.steps for own in search.efforts.by_method.values())


def test_every_method_is_tried_first_and_then_every_so_often() -> None:
    workload = workload_of(1)
    search, limit = search_of(workload, workload.multitree()), Limit()
    for _ in NAMES:
        search.take_turn(limit)
    assert [name for name in search.efforts.by_method if name in NAMES] == NAMES
    before = {name: search.efforts.by_method[name].steps for name in NAMES}
    for _ in range(EXPLORED_EVERY * len(NAMES)):
        search.take_turn(limit)
    annealing = [name for name in NAMES if name != REPLIES.name]
    assert all(search.efforts.by_method[name].steps > before[name] for name in annealing)


def test_turns_of_a_method_grow_up_to_a_length() -> None:
    workload = workload_of(2)
    search, limit = search_of(workload, workload.multitree()), Limit()
    lengths = []
    for _ in range(60):
        taken = limit.taken
        search.take_turn(limit)
        lengths.append(limit.taken - taken)
    assert max(lengths[: len(NAMES)]) <= TURN_STEPS
    assert TURN_STEPS < max(lengths) <= MOST_TURN_STEPS


def test_a_component_is_settled_when_nothing_was_gained_for_long() -> None:
    workload = workload_of(3)
    multitree = workload.multitree()
    search, limit = search_of(workload, multitree), Limit(steps=1_000_000)
    assert not search.is_settled
    search_components([search], [1.0], limit)
    assert search.is_settled
    assert limit.stopped_by is None


def test_dear_components_have_more_turns_and_what_is_settled_leaves_the_rest_to_others() -> None:
    workloads = [workload_of(seed) for seed in (4, 5)]
    searches = [search_of(one, one.multitree()) for one in workloads]
    search_components(searches, [9.0, 1.0], Limit(steps=600))
    assert searches[0].n_steps > 2 * searches[1].n_steps
    search_components(searches, [9.0, 1.0], Limit())
    assert all(search.is_settled for search in searches)


def test_a_neighborhood_changes_as_many_as_it_is_told() -> None:
    workload = workload_of(6)
    keys = list(workload.patterns)
    edge = Neighborhood(workload.multitree(), workload.sharables(), LocalPlans(MODEL), keys)
    vertex = edge.changing(4)
    assert (edge.k, vertex.k, vertex.keys) == (2, 4, edge.keys)
    dice = random.Random(1)
    assert max(len(vertex.propose(dice) or ()) for _ in range(200)) > 2
    assert max(len(edge.propose(dice) or ()) for _ in range(200)) == 2
    with pytest.raises(ValueError, match="at least 2 patterns, not 1"):
        edge.changing(1)
