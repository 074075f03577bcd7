"""Tuples are drawn as often as their weights say, around an event that is new."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from weft.kernels.draw import draw_anchored, weigh_anchors

TIMES = np.array([1, 4, 6, 9, 2, 5, 8, 3, 7])  # three places: 4, 3 and 2 events
STARTS = np.array([0, 4, 7, 9])
WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 0.5, 2.0, 1.0, 4.0])
N_DRAWN = 60_000


def drawn(is_new: np.ndarray, order: np.ndarray, window: int, n_points: int = N_DRAWN) -> np.ndarray:
    sums = np.zeros((2, TIMES.size + 1))
    sums[0, 1:], sums[1, 1:] = np.cumsum(1_000 * WEIGHTS), np.cumsum(np.where(is_new, 0.0, 1_000 * WEIGHTS))
    totals = weigh_anchors(STARTS, TIMES, TIMES, sums, order, window)
    points = np.random.default_rng(1).random((n_points if totals[-1] else 0, 3))
    return draw_anchored(totals, STARTS, TIMES, TIMES, sums, order, window, points)


def expected(is_new: np.ndarray, order: np.ndarray, window: int) -> dict[tuple[int, ...], float]:
    """Return the share of each tuple whose partners fit the anchor; they need not fit each other."""
    found = {}
    for one in product(*(range(*pair) for pair in zip(STARTS[:-1], STARTS[1:], strict=True))):
        anchors = [place for place in range(3) if is_new[one[place]]]
        if anchors:
            event = one[anchors[0]]
            fits = all(
                (window < 0 or abs(TIMES[other] - TIMES[event]) <= window)
                and not (order[anchors[0], place] and TIMES[other] <= TIMES[event])
                and not (order[place, anchors[0]] and TIMES[other] >= TIMES[event])
                for place, other in enumerate(one)
                if place != anchors[0]
            )
            if fits:
                found[one] = float(WEIGHTS[list(one)].prod())
    total = sum(found.values())
    return {one: weight / total for one, weight in found.items()}


@pytest.mark.parametrize("window", [-1, 4, 20])
@pytest.mark.parametrize("pairs", [[], [(0, 1)], [(0, 1), (1, 2), (0, 2)], [(2, 0)]])
@pytest.mark.parametrize("new", [range(9), [3, 6], [4, 8, 1]])
def test_tuples_come_in_proportion_to_their_weights(
    new: list[int], pairs: list[tuple[int, int]], window: int
) -> None:
    is_new, order = np.zeros(9, np.bool_), np.zeros((3, 3), np.bool_)
    is_new[list(new)] = True
    for pair in pairs:
        order[pair] = True
    shares = expected(is_new, order, window)
    tuples = drawn(is_new, order, window)
    counts = Counter(map(tuple, tuples.T.tolist()))
    assert set(counts) <= set(shares)
    assert tuples.shape[1] == (N_DRAWN if shares else 0)
    for one, share in shares.items():
        assert counts[one] / N_DRAWN == pytest.approx(share, abs=0.012)


def test_no_more_tuples_than_asked_for_and_none_without_new_events() -> None:
    order = np.zeros((3, 3), np.bool_)
    assert drawn(np.ones(9, np.bool_), order, -1, n_points=5).shape == (3, 5)
    assert drawn(np.zeros(9, np.bool_), order, -1).shape == (3, 0)
