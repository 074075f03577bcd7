"""Compiled steps of annealing: the same moves and the same costs as steps in Python."""

import random
from collections import Counter

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.cost.partial_matches import PartialMatches
from weft.kernels.plans.neighbors import MOST_ITEMS, new_neighbor, propose
from weft.kernels.plans.tables import UNKNOWN
from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.compiled_annealing import CompiledAnnealing, compiled_annealing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multi_pattern_tree import OrderPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.simulated_annealing import PATIENCE, simulated_annealing
from weft.optimizer.trees import Tree, nodes_of, order_tree

HOT = 1e12  # a threshold at which every neighbor is taken


def varied(seed: int, n_patterns: int = 10) -> Workload:
    """Return patterns of all kinds: lists, negations, weaker orders, two windows, predicates on three."""
    return random_workload(
        random.Random(seed), n_patterns, (2, 3, 4, 5), windows=(1, 2), has_lists=True, has_negations=True
    )


def neighborhood_of(workload: Workload, multitree: MultiTree[str], k: int = 2) -> Neighborhood[str]:
    return Neighborhood(multitree, workload.sharables(), LocalPlans(MODEL), list(workload.patterns), k)


def compiled_of(workload: Workload, multitree: MultiTree[str], k: int = 2) -> CompiledAnnealing[str]:
    compiled = compiled_annealing(neighborhood_of(workload, multitree, k), Limit(steps=1))
    assert compiled is not None
    return compiled


def present(compiled: CompiledAnnealing[str]) -> dict[str, Tree]:
    """Return the trees that the tables have now, by pattern."""
    trees = compiled.patterns.array["tree"][: len(compiled.keys)].tolist()
    return compiled.trees_of(dict(enumerate(trees)))


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_taken_the_total_is_that_of_the_same_trees_anew(seed: int, k: int) -> None:
    workload = varied(seed)
    compiled = compiled_of(workload, workload.multitree(), k)
    dice = random.Random(seed)
    assert compiled.begin(k, dice)
    for _ in range(6):
        compiled.anneal(Limit(steps=40), HOT, 1.0, 1 << 30)
        trees = present(compiled)
        assert compiled.total == workload.multitree(trees).nodes.total
    assert trees != compiled.multitree.trees


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("seed", range(8))
def test_a_turn_never_makes_a_plan_dearer_and_its_total_is_that_of_the_multitree(seed: int, k: int) -> None:
    workload, dice = varied(seed), random.Random(seed)
    multitree = workload.multitree(
        {key: order_tree(dice.sample(range(p.n_items), p.n_items)) for key, p in workload.patterns.items()}
    )
    compiled = compiled_of(workload, multitree, k)
    for warmth in (1.0, 0.1, 0.0):
        before = multitree.nodes.total
        simulated_annealing(
            neighborhood_of(workload, multitree, k), Limit(steps=300), dice, compiled=compiled, warmth=warmth
        )
        assert multitree.nodes.total <= before
        assert compiled.total == multitree.nodes.total == workload.multitree(multitree.trees).nodes.total
    assert multitree.trees == present(compiled)


Neighbors = Counter[frozenset[tuple[str, Tree]]]


def proposed_in_python(neighborhood: Neighborhood[str], n_steps: int) -> Neighbors:
    """Return how often Python proposes which other trees, from the same plan."""
    multitree, dice, found = neighborhood.multitree, random.Random(0), Neighbors()
    for _ in range(n_steps):
        changes = neighborhood.propose(dice) or {}
        simple = {key: multitree.patterns[key].simplify(tree) for key, tree in changes.items()}
        found[frozenset((key, tree) for key, tree in simple.items() if tree != multitree.trees[key])] += 1
    return found


