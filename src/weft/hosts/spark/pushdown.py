"""Single-event predicates as Spark columns: unwanted rows stay behind.

Only what means exactly the same in Spark is pushed; the engine evaluates every predicate again, so
pushing less is always right.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial, reduce
from operator import and_, eq, ge, gt, invert, le, lt, ne, or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from weft.expressions import (
    Absolute,
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
    Negate,
    Not,
    Or,
    type_of,
)
from weft.hosts.demand import readings_by_type
from weft.plan.nodes import Plan
from weft.runtime.trends.executor import TrendPlan
from weft.schema import EMITTED_DIGITS, Type

ARITHMETIC: dict[str, Callable[[Column, Column], Column]] = {
    "+": F.try_add,
    "-": F.try_subtract,
    "*": F.try_multiply,
    "/": F.try_divide,
    "%": F.try_mod,
}
MICROSECONDS_PER_DAY = 86_400_000_000
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
            return _literal(value, kind)
        case Attribute(name=name, place="each", type=Type() as kind):
            return _attribute(name, kind)
        case Cast(operand=operand, to=to):
            return _apply(partial(_cast, type_of(operand), to), operand)
        case Negate(operand=operand) | Absolute(operand=operand):
            is_size = isinstance(expression, Absolute)
            return _apply(partial(_size if is_size else _opposite, type_of(operand)), operand)
        case Arithmetic(operator=operator, left=left, right=right):
            return _arithmetic(operator, left, right)
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
        case Like(operand=operand, pattern=pattern):
            return _apply(lambda column: column.like(_like_of_spark(pattern)), operand)
    return None


def _apply(function: Callable[..., Column], *operands: Expression) -> Column | None:
    """Apply a function to expressions as columns; None when Spark may differ in one of them."""
    columns = [to_column(operand) for operand in operands]
    return None if any(column is None for column in columns) else function(*columns)


def _literal(value: Any, kind: Type) -> Column | None:
    if isinstance(value, float) and value != value:
        return None
    match kind.kind:
        case "decimal":
            return F.lit(value).cast(_decimal(kind.scale))
        case "double" | "boolean" | "string":
            return F.lit(value).cast(kind.kind)
    return F.lit(value).cast("long")


def _cast(origin: Type, to: Type, column: Column) -> Column:
    if to.kind == "double" and origin.kind == "decimal":  # as the engine has it: a long, divided
        unscaled = (column * F.lit(Decimal(10**origin.scale))).cast("long")
        return unscaled.cast("double") / F.lit(float(10**origin.scale))
    if to.kind == "decimal":
        return _within_long(column.cast(_decimal(to.scale)), to.scale)
    if to.kind == "timestamp" and origin.kind == "date":
        return column * F.lit(MICROSECONDS_PER_DAY)
    return column.cast(to.kind)


def _opposite(kind: Type, column: Column) -> Column:
    return -column if kind.kind in ("double", "decimal") else F.try_subtract(F.lit(0).cast("long"), column)


def _size(kind: Type, column: Column) -> Column:
    if kind.kind in ("double", "decimal"):
        return F.abs(column)
    return F.when(column < 0, _opposite(kind, column)).otherwise(column)


def _arithmetic(operator: str, left: Expression, right: Expression) -> Column | None:
    kind = type_of(left)
    if kind.kind != "decimal" or operator == "/":
        return _apply(ARITHMETIC[operator], left, right)
    if operator == "*" and not all(isinstance(side, Attribute | Literal) for side in (left, right)):
        return None  # more digits than a decimal of Spark has
    scale = kind.scale + type_of(right).scale if operator == "*" else kind.scale
    result = _apply(ARITHMETIC[operator], left, right)
    return None if result is None else _within_long(result.cast(_decimal(scale)), scale)


def _within_long(column: Column, scale: int) -> Column:
    """Return a decimal, NULL where the engine has none: its digits are a long there."""
    least, most = (Decimal(bound).scaleb(-scale) for bound in (-(2**63), 2**63 - 1))
    return F.when(column.between(F.lit(least), F.lit(most)), column)


def _decimal(scale: int) -> str:
    return f"decimal({EMITTED_DIGITS},{scale})"


def _like_of_spark(pattern: str) -> str:
    r"""Return a pattern that escapes only what Spark lets it escape.

    >>> print(_like_of_spark(r"\a\_%"))
    a\_%
    """
    characters = iter(pattern)
    parts = []
    for character in characters:
        escaped = next(characters, "") if character == "\\" else None
        if escaped is None:
            parts.append(character)
        else:
            parts.append(f"\\{escaped}" if escaped in ("%", "_", "\\") else escaped)
    return "".join(parts)


def _attribute(name: str, kind: Type) -> Column:
    column = column_of(name)
    match kind.kind:
        case "timestamp":
            return F.unix_micros(column.cast("timestamp"))
        case "date":
            return F.unix_date(column).cast("long")
        case "duration":
            seconds = column.cast("interval day to second").cast("interval second")
            return (seconds.cast("decimal(38,6)") * F.lit(Decimal(1_000_000))).cast("long")
        case "long" | "double":
            return column.cast(kind.kind)
        case "boolean" | "string" | "decimal":
            return column


def quote_column(name: str) -> str:
    """Return a column name as Spark reads it literally."""
    return "`" + name.replace("`", "``") + "`"


def column_of(name: str) -> Column:
    """Return the column of that very name, dots and backticks included."""
    return F.col(quote_column(name))
