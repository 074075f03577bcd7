"""The benefit of sharing: equations 7 to 10 of the HAMLET paper, and the choice of what to share."""

import random
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.benefit import best_merged, shared_cost


@pytest.mark.parametrize(
    ("b", "n", "s_p", "s_c", "k", "g", "t", "shared"),
    [
        pytest.param(4, 7, 1, 1, 2, 4, 2, 44, id="equation 8: share"),
        pytest.param(4, 11, 2, 1, 2, 8, 2, 120, id="equation 9: split"),
        pytest.param(4, 15, 1, 1, 2, 4, 2, 76, id="equation 10: merge"),
    ],
)
def test_the_examples_of_the_paper(
    b: int, n: int, s_p: int, s_c: int, k: int, g: int, t: int, shared: int
) -> None:
    assert shared_cost(b, n, s_p, s_c, k, g, t) == shared


def chosen(matched: list[set[int]], weights: list[int]) -> set[int]:
    """Return the classes that share a burst; matched has the classes that take each event."""
    words = np.array([sum(1 << one for one in own) for own in matched], np.uint64)
    padded = np.zeros(64, np.int64)
    padded[: len(weights)] = weights
    seen = np.bitwise_or.reduce(words) if words.size else np.uint64(0)
    found = int(best_merged(words, 0, words.size, np.uint64(seen), padded))
    return {one for one in range(len(weights)) if found >> one & 1}


def cost(merged: set[int], matched: list[set[int]], weights: list[int]) -> int:
    """Return what a burst costs when some classes share a graphlet and all others have their own."""
    total = 0
    if merged:
        taken = [own & merged for own in matched if own & merged]
        n_snapshots = 1 + sum(own != merged for own in taken)
        total += shared_cost(len(taken), 1, 1, n_snapshots, sum(weights[one] for one in merged), 1, 1)
    for one in {one for own in matched for one in own} - merged:
        total += shared_cost(sum(one in own for own in matched), 1, 1, 1, weights[one], 1, 1)
    return total


def plans(classes: set[int]) -> list[set[int]]:
    """Return every plan of figure 7: a set of classes that share, all others by themselves."""
    sizes = range(len(classes) + 1)
    return [set(own) for own in chain.from_iterable(combinations(sorted(classes), size) for size in sizes)]


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_the_choice_is_the_best_of_all_plans_where_each_snapshot_has_one_cause(
    n_classes: int, weight: int, data: st.DataObject
) -> None:
    missing = data.draw(
        st.lists(st.one_of(st.none(), st.integers(0, n_classes - 1)), min_size=1, max_size=30)
    )
    everyone = set(range(n_classes))
    matched = [everyone if one is None else everyone - {one} for one in missing]
    if n_classes == 1:
        matched = [everyone for _ in missing]
    weights = [weight] * n_classes
    best = min(cost(plan, matched, weights) for plan in plans(everyone))
    assert cost(chosen(matched, weights), matched, weights) == best


bursts = st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=20)


@given(bursts, st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_the_choice_is_never_worse_than_sharing_all_or_nothing(
    matched: list[set[int]], weights: list[int]
) -> None:
    everyone = set().union(*matched)
    found = cost(chosen(matched, weights), matched, weights)
    assert found <= min(cost(everyone, matched, weights), cost(set(), matched, weights))


@given(st.integers(2, 5), st.integers(1, 20), st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_classes_that_bring_no_snapshots_share(n_classes: int, n_events: int, weights: list[int]) -> None:
    everyone = set(range(n_classes))
    assert chosen([everyone] * n_events, weights[:n_classes]) == everyone


def test_the_choice_is_near_the_best_of_all_plans() -> None:
    """On bursts of which classes take any events, where snapshots have several causes."""
    dice = random.Random(11)
    excess = []
    for _ in range(400):
        shares = [dice.choice([0.3, 0.8, 0.95, 1.0]) for _ in range(5)]
        drawn = [{one for one in range(5) if dice.random() < shares[one]} for _ in range(dice.randint(2, 80))]
        matched = [own for own in drawn if own]
        if matched:
            weights = [dice.randint(1, 9) for _ in range(5)]
            least = min(cost(plan, matched, weights) for plan in plans(set().union(*matched)))
            excess.append(cost(chosen(matched, weights), matched, weights) / least - 1)
    assert len(excess) > 350
    assert sum(excess) / len(excess) < 0.014
    assert sum(own == 0 for own in excess) > 0.85 * len(excess)


def test_a_selective_class_is_left_alone() -> None:
    matched = [{0, 1, 2}] + [{0, 1}] * 30
    assert chosen(matched, [10, 10, 10]) == {0, 1}


def test_a_class_that_misses_little_is_taken_along() -> None:
    matched = [{0}] + [{0, 1}] * 300
    assert chosen(matched, [5, 5]) == {0, 1}
