"""What plans ask of the events, and single-event predicates as Spark columns: unwanted rows stay behind.

Only what means exactly the same in Spark is pushed; the engine evaluates every predicate again, so
pushing less is always right.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, eq, ge, gt, invert, le, lt, ne, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from weft.expressions import (
    RANK,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
)
from weft.pattern.normal_form import EVERY_TYPE
from weft.plan.dag import topological_order
from weft.plan.nodes import Extent, Filter, MatchWalk, Plan, Scan, inputs_of
from weft.runtime.trends.executor import TrendPlan
from weft.schema import Type
from weft.tree import find

ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
    "/": F.try_divide,
    "%": F.try_mod,
}
COMPARISON: dict[str, Callable[[Column, Column], Column]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


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
        types = {scan.type for output in plan.outputs for scan in find(output, Scan)}
        counts = any(extent.clock == "position" for extent in extents) or EVERY_TYPE in types
        return Demand(frozenset(types), frozenset(names - {RANK}), counts)
    names = set()
    for template in plan.templates:
        automata = [automaton for automata in template.alternatives for automaton in automata]
        for part in (*template.items, *automata):
            names |= {attribute.name for attribute in find(part, Attribute)}
        names |= {column.name for column in template.columns if column.name is not None}
        names |= set(template.keys)
    items = (item for template in plan.templates for item in template.items)
    return Demand(frozenset(item.type for item in items), frozenset(names))


def demand_of_all(plans: Iterable[Plan | TrendPlan]) -> Demand:
    """Return what plans ask of the events together."""
    return reduce(or_, map(demand_of, plans), Demand(frozenset(), frozenset()))


def wanted_by(
    plans: Iterable[Plan | TrendPlan], is_of_type: Callable[[Sequence[str]], Column]
) -> Column | None:
    """Return the condition under which some plan may want a row; None when all are wanted.

    `is_of_type` says whether a row is of one of several types.
    """
    plans = list(plans)
    if demand_of_all(plans).counts:
        return None
    wanted: dict[str, list[Column | None]] = {}
    for name, predicates in dict.fromkeys(reading for plan in plans for reading in _readings(plan)):
        wanted.setdefault(name, []).append(_conjunction(predicates))
    whole, conditions = [], []
    for name, filters in sorted(wanted.items()):
        known = [column for column in filters if column is not None]
        if len(known) == len(filters):
            conditions.append(is_of_type([name]) & reduce(or_, known))
        else:
            whole.append(name)
    if whole:
        conditions.append(is_of_type(whole))
    return reduce(or_, conditions) if conditions else None


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
    for output in plan.outputs:
        for branch in output.branches:
            if isinstance(branch.node, Scan):
                yield branch.node.type, ()


def _conjunction(predicates: Iterable[Expression]) -> Column | None:
    columns = [column for column in map(to_column, predicates) if column is not None]
    return reduce(and_, columns) if columns else None


def to_column(expression: Expression) -> Column | None:
    """Return a bound expression on one event as a Spark column, or None when Spark may differ."""
    match expression:
        case Literal(value=value, type=kind):
            is_nan = isinstance(value, float) and value != value
            return None if value is None or is_nan or kind.kind == "decimal" else F.lit(value)
        case Attribute(name=name, place="each", type=Type() as kind):
            return _attribute(name, kind)
        case Cast(operand=operand, to=Type(kind="double")):
            return _apply(lambda column: column.cast("double"), operand)
        case Arithmetic(operator=operator, left=left, right=right):
            return _apply(ARITHMETIC[operator], left, right)
        case Comparison(operator=operator, left=left, right=right):
            return _apply(COMPARISON[operator], left, right)
        case And(operands=operands):
            return _apply(lambda *columns: reduce(and_, columns), *operands)
        case Or(operands=operands):
            return _apply(lambda *columns: reduce(or_, columns), *operands)
        case Not(operand=operand):
            return _apply(invert, operand)
        case IsNull(operand=operand):
            return _apply(lambda column: column.isNull(), operand)
        case InList(operand=operand, values=values):
            return _apply(lambda column, *options: column.isin(*options), operand, *values)
        case Like(operand=operand, pattern=pattern) if "\\" not in pattern:
            return _apply(lambda column: column.like(pattern), operand)
    return None


def _apply(function: Callable[..., Column], *operands: Expression) -> Column | None:
    """Apply a function to expressions as columns; None when Spark may differ in one of them."""
    columns = [to_column(operand) for operand in operands]
    return None if any(column is None for column in columns) else function(*columns)


def _attribute(name: str, kind: Type) -> Column | None:
    column = column_of(name)
    match kind.kind:
        case "timestamp":
            return F.unix_micros(column.cast("timestamp"))
        case "date":
            return F.unix_date(column)
        case "long" | "double":
            return column.cast(kind.kind)
        case "boolean" | "string":
            return column
    return None


def quote_column(name: str) -> str:
    """Return a column name as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def column_of(name: str) -> Column:
    """Return the column of that very name, dots and backticks included."""
    return F.col(quote_column(name))