def proposed_compiled(compiled: CompiledAnnealing[str], k: int, n_steps: int) -> Neighbors:
    """Return how often the kernels do, turn by turn."""
    dice, found, room = random.Random(1), Neighbors(), new_neighbor(k, MOST_ITEMS)
    while sum(found.values()) < n_steps:
        if sum(found.values()) % 500 == 0:
            assert compiled.begin(k, dice)
        n_changed = propose(compiled.tables(), room, compiled.dice)
        if n_changed == UNKNOWN:
            compiled.answer()
            continue
        numbers = zip(room.patterns[:n_changed].tolist(), room.trees[:n_changed].tolist(), strict=True)
        changes = compiled.trees_of(dict(numbers)).items()
        found[frozenset((key, tree) for key, tree in changes if tree != compiled.multitree.trees[key])] += 1
    return found


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_neighbors_are_those_of_steps_in_python(seed: int, k: int) -> None:
    workload = random_workload(
        random.Random(seed), 8, (3, 4), n_types=4, windows=(1, 2), has_lists=True, has_negations=True
    )
    multitree, n_steps = workload.multitree(), 3_000
    in_python = proposed_in_python(neighborhood_of(workload, multitree, k), n_steps)
    compiled = proposed_compiled(compiled_of(workload, multitree, k), k, n_steps)
    assert sum(compiled[one] for one in compiled.keys() - in_python.keys()) < 0.005 * n_steps  # all but rare
    assert sum(in_python[one] for one in in_python.keys() - compiled.keys()) < 0.03 * n_steps
    assert sum(abs(in_python[one] - compiled[one]) for one in in_python) < 0.25 * n_steps


def test_a_turn_gains_about_what_steps_in_python_gain() -> None:
    gains = {True: 0.0, False: 0.0}
    for seed in range(12):
        workload = varied(seed, 14)
        for is_compiled in gains:
            multitree = workload.multitree()
            neighborhood, before = neighborhood_of(workload, multitree), multitree.cost
            compiled = compiled_annealing(neighborhood, Limit()) if is_compiled else None
            simulated_annealing(neighborhood, Limit(steps=800), random.Random(seed), compiled=compiled)
            gains[is_compiled] += (before - multitree.cost) / before
    assert gains[False] > 0
    assert gains[True] > 0.8 * gains[False]


