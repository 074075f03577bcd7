"""What the engine does for a plan, in nanoseconds for each second of the stream.

Idea        A join reads the rows of its two parts, looks at the pairs within the window that equalities
            leave, and builds its rows; a filter reads rows. Every node has something to do in each batch
            besides.
Reference   Our own; `benchmarks/calibrate.py` measures the prices on this engine and how well they and
            the papers' cost agree with the clock.
Complexity  O(k + p) for a node of k items and p predicate groups.
"""

from dataclasses import dataclass, replace

import numpy as np

from weft.cost.model import PlanStep
from weft.cost.shape import Shape
from weft.kernels.matches.subsets import Prices, Tariff

NODE_PER_EVENT = 0.5  # nanoseconds: some 0.2 milliseconds for a node and a batch of 400,000 events


@dataclass(frozen=True, slots=True)
class Measured:
    """Nanoseconds for a node in a second, and for each row read, candidate pair, row built and row checked.

    >>> prices = Measured(fixed=0.0, row_in=1.0, candidate=2.0, row_out=10.0)
    >>> two = Shape(rates=(3.0, 2.0), before=(0, 0b01), window=1.0)
    >>> prices.node(two, PlanStep(0b11, 0b01, 0b10), 1.0)  # reads 5 rows, looks at 6 pairs, builds 6 rows
    77.0
    """

    fixed: float = 200.0
    row_in: float = 5.0
    candidate: float = 5.0
    row_out: float = 5.0
    row_checked: float = 100.0

    def at_rate(self, events_per_second: float) -> "Measured":
        """Return the prices for a stream: the busier it is, the more batches a node attends to."""
        return replace(self, fixed=NODE_PER_EVENT * events_per_second)

    def node(self, shape: Shape, step: PlanStep, window: float) -> float:
        """Return the nanoseconds that a node takes for a second of the stream."""
        if step.is_some:
            rows = shape.matches_per_second
            return self.fixed + self.row_in * sum(shape.rates) + (self.candidate + self.row_out) * rows
        rows = shape.rows_per_second(step.mask, window, checks=step.checks)
        if step.is_filter:
            return self.fixed + self.row_in * rows
        if step.is_check:
            return self.fixed + self.row_checked * rows
        if not step.left:
            return self.fixed
        left = shape.rows_per_second(step.left, window, checks=step.checks)
        right = shape.rows_per_second(step.right, window, checks=step.checks)
        shares = [shape.equality_share(mask) for mask in (step.mask, step.left, step.right)]
        pairs = left * right * window * shares[0] / (shares[1] * shares[2])
        return self.fixed + self.row_in * (left + right) + self.candidate * pairs + self.row_out * rows

    def prices(self, shape: Shape) -> Prices:
        """Return the rows per second of every subset, and the nanoseconds for each."""
        sizes = np.bitwise_count(np.arange(1 << shape.n_items)).astype(np.int64)
        rows = shape.all_instances * sizes / shape.window
        pair = self.candidate * shape.window
        tariff = Tariff(self.fixed, self.row_in, pair, self.row_out, self.row_checked)
        return Prices(
            rows, shape.all_equality_shares, shape.all_ready, shape.survivals, tariff, shape.all_ones
        )
