"""Build the DataFrame of matches: prune, filter, divide, hand to Python, collect."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.codec import to_json
from weft.expressions import Aggregate, Attribute
from weft.hosts.spark.partitioning import ByKey, ByTime, Division, Share, Slices, slice_time
from weft.hosts.spark.pushdown import quoted, wanted_rows
from weft.hosts.spark.schemas import spark_type, value_type
from weft.hosts.spark.worker import ShardTask
from weft.pattern.nodes import Query
from weft.plan.nodes import Extent, Plan, Scan
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.schema import TIMESTAMP, Schema, Type
from weft.tree import find

ColumnType = TypeVar("ColumnType")

TIME, TYPE, ID, CONTENT, TIE, FLAGS, SHARD, ATTRIBUTE = (  # columns on the way to Python
    "weft_time",
    "weft_type",
    "weft_id",
    "weft_content",
    "weft_tie",
    "weft_flags",
    "weft_shard",
    "weft_attribute",
)


@dataclass(frozen=True)
class Input:
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
            condition &= F.col(quoted(name)).isNotNull()
        return condition

    @property
    def required(self) -> list[str]:
        """The columns besides the time in which every event has a value."""
        return [name for name in (self.type, self.id, self.site) if name is not None]

    @property
    def time_column(self) -> Column:
        return F.col(quoted(self.time)).cast("timestamp")

    def is_of_type(self, names: Sequence[str]) -> Column:
        """Say whether a row is an event of one of the types."""
        conditions = [
            F.coalesce(F.expr(self.types[name]).cast("boolean"), F.lit(False))
            for name in names
            if name in self.types
        ]
        plain = [name for name in names if name not in self.types]
        if plain and self.type is not None:
            conditions.append(F.col(quoted(self.type)).isin(plain))
        return reduce(lambda a, b: a | b, conditions) if conditions else F.lit(False)


@dataclass(frozen=True)
class Returned:
    """The RETURN columns of a workload: their types, and where each query's values are."""

    types: Mapping[str, Type]
    names: Mapping[str, tuple[str, ...]]


def detect_share(
    plan: Plan,
    share: Share,
    source: Input,
    returned: Returned,
    budget: Budget,
    partitions: int | None,
    *,
    analyze: bool = False,
) -> DataFrame:
    """Return the matches of one share of the queries, found by their plan.

    With `analyze`, the rows whose `query` is NULL say in `match_id` what a node did in a shard.
    """
    columns, layout = wire(plan, source)
    rows = source.events.where(source.is_good)
    if not _counts_positions(plan):
        wanted = wanted_rows(plan, source.is_of_type)
        rows = rows if wanted is None else rows.where(wanted)
    divided, slices = dealt(rows, columns, layout, share.division, partitions, source)
    task = ShardTask(
        plan=to_json("plan", plan),
        layout=layout,
        budget=budget,
        id_is_text=id_is_text(source),
        returned=returned.types,
        return_names=returned.names,
        slices=slices,
        shard_column=None if slices is None else SHARD,
        analyze=analyze,
    )
    return divided.mapInArrow(task, matches_schema(source, returned))


def dealt(
    rows: DataFrame,
    columns: Mapping[str, Column],
    layout: Layout,
    division: Division,
    partitions: int | None,
    source: Input,
    keys: Iterable[str] = (),
) -> tuple[DataFrame, Slices | None]:
    """Return the columns of the rows, shuffled to their shards; and the slices of time, if these are shards.

    Rows with NULL in an attribute of the division or in one of `keys` are left out.
    """
    own = division.attributes if isinstance(division, ByKey) else ()
    slices = _slices(division, partitions, source)
    sent = dict(columns)
    if slices is not None and isinstance(division, ByTime):
        sent[SHARD] = shard_numbers(source, slices, division)
    selected = rows.select(*(value.alias(name) for name, value in sent.items()))
    for key in dict.fromkeys([*own, *keys]):
        selected = selected.where(F.col(layout.attributes[key][0]).isNotNull())
    return _divided(selected, [layout.attributes[key][0] for key in own], slices, partitions), slices


