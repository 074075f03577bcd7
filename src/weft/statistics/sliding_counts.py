"""What live statistics count: events of an item, tuples that satisfy predicates, unwatched steps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Self

import numpy as np

from weft.runtime.columns.events import Array, Events
from weft.statistics.exponential_histogram import ExponentialHistogram

WINDOWS, LEAST_SECONDS = 4, 60.0  # that the sliding window lasts, with and without a longest window
FEW_HITS = 8  # tuples that satisfy predicates: with fewer, the share in a sample says little of a small share


def sliding_window(longest: float | None) -> float:
    """Return for how many seconds to remember: a few of the longest window.

    >>> sliding_window(600.0), sliding_window(0.1), sliding_window(None)
    (2400.0, 1.0, 60.0)
    """
    return LEAST_SECONDS if longest is None else max(WINDOWS * longest, 1.0)


class HitRate:
    """The share of the tuples looked at in a sliding window that satisfy predicates."""

    def __init__(self, window: float, epsilon: float, state: Sequence[Any] = ((), ())) -> None:
        self.looked, self.held = (
            ExponentialHistogram.from_json(buckets, window, epsilon) for buckets in state
        )

    def add(self, tick: int, n_looked: int, n_held: int) -> None:
        self.looked.add(tick, n_looked)
        self.held.add(tick, n_held)

    def value(self, tick: int, least: int, given: float | None = None) -> float | None:
        """Return the share, or None where fewer than the `least` tuples were looked at.

        Where few of them held, the share that was `given` stays as far as that does not contradict it: none
        of two thousand says that a share is small, not that it is more than the one in a million it was.

        >>> rate = HitRate(64, 0.1)
        >>> rate.add(1, 2000, 0)
        >>> rate.value(1, 100, given=1e-6), rate.value(1, 100, given=0.5)
        (1e-06, 0.0015)
        """
        looked, held = self.looked.total(tick), self.held.total(tick)
        if looked < least:
            return None
        if given is not None and held < FEW_HITS:
            apart = 2.0 * sqrt(held)  # two standard errors of a count; three are likely where none is found
            low, high = (held - apart) / looked, (held + apart + 3.0) / looked
            return min(max(given, low), high, 1.0)
        return min((held + 0.5) / (looked + 1), 1.0)

    def to_json(self) -> list[Any]:
        return [self.looked.to_json(), self.held.to_json()]


@dataclass
class ItemCount:
    """Events of an item, counted since a time in microseconds; None: since the first event.

    Those of its type are counted. `looked` and `held` say how many of them were looked at, the latest most,
    and how many of these satisfied its predicates.
    """

    histogram: ExponentialHistogram
    since: int | None = None
    looked: float = 1.0
    held: float = 1.0

    def look(self, n_looked: int, n_held: int, most: int) -> None:
        forgotten = min(1.0, most / (self.looked + n_looked))
        self.looked, self.held = forgotten * self.looked + n_looked, forgotten * self.held + n_held


@dataclass
class UnwatchedSteps:
    """The steps since the last that was watched: when, how many events of each type, and what they cost."""

    counts: dict[str, int] = field(default_factory=dict)
    n_events: int = 0
    since: int = 0
    until: int = 0
    cost: float = 0.0

    def add(self, events: Events, types: Iterable[str], cost: float) -> None:
        """Count the events of a step that cost so many nanoseconds.

        >>> import pyarrow as pa
        >>> from weft.runtime.columns.events import StringPool
        >>> times, codes, nothing = np.array([0, 10**6]), np.array([0, 1]), StringPool(pa.array([], "string"))
        >>> unwatched = UnwatchedSteps()
        >>> unwatched.add(Events(times, codes, ("A", "B"), {}, pa.array([1, 2]), nothing), ["A"], 5e6)
        >>> unwatched.counts, unwatched.n_events, unwatched.cost
        ({'A': 1}, 2, 5000000.0)
        """
        if not events.n_events:
            return
        first, last = int(events.times[0]), int(events.times[-1])
        self.since, self.until = (
            (min(self.since, first), max(self.until, last)) if self.n_events else (first, last)
        )
        for name, n_events in events.count_types(types).items():
            self.counts[name] = self.counts.get(name, 0) + n_events
        self.n_events += events.n_events
        self.cost += cost

    def spread(self, tick: int, most: int) -> tuple[Array, Array, Mapping[str, Array]]:
        """Return the latest ticks and an end, the events of each tick, and those by type: evenly spread."""
        first, last = self.since // tick, self.until // tick
        ticks = np.arange(max(first, last - most + 1), last + 2)
        each = np.full(ticks.size - 1, 1.0 / (last - first + 1))
        return ticks, self.n_events * each, {name: count * each for name, count in self.counts.items()}

    def to_json(self) -> list[Any]:
        """Return all of it as values of JSON, which later steps do not change."""
        return [dict(self.counts), self.n_events, self.since, self.until, self.cost]

    @classmethod
    def from_json(cls, state: Sequence[Any]) -> Self:
        """Return what `to_json` gave."""
        counts, *others = state
        return cls(dict(counts), *others)
