"""Tell in microseconds that no invariant is violated, which is what a check finds most of the time.

Every price is a sum of products of statistics: rates, selectivities and so on, each to some power. So all
sides of all conditions are one matrix times the exponentials of another one times the logarithms of the
statistics. Rounding may differ from the prices proper in the last digits; what is too near to a violation to
be told is left to these.
"""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from weft.adaptation.invariants import Invariant
from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import Array, Shape

NEAR = 1e-9  # relative: nearer to a violation than that, rounding might decide
LARGEST = 1e29  # prices are cut off above
SMALLEST = 1e-300  # what stands for 0, which has no logarithm


Powers: TypeAlias = tuple[float, ...]  # of each statistic, in a product
Term: TypeAlias = tuple[float, Powers]  # a factor and a product


class Terms:
    """The prices of the nodes of one pattern, as constants and sums of products of its statistics.

    Statistics stand in the order of rates, window, agreement, selectivities, equalities and survivals. What
    they are does not matter here, so one object serves a pattern for all times.
    """

    def __init__(self, shape: Shape, model: CostModel) -> None:
        self.model = model
        self._shape = shape
        self._known: dict[tuple[PlanStep, bool], tuple[float, list[Term]]] = {}
        self._rows: dict[tuple[int, int], Term] = {}

    def price(self, step: PlanStep, *, counts_matches: bool) -> tuple[float, list[Term]]:
        """Return what a node costs: a constant, and terms."""
        key = (step, counts_matches)
        if key not in self._known:
            self._known[key] = self._matches(step) if counts_matches else self._price(step)
        return self._known[key]

    def prices(self, wanted: Iterable[tuple[PlanStep, bool]]) -> tuple[Array, Array, Array]:
        """Return the constants of some nodes, their factors for each of some products, and the powers there.

        Nodes are given with whether their matches count.
        """
        found = [self.price(step, counts_matches=counts_matches) for step, counts_matches in wanted]
        places: dict[Powers, int] = {}
        entries = [
            (row, places.setdefault(powers, len(places)), factor)
            for row, (_, own) in enumerate(found)
            for factor, powers in own
        ]
        factors = np.zeros((len(found), len(places)))
        for row, place, factor in entries:
            factors[row, place] += factor
        return np.array([constant for constant, _ in found]), factors, np.array(list(places))

    def _matches(self, step: PlanStep) -> tuple[float, list[Term]]:
        return 0.0, [] if step.is_check or step.is_filter else [self._instances(step.mask, step.checks)]

    def _price(self, step: PlanStep) -> tuple[float, list[Term]]:
        model = self.model
        if not isinstance(model, Measured):
            return self._matches(step)
        factor, powers = self._rows_per_second(step.mask, step.checks)
        if step.is_filter or step.is_check:
            return model.fixed, [(factor * (model.row_in if step.is_filter else model.row_checked), powers)]
        if not step.left:
            return model.fixed, []
        sides = [self._rows_per_second(part, step.checks) for part in (step.left, step.right)]
        shares = [self._equality(mask) for mask in (step.mask, step.left, step.right)]
        pairs = tuple(
            one + other + whole - left - right
            for one, other, whole, left, right in zip(sides[0][1], sides[1][1], *shares, strict=True)
        )
        candidates = model.candidate * sides[0][0] * sides[1][0]
        read = [(model.row_in * side[0], side[1]) for side in sides]
        return model.fixed, [
            *read,
            (candidates, self._per_window(pairs, 1)),
            (model.row_out * factor, powers),
        ]

    def _instances(self, mask: int, checks: int) -> Term:
        """Return the partial matches of some items at a moment."""
        shape = self._shape
        passed = shape.ready(mask) & checks
        if (mask, passed) not in self._rows:
            n_items, inside = mask.bit_count(), [float(one.mask & ~mask == 0) for one in shape.groups]
            powers = [float(mask >> item & 1) for item in range(shape.n_items)]
            powers += [n_items, max(0, n_items - 1), *inside, *(0.0 for _ in inside)]
            powers += [float(passed >> number & 1) for number in range(len(shape.checks))]
            self._rows[mask, passed] = (shape.order_fraction(mask), tuple(powers))
        return self._rows[mask, passed]

    def _rows_per_second(self, mask: int, checks: int) -> Term:
        factor, powers = self._instances(mask, checks)
        return mask.bit_count() * factor, self._per_window(powers, -1)

    def _per_window(self, powers: Powers, exponent: int) -> Powers:
        place = self._shape.n_items
        return (*powers[:place], powers[place] + exponent, *powers[place + 1 :])

    def _equality(self, mask: int) -> Powers:
        """Return the share of the pairs that equalities leave among some items."""
        shape = self._shape
        inside = [float(one.mask & ~mask == 0) for one in shape.groups]
        n_zeros = shape.n_items + 1
        before, after = [0.0] * n_zeros, [0.0] * len(shape.checks)
        return (*before, max(0, mask.bit_count() - 1), *(0.0 for _ in inside), *inside, *after)