@pytest.mark.parametrize("seed", range(4))
def test_the_same_seed_gives_the_same_plan_in_chunks_of_any_size(seed: int) -> None:
    workload = varied(seed)
    found = []
    for n_chunks in (1, 1, 7):
        multitree = workload.multitree()
        compiled = compiled_of(workload, multitree)
        assert compiled.begin(2, random.Random(seed))
        for _ in range(n_chunks):
            compiled.anneal(Limit(steps=210 // n_chunks), HOT, 1.0, 1 << 30)
        found.append((present(compiled), compiled.total))
    assert found[0] == found[1] == found[2]


def test_others_may_change_trees_between_turns() -> None:
    workload = varied(3)
    multitree, plans, dice = workload.multitree(), LocalPlans(MODEL), random.Random(0)
    neighborhood, compiled = neighborhood_of(workload, multitree), compiled_of(workload, multitree)
    for _ in range(5):
        simulated_annealing(neighborhood, Limit(steps=60), dice, compiled=compiled, warmth=0.2)
        assert compiled.total == multitree.nodes.total
        changes = neighborhood.propose(dice)
        assert changes is not None
        multitree.replace(changes)
        best_reply(multitree, workload.sharables(), plans, list(workload.patterns), Limit(steps=5))


@pytest.mark.parametrize("seed", range(3))
def test_components_that_need_the_same_events_take_turns(seed: int) -> None:
    first = ("SEQ(A a, B b, C c) WITHIN 1 second", "SEQ(A a, NOT B n, C c) WITHIN 3 seconds")
    second = ("SEQ(C c, B b, A a) WITHIN 2 seconds", "SEQ(C c, NOT B n, A a, D d) WITHIN 4 seconds")
    weaker = ("AND(D d, B b, NOT B n) WITHIN 5 seconds", "SEQ(B b, D d, B e) WITHIN 6 seconds")
    workload = Workload((*first, *second, *weaker), rates(A=3, B=1, C=4, D=2))
    multitree, sharables, dice = workload.multitree(), workload.sharables(), random.Random(seed)
    components = sharables.components()
    assert len(components) == 3
    neighborhoods = [Neighborhood(multitree, sharables, LocalPlans(MODEL), keys) for keys in components]
    searches = [CompiledAnnealing(neighborhood) for neighborhood in neighborhoods]
    for _ in range(4):
        for neighborhood, compiled in zip(neighborhoods, searches, strict=True):
            simulated_annealing(neighborhood, Limit(steps=25), dice, compiled=compiled)
            assert compiled.total == multitree.nodes.total == workload.multitree(multitree.trees).nodes.total
            changes = neighborhood.propose(dice)
            multitree.replace(changes or {})


def test_steps_are_counted_and_told() -> None:
    workload = varied(1)
    told: list[float] = []
    limit = Limit(steps=500, progress=lambda share, _: told.append(share))
    multitree = workload.multitree()
    neighborhood = neighborhood_of(workload, multitree)
    compiled = compiled_of(workload, multitree)
    simulated_annealing(neighborhood, limit, random.Random(1), compiled=compiled, n_probes=20)
    assert limit.taken == 500 or limit.taken >= PATIENCE * neighborhood.size
    assert told == sorted(told)
    assert told


def test_a_search_that_is_cancelled_takes_no_step() -> None:
    workload = varied(1)
    multitree = workload.multitree()
    before = dict(multitree.trees)
    limit = Limit(is_cancelled=lambda: True)
    simulated_annealing(
        neighborhood_of(workload, multitree),
        limit,
        random.Random(1),
        compiled=compiled_of(workload, multitree),
    )
    assert (limit.taken, limit.stopped_by, multitree.trees) == (0, "cancelled", before)


def test_what_is_shared_is_found_under_a_longer_window_and_a_weaker_order() -> None:
    workload = Workload(
        ("SEQ(A a, B b, C c) WITHIN 4 seconds", "AND(A a, B b) WITHIN 5 seconds"), rates(A=8, B=8, C=1)
    )
    multitree = workload.multitree({"P1": order_tree([1, 2, 0]), "P2": order_tree([0, 1])})
    compiled = compiled_of(workload, multitree)
    assert compiled.begin(2, random.Random(0))
    seen = set()
    for _ in range(200):
        compiled.anneal(Limit(steps=1), HOT, 1.0, 1 << 30)
        seen |= {node for node in nodes_of(present(compiled)["P1"]) if node.computed_for is not None}
    assert {(node.mask, node.computed_for.order, node.computed_for.extent.length) for node in seen} == {
        (0b011, frozenset(), 5_000_000)
    }


def test_where_nothing_can_be_shared_there_is_no_step() -> None:
    workload = Workload((sequence("AB"), sequence("CD")))
    compiled = compiled_of(workload, workload.multitree())
    assert compiled.begin(2, random.Random(0))
    limit = Limit(steps=100)
    compiled.anneal(limit, HOT, 1.0, 1 << 30)
    assert limit.taken == 0


def test_orders_and_large_patterns_are_left_to_python() -> None:
    small, large = Workload((sequence("ABC"), sequence("ABD"))), "ABCDEFGHABCDE"
    orders = Neighborhood(small.multitree(), small.sharables(), OrderPlans(MODEL), list(small.patterns))
    items = ", ".join(f"{name} {name.lower()}{place}" for place, name in enumerate(large))
    long = Workload((f"SEQ({items}) WITHIN 1 second", sequence("ABC")))
    assert compiled_annealing(orders, Limit()) is None
    assert compiled_annealing(neighborhood_of(long, long.multitree()), Limit()) is None


class Dear(PartialMatches):
    """Joins of three events and more cost too much to be added up; so do all if `always`."""

    __slots__ = ("always",)

    def node(self, shape, step, window):  # type: ignore[no-untyped-def]
        is_dear = step.is_join and (self.always or step.mask.bit_count() > 2 and step.left.bit_count() > 1)
        return 1e30 if is_dear else super().node(shape, step, window)


def dear_multitree(workload: Workload, *, always: bool) -> MultiTree[str]:
    model = Dear()
    object.__setattr__(model, "always", always)
    multitree: MultiTree[str] = MultiTree(workload.numbers, model)
    for key, pattern in workload.patterns.items():
        multitree.add(key, pattern, order_tree(range(pattern.n_items)))
    return multitree


def test_costs_that_do_not_fit_are_left_to_python() -> None:
    workload = Workload((sequence("ABC", 1), sequence("ABD", 1)))
    multitree = dear_multitree(workload, always=True)
    compiled = compiled_of(workload, multitree)
    assert not compiled.begin(2, random.Random(0))
    before = multitree.nodes.total
    simulated_annealing(
        neighborhood_of(workload, multitree), Limit(steps=50), random.Random(0), compiled=compiled
    )
    assert multitree.nodes.total <= before


def test_a_short_search_does_not_wait_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.optimizer.sharing.compiled_annealing.is_compiled", lambda _: False)
    workload = varied(0)
    neighborhood = neighborhood_of(workload, workload.multitree())
    assert compiled_annealing(neighborhood, Limit(seconds=3.0)) is None
    assert compiled_annealing(neighborhood, Limit(steps=5, whole=Limit(seconds=3.0))) is None
    assert compiled_annealing(neighborhood, Limit(seconds=1_000.0)) is not None
    assert compiled_annealing(neighborhood, Limit(steps=5)) is not None
