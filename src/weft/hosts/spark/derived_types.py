"""Types that are derived from other columns, as conditions of Spark."""

from collections.abc import Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.errors import DataError, QueryError
from weft.hosts.spark.pushdown import to_column
from weft.language.conditions import parse_condition
from weft.schema import Schema


def condition_columns(types: Mapping[str, Any], schema: Schema, events: DataFrame) -> dict[str, Column]:
    """Return for each type the condition under which a row is an event of it, false where that is NULL.

    A condition is a column, or a text: of our language, or else of Spark SQL.
    """
    return {
        name: F.coalesce(_column_of(name, condition, schema, events).cast("boolean"), F.lit(False))
        for name, condition in types.items()
    }


def _column_of(name: str, condition: Any, schema: Schema, events: DataFrame) -> Column:
    if not isinstance(condition, str):
        if hasattr(condition, "isNotNull"):  # a column, classic or of Spark Connect
            column: Column = condition
            return column
        raise DataError(
            f"the condition of the type {name} is {condition!r}\n"
            f'  hint: give a text such as "volume > 10000", or a column of Spark'
        )
    try:
        predicate = parse_condition(condition, schema, origin=f"type {name}")
    except QueryError:
        if not _is_sql(condition, events):
            raise
        return F.expr(condition)
    own = to_column(predicate)
    if own is None:
        raise DataError(
            f"type {name}: Spark cannot tell where {condition} holds as our language means it\n"
            "  hint: multiply no decimals, or give the condition as a column of Spark"
        )
    return own


def _is_sql(text: str, events: DataFrame) -> bool:
    """Return whether Spark understands a text as a condition on some rows."""
    try:
        _ = events.select(F.expr(text).cast("boolean")).schema
    except PySparkException:
        return False
    return True
