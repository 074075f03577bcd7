"""A cost model for tests that counts the pairs a join looks at, besides the partial matches."""

from dataclasses import dataclass

from weft.cost.model import PlanStep
from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices, Tariff


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Partial matches, and `weight` for each pair of rows that agree on equalities."""

    weight: float = 0.05

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        if step.is_check:
            return 0.0
        rows = shape.instances(step.mask, window, checks=step.checks)
        if not step.left:
            return rows
        left, right = (shape.instances(part, window, checks=step.checks) for part in (step.left, step.right))
        shares = [shape.equality_share(mask) for mask in (step.mask, step.left, step.right)]
        return rows + self.weight * left * right * shares[0] / (shares[1] * shares[2])

    def prices(self, shape: Shape) -> Prices:
        tariff = Tariff(pair=self.weight, row_out=1.0, leaf=1.0)
        shares = shape.all_equality_shares
        return Prices(shape.all_instances, shares, shape.all_ready, shape.survivals, tariff, shape.all_ones)
