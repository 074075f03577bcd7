"""What the operators of a plan count in a step, and when to draw tuples of what they do not."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from math import sqrt
from typing import Any, Self

from weft.statistics.model import ItemKey

MOVED, ERRORS = 0.2, 3.0  # the share by which a number moves, beyond so many standard errors of a count
TUPLE_ERRORS = 2.0
FADING = 0.5  # of what joins counted, with every step that is watched


@dataclass(frozen=True)
class CountedStep:
    """What the operators of a plan counted in a step.

    `items` are the rows of a type that were filtered for an item, and those that passed. `shares` are the
    pairs that a join looked at for a question, by its digest, and those in which it holds. `joins` are the
    pairs, the rows and the columns of every join.
    """

    items: Mapping[ItemKey, tuple[int, int]] = field(default_factory=dict)
    shares: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    joins: Sequence[tuple[int, int, int]] = ()


@dataclass
class Movement:
    """Rates, and what joins count, now and when tuples were drawn last.

    When one of them moves, all questions that nothing counts are `owed` an answer; events are collected for
    that `since` a time.

    >>> movement = Movement()
    >>> movement.mark([9.0])
    >>> movement.add([(100_000, 50_000, 2)])
    >>> movement.has_moved([10.0], 60.0), movement.has_moved([90.0], 60.0)
    (False, True)
    >>> movement.add([(100_000, 10_000, 2)])
    >>> movement.has_moved([10.0], 60.0)
    True
    """

    joins: list[list[float]] = field(default_factory=list)
    marked_rates: list[float] = field(default_factory=list)
    marked_joins: list[list[float]] = field(default_factory=list)
    owed: int = 0
    since: int | None = None

    def add(self, joins: Sequence[tuple[int, int, int]]) -> None:
        """Take what joins count in a step; other joins than before begin anew."""
        are_others = len(joins) != len(self.joins)
        if are_others:
            self.joins = [[0.0, 0.0, n_columns] for _, _, n_columns in joins]
        for sums, (looked, held, _) in zip(self.joins, joins, strict=True):
            sums[:2] = FADING * sums[0] + looked, FADING * sums[1] + held
        if are_others:
            self.marked_joins = [list(sums) for sums in self.joins]

    def mark(self, rates: Sequence[float]) -> None:
        """Take note of what the tuples that are drawn now stand for."""
        self.marked_rates, self.marked_joins = list(rates), [list(sums) for sums in self.joins]

    def has_moved(self, rates: Sequence[float], seconds: float) -> bool:
        """Say whether a rate or a join is another than then, by more than chance explains."""
        is_other_rate = any(
            abs(rate - before) > MOVED * before + ERRORS * sqrt(max(rate, before) / seconds)
            for rate, before in zip(rates, self.marked_rates, strict=True)
        )
        pairs = zip(self.joins, self.marked_joins, strict=True)
        return is_other_rate or any(_differ(now, then) for now, then in pairs if now[0] and then[0])

    def to_json(self) -> list[Any]:
        """Return all of it as values of JSON, which later steps do not change."""
        return list(astuple(self))

    @classmethod
    def from_json(cls, state: Sequence[Any]) -> Self:
        """Return what `to_json` gave."""
        joins, rates, marked, owed, since = state
        return cls([list(sums) for sums in joins], list(rates), [list(sums) for sums in marked], owed, since)


def _differ(now: Sequence[float], then: Sequence[float]) -> bool:
    """Say whether the shares of two counts of tuples differ by more than chance explains.

    An event is in many tuples: those of k events tell no more than their k-th root of events do.

    >>> _differ([1e4, 5200.0, 2], [1e4, 5000.0, 2]), _differ([1e4, 9000.0, 2], [1e4, 5000.0, 2])
    (False, True)
    """
    (looked, held, k), (looked_then, held_then, _) = now, then
    share, before = held / looked, held_then / looked_then
    pooled = (held + held_then) / (looked + looked_then)
    spread = pooled * sqrt(sum((pooled * tuples + 1.0) ** (-1.0 / k) for tuples in (looked, looked_then)))
    return abs(share - before) > MOVED * before + TUPLE_ERRORS * spread
