"""A frame of events: what its columns mean, and which of them travel to Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.hosts.demand import Demand
from weft.hosts.meaning import CONTENT, ID, TIE, TIME, TYPE, EventMeaning, EventRoles, flagged_types
from weft.hosts.spark.derived_types import condition_columns
from weft.hosts.spark.pushdown import column_of
from weft.hosts.spark.schemas import column_kinds, spark_type_of
from weft.hosts.spark.zones import in_utc, zoneless_columns
from weft.pattern.normal_form import EVERY_TYPE
from weft.runtime.columns.layout import Layout
from weft.schema import Type


@dataclass(frozen=True, kw_only=True)
class EventFrame(EventMeaning):
    """A frame of events and what its columns mean; the condition of a derived type is never NULL."""

    events: DataFrame
    zoneless: tuple[str, ...] = ()  # columns of times that had no zone

    @classmethod
    def open(cls, events: DataFrame, roles: EventRoles) -> "EventFrame":
        """Return the meaning of a frame whose columns have the roles, as far as these are there and fit."""
        zoneless = tuple(zoneless_columns(events.schema))
        events = in_utc(events)
        bound = cls.bind(column_kinds(events.schema), roles, events=events, zoneless=zoneless)
        return replace(bound, types=condition_columns(roles.types, bound.schema, events))

    @property
    def is_good(self) -> Column:
        """Whether a row has a time and, where there are such columns, a type, an id and a site."""
        condition = self.time_column.isNotNull()
        for name in self.required:
            condition &= column_of(name).isNotNull()
        return condition

    @property
    def time_column(self) -> Column:
        return column_of(self.time).cast("timestamp")

    def is_of_type(self, names: Sequence[str]) -> Column:
        """Say whether a row is an event of one of the types."""
        if EVERY_TYPE in names:
            return F.lit(True)
        conditions = [self.types[name] for name in names if name in self.types]
        plain = [name for name in names if name not in self.types]
        if plain and self.type is not None:
            conditions.append(column_of(self.type).isin(plain))
        return reduce(lambda a, b: a | b, conditions) if conditions else F.lit(False)


def wire_columns(demand: Demand, source: EventFrame) -> tuple[dict[str, Column], Layout]:
    """Return the columns that travel to Python for what plans ask of the events, and their meaning there."""
    layout = source.layout(demand)
    columns: dict[str, Column] = {TIME: F.unix_micros(source.time_column)}
    if source.type is not None:
        columns[TYPE] = column_of(source.type).cast("string")
    if source.id is not None:
        columns[ID] = column_of(source.id).cast(spark_type_of(source.id_type))
    else:
        columns[CONTENT] = F.xxhash64(*_hashable(source.events))
    if source.order_by is not None:
        columns[TIE] = _wire_column(source.order_by, source.schema.attributes[source.order_by])
    columns |= {name: _bits(types, source) for name, types in flagged_types(layout).items()}
    columns |= {
        column: _wire_column(name, kind)
        for name, (column, kind) in layout.attributes.items()
        if column != TIME
    }
    return columns, layout


def select_columns(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Return columns of rows under the names given for them."""
    return rows.select(*(column.alias(name) for name, column in columns.items()))


def _bits(types: Sequence[str], source: EventFrame) -> Column:
    """Return a number that has a bit for each of the derived types."""
    bits = [
        F.when(source.is_of_type([name]), F.lit(1 << place)).otherwise(F.lit(0)).cast("long")
        for place, name in enumerate(types)
    ]
    return reduce(lambda a, b: a.bitwiseOR(b), bits)


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


def rejected_rows(source: EventFrame) -> DataFrame:
    """Return the rows without a time, a type, an id or a site, with the reason."""
    no_time = source.time_column.isNull()
    reason = F.when(no_time, F.lit(f"{source.time} is not a time"))
    for name in source.required:
        reason = reason.when(column_of(name).isNull(), F.lit(f"{name} is NULL"))
    return source.events.where(~source.is_good).withColumn("reason", reason)
