"""The cost of plans by latency: work that has to wait for the last event of a match counts more.

Idea        What is joined before the last event of a match is there when it comes; a node that contains it
            has still to work before the match is told. So each node costs its work times 1 - w, and w times
            what waits of it: by how often the last event of a match is among its items.
Reference   Our own, after the latency cost of section 4.1 of Kolchinsky, Schuster. Join Query Optimization
            Techniques for Complex Event Processing Applications. PVLDB 11(11), 2018: there the partial
            matches that the last event is joined with, added to the cost of throughput with a weight.
Differs     The work itself is counted, by any cost model, and not partial matches alone. Where several
            items may come last, each counts as often as it does among the orderings of the pattern's items.
            Rows that a join reads may come early, so they do not wait, and the events cost what they do.
Complexity  That of the cost model.
"""

from dataclasses import dataclass, replace

from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices


@dataclass(frozen=True, slots=True)
class LateWork:
    """A cost model, and the weight of latency, from 0 (the cost as it is) to 1.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> model = LateWork(PartialMatches(), weight=0.75)
    >>> chain = Shape(rates=(2.0, 3.0, 1.0), before=(0, 0b001, 0b011), window=1.0)
    >>> [model.node(chain, PlanStep(0b011, 0b001, 0b010), 1.0), model.node(chain, PlanStep(0b110, 2, 4), 1.0)]
    [0.75, 1.5]
    """

    model: CostModel
    weight: float

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        """Return what a node costs; what waits of it may be a node of its own."""
        work = self.model.node(shape, step.whole, window)
        if not step.left:
            return work
        late = shape.late_share(step.mask) if step.late is None else step.late
        waiting = self.weight * late * (self._waiting.node(shape, step.whole, window) if step.right else work)
        return waiting if step.is_wait else (1.0 - self.weight) * work + waiting

    @property
    def _waiting(self) -> CostModel:
        """What joins do besides reading rows."""
        return replace(self.model, row_in=0.0) if isinstance(self.model, Measured) else self.model

    def prices(self, shape: Shape) -> Prices:
        """Return the same for every subset, in the pattern's own window."""
        rows, equal, ready, survivals, tariff, factors = self.model.prices(shape)
        early = 1.0 - self.weight
        late = factors * (early + self.weight * shape.all_late_shares)
        return Prices(rows, equal, ready, survivals, tariff._replace(row_in=early * tariff.row_in), late)
