"""The papers' cost: how many partial matches exist at a moment.

Idea        Every state of a plan holds the partial matches of its items; a plan costs their sum. It is
            a sum over states, so that of many patterns counts a shared state once.
Reference   Cost_ord and Cost_tree of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019, section 3.3 and appendix C.
Differs     The order of a sequence has its exact selectivity (1/k! for k events); lists and negations
            count as `Shape` says.
Complexity  O(k + p) for a state of k items and p predicate groups.
"""

from dataclasses import dataclass

from weft.cost.model import PlanStep
from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices, Tariff


@dataclass(frozen=True, slots=True)
class PartialMatches:
    """The number of partial matches that a node holds.

    >>> PartialMatches().node(Shape((2.0, 3.0), (0, 0), window=10.0), PlanStep(0b11, 0b01, 0b10), 10.0)
    600.0
    """

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        """Return the partial matches of a node at a moment; checks and filters keep none of their own."""
        if step.is_check or step.is_filter:
            return 0.0
        if step.is_some:
            return shape.combinations
        return shape.instances(step.mask, window, checks=step.checks)

    def prices(self, shape: Shape) -> Prices:
        """Return the partial matches of every subset; leaves and joins hold them."""
        shares, tariff = shape.all_equality_shares, Tariff(row_out=1.0, leaf=1.0)
        return Prices(shape.all_instances, shares, shape.all_ready, shape.survivals, tariff, shape.all_ones)
