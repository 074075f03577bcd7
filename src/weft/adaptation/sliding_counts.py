"""What live statistics count in a sliding window: events of an item, and tuples that satisfy predicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.adaptation.exponential_histogram import ExponentialHistogram


class Share:
    """How many tuples were looked at, and how many of them held."""

    def __init__(self, window: float, epsilon: float, state: Sequence[Any] = ((), ())) -> None:
        self.looked, self.held = (ExponentialHistogram.from_json(one, window, epsilon) for one in state)

    def add(self, tick: int, n_looked: int, n_held: int) -> None:
        self.looked.add(tick, n_looked)
        self.held.add(tick, n_held)

    def value(self, tick: int, least: int) -> float | None:
        looked, held = self.looked.total(tick), self.held.total(tick)
        return min((held + 0.5) / (looked + 1), 1.0) if looked >= least else None

    def to_json(self) -> list[Any]:
        return [self.looked.to_json(), self.held.to_json()]


@dataclass
class Count:
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