def _divided(
    rows: DataFrame, keys: Sequence[str], slices: Slices | None, partitions: int | None
) -> DataFrame:
    """Shuffle the rows to their shards; without a given number, Spark merges small ones by size."""
    if slices is not None and partitions is not None:
        return rows.repartitionById(partitions, F.col(SHARD))
    columns = [SHARD] if slices is not None else list(keys)
    if not columns:
        return rows.repartition(1)
    return rows.repartition(*columns) if partitions is None else rows.repartition(partitions, *columns)


def _slices(division: Division, partitions: int | None, source: Input) -> Slices | None:
    if not isinstance(division, ByTime) or partitions == 1:
        return None
    if partitions is not None:
        return slice_time(division, partitions)
    n_shards = int(source.events.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
    return slice_time(division, n_shards + n_shards % 2)  # even, so that every other shard can run together


def shard_numbers(source: Input, slices: Slices, division: ByTime) -> Column:
    """Return the shards of a row: its own, and the neighbor whose matches may reach or look to it.

    One SQL expression rather than a dozen calls, each of which is a round trip to the JVM.
    """
    time = f"unix_micros(cast({quoted(source.time)} as timestamp))"

    def shard(moment: str) -> str:
        number = f"({moment} - pmod({moment}, {slices.width})) div {slices.width}"
        return f"cast(pmod({number}, {slices.n_shards}) as int)"

    # A slice is longer than reach and lead together, so these two are the same or neighbors.
    first, last = shard(f"({time} - {division.reach})"), shard(f"({time} + {division.lead})")
    return F.expr(f"explode(if({first} = {last}, array({last}), array({first}, {last})))")


def wire(plan: Plan, source: Input) -> tuple[dict[str, Column], Layout]:
    """Return the columns that travel to Python for a plan, and their meaning there."""
    return wire_columns(scanned_types(plan), mentioned(plan), source)


def scanned_types(plan: Plan) -> set[str]:
    """Return the types of events that a plan looks at."""
    return {scan.type for output in plan.outputs for scan in find(output, Scan)}


def wire_columns(
    types: Iterable[str], names: Iterable[str], source: Input
) -> tuple[dict[str, Column], Layout]:
    """Return the columns that travel to Python for events of some types and their attributes."""
    type_names = sorted(types)
    derived = tuple(name for name in type_names if name in source.types)
    columns: dict[str, Column] = {TIME: F.unix_micros(source.time_column)}
    if source.type is not None:
        columns[TYPE] = F.col(quoted(source.type)).cast("string")
    if source.id is not None:
        columns[ID] = F.col(quoted(source.id)).cast(_id_type(source))
    else:
        columns[CONTENT] = F.xxhash64(*_hashable(source.events))
    if source.order_by is not None:
        columns[TIE] = _wire_column(source.order_by, source.schema.attributes[source.order_by])
    flags = _flag_columns(derived, source)
    columns |= flags
    attributes: dict[str, tuple[str, Type]] = {}
    for number, name in enumerate(sorted(names)):
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


def _flag_columns(derived: Sequence[str], source: Input) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for start in range(0, len(derived), FLAGS_PER_COLUMN):
        bits = [
            F.when(source.is_of_type([name]), F.lit(1 << place)).otherwise(F.lit(0)).cast("long")
            for place, name in enumerate(derived[start : start + FLAGS_PER_COLUMN])
        ]
        columns[f"{FLAGS}{start}"] = reduce(lambda a, b: a.bitwiseOR(b), bits)
    return columns


def mentioned(plan: Plan) -> set[str]:
    """Return the attributes that the worker needs: all those in expressions and in partitions."""
    names = {attribute.name for attribute in find(plan, Attribute)}
    names |= {aggregate.name for aggregate in find(plan, Aggregate) if aggregate.name is not None}
    return names | {name for extent in find(plan, Extent) for name in extent.partition_by}


def _wire_column(name: str, kind: Type) -> Column:
    column = F.col(quoted(name))
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
        F.col(quoted(field.name))
        for field in events.schema.fields
        if not any(kind in field.dataType.simpleString() for kind in unhashable)
    ]


