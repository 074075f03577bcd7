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
from collections.abc import Iterable, Sequence
from typing import Self, TypeAlias

State: TypeAlias = list[list[float]]  # latest; then oldest, newest and amount of each bucket


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
        self._oldest: list[float] = []
        self._newest: list[float] = []
        self._amounts: list[float] = []

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return len(self._amounts)

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
        found = 0.0
        for oldest, newest, amount in zip(self._oldest, self._newest, self._amounts, strict=True):
            if newest > edge:
                found += amount if oldest > edge else amount / 2
        return found

    def rate_variance(self, now: float) -> float | None:
        """Return how much the amount of a unit of time varies between the buckets of the window.

        A bucket lasts from the end of the one before it to its own. Changes within a bucket do not
        count, so this is less than the variance between moments. None: fewer than two such buckets.
        """
        edge = max(now, self._latest) - self.window
        stretches = [
            (end - start, amount / (end - start))
            for start, end, amount in zip(self._newest, self._newest[1:], self._amounts[1:], strict=False)
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
        if self._latest == -math.inf:
            return []
        buckets = zip(self._oldest, self._newest, self._amounts, strict=True)
        return [[self._latest], *map(list, buckets)]

    @classmethod
    def from_json(cls, state: Sequence[Sequence[float]], window: float, epsilon: float = 0.1) -> Self:
        """Return the histogram whose state `to_json` gave."""
        found = cls(window, epsilon)
        if state:
            found._latest = state[0][0]
            for oldest, newest, amount in state[1:]:
                found._oldest.append(oldest)
                found._newest.append(newest)
                found._amounts.append(amount)
        return found

    def _insert(self, time: float, amount: float) -> None:
        if not (0 <= amount < math.inf and math.isfinite(time)):
            raise ValueError(f"found an amount of {amount} at {time}; amounts are finite and at least 0")
        self._latest = max(self._latest, time)
        if amount == 0 or time <= self._latest - self.window:
            return
        place = len(self._amounts) - 1
        while place >= 0 and self._oldest[place] > time:
            place -= 1
        if place >= 0 and self._oldest[place] < self._newest[place] and time <= self._newest[place]:
            time = self._newest[place]
            if place + 1 < self.n_buckets and self._oldest[place + 1] == self._newest[place + 1] == time:
                place += 1
        if place >= 0 and self._oldest[place] == self._newest[place] == time:
            self._amounts[place] += amount
            return
        self._oldest.insert(place + 1, time)
        self._newest.insert(place + 1, time)
        self._amounts.insert(place + 1, amount)

    def _forget(self) -> None:
        edge = self._latest - self.window
        n_past = 0
        while n_past < self.n_buckets and self._newest[n_past] <= edge:
            n_past += 1
        del self._oldest[:n_past], self._newest[:n_past], self._amounts[:n_past]

    def _merge(self) -> None:
        """Merge neighbors, the newest first, wherever what is newer outweighs them."""
        newer = 0.0
        place = self.n_buckets - 1
        while place > 0:
            together = self._amounts[place - 1] + self._amounts[place]
            if together <= 2 * self.epsilon * newer:
                self._newest[place - 1] = self._newest[place]
                self._amounts[place - 1] = together
                del self._oldest[place], self._newest[place], self._amounts[place]
            else:
                newer += self._amounts[place]
            place -= 1
