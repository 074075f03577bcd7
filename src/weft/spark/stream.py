"""Build the streaming DataFrame of matches: watermark, pack, shuffle by shard, state, unpack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.errors import WeftError
from weft.language.printer import to_text
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan, Scan
from weft.plan.serialize import to_json
from weft.runtime.budget import Budget
from weft.runtime.layout import Layout
from weft.spark.batch import Input, Returned, id_is_text, matches_schema, mentioned, wire
from weft.spark.packing import PACKED, PackTask, Route, unpacked
from weft.spark.parts import Part
from weft.spark.placing import placed_names
from weft.spark.processor import ShardProcessor
from weft.spark.pushdown import quoted, wanted_rows
from weft.spark.stream_task import KIND, LATE, MATCH, PACK, REPORT, SHARD, PartTask, StreamTask
from weft.tree import find

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
WATERMARK, PLACE = "weft_watermark", "weft_place"
REPORTS = "weft"  # the name of the observed metrics


@dataclass(frozen=True)
class PlannedPart:
    """A part of the queries of a stream, and their plan."""

    part: Part
    queries: tuple[Query, ...]
    plan: Plan


@dataclass(frozen=True)
class Lateness:
    """How late events may come, in microseconds, and whether the events carry a watermark already."""

    delay: int
    is_given: bool = False


def use_rocksdb(spark: SparkSession) -> None:
    """Have Spark keep state in RocksDB, with a log of changes, unless the session says how."""
    if spark.conf.get(PROVIDER, "") != ROCKSDB:
        try:
            spark.conf.set(PROVIDER, ROCKSDB)
        except PySparkException as error:
            raise WeftError(
                f"streams need the state store of RocksDB, and this session does not let it be set: {error}\n"
                f"  hint: start the session with {PROVIDER}={ROCKSDB}"
            ) from None
    if spark.conf.get(CHANGELOG, "false") != "true":
        spark.conf.set(CHANGELOG, "true")


def stream_outcomes(
    parts: Sequence[PlannedPart],
    source: Input,
    returned: Returned,
    budget: Budget,
    lateness: Lateness,
    n_shards: int,
) -> DataFrame:
    """Return matches, late rows and reports as one stream, told apart by `kind`.

    Its observed metrics `weft` are the reports of the shards.
    """
    whole = Plan(tuple(output for part in parts for output in part.plan.outputs))
    columns, layout = wire(whole, source)
    shards = placed_names([one.part for one in parts], n_shards)
    rows, timed = _watermarked(source, lateness)
    if not any(one.part.counts for one in parts):
        wanted = wanted_rows(whole, source.is_of_type)
        if wanted is not None:
            # A filter that mentions the time stays above the watermark, which all events move.
            rows = rows.where(wanted | ~source.is_good | F.col(quoted(timed)).isNull())
    routes = []
    for number, one in enumerate(parts):
        place = f"{PLACE}{number}" if one.part.keys else None
        if place is not None:
            columns[place] = _place(one.part.keys, n_shards)
        routes.append(_route(one, layout, tuple(shards[one.part]), place))
    sent = rows.select(*(value.alias(name) for name, value in columns.items()))
    required = tuple(name for name in (layout.time, layout.type, layout.id) if name is not None)
    packed = sent.mapInArrow(PackTask(tuple(routes), layout.type, layout.flags, required), PACKED)
    task = StreamTask(
        run=uuid4().hex,
        parts=tuple(_part_task(one, layout, len(parts)) for one in parts),
        part_of={shard: number for number, one in enumerate(parts) for shard in shards[one.part]},
        id_is_text=id_is_text(source),
        returned=returned.types,
        return_names=returned.names,
        budget=budget,
        delay=lateness.delay,
        n_shards=n_shards,
    )
    stepped = packed.groupBy(SHARD).transformWithStateInPandas(
        ShardProcessor(task), f"{PACK} binary", "append", "eventTime"
    )
    schema = T.StructType([T.StructField(KIND, T.StringType()), *matches_schema(source, returned).fields])
    every = stepped.mapInArrow(unpacked, schema)
    return every.observe(REPORTS, *(_report_of(shard) for shard in sorted(task.part_of)))


def matches_in(outcomes: DataFrame) -> DataFrame:
    """Return the matches among the outcomes of a stream, or of one of its batches."""
    return outcomes.where(F.col(KIND) == MATCH).drop(KIND)


def late_in(outcomes: DataFrame) -> DataFrame:
    """Return the rows of the outcomes that came too late, each as its time, type and id."""
    event = F.col("events")[0]
    return outcomes.where(F.col(KIND) == LATE).select(
        event["ts"].alias("ts"), event["type"].alias("type"), event["id"].alias("id")
    )


def fingerprint(query: Query) -> str:
    """Return what a query asks, without its name and what it returns, in few characters."""
    asked = to_text(replace(query, name="q", returns=()))
    return blake2b(asked.encode(), digest_size=12).hexdigest()


def _report_of(shard: str) -> Column:
    is_own = (F.col(KIND) == REPORT) & (F.col("query") == shard)
    return F.max(F.when(is_own, F.col("match_id"))).alias(shard)


def _watermarked(source: Input, lateness: Lateness) -> tuple[DataFrame, str]:
    """Return the events with a watermark, and the column that has it."""
    delay = f"{lateness.delay // 1000} milliseconds"
    if lateness.is_given:
        return source.events, source.time
    if isinstance(source.events.schema[source.time].dataType, T.TimestampType):
        return source.events.withWatermark(source.time, delay), source.time
    timed = source.events.withColumn(WATERMARK, source.time_column)
    return timed.withWatermark(WATERMARK, delay), WATERMARK


def _place(keys: Sequence[str], n_shards: int) -> Column:
    """Return the number of the shard of a row; NULL without a value in every key: such rows never match."""
    present = F.lit(True)
    for key in keys:
        present &= F.col(quoted(key)).isNotNull()
    hashed = F.pmod(F.xxhash64(*(F.col(quoted(key)) for key in keys)), F.lit(n_shards)).cast("int")
    return F.when(present, hashed)


def _route(one: PlannedPart, layout: Layout, shards: tuple[str, ...], place: str | None) -> Route:
    own = _layout_of(one.plan, layout)
    columns = dict.fromkeys(
        name for name in (own.time, own.type, own.id, own.content, own.tie, *own.flags) if name is not None
    )
    columns |= dict.fromkeys(column for column, _ in own.attributes.values())
    types = {scan.type for output in one.plan.outputs for scan in find(output, Scan)}
    derived = tuple(number for number, name in enumerate(layout.derived_types) if name in types)
    return Route(shards, tuple(columns), None if one.part.counts else frozenset(types), derived, place)


def _layout_of(plan: Plan, layout: Layout) -> Layout:
    """Return the layout with those attributes alone that a plan mentions."""
    own = mentioned(plan)
    return replace(
        layout, attributes={name: found for name, found in layout.attributes.items() if name in own}
    )


def _part_task(one: PlannedPart, layout: Layout, n_parts: int) -> PartTask:
    return PartTask(
        plan=to_json(one.plan),
        layout=_layout_of(one.plan, layout),
        fingerprints={query.name: fingerprint(query) for query in one.queries},
        is_owner=n_parts > 1,
    )
