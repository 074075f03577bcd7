"""Stocks, patterns over them, and how many partial matches a plan is expected to build.

Events arrive as Poisson processes, `diff` is normal, and no event is compared twice in a pattern, so the
arithmetic is exact, except that the first and the last window of a finite stream see less.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np
from pattern_shapes import LONGEST_LIST, VARIABLES, Operator, Role, query_text

POINTS, WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True)
class Stock:
    """An event type: events per second, and mean and deviation of `diff` in thousandths of a dollar."""

    name: str
    rate: float
    mean: float
    spread: float


@dataclass(frozen=True)
class Comparison:
    """left.diff < right.diff, or >."""

    left: Stock
    operator: Literal["<", ">"]
    right: Stock

    @cached_property
    def selectivity(self) -> float:
        """The share of the pairs of events for which it holds.

        >>> a, b = Stock("A", 9.0, mean=0.0, spread=3.0), Stock("B", 9.0, mean=5.0, spread=4.0)
        >>> round(Comparison(a, "<", b).selectivity, 3), round(Comparison(a, ">", b).selectivity, 3)
        (0.841, 0.159)
        """
        less = (self.right.mean - self.left.mean) / math.hypot(self.left.spread, self.right.spread)
        return NormalDist().cdf(less if self.operator == "<" else -less)

    @property
    def reversed(self) -> "Comparison":
        return replace(self, operator=">" if self.operator == "<" else "<")


@dataclass(frozen=True)
class StockPattern:
    """SEQ or AND of stocks, as written; each has a role, and comparisons speak of single events only."""

    name: str
    operator: Operator
    stocks: tuple[Stock, ...]
    roles: tuple[Role, ...]
    comparisons: tuple[Comparison, ...]
    window_seconds: float

    @property
    def events(self) -> tuple[Stock, ...]:
        """The stocks of which a match binds a single event, in the order written."""
        return self._with_role("event")

    @property
    def negated(self) -> Stock | None:
        """The stock of which no event may come: in SEQ between its neighbors, in AND within the window."""
        return next(iter(self._with_role("negation")), None)

    @property
    def repeated(self) -> Stock | None:
        """The stock of which a match binds a list."""
        return next(iter(self._with_role("list")), None)

    def _with_role(self, role: Role) -> tuple[Stock, ...]:
        return tuple(stock for stock, own in zip(self.stocks, self.roles, strict=True) if own == role)

    @property
    def text(self) -> str:
        """The query in Weft's language."""
        variable = dict(zip(self.stocks, VARIABLES, strict=False))
        return query_text(
            self.name,
            self.operator,
            [(stock.name, role) for stock, role in zip(self.stocks, self.roles, strict=True)],
            [
                f"{variable[one.left]}.diff {one.operator} {variable[one.right]}.diff"
                for one in self.comparisons
            ],
            _duration_text(round(self.window_seconds * 1e6)),
        )


def _duration_text(microseconds: int) -> str:
    whole, rest = divmod(microseconds, 1000)
    return f"{microseconds} microseconds" if rest else f"{whole} milliseconds"


def expected_rows_pattern_order(pattern: StockPattern) -> list[float]:
    """Return the partial matches of two, three ... events built per second, in the order written.

    Lists come last and a negation is checked once the events beside it are bound, as Weft does.

    >>> a, b, c = (Stock(name, rate, 0.0, 1.0) for name, rate in (("A", 10.0), ("B", 20.0), ("C", 2.0)))
    >>> plain = StockPattern("p", "SEQ", (a, b, c), ("event",) * 3, (Comparison(a, "<", c),), 0.5)
    >>> expected_rows_pattern_order(plain)  # 10 * 20 * 0.5, then 10 * 20 * 2 * 0.5 ** 2 / 2! * 0.5
    [100.0, 25.0]
    >>> expected_rows_pattern_order(replace(plain, operator="AND"))  # 2! and 3! orders instead of one
    [200.0, 150.0]
    """
    events = pattern.events
    built = [
        _rows(pattern, events[:count], checked=events[: count - 1]) for count in range(2, len(events) + 1)
    ]
    return built if pattern.repeated is None else [*built, expected_matches(pattern)]


def expected_rows_best_order(pattern: StockPattern) -> float:
    """Return the fewest partial matches per second that joining one event after the other can build.

    It bounds plans that share nothing and join no two partial matches of several events each.
    """
    events = pattern.events
    fewest = {frozenset((event,)): 0.0 for event in events}
    for size in range(2, len(events) + 1):
        for bound in map(frozenset, combinations(events, size)):
            fewest[bound] = min(
                fewest[bound - {last}] + _rows(pattern, bound, checked=bound - {last}) for last in bound
            )
    lists = 0.0 if pattern.repeated is None else expected_matches(pattern)
    return fewest[frozenset(events)] + lists


def expected_matches(pattern: StockPattern) -> float:
    """Return the matches per second."""
    events = pattern.events
    if pattern.repeated is None:
        return _rows(pattern, events, checked=events)
    lists = 0.0
    for length in range(1, LONGEST_LIST + 1):
        # A list is so many more events; in AND, all orders of them are one list.
        volume = _volume(pattern.operator, len(events) + length, pattern.window_seconds)
        orders = math.factorial(length) if pattern.operator == "AND" else 1
        lists += pattern.repeated.rate**length * volume / orders
    return _density(pattern, events) * lists


def unavoidable_rows(pattern: StockPattern) -> float:
    """Return the rows per second of the largest table that every plan builds, matches or nearly so.

    All single events are bound in it; the lists are, or are not yet; the negation may be still to check.
    """
    return max(_rows(pattern, pattern.events, checked=()), expected_matches(pattern))


def _rows(pattern: StockPattern, bound: Collection[Stock], *, checked: Collection[Stock]) -> float:
    """Return the partial matches that bind some events, less those rejected when `checked` were bound."""
    window, negated = pattern.window_seconds, pattern.negated
    volume = _volume(pattern.operator, len(bound), window)
    if negated is not None and pattern.operator == "AND" and len(checked) == len(pattern.events):
        volume *= math.exp(-negated.rate * window)
    if negated is not None and pattern.operator == "SEQ":
        place = pattern.stocks.index(negated)
        if pattern.stocks[place - 1] in checked and pattern.stocks[place + 1] in checked:
            volume = _volume_around_gap(negated.rate, len(bound), window)
    return _density(pattern, bound) * volume


def _density(pattern: StockPattern, bound: Collection[Stock]) -> float:
    """Return the product of the rates and of the selectivities of events that are bound."""
    held = (one.selectivity for one in pattern.comparisons if one.left in bound and one.right in bound)
    return math.prod(stock.rate for stock in bound) * math.prod(held)


def _volume(operator: Operator, count: int, window: float) -> float:
    """Return the tuples of events per second within a window, were all rates 1.

    In order, n - 1 events follow a first one in window^(n-1) / (n-1)! ways; each of n! orders is as likely.
    """
    return window ** (count - 1) * (1 / math.factorial(count - 1) if operator == "SEQ" else count)


def _volume_around_gap(rate: float, count: int, window: float) -> float:
    """Return the same for SEQ when nothing that arrives at `rate` comes between two given neighbors.

    The gap g between these is empty with probability exp(-rate * g), and the n - 2 other gaps share the rest
    of the window; the integral over g is taken numerically.
    """
    gaps = (POINTS + 1) * window / 2
    others = (window - gaps) ** (count - 2) / math.factorial(count - 2)
    return float(WEIGHTS @ (np.exp(-rate * gaps) * others)) * window / 2
