"""A plan made ready to run: what does not depend on the events, worked out once."""

from collections.abc import Iterable, Iterator, Mapping

from weft.plan.dag import readers, topological_order
from weft.plan.extents import longest
from weft.plan.lags import Lags, lags_of
from weft.plan.nearest import nearest_joins
from weft.plan.nodes import (
    Chain,
    Extent,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    Project,
    SubsetJoin,
    list_columns,
)
from weft.plan.skipped import skipped_by
from weft.runtime.matches.chain import BoundChain
from weft.runtime.matches.join import BoundJoin
from weft.runtime.matches.kleene import BoundKleene
from weft.runtime.matches.nearest import bind_join
from weft.runtime.matches.negation import BoundAbsence, bind_negation
from weft.runtime.matches.retention import needs_of
from weft.runtime.matches.subset_join import BoundSubsetJoin


class Program:
    """A plan, its nodes in order, each bound to what runs it, and what readers need of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.order = topological_order(plan)
        self.readers = readers(plan)
        lags = lags_of(self.order)
        nearest = nearest_joins(plan)
        self.bound = {node: _bind(node, lags, nearest) for node in self.order}
        self.needs = needs_of(self.order, lags)
        self.reach = longest(need.reach for needs in self.needs.values() for need in needs)
        self.is_list = {node: list_columns(node) for node in self.order}
        self.counts_positions = any(
            extent is not None and extent.clock == "position" for extent in _extents(self.order)
        )
        self.skipped = {} if self.counts_positions else skipped_by(plan)


def _bind(
    node: Node, lags: Lags, nearest: Mapping[Join, int]
) -> BoundJoin | BoundSubsetJoin | BoundKleene | BoundAbsence | BoundChain | None:
    match node:
        case SubsetJoin():
            return BoundSubsetJoin(node)
        case Chain():
            return BoundChain(node)
        case Join():
            return bind_join(node, nearest.get(node))
        case KleeneExpand():
            return BoundKleene(node)
        case NegationCheck():
            return bind_negation(node, lags)
    return None


def _extents(nodes: Iterable[Node]) -> Iterator[Extent | None]:
    for node in nodes:
        if isinstance(node, Join | SubsetJoin | KleeneExpand | NegationCheck | Project):
            yield node.extent
