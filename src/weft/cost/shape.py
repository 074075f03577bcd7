"""A pattern as numbers: what the cost models need to know of it, and the rows they expect.

Arrivals are taken to be Poisson and independent. Then, of k events with rates r and a window W, there
are W^k * r1 * ... * rk tuples at a moment, of which the order leaves the share of the orderings of k
events that keep it, and every predicate group its selectivity. All k times are uniform in the window,
so the room between neighbors, where a list or a negated event may lie, is one of k + 1 spacings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import prod
from operator import or_
from typing import Any

import numpy as np

from weft.kernels.matches.subsets import order_fractions

Array = np.ndarray[Any, np.dtype[Any]]

MOST_EXACT = 12  # items of a pattern up to which all subsets are looked at
MOST_ROWS = 1e30  # more than that is as bad
LONGEST_SERIES = 400
N_QUADRATURE = 256


@dataclass(frozen=True, slots=True)
class ListBounds:
    """How long a list may be, and how often consecutive elements and the whole satisfy its predicates.

    Lists that are runs pass nothing over.
    """

    least: int
    most: int | None
    edge: float = 1.0
    whole: float = 1.0
    are_runs: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Predicates between the items of a mask: how often they hold, and the equalities among them alone."""

    mask: int
    selectivity: float
    equality: float = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """A negation: the items it waits for, and the share of rows that pass it."""

    needs: int
    survival: float


