"""A cost model for tests that counts the pairs a join looks at, besides the partial matches."""

from dataclasses import dataclass

import numpy as np

from weft.cost.model import Prices, Step
from weft.cost.shape import Shape


@dataclass(frozen=True, slots=True)
class CandidatePairs:
    """Partial matches, and `weight` for each pair of rows that agree on equalities."""

    weight: float = 0.05

    def node(self, shape: Shape, step: Step, window: float) -> float:
        rows = shape.instances(step.mask, window, checks=step.checks)
        if step.is_check or not step.left:
            return 0.0 if step.is_check else rows
        left, right = (shape.instances(part, window) for part in (step.left, step.right))
        shares = [shape.equality_share(mask) for mask in (step.mask, step.left, step.right)]
        return rows + self.weight * left * right * shares[0] / (shares[1] * shares[2])

    def prices(self, shape: Shape) -> Prices:
        rows = shape.all_instances
        return Prices(rows, rows, shape.all_equality_shares, self.weight, np.zeros_like(rows))