class QuickCheck:
    """The two sides of every invariant of a plan, ready to be compared under any statistics.

    >>> from weft.adaptation.invariants import select_invariants
    >>> from weft.optimizer.orders.greedy_order import greedy_decided
    >>> before, after = (Shape((100.0, 15.0, rate), (0, 0, 0), window=1.0) for rate in (10.0, 16.0))
    >>> watched = select_invariants(greedy_decided(before), before, PartialMatches())
    >>> check = QuickCheck(watched, Terms(before, PartialMatches()))
    >>> check.suspects(before, 0.0).tolist(), check.suspects(after, 0.0).tolist()
    ([], [0])
    """

    def __init__(self, watched: Sequence[Invariant], terms: Terms) -> None:
        self._n_watched = len(watched)
        self._rounding = np.array([1.0 + one.condition.rounding for one in watched])
        self._constants = np.zeros(2 * self._n_watched)
        numbers: dict[tuple[PlanStep, bool], int] = {}
        rows: list[int] = []
        priced: list[int] = []
        for number, invariant in enumerate(watched):
            condition = invariant.condition
            for row, side in ((number, condition.taken), (number + self._n_watched, condition.other)):
                self._constants[row] = side.constant
                for step in side.steps:
                    rows.append(row)
                    priced.append(numbers.setdefault((step, condition.counts_matches), len(numbers)))
        counts = np.zeros((2 * self._n_watched, len(numbers)))
        np.add.at(counts, (rows, priced), 1.0)
        constants, factors, self._exponents = terms.prices(numbers)
        self._constants += counts @ constants
        self._factors = counts @ factors

    def sides(self, shape: Shape) -> tuple[Array, Array]:
        """Return what the options taken cost under the statistics of a shape, and the others."""
        if not self._exponents.size:
            return self._constants[: self._n_watched], self._constants[self._n_watched :]
        statistics = [*shape.rates, shape.window, shape.agreement]
        statistics += [group.selectivity for group in shape.groups]
        statistics += [group.equality for group in shape.groups]
        statistics += [check.survival for check in shape.checks]
        logarithms = np.log(np.maximum(statistics, SMALLEST))
        sides = self._factors @ np.exp(self._exponents @ logarithms) + self._constants
        return sides[: self._n_watched], sides[self._n_watched :]

    def suspects(self, shape: Shape, distance: float) -> Array:
        """Return the numbers of the invariants that are violated, or may be."""
        taken, other = self.sides(shape)
        holds = taken < other * (self._rounding * ((1.0 + distance) * (1.0 - NEAR)))
        return np.flatnonzero(~(holds & (other < LARGEST)))


def terms_of(shape: Shape, model: CostModel) -> Terms | None:
    """Return the terms of a pattern, or None where prices are no sums of products.

    Lists are not: how many there are is a series.
    """
    is_known = isinstance(model, PartialMatches | Measured) and not shape.lists
    return Terms(shape, model) if is_known else None
