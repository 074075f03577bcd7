"""What plans ask of the events, and single-event predicates as Spark columns: unwanted rows stay behind.

Only what means exactly the same in Spark is pushed; the engine evaluates every predicate again, so
pushing less is always right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.expressions import (
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
from weft.plan.dag import topological_order
from weft.plan.nodes import Extent, Filter, Plan, Scan, inputs_of
from weft.plan.template import TrendItem
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
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
PLAIN_KINDS = ("long", "double", "boolean", "string")


@dataclass(frozen=True, slots=True)
class Demand:
    """What plans ask of the events: types and attributes, and whether all of them count."""

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
        types = {scan.type for output in plan.outputs for scan in find(output, Scan)}
        return Demand(frozenset(types), frozenset(names), any(e.clock == "position" for e in extents))
    names = set()
    for template in plan.templates:
        automata = [automaton for automata in template.alternatives for automaton in automata]
        for part in (*template.items, *automata):
            names |= {attribute.name for attribute in find(part, Attribute)}
        names |= {column.name for column in template.columns if column.name is not None}
        names |= set(template.keys)
    items = (item for template in plan.templates for item in template.items)
    return Demand(frozenset(item.type for item in items), frozenset(names))


def wanted_by(
    plans: Iterable[Plan | TrendPlan], is_of_type: Callable[[Sequence[str]], Column]
) -> Column | None:
    """Return the condition under which some plan may want a row; None when all are wanted.

    `is_of_type` says whether a row is of one of several types.
    """
    conditions: list[Column | None] = []
    plans = list(plans)
    if any(demand_of(plan).counts for plan in plans):
        return None
    outputs = tuple(output for plan in plans if isinstance(plan, Plan) for output in plan.outputs)
    if outputs:
        conditions.append(_wanted_rows(Plan(outputs), is_of_type))
    templates = [one for plan in plans if isinstance(plan, TrendPlan) for one in plan.templates]
    if templates:
        items = [item for template in templates for item in template.items]
        conditions.append(_wanted_by_items(items, is_of_type))
    known = [condition for condition in conditions if condition is not None]
    return reduce(lambda a, b: a | b, known) if known and len(known) == len(conditions) else None


def _wanted_rows(plan: Plan, is_of_type: Callable[[Sequence[str]], Column]) -> Column | None:
    """Return the condition under which some scan of the plan may want a row; None when all are wanted."""
    wanted: dict[str, list[Column | None]] = {}
    for node in topological_order(plan):
        for source in inputs_of(node):
            if isinstance(source, Scan):
                pushed = _pushed(node.predicates) if isinstance(node, Filter) else None
                wanted.setdefault(source.type, []).append(pushed)
        if isinstance(node, Scan):
            wanted.setdefault(node.type, [])
    for output in plan.outputs:
        for branch in output.branches:
            if isinstance(branch.node, Scan):
                wanted[branch.node.type].append(None)
    return _any_of(wanted, is_of_type)


def _wanted_by_items(
    items: Iterable[TrendItem], is_of_type: Callable[[Sequence[str]], Column]
) -> Column | None:
    """Return the condition under which some item of a trend query may want a row."""
    wanted: dict[str, list[Column | None]] = {}
    for item in dict.fromkeys(items):
        wanted.setdefault(item.type, []).append(_pushed(item.predicates))
    return _any_of(wanted, is_of_type)


def _any_of(
    wanted: Mapping[str, Sequence[Column | None]], is_of_type: Callable[[Sequence[str]], Column]
) -> Column | None:
    """Return that a row is of one of the types and satisfies one of its conditions; None is any row."""
    whole, conditions = [], []
    for name, filters in sorted(wanted.items()):
        known = [column for column in filters if column is not None]
        if known and len(known) == len(filters):
            conditions.append(is_of_type([name]) & reduce(lambda a, b: a | b, known))
        else:
            whole.append(name)
    if whole:
        conditions.append(is_of_type(whole))
    return reduce(lambda a, b: a | b, conditions) if conditions else None


def _pushed(predicates: Iterable[Expression]) -> Column | None:
    columns = [column for column in map(to_column, predicates) if column is not None]
    return reduce(lambda a, b: a & b, columns) if columns else None


def to_column(expression: Expression) -> Column | None:
    """Return a bound expression on one event as a Spark column, or None when Spark may differ."""
    match expression:
        case Literal(value=value, type=kind):
            return _literal(value, kind)
        case Attribute(name=name, place="each", type=Type() as kind):
            return _attribute(name, kind)
        case Cast(operand=operand, to=Type(kind="double")):
            column = to_column(operand)
            return None if column is None else column.cast("double")
        case Arithmetic(operator=operator, left=left, right=right):
            return _combined(ARITHMETIC[operator], left, right)
        case Comparison(operator=operator, left=left, right=right):
            return _combined(COMPARISON[operator], left, right)
        case And(operands=operands):
            return _all(operands, lambda a, b: a & b)
        case Or(operands=operands):
            return _all(operands, lambda a, b: a | b)
        case Not(operand=operand):
            column = to_column(operand)
            return None if column is None else ~column
        case IsNull(operand=operand):
            column = to_column(operand)
            return None if column is None else column.isNull()
        case InList(operand=operand, values=values):
            column = to_column(operand)
            options = [_literal(literal.value, literal.type) for literal in values]
            if column is None or any(option is None for option in options):
                return None
            return column.isin([option for option in options if option is not None])
        case Like(operand=operand, pattern=pattern) if "\\" not in pattern:
            column = to_column(operand)
            return None if column is None else column.like(pattern)
    return None


def _literal(value: object, kind: Type) -> Column | None:
    if value is None or kind.kind == "decimal" or isinstance(value, float) and value != value:
        return None
    return F.lit(value)


def _attribute(name: str, kind: Type) -> Column | None:
    column = F.col(quoted(name))
    if kind.kind == "timestamp":
        return F.unix_micros(column.cast("timestamp"))
    if kind.kind == "date":
        return F.unix_date(column)
    if kind.kind == "long":
        return column.cast("long")
    if kind.kind == "double":
        return column.cast("double")
    return column if kind.kind in PLAIN_KINDS else None


def _combined(
    combine: Callable[[Column, Column], Column], left: Expression, right: Expression
) -> Column | None:
    a, b = to_column(left), to_column(right)
    return None if a is None or b is None else combine(a, b)


def _all(operands: tuple[Expression, ...], combine: Callable[[Column, Column], Column]) -> Column | None:
    columns = [to_column(operand) for operand in operands]
    known = [column for column in columns if column is not None]
    return reduce(combine, known) if len(known) == len(columns) else None


def quoted(name: str) -> str:
    """Return a column name as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"
