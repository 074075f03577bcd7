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

Term: TypeAlias = tuple[float, Array]  # a factor, and the powers of all statistics in a product


class Terms:
    """The prices of the nodes of one pattern, as sums of products of its statistics.

    Statistics stand in the order of rates, window, agreement, selectivities, equalities and survivals. What
    they are does not matter here, so one object serves a pattern for all times.
    """

    def __init__(self, shape: Shape, model: CostModel) -> None:
        self.model = model
        self._shape = shape
        self._none = np.zeros(shape.n_items + 2 + 2 * len(shape.groups) + len(shape.checks))
        self._window = self._none.copy()
        self._window[shape.n_items] = 1.0
        self._known: dict[tuple[PlanStep, bool], list[tuple[float, tuple[float, ...]]]] = {}

    def _terms(self, step: PlanStep, *, counts_matches: bool) -> list[tuple[float, tuple[float, ...]]]:
        """Return what a node costs."""
        key = (step, counts_matches)
        if key not in self._known:
            if isinstance(self.model, Measured) and not counts_matches:
                terms = self._price(step, self.model)
            else:
                terms = self._matches(step)
            self._known[key] = [(factor, tuple(powers.tolist())) for factor, powers in terms]
        return self._known[key]

    def prices(self, wanted: Iterable[tuple[PlanStep, bool]]) -> tuple[Array, Array]:
        """Return the factors of some nodes for each of some products, and the powers there; 0 is a constant.

        Nodes are given with whether their matches count.
        """
        terms = [self._terms(step, counts_matches=counts_matches) for step, counts_matches in wanted]
        places = {tuple(self._none.tolist()): 0}
        entries = [
            (row, places.setdefault(powers, len(places)), factor)
            for row, own in enumerate(terms)
            for factor, powers in own
        ]
        factors = np.zeros((len(terms), len(places)))
        for row, place, factor in entries:
            factors[row, place] += factor
        return factors, np.array(list(places))

    def _matches(self, step: PlanStep) -> list[Term]:
        return [] if step.is_check or step.is_filter else [self._instances(step.mask, step.checks)]

    def _price(self, step: PlanStep, model: Measured) -> list[Term]:
        fixed, (factor, powers) = (model.fixed, self._none), self._rows_per_second(step.mask, step.checks)
        if step.is_filter or step.is_check:
            return [fixed, (factor * (model.row_in if step.is_filter else model.row_checked), powers)]
        if not step.left:
            return [fixed]
        sides = [self._rows_per_second(part, step.checks) for part in (step.left, step.right)]
        whole, left, right = (self._equality(mask) for mask in (step.mask, step.left, step.right))
        pairs = sides[0][1] + sides[1][1] + self._window + whole - left - right
        return [
            fixed,
            *((model.row_in * rows, own) for rows, own in sides),
            (model.candidate * sides[0][0] * sides[1][0], pairs),
            (model.row_out * factor, powers),
        ]

    def _instances(self, mask: int, checks: int) -> Term:
        """Return the partial matches of some items at a moment."""
        shape, n_items = self._shape, mask.bit_count()
        passed = shape.ready(mask) & checks
        rates = [mask >> item & 1 for item in range(shape.n_items)]
        inside = [group.mask & ~mask == 0 for group in shape.groups]
        survivals = [passed >> number & 1 for number in range(len(shape.checks))]
        powers = [*rates, n_items, max(0, n_items - 1), *inside, *[0] * len(inside), *survivals]
        factor = shape.order_fraction(mask) * shape.corrections.get(mask, 1.0)
        return factor, np.array(powers, np.float64)

    def _rows_per_second(self, mask: int, checks: int) -> Term:
        factor, powers = self._instances(mask, checks)
        return mask.bit_count() * factor, powers - self._window

    def _equality(self, mask: int) -> Array:
        """Return the powers of the share of the pairs that equalities leave among some items."""
        first, groups = self._shape.n_items + 1, self._shape.groups
        powers = self._none.copy()
        powers[first] = max(0, mask.bit_count() - 1)
        after = first + 1 + len(groups)
        powers[after : after + len(groups)] = [group.mask & ~mask == 0 for group in groups]
        return powers


class QuickCheck:
    """The two sides of every invariant of a plan, ready to be compared under any statistics.

    >>> from weft.adaptation.invariants import select_invariants
    >>> from weft.optimizer.orders.greedy_order import decide_greedy_order
    >>> before, after = (Shape((100.0, 15.0, rate), (0, 0, 0), window=1.0) for rate in (10.0, 16.0))
    >>> watched = select_invariants(decide_greedy_order(before), before, PartialMatches())
    >>> check = QuickCheck(watched, Terms(before, PartialMatches()))
    >>> check.suspects(before, 0.0).tolist(), check.suspects(after, 0.0).tolist()
    ([], [0])
    """

    def __init__(self, watched: Sequence[Invariant], terms: Terms) -> None:
        conditions = [invariant.condition for invariant in watched]
        sides = [(condition.taken, condition.counts_matches) for condition in conditions]
        sides += [(condition.other, condition.counts_matches) for condition in conditions]
        numbers: dict[tuple[PlanStep, bool], int] = {}
        rows: list[int] = []
        priced: list[int] = []
        for row, (side, counts_matches) in enumerate(sides):
            rows += [row] * len(side.steps)
            priced += [numbers.setdefault((step, counts_matches), len(numbers)) for step in side.steps]
        counts = np.zeros((len(sides), len(numbers)))
        np.add.at(counts, (rows, priced), 1.0)
        factors, self._exponents = terms.prices(numbers)
        self._factors = counts @ factors
        self._factors[:, 0] += [side.constant for side, _ in sides]
        self._rounding = np.array([1.0 + condition.rounding for condition in conditions])

    def sides(self, shape: Shape) -> tuple[Array, Array]:
        """Return what the options taken cost under the statistics of a shape, and the others."""
        statistics = [*shape.rates, shape.window, shape.agreement]
        statistics += [group.selectivity for group in shape.groups]
        statistics += [group.equality for group in shape.groups]
        statistics += [check.survival for check in shape.checks]
        logarithms = np.log(np.maximum(statistics, SMALLEST))
        taken, other = (self._factors @ np.exp(self._exponents @ logarithms)).reshape(2, -1)
        return taken, other

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
