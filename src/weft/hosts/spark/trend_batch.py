"""Build the DataFrame of the results of trend queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - the name everybody knows

from weft.codec import to_json
from weft.expressions import Attribute
from weft.hosts.spark.batch import SHARD, Input, dealt, merge_columns, wire_columns
from weft.hosts.spark.partitioning import TrendShare
from weft.hosts.spark.pushdown import wanted_by_items
from weft.hosts.spark.trend_worker import TrendTask
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.runtime.trends.emit import result_type, trend_schema
from weft.tree import find


@dataclass(frozen=True)
class TrendColumns:
    """The columns of all trend queries: their types, and where each query's values are."""

    types: Mapping[str, pa.DataType]
    names: Mapping[str, tuple[str, ...]]

    @property
    def schema(self) -> T.StructType:
        """The schema of the results."""
        fields = trend_schema(self.types)
        return T.StructType([T.StructField(field.name, spark_type_of(field.type)) for field in fields])


def trend_columns(templates: Sequence[Template]) -> TrendColumns:
    """Give every column of every trend query a column of the results."""
    types = {one.query: {column.column: result_type(column) for column in one.columns} for one in templates}
    return TrendColumns(*merge_columns(types))


def aggregate_share(
    share: TrendShare,
    source: Input,
    columns: TrendColumns,
    sharing: Sharing,
    partitions: int | None,
    *,
    analyze: bool = False,
) -> DataFrame:
    """Return the results of one share of the trend queries.

    With `analyze`, the rows whose `query` is NULL say in `beyond` what sharing did in a shard.
    """
    items = [item for template in share.templates for item in template.items]
    sent, layout = wire_columns({item.type for item in items}, mentioned_in(share.templates), source)
    rows = source.events.where(source.is_good)
    wanted = wanted_by_items(items, source.is_of_type)
    rows = rows if wanted is None else rows.where(wanted)
    keys = set.intersection(*(set(template.keys) for template in share.templates))
    divided, slices = dealt(rows, sent, layout, share.division, partitions, source, sorted(keys))
    task = TrendTask(
        templates=to_json("templates", share.templates),
        layout=layout,
        sharing=sharing,
        columns=columns.types,
        names=columns.names,
        slices=slices,
        shard_column=None if slices is None else SHARD,
        analyze=analyze,
    )
    return divided.mapInArrow(task, columns.schema)


def mentioned_in(templates: Sequence[Template]) -> set[str]:
    """Return the attributes that the worker needs: of conditions, keys and columns."""
    names: set[str] = set()
    for template in templates:
        automata = [automaton for automata in template.alternatives for automaton in automata]
        for part in (*template.items, *automata):
            names |= {attribute.name for attribute in find(part, Attribute)}
        names |= {column.name for column in template.columns if column.name is not None}
        names |= set(template.keys)
    return names


def spark_type_of(kind: pa.DataType) -> T.DataType:
    """Return the Spark type of a column of results.

    >>> spark_type_of(pa.decimal128(38, 2))
    DecimalType(38,2)
    """
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return T.MapType(spark_type_of(kind.key_type), spark_type_of(kind.item_type))
    if pa.types.is_timestamp(kind):
        return T.TimestampType()
    return {
        pa.int64(): T.LongType(),
        pa.float64(): T.DoubleType(),
        pa.bool_(): T.BooleanType(),
        pa.string(): T.StringType(),
        pa.date32(): T.DateType(),
        pa.duration("us"): T.DayTimeIntervalType(),
    }[kind]
