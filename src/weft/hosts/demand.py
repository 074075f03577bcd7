"""What plans ask of the events: their types, their attributes, and which of them may matter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

from weft.expressions import INTRINSIC, Aggregate, Attribute, Expression
from weft.pattern.normal_form import EVERY_TYPE
from weft.plan.dag import roots, topological_order
from weft.plan.nodes import Extent, Filter, MatchWalk, Plan, Scan, SubsetJoin, inputs_of
from weft.runtime.trends.executor import TrendPlan
from weft.tree import find


@dataclass(frozen=True, slots=True)
class Demand:
    """What plans ask of the events: types and attributes, and whether all of them count, of whatever type."""

    types: frozenset[str]
    attributes: frozenset[str]
    counts: bool = False

    def __or__(self, other: "Demand") -> "Demand":
        return Demand(
            self.types | other.types, self.attributes | other.attributes, self.counts or other.counts
        )


def demand_of(plan: Plan | TrendPlan) -> Demand:
    """Return what a plan, or the templates of trend queries, ask of the events."""
    if isinstance(plan, Plan):
        extents = list(find(plan, Extent))
        names = {attribute.name for attribute in find(plan, Attribute)}
        names |= {aggregate.name for aggregate in find(plan, Aggregate) if aggregate.name is not None}
        names |= {name for extent in extents for name in extent.partition_by}
        names |= {name for walk in find(plan, MatchWalk) for name in walk.keys}
        names |= {name for node in find(plan, SubsetJoin) for name in node.keys}
        types = {scan.type for output in plan.outputs for scan in find(output, Scan)}
        counts = any(extent.clock == "position" for extent in extents) or EVERY_TYPE in types
        return Demand(frozenset(types), frozenset(names - INTRINSIC), counts)
    names = set()
    for template in plan.templates:
        automata = [automaton for automata in template.alternatives for automaton in automata]
        for part in (*template.items, *automata):
            names |= {attribute.name for attribute in find(part, Attribute)}
        names |= {column.name for column in template.measured if column.name is not None}
        names |= set(template.keys)
    items = (item for template in plan.templates for item in template.items)
    return Demand(frozenset(item.type for item in items), frozenset(names))


def demand_of_all(plans: Iterable[Plan | TrendPlan]) -> Demand:
    """Return what plans ask of the events together."""
    return reduce(or_, map(demand_of, plans), Demand(frozenset(), frozenset()))


def readings_by_type(
    plans: Iterable[Plan | TrendPlan],
) -> dict[str, list[tuple[Expression, ...]]] | None:
    """Return how plans read the events of every type: what each reading asks of an event alone.

    An event is wanted when some reading of its type accepts it. None means that all events are wanted.
    """
    plans = list(plans)
    if demand_of_all(plans).counts:
        return None
    wanted: dict[str, list[tuple[Expression, ...]]] = {}
    for name, predicates in dict.fromkeys(reading for plan in plans for reading in _readings(plan)):
        wanted.setdefault(name, []).append(predicates)
    return dict(sorted(wanted.items()))


def _readings(plan: Plan | TrendPlan) -> Iterator[tuple[str, tuple[Expression, ...]]]:
    """Yield the types of the events that a plan reads, each with the predicates on such an event alone."""
    if isinstance(plan, TrendPlan):
        for template in plan.templates:
            yield from ((item.type, item.predicates) for item in template.items)
        return
    for node in topological_order(plan):
        for source in inputs_of(node):
            if isinstance(source, Scan):
                yield source.type, node.predicates if isinstance(node, Filter) else ()
    for root in roots(plan.outputs):
        if isinstance(root, Scan):
            yield root.type, ()
