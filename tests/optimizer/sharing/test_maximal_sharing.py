"""The baseline that shares whatever it can."""

import random

import pytest
from tests.helpers.workloads import Workload, random_workload, rates, sequence

from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.trees import nodes_of


def shown(workload: Workload) -> dict[str, str]:
    return workload.shown(maximal_sharing(workload.graph(), workload.patterns))


def test_the_largest_common_sub_pattern_comes_first() -> None:
    assert shown(Workload((sequence("ABCD"), sequence("AECD")))) == {
        "P1": "(((a c) d) b)",
        "P2": "(((a c) d) e)",
    }


def test_two_sub_patterns_may_be_shared_with_different_patterns() -> None:
    workload = Workload((sequence("ABCD"), sequence("AECF"), sequence("GBHD")))
    assert shown(workload) == {"P1": "((a c) (b d))", "P2": "(((a c) e) f)", "P3": "((g (b d)) h)"}


def test_what_most_patterns_have_in_common_comes_first_among_equals() -> None:
    workload = Workload((sequence("ABC"), sequence("BCD"), sequence("BCE"), sequence("ABF")))
    trees = shown(workload)
    assert trees["P1"] == "(a (b c))"
    assert trees["P4"] == "((a b) f)"


def test_rates_do_not_count() -> None:
    texts = (sequence("ABC"), sequence("ABD"))
    assert shown(Workload(texts, rates(A=1_000, B=1_000))) == shown(Workload(texts))


def test_alone_a_pattern_is_joined_as_written_with_lists_last() -> None:
    assert shown(Workload(("SEQ(A+ a[], B b, C c)",))) == {"P1": "(a (b c))"}


def test_lists_alone_are_not_shared() -> None:
    workload = Workload(("SEQ(A+ a[], B+ b[])", "SEQ(A+ a[], B+ b[])"))
    assert shown(workload) == {"P1": "(a b)", "P2": "(a b)"}


@pytest.mark.parametrize("seed", range(20))
def test_every_pattern_has_a_tree_over_all_its_items(seed: int) -> None:
    workload = random_workload(
        random.Random(seed), 6, (2, 3, 4, 5), windows=(1, 2), has_lists=True, has_negations=True
    )
    trees = maximal_sharing(workload.graph(), workload.patterns)
    assert list(trees) == list(workload.patterns)
    for key, tree in trees.items():
        leaves = sorted(node.mask for node in nodes_of(tree) if node.is_leaf)
        assert leaves == [1 << item for item in range(workload.patterns[key].n_items)]
    shared = workload.multitree(trees)
    neighbors = any(workload.graph().neighbors(key) for key in workload.patterns)
    assert bool(shared.n_shared()) == neighbors
