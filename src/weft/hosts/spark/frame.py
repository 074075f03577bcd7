"""A frame of events: what its columns mean, and which of them travel to Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.hosts.spark.pushdown import Demand, column_of
from weft.hosts.spark.schemas import spark_type_of, value_type
from weft.pattern.normal_form import EVERY_TYPE
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.schema import LONG, TIMESTAMP, Schema, Type

TIME, TYPE, ID, CONTENT = "weft_time", "weft_type", "weft_id", "weft_content"  # columns on the way to Python
TIE, FLAGS, ATTRIBUTE = "weft_tie", "weft_flags", "weft_attribute"


@dataclass(frozen=True)
class EventFrame:
    """A frame of events and what its columns mean."""

    events: DataFrame
    schema: Schema
    time: str
    type: str | None
    id: str | None
    order_by: str | None
    types: Mapping[str, str]
    site: str | None = None

    @property
    def is_good(self) -> Column:
        """Whether a row has a time and, where there are such columns, a type, an id and a site."""
        condition = self.time_column.isNotNull()
        for name in self.required:
            condition &= column_of(name).isNotNull()
        return condition

    @property
    def required(self) -> list[str]:
        """The columns besides the time in which every event has a value."""
        return [name for name in (self.type, self.id, self.site) if name is not None]

    @property
    def id_type(self) -> pa.DataType:
        """The type that the ids of events have in matches: a number or a text."""
        kind = None if self.id is None else value_type(self.events.schema[self.id].dataType)
        return pa.int64() if kind == LONG else pa.string()

    @property
    def time_column(self) -> Column:
        return column_of(self.time).cast("timestamp")

    def is_of_type(self, names: Sequence[str]) -> Column:
        """Say whether a row is an event of one of the types."""
        if EVERY_TYPE in names:
            return F.lit(True)
        conditions = [
            F.coalesce(F.expr(self.types[name]).cast("boolean"), F.lit(False))
            for name in names
            if name in self.types
        ]
        plain = [name for name in names if name not in self.types]
        if plain and self.type is not None:
            conditions.append(column_of(self.type).isin(plain))
        return reduce(lambda a, b: a | b, conditions) if conditions else F.lit(False)


def wire_columns(demand: Demand, source: EventFrame) -> tuple[dict[str, Column], Layout]:
    """Return the columns that travel to Python for what plans ask of the events, and their meaning there."""
    type_names = sorted(demand.types - {EVERY_TYPE})
    derived = tuple(name for name in type_names if name in source.types)
    columns: dict[str, Column] = {TIME: F.unix_micros(source.time_column)}
    if source.type is not None:
        columns[TYPE] = column_of(source.type).cast("string")
    if source.id is not None:
        columns[ID] = column_of(source.id).cast(spark_type_of(source.id_type))
    else:
        columns[CONTENT] = F.xxhash64(*_hashable(source.events))
    if source.order_by is not None:
        columns[TIE] = _wire_column(source.order_by, source.schema.attributes[source.order_by])
    flags = _flag_columns(derived, source)
    columns |= flags
    attributes: dict[str, tuple[str, Type]] = {}
    for number, name in enumerate(sorted(demand.attributes)):
        kind = source.schema.type_of(name)
        if kind is None:
            raise ValueError(f"the queries mention the unknown attribute {name}")
        if name == source.time or (name == "time" and name not in source.schema.attributes):
            attributes[name] = (TIME, TIMESTAMP)
        else:
            columns[f"{ATTRIBUTE}{number}"] = _wire_column(name, kind)
            attributes[name] = (f"{ATTRIBUTE}{number}", kind)
    layout = Layout(
        time=TIME,
        type=TYPE if source.type is not None else None,
        id=ID if source.id is not None else None,
        content=None if source.id is not None else CONTENT,
        tie=TIE if source.order_by is not None else None,
        attributes=attributes,
        type_names=tuple(name for name in type_names if name not in derived),
        derived_types=derived,
        flags=tuple(flags),
        tie_type=None if source.order_by is None else source.schema.attributes[source.order_by],
    )
    return columns, layout


def select_columns(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Return columns of rows under the names given for them."""
    return rows.select(*(column.alias(name) for name, column in columns.items()))


def _flag_columns(derived: Sequence[str], source: EventFrame) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for start in range(0, len(derived), FLAGS_PER_COLUMN):
        bits = [
            F.when(source.is_of_type([name]), F.lit(1 << place)).otherwise(F.lit(0)).cast("long")
            for place, name in enumerate(derived[start : start + FLAGS_PER_COLUMN])
        ]
        columns[f"{FLAGS}{start}"] = reduce(lambda a, b: a.bitwiseOR(b), bits)
    return columns


def _wire_column(name: str, kind: Type) -> Column:
    column = column_of(name)
    match kind.kind:
        case "timestamp":
            return F.unix_micros(column.cast("timestamp"))
        case "long" | "double" | "string":
            return column.cast(kind.kind)
    return column


def _hashable(events: DataFrame) -> list[Column]:
    """Return the columns whose content identifies a row; Spark hashes no maps and variants."""
    unhashable = ("map", "variant")
    return [
        column_of(field.name)
        for field in events.schema.fields
        if not any(kind in field.dataType.simpleString() for kind in unhashable)
    ]


def count_rows(source: EventFrame) -> tuple[int, int]:
    """Return the number of events and of rejected rows."""
    counted = source.events.agg(
        F.count(F.when(source.is_good, F.lit(1))).alias("good"), F.count(F.lit(1)).alias("all")
    ).collect()[0]
    return counted["good"], counted["all"] - counted["good"]


def rejected_rows(source: EventFrame) -> DataFrame:
    """Return the rows without a time, a type, an id or a site, with the reason."""
    no_time = source.time_column.isNull()
    reason = F.when(no_time, F.lit(f"{source.time} is not a time"))
    for name in source.required:
        reason = reason.when(column_of(name).isNull(), F.lit(f"{name} is NULL"))
    return source.events.where(~source.is_good).withColumn("reason", reason)
