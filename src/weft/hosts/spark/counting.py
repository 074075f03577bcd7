"""Count the events of a frame by their kind: of a type, with conditions on them alone, each event once."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.hosts.meaning import ID, TIME
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.pushdown import column_of
from weft.hosts.spark.sampling import kind_condition
from weft.pattern.normal_form import EVERY_TYPE
from weft.statistics.model import ItemKey

TYPE_COLUMN, KIND_COLUMN = "weft_counted_type", "weft_counted_kind"


def count_types(source: EventFrame) -> dict[str, int]:
    """Return the number of events of each type."""
    derived = count_kinds(source, {name: ItemKey(name) for name in source.types})
    if source.type is None:
        return derived
    kind = column_of(source.type).cast("string")
    found = _distinct(source, {TYPE_COLUMN: kind}).groupBy(TYPE_COLUMN).count().collect()
    return {row[TYPE_COLUMN]: row["count"] for row in found} | derived


def count_kinds(source: EventFrame, kinds: Mapping[str, ItemKey]) -> dict[str, int]:
    """Return the number of events of those kinds whose conditions mean the same to Spark."""
    told = {name: kind_condition(source, kind) for name, kind in kinds.items()}
    exact = {name: condition for name, (condition, is_exact) in told.items() if is_exact}
    if not exact:
        return {}
    numbered = dict(enumerate(exact))
    conditions = {f"{KIND_COLUMN}{number}": exact[name] for number, name in numbered.items()}
    rows = _distinct(source, conditions, [kinds[name].type for name in exact])
    counts = rows.agg(*(F.count_if(F.col(column)).alias(column) for column in conditions)).collect()[0]
    return {name: counts[f"{KIND_COLUMN}{number}"] for number, name in numbered.items()}


def _distinct(
    source: EventFrame, columns: Mapping[str, Column], types: Sequence[str] = (EVERY_TYPE,)
) -> DataFrame:
    """Return columns of the events, each of which is there once, however often it was delivered."""
    rows = source.events.where(source.is_good & source.is_of_type(sorted(set(types))))
    counted = [column.alias(name) for name, column in columns.items()]
    if source.id is None:  # every row is an event
        return rows.select(*counted)
    identity = [source.time_column.alias(TIME), column_of(source.id).alias(ID)]
    return rows.select(*identity, *counted).dropDuplicates([TIME, ID])