@dataclass(frozen=True)
class Shape:
    """Rates in events per second, the order, selectivities, and the window in seconds.

    `before[i]` is the mask of the items that precede item i; `agreement` is how often two events
    agree on all keys of the pattern. `corrections` say of some masks how many times as many partial matches
    there are as all that would give. Of a pattern that `is_some`, every combination of items is a match.

    >>> chain = Shape(rates=(2.0, 3.0), before=(0, 0b01), window=10.0)
    >>> chain.instances(0b11, 10.0)  # 20 * 30 pairs, half of them in order
    300.0
    """

    rates: tuple[float, ...]
    before: tuple[int, ...]
    window: float
    groups: tuple[Group, ...] = ()
    agreement: float = 1.0
    lists: Mapping[int, ListBounds] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    corrections: Mapping[int, float] = field(default_factory=dict)
    is_some: bool = False

    @property
    def n_items(self) -> int:
        return len(self.rates)

    @property
    def everything(self) -> int:
        return (1 << self.n_items) - 1

    @cached_property
    def list_mask(self) -> int:
        return sum(1 << item for item in self.lists)

    @cached_property
    def _fractions(self) -> Array:
        return order_fractions(np.array(self.before, np.int64))

    def order_fraction(self, mask: int) -> float:
        """Return how many of the orderings of some items keep the pattern's order.

        Exact up to MOST_EXACT items; beyond, as if the order were a forest (Knuth's hook lengths).
        """
        if self.n_items <= MOST_EXACT:
            return float(self._fractions[mask])
        hooks = 1
        for item in items_of(mask):
            hooks *= 1 + (self.before[item] & mask).bit_count()
        return 1.0 / hooks

    def instances(self, mask: int, window: float, *, checks: int = -1) -> float:
        """Return how many partial matches of some items exist at a moment, the papers' measure.

        `checks` is a mask of the negations that have been applied; by default all that can be.
        """
        passed = self.ready(mask) & checks
        key = (mask, passed, window)
        rows = self._known_instances.get(key)
        if rows is None:
            rows = self._instances_before_checks(mask, window)
            for number in items_of(passed):
                rows *= self.checks[number].survival
            self._known_instances[key] = rows
        return rows

    @cached_property
    def _known_instances(self) -> dict[tuple[int, int, float], float]:
        """Planners and conditions ask for the same masks again and again."""
        return {}

    def ready(self, mask: int) -> int:
        """Return the negations that can be checked when the items of a mask are there."""
        if not self.checks:
            return 0
        return sum(1 << number for number, check in enumerate(self.checks) if not check.needs & ~mask)

    def _instances_before_checks(self, mask: int, window: float) -> float:
        plain = mask & ~self.list_mask
        if mask & (mask - 1) == 0 and not plain and self.list_mask != self.everything:
            return self.rates[mask.bit_length() - 1] * window  # elements, to be joined to something
        rows = self.order_fraction(plain)
        for item in items_of(plain):
            rows *= self.rates[item] * window
        for group in self.groups:
            if group.mask & ~plain == 0:
                rows *= group.selectivity
        n_plain = plain.bit_count()
        if n_plain > 1 and self.agreement < 1:
            rows *= self.agreement ** (n_plain - 1)
        for item in items_of(mask & self.list_mask):
            rows *= self.expected_lists(item, mask, window)
        return min(rows * self.corrections.get(mask, 1.0), MOST_ROWS)

    def rows_per_second(self, mask: int, window: float, *, checks: int = -1) -> float:
        """Return how many partial matches of some items come into being in a second.

        The k times of a tuple span at most W in k * W^(k-1) ways for every second, k for the one that
        is last.
        """
        n_members = mask.bit_count()
        return n_members * self.instances(mask, window, checks=checks) / window

    @property
    def combinations(self) -> float:
        """Return how many combinations of items exist at a moment.

        An item adds to those of the items before it as many as there are events, less those that conditions
        refuse; a condition concerns as many of them as have its other items.

        >>> Shape((2.0, 3.0), (0, 0), window=1.0, is_some=True).combinations  # 2 + 3 + 2 * 3
        11.0
        """
        total = 1.0
        for factor, _ in self._additions:
            total = min(total * factor, MOST_ROWS)
        return (total - 1.0) / self._least_agreement

    @property
    def matches_per_second(self) -> float:
        """Return how many matches of the whole pattern come into being in a second."""
        if not self.is_some:
            return self.rows_per_second(self.everything, self.window)
        n_items = sum(share for _, share in self._additions)  # of a combination, on average
        return min((self.combinations + 1.0 / self._least_agreement) * n_items / self.window, MOST_ROWS)

    @property
    def _least_agreement(self) -> float:
        return max(self.agreement, 1e-30)

    @cached_property
    def _additions(self) -> list[tuple[float, float]]:
        """For each item, one and the events that combine; how often a combination has it."""
        additions: list[tuple[float, float]] = []
        for item, rate in enumerate(self.rates):
            mean = rate * self.window * self.agreement
            for group in self.groups:
                if group.mask.bit_length() == item + 1:
                    concerned = prod(additions[other][1] for other in items_of(group.mask ^ 1 << item))
                    mean *= 1.0 - concerned * (1.0 - group.selectivity)
            additions.append((1.0 + mean, mean / (1.0 + mean)))
        return additions

    def expected_lists(self, item: int, mask: int, window: float) -> float:
        """Return how many lists of an item are expected for one choice of the other items of a mask.

        Of n other points in the window, d of the n + 1 spacings are open to the elements. The j-th
        moment of their length is W^j * d(d+1)...(d+j-1) / ((n+1)...(n+j)), and j elements in order fit
        into a length L in (r L)^j / j! ways.

        >>> alone = Shape(rates=(0.5,), before=(0,), window=2.0, lists={0: ListBounds(1, None)})
        >>> round(alone.expected_lists(0, 0b1, 2.0), 4)  # e - 1
        1.7183
        """
        bounds = self.lists[item]
        others = mask & ~(1 << item)
        points = (others & ~self.list_mask) | (others & self.list_mask & ((1 << item) - 1))
        after = sum(1 << other for other in items_of(points) if self.before[other] >> item & 1)
        n_points = points.bit_count()
        n_open = n_points + 1 - (points & (self.before[item] | after)).bit_count()
        mean = self.rates[item] * window
        for group in self.groups:
            if group.mask & ~mask == 0 and group.mask >> item & 1 and group.mask & others:
                mean *= group.selectivity
        if others and self.agreement < 1:
            mean *= self.agreement
        edge = bounds.edge if others or self.agreement == 1 else bounds.edge * self.agreement
        return bounds.whole * _series(mean, edge, n_open, n_points, bounds)

    def equality_share(self, mask: int) -> float:
        """Return how many pairs equalities leave among some items; these pairs alone are looked at."""
        share = self.agreement ** max(0, mask.bit_count() - 1)
        for group_mask, equality in self._equalities:
            if group_mask & ~mask == 0:
                share *= equality
        return max(share, 1e-30)

    @cached_property
    def _equalities(self) -> tuple[tuple[int, float], ...]:
        return tuple((group.mask, group.equality) for group in self.groups if group.equality != 1)

    def late_share(self, mask: int) -> float:
        """Return how often the last event of a match is among some items, as far as the order tells.

        >>> one_end = Shape(rates=(1.0, 1.0, 1.0), before=(0, 0b001, 0b001), window=1.0)
        >>> [one_end.late_share(mask) for mask in (0b001, 0b010, 0b110)]
        [0.0, 0.5, 1.0]
        """
        return sum(self._last_shares[item] for item in items_of(mask))

    @cached_property
    def _last_shares(self) -> tuple[float, ...]:
        """For each item, how many of the orderings that keep the order end with it."""
        preceding = reduce(or_, self.before)
        orderings = [
            0.0 if preceding >> item & 1 else self.order_fraction(self.everything ^ 1 << item)
            for item in range(self.n_items)
        ]
        return tuple(number / sum(orderings) for number in orderings)

    @cached_property
    def all_late_shares(self) -> Array:
        """The same for every subset."""
        masks, shares = np.arange(1 << self.n_items), np.zeros(1 << self.n_items)
        for item, share in enumerate(self._last_shares):
            shares[masks >> item & 1 == 1] += share
        return shares

    @cached_property
    def all_instances(self) -> Array:
        """The instances of every subset in the pattern's own window, before any check."""
        masks = np.arange(1 << self.n_items)
        rows = np.asarray(self._fractions[masks & ~self.list_mask])
        for item in range(self.n_items):
            if item not in self.lists:
                rows[masks >> item & 1 == 1] *= self.rates[item] * self.window
        for group in self.groups:
            if group.mask & self.list_mask == 0:
                rows[masks & group.mask == group.mask] *= group.selectivity
        if self.agreement < 1:
            n_plain = np.bitwise_count(masks & ~self.list_mask).astype(np.int64)
            rows *= self.agreement ** np.maximum(n_plain - 1, 0)
        for item in self.lists:
            for mask in masks[masks >> item & 1 == 1]:
                rows[mask] *= self.expected_lists(item, int(mask), self.window)
        for mask, factor in self.corrections.items():
            rows[mask] *= factor
        if self.list_mask != self.everything:
            for item in self.lists:
                rows[1 << item] = self.rates[item] * self.window
        return np.asarray(np.minimum(rows, MOST_ROWS))

    @cached_property
    def all_ones(self) -> Array:
        """A factor for every subset that changes nothing."""
        return np.ones(1 << self.n_items)

    @cached_property
    def all_equality_shares(self) -> Array:
        """The equality share of every subset."""
        masks = np.arange(1 << self.n_items)
        sizes = np.bitwise_count(masks).astype(np.int64)
        shares = self.agreement ** np.maximum(sizes - 1, 0).astype(np.float64)
        for group in self.groups:
            if group.equality < 1:
                shares[masks & group.mask == group.mask] *= group.equality
        return np.asarray(np.maximum(shares, 1e-30))

    @cached_property
    def all_ready(self) -> Array:
        """The negations that can be checked on every subset, as a mask."""
        masks = np.arange(1 << self.n_items)
        ready = np.zeros_like(masks)
        for number, check in enumerate(self.checks):
            ready[masks & check.needs == check.needs] |= 1 << number
        return ready

    @cached_property
    def survivals(self) -> Array:
        """The share of rows that passes each negation."""
        return np.array([check.survival for check in self.checks], np.float64)


