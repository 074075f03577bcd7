"""Run queries on a host as they are written: items in the order of the pattern, equal parts once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.cost.shape import Shape
from weft.expressions import Aggregate, Attribute, Expression
from weft.hosts.divide import divide
from weft.hosts.host import GroupWork, Host, RunOptions, Write
from weft.hosts.results import result_columns
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.trees import Tree, order_tree
from weft.pattern.nodes import Event, Query
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.stages.task import ResultColumns
from weft.schema import Schema
from weft.statistics.model import ItemKey
from weft.tree import transform_up

EVENT_VARIABLE = "event"  # of a query for the events of a kind


@dataclass(frozen=True)
class QueryCounts:
    """How many matches each query has; those that were stopped, and why."""

    counts: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)


def count_queries(
    host: Host[Any], queries: Sequence[Query], budget: Budget, write: Write | None = None
) -> QueryCounts:
    """Run queries once and count their matches; `write` is given these.

    A query that exceeds the budget is stopped by itself. Queries whose events agree on keys are divided by
    themselves, so that those whose events do not agree leave them whole.
    """
    if not queries:
        return QueryCounts()
    options = RunOptions(columns=columns_of_queries(queries), budget=budget)
    keyed = [query for query in queries if query.keys]
    groups = [*divide(keyed), *divide([query for query in queries if not query.keys])]
    schema = host.source.schema
    work = [GroupWork(plan_as_written(group.queries, schema), group.division) for group in groups]
    results = host.run_groups(work, options)
    counted = host.count(results, write, kinds=())
    found = {name: count for group in counted for name, count in group.counts.items()}
    stopped = {
        name: next(iter(reasons.values())) for group in counted for name, reasons in group.stopped.items()
    }
    return QueryCounts({query.name: found.get(query.name, 0) for query in queries}, stopped)


def columns_of_queries(queries: Sequence[Query]) -> ResultColumns:
    """Return the columns of the matches of queries."""
    return result_columns(queries, ())


def plan_as_written(queries: Sequence[Query], schema: Schema) -> Plan:
    """Return the plan that joins the items of queries in the order of their patterns.

    A query whose pattern is the beginning of that of another is then a part of it.
    """
    weave = weave_for(schema, Planning(plan="share"))
    for query in queries:
        weave.add(query, lambda pattern: _order_of(pattern.shape))
    return plan_of_weave(weave, queries, schema)


def _order_of(shape: Shape) -> Tree:
    return order_tree(pattern_order(shape))


def count_events(host: Host[Any], kinds: Mapping[str, ItemKey], budget: Budget) -> QueryCounts:
    """Return how many events of each kind are in the input of a host, each event once.

    What the host cannot count by itself is counted by queries.
    """
    known = host.count_kinds(kinds)
    rest = kind_queries({name: kind for name, kind in kinds.items() if name not in known})
    counted = count_queries(host, list(rest.values()), budget)
    return QueryCounts({**known, **counted.counts}, counted.stopped)


def kind_queries(kinds: Mapping[str, ItemKey]) -> dict[str, Query]:
    """Return for each kind a query whose matches are its events.

    >>> from weft.expressions import IsNull
    >>> kind = ItemKey("A", (IsNull(Attribute("$0", "x")),))
    >>> kind_queries({"of A": kind})["of A"].where[0].operand.variable
    'event'
    """
    return {
        name: Query(
            name,
            Event(kind.type, EVENT_VARIABLE),
            tuple(about_variable(part, EVENT_VARIABLE) for part in kind.predicates),
        )
        for name, kind in kinds.items()
    }


def about_variable(condition: Expression, variable: str) -> Expression:
    """Return a condition on one event as one on the event of another variable."""

    def change(node: object) -> object:
        return replace(node, variable=variable) if isinstance(node, Attribute | Aggregate) else node

    return transform_up(condition, change)
