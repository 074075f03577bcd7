"""Build the streaming DataFrame of matches and trends: watermark, pack, shuffle by shard, state, unpack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.codec import to_json
from weft.errors import WeftError
from weft.expressions import CountTrends
from weft.hosts.spark.batch import Input, Returned, id_is_text, matches_schema, mentioned, wire_columns
from weft.hosts.spark.packing import PACKED, PackTask, Route, unpacked
from weft.hosts.spark.parts import Part
from weft.hosts.spark.placing import placed_names
from weft.hosts.spark.processor import ShardProcessor
from weft.hosts.spark.pushdown import quoted, wanted_by_items, wanted_rows
from weft.hosts.spark.stream_task import (
    KIND,
    LATE,
    MATCH,
    NEWS,
    PACK,
    REPORT,
    SHARD,
    STEPPED,
    TREND,
    AdaptedPart,
    PartTask,
    StreamTask,
)
from weft.hosts.spark.trend_batch import TrendColumns, mentioned_in
from weft.language.printer import to_text
from weft.pattern.nodes import Query, ReturnColumn
from weft.plan.nodes import Plan, Scan
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.trends.executor import TrendPlan
from weft.tree import find

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
WATERMARK, PLACE = "weft_watermark", "weft_place"
REPORTS = "weft"  # the name of the observed metrics
CHANGES = (
    "array<struct<step: long, version: long, reason: string, queries: array<string>, way: string, "
    "predicted: double, measured: double>>"
)


@dataclass(frozen=True)
class PlannedPart:
    """A part of the queries of a stream, and their plan; that of trend queries are their templates.

    A part that is `adapted` changes its plan while it runs.
    """

    part: Part
    queries: tuple[Query, ...]
    plan: Plan | TrendPlan
    adapted: AdaptedPart | None = None


@dataclass(frozen=True)
class _Asked:
    """What a part asks of the events, and its plan as text."""

    one: PlannedPart
    types: frozenset[str]
    attributes: frozenset[str]
    text: str


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
    trends: TrendColumns,
    budget: Budget,
    lateness: Lateness,
    n_shards: int,
) -> DataFrame:
    """Return matches, trends, late rows and reports as one stream, told apart by `kind`.

    Its observed metrics `weft` are the reports of the shards.
    """
    asked = [_asked(one) for one in parts]
    types = frozenset().union(*(one.types for one in asked))
    columns, layout = wire_columns(types, frozenset().union(*(one.attributes for one in asked)), source)
    shards = placed_names([one.part for one in parts], n_shards)
    rows, timed = watermarked(source, lateness)
    wanted = _wanted(parts, source)
    if wanted is not None:
        # A filter that mentions the time stays above the watermark, which all events move.
        rows = rows.where(wanted | ~source.is_good | F.col(quoted(timed)).isNull())
    routes = []
    for number, own in enumerate(asked):
        part = own.one.part
        place = f"{PLACE}{number}" if part.keys else None
        if place is not None:
            columns[place] = _place(part.keys, n_shards)
        routes.append(_route(own, layout, tuple(shards[part]), place))
    sent = rows.select(*(value.alias(name) for name, value in columns.items()))
    required = tuple(name for name in (layout.time, layout.type, layout.id) if name is not None)
    packed = sent.mapInArrow(PackTask(tuple(routes), layout.type, layout.flags, required), PACKED)
    task = StreamTask(
        run=uuid4().hex,
        parts=tuple(_part_task(own, layout, len(parts)) for own in asked),
        part_of={shard: number for number, one in enumerate(parts) for shard in shards[one.part]},
        id_is_text=id_is_text(source),
        returned=returned.types,
        return_names=returned.names,
        budget=budget,
        delay=lateness.delay,
        n_shards=n_shards,
        trend_columns=trends.types,
        trend_names=trends.names,
    )
    stepped = packed.groupBy(SHARD).transformWithStateInPandas(
        ShardProcessor(task), STEPPED, "append", "eventTime"
    )
    # Metrics are taken of the packs: they are computed for every row, and outcomes are many.
    reports = [
        F.max(F.when(F.col(SHARD) == shard, F.col(NEWS))).alias(shard) for shard in sorted(task.part_of)
    ]
    packs = stepped.observe(REPORTS, *reports).select(PACK)
    return packs.mapInArrow(unpacked, _schema(source, returned, trends))


def matches_in(outcomes: DataFrame) -> DataFrame:
    """Return the matches among the outcomes of a stream, or of one of its batches."""
    matches = outcomes.where(F.col(KIND) == MATCH).drop(KIND)
    return matches.drop(TREND) if _has_trends(outcomes) else matches


def trends_in(outcomes: DataFrame) -> DataFrame:
    """Return the results of trend queries among the outcomes of a stream, or of one of its batches."""
    if not _has_trends(outcomes):
        raise WeftError("these outcomes are those of a stream without trend queries")
    return outcomes.where(F.col(KIND) == TREND).select("query", f"{TREND}.*")


def _has_trends(outcomes: DataFrame) -> bool:
    """Whether the outcomes have a column for trends; a RETURN column of that name is no struct."""
    return TREND in outcomes.columns and isinstance(outcomes.schema[TREND].dataType, T.StructType)


def late_in(outcomes: DataFrame) -> DataFrame:
    """Return the rows of the outcomes that came too late, each as its time, type and id."""
    event = F.col("events")[0]
    return outcomes.where(F.col(KIND) == LATE).select(
        event["ts"].alias("ts"), event["type"].alias("type"), event["id"].alias("id")
    )


def changes_in(outcomes: DataFrame) -> DataFrame:
    """Return the changes of plans among the outcomes of a stream, or of one of its batches.

    Each row is a shard that goes on with another plan: the version of the plan, why it was made, which
    queries it is for, how the shard switches, the share of the cost that it is predicted to save, and for a
    change of before the share of the counted work that it did save.
    """
    reports = outcomes.where(F.col(KIND) == REPORT)
    changes = F.from_json(F.get_json_object("match_id", "$.changes"), CHANGES)
    exploded = reports.select(F.col("query").alias("shard"), F.explode(changes).alias("change"))
    return exploded.select("shard", "change.*")


def fingerprint(query: Query) -> str:
    """Return what a query asks, without its name and what it returns, in few characters."""
    returns = (ReturnColumn("n", CountTrends()),) if query.is_trend else ()
    asked = to_text(replace(query, name="q", returns=returns))
    return blake2b(asked.encode(), digest_size=12).hexdigest()


def _schema(source: Input, returned: Returned, trends: TrendColumns) -> T.StructType:
    """Return the schema of outcomes; where there are trend queries, one column has all of their results."""
    matches = matches_schema(source, returned).fields
    schema = T.StructType([T.StructField(KIND, T.StringType()), *matches])
    if not trends.names:
        return schema
    for name in returned.types:
        if name.casefold() == TREND:
            raise WeftError(
                f"a query for matches returns a column {name}, but on a stream with trend queries that has "
                f"their results\n  hint: give it another name in RETURN, for example with AS {name}_value"
            )
    results = [field for field in trends.schema.fields if field.name != "query"]
    return schema.add(TREND, T.StructType(results))


def _asked(one: PlannedPart) -> _Asked:
    if isinstance(one.plan, TrendPlan):
        templates = one.plan.templates
        types = frozenset(item.type for template in templates for item in template.items)
        return _Asked(one, types, frozenset(mentioned_in(templates)), to_json("templates", templates))
    types = frozenset(scan.type for output in one.plan.outputs for scan in find(output, Scan))
    return _Asked(one, types, frozenset(mentioned(one.plan)), to_json("plan", one.plan))


def _wanted(parts: Sequence[PlannedPart], source: Input) -> Column | None:
    """Return the condition under which some part may want a row; None when all are wanted."""
    if any(one.part.counts for one in parts):
        return None
    plans = [one.plan for one in parts]
    outputs = tuple(output for plan in plans if isinstance(plan, Plan) for output in plan.outputs)
    templates = [one for plan in plans if isinstance(plan, TrendPlan) for one in plan.templates]
    wanted = [wanted_rows(Plan(outputs), source.is_of_type)] if outputs else []
    if templates:
        items = [item for template in templates for item in template.items]
        wanted.append(wanted_by_items(items, source.is_of_type))
    known = [condition for condition in wanted if condition is not None]
    return reduce(lambda a, b: a | b, known) if known and len(known) == len(wanted) else None


def watermarked(source: Input, lateness: Lateness) -> tuple[DataFrame, str]:
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


def _route(asked: _Asked, layout: Layout, shards: tuple[str, ...], place: str | None) -> Route:
    own = _layout_of(asked, layout)
    columns = dict.fromkeys(
        name for name in (own.time, own.type, own.id, own.content, own.tie, *own.flags) if name is not None
    )
    columns |= dict.fromkeys(column for column, _ in own.attributes.values())
    derived = tuple(number for number, name in enumerate(layout.derived_types) if name in asked.types)
    types = None if asked.one.part.counts else asked.types
    return Route(shards, tuple(columns), types, derived, place)


def _layout_of(asked: _Asked, layout: Layout) -> Layout:
    """Return the layout with those attributes alone that a part mentions."""
    return replace(
        layout,
        attributes={name: found for name, found in layout.attributes.items() if name in asked.attributes},
    )


def _part_task(asked: _Asked, layout: Layout, n_parts: int) -> PartTask:
    plan = asked.one.plan
    return PartTask(
        plan=asked.text,
        layout=_layout_of(asked, layout),
        fingerprints={query.name: fingerprint(query) for query in asked.one.queries},
        is_owner=n_parts > 1,
        sharing=plan.sharing if isinstance(plan, TrendPlan) else None,
        adapted=asked.one.adapted,
    )
