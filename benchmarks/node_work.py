"""What the nodes of a plan are expected to do for a second of events, and what they did in a run."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass

from weft.cost.measured import Measured
from weft.optimizer.pipeline import Optimized
from weft.plan.dag import topological_order
from weft.plan.nodes import Join, KleeneExpand, NegationCheck, Node, Plan, inputs_of
from weft.runtime.budget import Meter


@dataclass(frozen=True)
class Work:
    """What prices apply to: a node and a batch (or second), and rows and pairs of rows."""

    fixed: float = 0.0
    row_in: float = 0.0
    candidate: float = 0.0
    row_out: float = 0.0
    row_checked: float = 0.0

    def price(self, prices: Measured) -> float:
        """Return the nanoseconds of this work.

        >>> Work(fixed=1.0, candidate=10.0).price(Measured(fixed=5.0, candidate=2.0))
        25.0
        """
        each = (prices.fixed, prices.row_in, prices.candidate, prices.row_out, prices.row_checked)
        return float(sum(amount * price for amount, price in zip(astuple(self), each, strict=True)))


def expected_work(optimized: Optimized, seconds: float = 1.0) -> dict[Node, Work]:
    """Return what each node is expected to do for some seconds of the stream.

    Where equalities leave fewer pairs than the window does, that is not taken into account.
    """
    rows = {node: rate * seconds for node, rate in optimized.expected.items()}
    found = {}
    for node in topological_order(optimized.plan):
        extent = getattr(node, "extent", None)
        sources = [rows.get(source, 0.0) for source in inputs_of(node)]
        pairs = 0.0
        if isinstance(node, Join | KleeneExpand) and len(sources) == 2 and extent is not None:
            pairs = sources[0] * sources[1] * extent.length / 1e6 / seconds
        found[node] = _work(node, seconds, sources, pairs, rows)
    return found


def actual_work(plan: Plan, meter: Meter, n_batches: int) -> dict[Node, Work]:
    """Return what each node did in a run."""
    return {
        node: _work(
            node,
            float(n_batches),
            [float(meter.rows.get(source, 0)) for source in inputs_of(node)],
            float(meter.examined.get(node, 0)),
            meter.rows,
        )
        for node in topological_order(plan)
    }


def _work(node: Node, fixed: float, sources: list[float], pairs: float, rows: Mapping[Node, float]) -> Work:
    if isinstance(node, NegationCheck):
        return Work(fixed, row_checked=sources[0])
    if isinstance(node, Join | KleeneExpand):
        return Work(fixed, sum(sources), pairs, float(rows.get(node, 0)))
    return Work(fixed)


def expected_nanoseconds(optimized: Optimized) -> float:
    """Return how long a plan is expected to take for a second of the stream."""
    prices = Measured()
    return sum(work.price(prices) for work in expected_work(optimized).values())
