"""The baseline that shares the longest common sub-expressions."""

import random
import time

import pytest
from tests.helpers.workloads import Workload, random_workload, sequence

from weft.optimizer.rewriting.lcse import lcse_trees
from weft.optimizer.trees import nodes_of


def shown(*texts: str) -> list[str]:
    workload = Workload(texts)
    return list(workload.shown(lcse_trees(workload.patterns)).values())


def test_the_longest_comes_first_and_shares_in_turn() -> None:
    texts = [sequence(types) for types in ("XABCD", "ABCDE", "YBCZ")]
    assert shown(*texts) == ["(x ((a (b c)) d))", "(((a (b c)) d) e)", "((y (b c)) z)"]


def test_operands_apart_are_not_shared() -> None:
    assert shown(sequence("ABC"), sequence("ADC")) == ["((a b) c)", "((a d) c)"]


def test_other_windows_and_other_operators_share_nothing() -> None:
    workload = Workload((sequence("XAB"), sequence("YAB", window=20), "AND(A a, B b, Z z) WITHIN 10 seconds"))
    assert not workload.multitree(lcse_trees(workload.patterns)).n_shared()


def test_conditions_are_part_of_what_is_shared() -> None:
    one, other = "SEQ(A a, B b, C c) WHERE a.x = b.x", "SEQ(A a, B b, C c) WHERE a.x < b.x"
    assert shown(one, other) == ["(a (b c))", "(a (b c))"]


def test_a_sub_expression_twice_in_one_pattern() -> None:
    texts = ("SEQ(A a, B b, X x, A c, B d)", "SEQ(A a, B b, Y y)")
    assert shown(*texts) == ["(((a b) x) (c d))", "((a b) y)"]


def test_inner_operators_share() -> None:
    texts = ("SEQ(X x, AND(A a, B b), Y y)", "AND(A a, B b, Z z)")
    assert shown(*texts) == ["((x (a b)) y)", "((a b) z)"]


@pytest.mark.parametrize("seed", range(20))
def test_every_pattern_has_a_tree_over_all_its_items(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 6, (2, 3, 4, 5), windows=(1, 2), has_lists=True, has_negations=True
    )
    trees = lcse_trees(workload.patterns)
    assert list(trees) == list(workload.patterns)
    for key, tree in trees.items():
        leaves = sorted(node.mask for node in nodes_of(tree) if node.is_leaf)
        assert leaves == [1 << item for item in range(workload.patterns[key].n_items)]
        assert workload.patterns[key].admits(tree)


def test_many_patterns_are_quick() -> None:
    workload = random_workload(random.Random(1), 400, (3, 4, 5), n_types=8)
    patterns = workload.patterns
    start = time.perf_counter()
    lcse_trees(patterns)
    assert time.perf_counter() - start < 5
