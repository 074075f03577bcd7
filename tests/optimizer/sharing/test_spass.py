"""The rival that shares what is most redundant."""

import random
import time
from itertools import combinations

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.cost.measured import Measured
from weft.optimizer.sharing.spass import Place, SharedCover, spass_trees, substring_cover
from weft.optimizer.trees import nodes_of


def cover_of(workload: Workload) -> SharedCover[str]:
    return spass_trees(workload.patterns, MODEL)


def shown(*texts: str, **by_type: float) -> list[str]:
    workload = Workload(texts, rates(**by_type))
    return list(workload.shown(cover_of(workload).trees).values())


def test_where_two_lists_overlap_the_one_with_more_redundant_work_is_shared() -> None:
    texts = [sequence(types) for types in ("ABC", "ABD", "EBC")]
    assert shown(*texts, A=10.0, C=1.0) == ["((a b) c)", "((a b) d)", "((e b) c)"]
    assert shown(*texts, A=1.0, C=10.0) == ["(a (b c))", "((a b) d)", "(e (b c))"]


def test_a_rare_list_of_many_is_worth_less_than_a_frequent_one_of_few() -> None:
    texts = [sequence(types) for types in ("ABC", "XBC", "ABD", "ABE")]
    assert shown(*texts, A=0.01, C=50.0)[:2] == ["(a (b c))", "(x (b c))"]


def test_what_is_shared_saves_its_ratio_of_the_work() -> None:
    cover = cover_of(Workload(tuple(sequence(types) for types in ("ABX", "ABY", "ABZ", "ABW"))))
    assert cover.ratios == [pytest.approx(3 / 4)]
    assert cover.note() == "Redundancy: 1 sub-pattern shared, of whose work 75% was done again"


def test_items_apart_are_not_shared() -> None:
    assert shown(sequence("ABC"), sequence("ADC")) == ["((a b) c)", "((a d) c)"]


def test_rates_do_not_change_the_order_of_the_rest() -> None:
    assert shown(sequence("ABCD"), sequence("ABEF"), A=100.0, D=0.01) == ["(((a b) c) d)", "(((a b) e) f)"]


def test_a_list_twice_in_one_pattern_is_computed_once() -> None:
    workload = Workload(("SEQ(A a, B b, X x, A c, B d) WITHIN 10 seconds",))
    assert shown(*workload.texts) == ["(((a b) x) (c d))"]
    assert cover_of(workload).ratios == [pytest.approx(1 / 2)]


def test_a_longer_window_is_shared_where_that_saves_work() -> None:
    near = Workload((sequence("XAB", 10), sequence("YAB", 11)))
    assert near.multitree(cover_of(near).trees).n_shared() == 1
    far = Workload((sequence("XAB", 10), sequence("YAB", 1_000)))
    measured = Measured(fixed=0.0)
    assert spass_trees(far.patterns, measured).ratios == []  # to filter the rows is dearer than to join few


def test_what_a_negation_forbids_is_checked_above() -> None:
    workload = Workload(("SEQ(A a, NOT C n, B b) WITHIN 10 seconds", "SEQ(A a, B b, D d) WITHIN 10 seconds"))
    assert workload.multitree(cover_of(workload).trees).n_shared() == 1


def test_alone_a_pattern_is_joined_as_written_with_lists_last() -> None:
    assert shown("SEQ(A+ a[], B b, C c)") == ["(a (b c))"]


@pytest.mark.parametrize("seed", range(20))
def test_every_pattern_has_a_tree_over_all_its_items(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 6, (2, 3, 4, 5), windows=(1, 2), has_lists=True, has_negations=True
    )
    cover = cover_of(workload)
    assert list(cover.trees) == list(workload.patterns)
    for key, tree in cover.trees.items():
        leaves = sorted(node.mask for node in nodes_of(tree) if node.is_leaf)
        assert leaves == [1 << item for item in range(workload.patterns[key].n_items)]
        assert workload.patterns[key].admits(tree)
    assert bool(workload.multitree(cover.trees).n_shared()) >= bool(cover.ratios)


@pytest.mark.parametrize("seed", range(20))
def test_the_saved_work_is_that_of_the_shared_plan(seed: int) -> None:
    """Where nothing else coincides: each pattern is one list of two, in one window."""
    dice = random.Random(seed)
    pairs = [dice.choice(["AB", "BC", "CD"]) for _ in range(6)]
    workload = Workload(tuple(map(sequence, pairs)), rates(A=3.0, B=2.0, C=5.0, D=1.0))
    cover = cover_of(workload)
    assert len(cover.ratios) == sum(pairs.count(pair) > 1 for pair in set(pairs))
    for ratio in cover.ratios:
        assert any(ratio == pytest.approx(1 - 1 / pairs.count(pair)) for pair in set(pairs))
    assert workload.multitree(cover.trees).n_shared() == len(cover.ratios)


@pytest.mark.parametrize("seed", range(30))
def test_the_greedy_cover_is_a_cover(seed: int) -> None:
    """No two lists overlap, and none that is left would save anything in its free places."""
    dice = random.Random(seed)
    masks = [0b0011, 0b0110, 0b1100, 0b0111, 0b1110]
    weights = {name: dice.randint(1, 9) for name in "uvwxyz"}
    common = {
        name: [Place(key, dice.choice(masks)) for key in dice.sample("pqrst", dice.randint(2, 5))]
        for name in weights
    }
    cover = substring_cover(common, lambda name, places: weights[name] * (len(places) - 1))
    taken = [place for places in cover.values() for place in places]
    assert all(a.key != b.key or not a.mask & b.mask for a, b in combinations(taken, 2))
    first = next(iter(cover))
    most = max(weights[name] * (len(places) - 1) for name, places in common.items())
    assert weights[first] * (len(cover[first]) - 1) == most
    for name, places in common.items():
        free = [p for p in places if not any(p.key == t.key and p.mask & t.mask for t in taken)]
        assert len(free) < 2, name


def test_without_patterns_there_is_nothing_to_share() -> None:
    assert spass_trees({}, MODEL).note() == "Redundancy: no sub-pattern is worth sharing"


def test_many_patterns_are_quick() -> None:
    workload = random_workload(random.Random(1), 400, (3, 4, 5), n_types=8)
    patterns = workload.patterns
    start = time.perf_counter()
    spass_trees(patterns, MODEL)
    assert time.perf_counter() - start < 5
