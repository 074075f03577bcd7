"""Single-event predicates as Spark columns: unwanted rows stay behind.

Only what means exactly the same in Spark is pushed; the engine evaluates every predicate again, so
pushing less is always right.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, eq, ge, gt, invert, le, lt, ne, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from weft.expressions import (
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
from weft.hosts.demand import readings_by_type
from weft.plan.nodes import Plan
from weft.runtime.trends.executor import TrendPlan
from weft.schema import Type

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


def wanted_by(
    plans: Iterable[Plan | TrendPlan], is_of_type: Callable[[Sequence[str]], Column]
) -> Column | None:
    """Return the condition under which some plan may want a row; None when all are wanted.

    `is_of_type` says whether a row is of one of several types.
    """
    readings = readings_by_type(plans)
    if readings is None:
        return None
    whole, conditions = [], []
    for name, conjunctions in readings.items():
        filters = [_conjunction(predicates) for predicates in conjunctions]
        known = [column for column in filters if column is not None]
        if len(known) == len(filters):
            conditions.append(is_of_type([name]) & reduce(or_, known))
        else:
            whole.append(name)
    if whole:
        conditions.append(is_of_type(whole))
    return reduce(or_, conditions) if conditions else None


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
