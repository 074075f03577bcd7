"""Choose few of the conditions behind a plan, those most likely to be violated, and watch them.

Idea        The tightest condition of each building block of a plan is its invariant: while all of them
            hold, the plan is taken to be the best; when one is violated, there is a better one.
Reference   Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB 11(11),
            2018: sections 3.1 (tightest conditions), 3.3 (K of them), 3.4 (the average relative
            difference as a distance) and 3.5 (the probability of a violation).
Differs     Section 3.5 leaves open how likely a violation is: here rates vary as in the latest window, or as
            arrivals at random do. The distance of section 3.4 is added to the side of the option not taken:
            an invariant is violated when the option taken costs more than (1 + d) times the other. The
            formula there has the factor on the other side, which would make invariants stricter; its text
            wants the opposite.
Complexity  O(c) prices of trees to choose from c conditions; O(K b) to verify those of b blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import erfc, fsum, hypot, sqrt

from weft.cost.model import CostModel, PlanStep
from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices
from weft.optimizer.orders.decided import ROUNDING, Block, Condition, Decided, Side


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition of a block that is watched, and what its two sides were when the plan was made."""

    block: int
    condition: Condition
    taken: float
    other: float


Tightness = Callable[[Invariant, CostModel], float]


def by_difference(invariant: Invariant, model: CostModel) -> float:  # noqa: ARG001
    """Return how far the two sides were apart: the paper's measure of tightness."""
    return invariant.other - invariant.taken


def by_violation_probability(shape: Shape, variances: Sequence[float]) -> Tightness:
    """Return a measure of tightness that knows how much the rate of each item varies.

    The difference of the sides is taken to be normally distributed around what it was. Its variance is the
    sum of the squares of what one standard deviation of each rate changes.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> condition = Condition(Side((PlanStep(0b01),)), Side((PlanStep(0b10),)), wins_ties=True)
    >>> tightness = by_violation_probability(Shape((9.0, 10.0), (0, 0), window=1.0), (0.36, 0.64))
    >>> round(-tightness(Invariant(3, condition, 9.0, 10.0), PartialMatches()), 4)  # one standard deviation
    0.1587
    """
    moved = []
    for item, variance in enumerate(variances):
        if variance > 0:
            rates = list(shape.rates)
            rates[item] += sqrt(variance)
            moved.append(replace(shape, rates=tuple(rates)))

    def tightness(invariant: Invariant, model: CostModel) -> float:
        sides = [invariant.condition.values(elsewhere, model) for elsewhere in moved]
        spread = hypot(*((other - taken) - (invariant.other - invariant.taken) for taken, other in sides))
        return -violation_probability(invariant.taken, invariant.other, spread)

    return tightness


def violation_probability(taken: float, other: float, spread: float) -> float:
    """Return how likely the option taken is to become dearer; `spread` is that of the difference.

    >>> violation_probability(9.0, 10.0, 0.0), violation_probability(10.0, 10.0, 3.0)
    (0.0, 0.5)
    >>> round(violation_probability(9.0, 10.0, 1.0), 4)  # one standard deviation
    0.1587
    """
    if spread == 0:
        return 0.0 if taken <= other else 1.0
    return 0.5 * erfc((other - taken) / (spread * sqrt(2.0)))


def still_best(running: Side, other: Side, shape: Shape, model: CostModel) -> Block:
    """Return what to watch where a plan runs though another would be chosen, which was not worth a change.

    The conditions of the other one do not tell when it is: they only say that it is still the best. By what
    the plan that runs is dearer already, it may be.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> before, after = (Shape((rate, 10.0), (0, 0), window=1.0) for rate in (11.0, 30.0))
    >>> block = still_best(Side((PlanStep(0b01),)), Side((PlanStep(0b10),)), before, PartialMatches())
    >>> [block.conditions[0].holds(shape, PartialMatches()) for shape in (before, after)]
    [True, False]
    """
    dearer = max(0.0, running.value(shape, model) - other.value(shape, model))
    allowed = replace(other, constant=other.constant + dearer)
    return Block(shape.everything, (Condition(running, allowed, wins_ties=True, rounding=ROUNDING),))


def select_invariants(
    decided: Decided,
    shape: Shape,
    model: CostModel,
    k: int | None = 1,
    tightness: Tightness = by_difference,
) -> tuple[Invariant, ...]:
    """Return the `k` tightest conditions of every block, or all of them; blocks in their order.

    The `k` tightest are among the `k + 1` tightest. Of those that are equally tight, the smallest difference
    counts.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.orders.greedy_order import decide_greedy_order
    >>> shape, model = Shape((100.0, 15.0, 10.0), (0, 0b001, 0b011), window=1.0), PartialMatches()
    >>> invariants = select_invariants(decide_greedy_order(shape), shape, model)
    >>> [(invariant.block, invariant.taken, invariant.other) for invariant in invariants]
    [(4, 10.0, 15.0), (6, 75.0, 500.0)]
    """
    if k is not None and k < 1:
        raise ValueError(f"found k = {k}, expected at least one invariant for a block, or None for all")
    prices = CachedPrices(model)
    chosen: list[Invariant] = []
    for block in decided.blocks:
        options = [
            Invariant(block.mask, condition, *condition.values(shape, prices))
            for condition in block.conditions
        ]
        if k is not None and len(options) > k:
            options.sort(key=lambda option: (tightness(option, model), by_difference(option, model)))
        chosen += options[:k]
    return tuple(chosen)


def average_relative_difference(decided: Decided, shape: Shape, model: CostModel) -> float:
    """Return how far the two sides of all conditions were apart on average, in relation to the smaller one.

    A side that costs nothing has no relative difference to one that does, and does not count. Costs that
    differ by magnitudes make the average large, and invariants with this distance insensitive.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.orders.greedy_order import decide_greedy_order
    >>> shape = Shape((20.0, 15.0, 10.0), (0, 0, 0), window=1.0)
    >>> average_relative_difference(decide_greedy_order(shape), shape, PartialMatches())  # 10/10, 5/10, 5/15
    0.611111111111111
    """
    prices = CachedPrices(model)
    sides = [
        sorted(condition.values(shape, prices)) for block in decided.blocks for condition in block.conditions
    ]
    differences = [
        (larger - smaller) / smaller if larger > smaller else 0.0
        for smaller, larger in sides
        if smaller > 0 or larger == smaller
    ]
    return fsum(differences) / len(differences) if differences else 0.0


class CachedPrices:
    """A cost model for the statistics of one moment, that prices no node twice."""

    def __init__(self, model: CostModel) -> None:
        self._model = model
        self._known: dict[PlanStep, float] = {}

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        """Return the cost of one node; shape and window are always the same."""
        if step not in self._known:
            self._known[step] = self._model.node(shape, step, window)
        return self._known[step]

    def prices(self, shape: Shape) -> Prices:
        """Return the prices of every subset."""
        return self._model.prices(shape)