def _id_type(source: Input) -> T.DataType:
    if source.id is None:
        return T.StringType()
    kind = value_type(source.events.schema[source.id].dataType)
    return T.LongType() if kind is not None and kind.kind == "long" else T.StringType()


def id_is_text(source: Input) -> bool:
    """Whether the ids of events are strings; otherwise they are integers."""
    return not isinstance(_id_type(source), T.LongType)


def _counts_positions(plan: Plan) -> bool:
    return any(extent.clock == "position" for extent in find(plan, Extent))


def matches_schema(source: Input, returned: Returned) -> T.StructType:
    """Return the schema of the matches."""
    event = T.StructType(
        [
            T.StructField("variable", T.StringType()),
            T.StructField("type", T.StringType()),
            T.StructField("ts", T.TimestampType()),
            T.StructField("id", _id_type(source)),
        ]
    )
    fields = [
        T.StructField("query", T.StringType()),
        T.StructField("match_id", T.StringType()),
        T.StructField("start", T.TimestampType()),
        T.StructField("end", T.TimestampType()),
        T.StructField("events", T.ArrayType(event)),
    ]
    fields += [T.StructField(name, spark_type(kind)) for name, kind in returned.types.items()]
    return T.StructType(fields)


def count_rows(source: Input) -> tuple[int, int]:
    """Return the number of events and of rejected rows."""
    found = source.events.agg(
        F.count(F.when(source.is_good, F.lit(1))).alias("good"), F.count(F.lit(1)).alias("all")
    ).collect()[0]
    return found["good"], found["all"] - found["good"]


def rejected_rows(source: Input) -> DataFrame:
    """Return the rows without a time, a type, an id or a site, with the reason."""
    no_time = source.time_column.isNull()
    reason = F.when(no_time, F.lit(f"{source.time} is not a time"))
    for name in source.required:
        reason = reason.when(F.col(quoted(name)).isNull(), F.lit(f"{name} is NULL"))
    return source.events.where(~source.is_good).withColumn("reason", reason)


def merge_returned(queries: Sequence[Query], types_of: Mapping[str, Mapping[str, Type]]) -> Returned:
    """Give every RETURN value a column: one per name, or one per query where types differ."""
    return Returned(*merge_columns({query.name: types_of[query.name] for query in queries}))


def merge_columns(
    types_of: Mapping[str, Mapping[str, ColumnType]],
) -> tuple[dict[str, ColumnType], dict[str, tuple[str, ...]]]:
    """Return the columns of all queries with their types, and for each query the columns of its values.

    Values of one name and type have one column; where types differ, or the case of the name, to which
    Spark pays no heed, there is one per query.

    >>> merge_columns({"p": {"n": 1, "x": 2}, "q": {"n": 1, "X": 2}})
    ({'n': 1, 'p_x': 2, 'q_X': 2}, {'p': ('n', 'p_x'), 'q': ('n', 'q_X')})
    """
    kinds: dict[str, set[tuple[str, ColumnType]]] = {}
    for own in types_of.values():
        for name, kind in own.items():
            kinds.setdefault(name.casefold(), set()).add((name, kind))
    types: dict[str, ColumnType] = {}
    names: dict[str, tuple[str, ...]] = {}
    for query, own in types_of.items():
        columns = {name: name if len(kinds[name.casefold()]) == 1 else f"{query}_{name}" for name in own}
        types |= {columns[name]: kind for name, kind in own.items()}
        names[query] = tuple(columns.values())
    return types, names
