"""What the nodes of a plan count anyway, as statistics: rates of items, and how often conditions hold.

A join of single events looks at the pairs in its window and order, and keeps those that satisfy its
predicates: the share of these is the selectivity that a plan asks for. Joins of more than that, and those by
equality, tell it under conditions of their own. That something has changed can be told from these, too.
"""

from collections.abc import Iterator, Sequence

from weft.expressions import Comparison, Expression, variables_of
from weft.plan.dag import topological_order
from weft.plan.nearest import nearest_joins
from weft.plan.nodes import Filter, Join, Node, Plan, Scan, columns_of
from weft.runtime.budget import Meter
from weft.statistics.counted_step import CountedStep
from weft.statistics.model import ItemKey, Question, group_key
from weft.statistics.sampling import is_answerable, prepare


class PlanCounts:
    """Which nodes of a plan count what is asked for.

    >>> from weft.plan.nodes import Branch, Extent, Output
    >>> from weft.runtime.budget import Budget
    >>> pairs = Join(Scan("A"), Scan("B"), ((0, 1),), (), (), Extent("time", 9))
    >>> counts = PlanCounts(Plan((Output("q", (), (Branch(pairs, ("a", "b"), ()),)),)), [])
    >>> meter = Meter(Budget(), {})
    >>> meter.rows[Scan("A")] = 3
    >>> counts.of_step(meter).items
    {ItemKey(type='A', predicates=()): (3, 3)}
    """

    def __init__(self, plan: Plan, questions: Sequence[Question]) -> None:
        self.plan = plan
        digests = {asked.group: prepare(asked).digest for asked in questions if is_answerable(asked)}
        nodes, nearest = topological_order(plan), nearest_joins(plan)
        self._items = dict(_items_of(nodes))
        self._joins = [node for node in nodes if isinstance(node, Join) and node not in nearest]
        self._shares: dict[str, Join] = {}
        for join in self._joins:
            items = [_item_of(join.left), _item_of(join.right)]
            known = [item for item in items if item is not None]
            if len(known) == 2 and join.predicates and not _is_by_equality(join) and _is_in_time(join):
                digest = digests.get(group_key(known, join.predicates))
                if digest is not None:
                    self._shares.setdefault(digest, join)

    @property
    def digests(self) -> frozenset[str]:
        """The questions that are answered."""
        return frozenset(self._shares)

    def of_step(self, meter: Meter) -> CountedStep:
        """Return what was counted since a step began."""
        items = {
            item: (meter.rows[scan], meter.rows[node])
            for item, (scan, node) in self._items.items()
            if meter.rows[scan]
        }
        return CountedStep(
            items,
            {digest: _pairs_and_rows(meter, join) for digest, join in self._shares.items()},
            [(*_pairs_and_rows(meter, join), len(columns_of(join))) for join in self._joins],
        )


def _pairs_and_rows(meter: Meter, join: Join) -> tuple[int, int]:
    return meter.examined[join], meter.built[join]


def _items_of(nodes: Sequence[Node]) -> Iterator[tuple[ItemKey, tuple[Scan, Node]]]:
    """Yield the items of a plan, with the scan and what is left of it."""
    for node in nodes:
        item = _item_of(node)
        scan = node.input if isinstance(node, Filter) else node
        if item is not None and isinstance(scan, Scan):
            yield item, (scan, node)


def _item_of(node: Node) -> ItemKey | None:
    """Return the item whose events a node has, if it has single events."""
    match node:
        case Scan(type=name):
            return ItemKey(name)
        case Filter(input=Scan(type=name), predicates=predicates):
            return ItemKey(name, predicates)
    return None


def _is_by_equality(join: Join) -> bool:
    return any(map(_is_equality, join.predicates))


def _is_equality(predicate: Expression) -> bool:
    return (
        isinstance(predicate, Comparison) and predicate.operator == "=" and len(variables_of(predicate)) == 2
    )


def _is_in_time(join: Join) -> bool:
    return join.extent is None or join.extent.clock == "time"
