"""Sums over a sliding window against the exact ones: error, memory, late amounts, stored states."""

import json
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.statistics.exponential_histogram import ExponentialHistogram

ROUNDING = 1 + 1e-9
Additions = list[tuple[int, float]]

amounts = st.one_of(st.integers(0, 5), st.integers(0, 1_000), st.floats(0.5, 1e6))
additions = st.lists(st.tuples(st.integers(0, 12), amounts), max_size=120).map(
    lambda found: in_sequence([(float(gap), amount) for gap, amount in found])
)
epsilons = st.sampled_from([0.01, 0.1, 0.3, 0.7])
windows = st.sampled_from([1, 7, 50, 400])


def in_sequence(gaps: Sequence[tuple[float, float]]) -> Additions:
    time, found = 0, []
    for gap, amount in gaps:
        time += int(gap)
        found.append((time, amount))
    return found


def exact(added: Sequence[tuple[int, float]], now: float, window: float) -> float:
    return math.fsum(amount for time, amount in added if now - window < time <= now)


def most_buckets(added: Sequence[tuple[int, float]], epsilon: float) -> float:
    """The bound on buckets that the module states."""
    positive = [amount for _, amount in added if amount]
    if not positive:
        return 0
    return 2 + 2 * math.log(sum(positive) / min(positive)) / math.log(1 + 2 * epsilon) + 1e-6


@given(additions, epsilons, windows, st.integers(0, 60))
def test_sums_are_within_the_bound_and_buckets_few(
    added: Additions, epsilon: float, window: int, later: int
) -> None:
    histogram = ExponentialHistogram(window, epsilon)
    for number, (time, amount) in enumerate(added, start=1):
        histogram.add(time, amount)
        for now in (time, time + later):
            true = exact(added[:number], now, window)
            assert abs(histogram.total(now) - true) <= epsilon * true * ROUNDING
        assert histogram.n_buckets <= most_buckets(added[:number], epsilon)


@given(additions, epsilons, windows, st.integers(0, 20), st.randoms(use_true_random=False))
def test_late_amounts_are_within_the_bound_of_a_longer_window(
    added: Additions, epsilon: float, window: int, lateness: int, random: object
) -> None:
    delays = {id(one): random.randint(0, lateness) for one in added}  # type: ignore[attr-defined]
    arrivals = sorted(added, key=lambda one: one[0] + delays[id(one)])
    histogram = ExponentialHistogram(window, epsilon)
    now = 0
    for number, (time, amount) in enumerate(arrivals, start=1):
        histogram.add(time, amount)
        now = max(now, time)
        least = exact(arrivals[:number], now, window) * (1 - epsilon)
        most = exact(arrivals[:number], now, window + lateness) * (1 + epsilon)
        assert least / ROUNDING <= histogram.total(now) <= most * ROUNDING
        assert histogram.n_buckets <= most_buckets(arrivals[:number], epsilon)


@given(additions, windows, st.integers(0, 120))
def test_a_stored_histogram_goes_on_as_the_original(added: Additions, window: int, cut: int) -> None:
    histogram = ExponentialHistogram(window)
    histogram.extend(added[:cut])
    restored = ExponentialHistogram.from_json(json.loads(json.dumps(histogram.to_json())), window)
    for time, amount in added[cut:]:
        histogram.add(time, amount)
        restored.add(time, amount)
        assert restored.total(time) == histogram.total(time)
    assert restored.to_json() == histogram.to_json()


@given(additions, epsilons, windows)
def test_amounts_added_at_once_are_within_the_bound(added: Additions, epsilon: float, window: int) -> None:
    histogram = ExponentialHistogram(window, epsilon)
    histogram.extend(added)
    now = max((time for time, _ in added), default=0)
    true = exact(added, now, window)
    assert abs(histogram.total(now) - true) <= epsilon * true * ROUNDING


def test_memory_is_logarithmic() -> None:
    counted = {}
    for n_moments in (1_000, 10_000):
        histogram = ExponentialHistogram(n_moments, 0.1)
        histogram.extend((time, 1) for time in range(n_moments))
        for time in range(n_moments, n_moments + 100):
            histogram.add(time, 1)
        counted[n_moments] = histogram.n_buckets
    assert counted[10_000] < 2 * counted[1_000] < 200


def test_nothing_is_left_after_a_window() -> None:
    histogram = ExponentialHistogram(10)
    histogram.add(5, 3)
    assert [histogram.total(now) for now in (5, 14, 15, 100)] == [3, 3, 0, 0]
    histogram.add(15, 0)
    assert histogram.n_buckets == 0
    histogram.add(5, 7)
    assert histogram.total(15) == 0


def test_variance_of_the_rate() -> None:
    steady, changing = ExponentialHistogram(100), ExponentialHistogram(100)
    for time in range(0, 200, 2):
        steady.add(time, 10)
        changing.add(time, 10 if time < 150 else 40)
    assert steady.rate_variance(198) == pytest.approx(0.0)
    assert changing.rate_variance(198) == pytest.approx(0.5 * 0.5 * 15.0**2, rel=0.15)
    assert ExponentialHistogram(100).rate_variance(0) is None


@pytest.mark.parametrize(("time", "amount"), [(0, -1), (0, math.nan), (0, math.inf), (math.nan, 1)])
def test_amounts_that_are_none_are_refused(time: float, amount: float) -> None:
    with pytest.raises(ValueError, match="amounts are finite"):
        ExponentialHistogram(10).add(time, amount)


@pytest.mark.parametrize(("window", "epsilon"), [(0, 0.1), (10, 0.0), (10, 1.0)])
def test_bounds_that_make_no_sense_are_refused(window: float, epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        ExponentialHistogram(window, epsilon)
