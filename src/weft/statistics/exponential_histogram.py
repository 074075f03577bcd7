"""Sums over a sliding window of time in few buckets, with a bounded relative error.

Idea        Amounts of neighboring moments share a bucket as long as those that came after them outweigh it.
            Only the oldest bucket can lie across the edge of the window; half of it is counted.
Reference   Datar, Gionis, Indyk, Motwani. Maintaining Stream Statistics over Sliding Windows. SIAM Journal
            on Computing 31(6), 2002. doi:10.1137/S0097539701398363.
Differs     Amounts are numbers of any size, added at once and not one by one, so buckets have no sizes that
            are powers of two: two neighbors merge if they are at most 2 * epsilon of all that is newer. A
            bucket that holds one moment is never divided by the edge, however large it is. Amounts may
            come late: one that falls into a bucket of several moments counts as of its latest moment.
Complexity  At most 2 + 2 * log(N) / log(1 + 2 * epsilon) buckets, N the ratio of the sum of all buckets to
            the smallest amount, that is O(log(N) / epsilon); as much time for an addition and for a sum.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Self, TypeAlias

State: TypeAlias = list[list[float]]  # latest; then oldest, newest and amount of each bucket
OLDEST, NEWEST, AMOUNT = range(3)  # of a bucket


class ExponentialHistogram:
    """Amounts of the last `window` units of time, that is of moments in (now - window, now].

    The sum of a window is off by at most `epsilon` of the true one. With amounts that come at most
    d late, it lies between (1 - epsilon) times the true sum of this window and (1 + epsilon) times
    the true sum of a window that is longer by d.

    >>> histogram = ExponentialHistogram(window=100, epsilon=0.1)
    >>> for time in range(1_000):
    ...     histogram.add(time, 3)
    >>> histogram.total(999), histogram.n_buckets
    (288.0, 27)
    """

    def __init__(self, window: float, epsilon: float = 0.1) -> None:
        if not (window > 0 and 0 < epsilon < 1):
            raise ValueError(
                f"found a window of {window} and an epsilon of {epsilon}; the window must be more than 0, "
                "epsilon more than 0 and less than 1"
            )
        self.window = window
        self.epsilon = epsilon
        self._latest = -math.inf
        self._buckets: list[list[float]] = []

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return len(self._buckets)

    def add(self, time: float, amount: float) -> None:
        """Add an amount of one moment."""
        self.extend([(time, amount)])

    def extend(self, amounts: Iterable[tuple[float, float]]) -> None:
        """Add amounts of several moments, given as (time, amount)."""
        for time, amount in amounts:
            self._insert(time, amount)
        self._forget()
        self._merge()

    def total(self, now: float) -> float:
        """Return the sum of the window that ends now; no earlier than the latest moment that was added."""
        edge = max(now, self._latest) - self.window
        kept = (bucket for bucket in self._buckets if bucket[NEWEST] > edge)
        return sum((amount if oldest > edge else amount / 2 for oldest, _, amount in kept), 0.0)

    def rate_variance(self, now: float) -> float | None:
        """Return how much the amount of a unit of time varies between the buckets of the window.

        A bucket lasts from the end of the one before it to its own. Changes within a bucket do not
        count, so this is less than the variance between moments. None: fewer than two such buckets.
        """
        edge = max(now, self._latest) - self.window
        stretches = [
            (end - start, amount / (end - start))
            for (_, start, _), (_, end, amount) in pairwise(self._buckets)
            if start > edge and end > start
        ]
        if len(stretches) < 2:
            return None
        span = sum(length for length, _ in stretches)
        mean = sum(length * rate for length, rate in stretches) / span
        return sum(length * (rate - mean) ** 2 for length, rate in stretches) / span

    def to_json(self) -> State:
        """Return the buckets as lists of numbers.

        >>> histogram = ExponentialHistogram(window=10)
        >>> histogram.extend([(1, 2.5), (4, 1)])
        >>> histogram.to_json()
        [[4], [1, 1, 2.5], [4, 4, 1]]
        """
        return [] if self._latest == -math.inf else [[self._latest], *map(list, self._buckets)]

    @classmethod
    def from_json(cls, state: Sequence[Sequence[float]], window: float, epsilon: float = 0.1) -> Self:
        """Return the histogram whose state `to_json` gave."""
        histogram = cls(window, epsilon)
        if state:
            histogram._latest = state[0][0]
            histogram._buckets = list(map(list, state[1:]))
        return histogram

    def _insert(self, time: float, amount: float) -> None:
        if not (0 <= amount < math.inf and math.isfinite(time)):
            raise ValueError(f"found an amount of {amount} at {time}; amounts are finite and at least 0")
        self._latest = max(self._latest, time)
        if amount == 0 or time <= self._latest - self.window:
            return
        place = bisect_right(self._buckets, time, key=itemgetter(OLDEST))
        oldest, newest, _ = self._buckets[place - 1] if place else (time, time, 0.0)
        if oldest < newest and time <= newest:
            time = newest
            place += place < self.n_buckets and self._buckets[place][:AMOUNT] == [time, time]
        if place and self._buckets[place - 1][:AMOUNT] == [time, time]:
            self._buckets[place - 1][AMOUNT] += amount
        else:
            self._buckets.insert(place, [time, time, amount])

    def _forget(self) -> None:
        del self._buckets[: bisect_right(self._buckets, self._latest - self.window, key=itemgetter(NEWEST))]

    def _merge(self) -> None:
        """Merge neighbors, the newest first, wherever what is newer outweighs them."""
        newer = 0.0
        for place in range(self.n_buckets - 1, 0, -1):
            before, (_, newest, amount) = self._buckets[place - 1 : place + 1]
            if before[AMOUNT] + amount <= 2 * self.epsilon * newer:
                before[NEWEST:] = newest, before[AMOUNT] + amount
                del self._buckets[place]
            else:
                newer += amount