def _series(mean: float, edge: float, n_open: int, n_points: int, bounds: ListBounds) -> float:
    if bounds.are_runs:  # about one for each element that may begin or end it
        return mean * min(1.0, (mean / bounds.least) ** bounds.least)
    total, term = 0.0, 1.0
    most = LONGEST_SERIES if bounds.most is None else min(bounds.most, LONGEST_SERIES)
    for length in range(1, most + 1):
        term *= mean / length * (n_open + length - 1) / (n_points + length)
        if length > 1:
            term *= edge
        if length >= bounds.least:
            total += term
        if total > MOST_ROWS or (length > mean and term < 1e-12 * total):
            break
    return min(total, MOST_ROWS)


def survival(rate: float, window: float, n_points: int, n_open: int) -> float:
    """Return how often no negated event lies in `n_open` of the spacings of a row.

    The last of the n events of a row ends the window, the others are uniform in it: so there are n
    spacings, and the length of d of them is Beta(d, n - d) distributed. The chance that nothing arrives
    in it is integrated with the midpoint rule, with most points near zero.

    >>> survival(rate=0.0, window=60.0, n_points=2, n_open=1)
    1.0
    >>> round(survival(rate=36.0, window=1.0, n_points=2, n_open=1), 4)  # 1/36: one spacing, uniform
    0.0278
    """
    mean = rate * window
    if n_open >= n_points or mean == 0:
        return float(np.exp(-mean))
    roots = (np.arange(N_QUADRATURE) + 0.5) / N_QUADRATURE
    lengths = roots**2
    density = lengths ** (n_open - 1) * (1 - lengths) ** (n_points - n_open - 1) * roots
    return float((density * np.exp(-mean * lengths)).sum() / density.sum())


def items_of(mask: int) -> Iterator[int]:
    """Yield the items of a mask in increasing order.

    >>> list(items_of(0b101))
    [0, 2]
    """
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
