"""Build the streaming DataFrame of matches and trends: watermark, pack, shuffle by shard, state, unpack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.errors import WeftError
from weft.expressions import CountTrends
from weft.hosts.demand import Demand, demand_of, demand_of_all
from weft.hosts.host import RunOptions
from weft.hosts.spark.assignment import ShardGroup
from weft.hosts.spark.batch import site_number, unpack_outcomes
from weft.hosts.spark.frame import EventFrame, select_columns, wire_columns
from weft.hosts.spark.operator import StageOperator
from weft.hosts.spark.pushdown import column_of, wanted_by
from weft.hosts.spark.shard_names import shard_names
from weft.hosts.spark.steps import MESSAGES
from weft.hosts.tasks import PLACE, group_task, site_demand, site_route, site_task
from weft.language.printer import to_text
from weft.pattern.nodes import Query, ReturnColumn
from weft.plan.nodes import Plan
from weft.plan.sites import SiteProgram
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.messages import DISTINCT, NEWS, PACK, ROLE, SHARD
from weft.runtime.stages.routing import PackTask, Route
from weft.runtime.stages.site_stage import report_name
from weft.runtime.stages.task import AdapterSource, SitesTask, StageTask
from weft.runtime.trends.executor import TrendPlan

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
WATERMARK = "weft_watermark"
REPORTS = "weft"  # the name of the observed metrics
MOST_OBSERVED = 500  # reports that are metrics of a query's progress; all of them are among the outcomes


@dataclass(frozen=True)
class PlannedShards:
    """Queries that run on the same shards of a stream, and their plan.

    Where there is something to adapt it with, the plan changes while it runs.
    """

    group: ShardGroup
    queries: tuple[Query, ...]
    plan: Plan | TrendPlan
    adapted: AdapterSource | None = None


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


def build_stream(
    groups: Sequence[PlannedShards],
    source: EventFrame,
    options: RunOptions,
    lateness: Lateness,
    n_shards: int,
) -> DataFrame:
    """Return the outcomes of query groups as one stream.

    Its observed metrics `weft` are the reports of the shards.
    """
    plans = [shards.plan for shards in groups]
    demands = [demand_of(plan) for plan in plans]
    sent, layout = wire_columns(demand_of_all(plans), source)
    names = shard_names([shards.group for shards in groups], n_shards)
    routes, tasks = [], []
    for number, (shards, demand) in enumerate(zip(groups, demands, strict=True)):
        place = f"{PLACE}{number}" if shards.group.keys else None
        if place is not None:
            sent[place] = _shard_number(shards.group.keys, n_shards)
        routes.append(_route(demand, layout, tuple(names[shards.group]), place))
        tasks.append(
            replace(
                group_task(shards.plan, _layout_of(demand, layout)),
                fingerprints={query.name: fingerprint(query) for query in shards.queries},
                is_owner=len(groups) > 1,
                adapted=shards.adapted,
            )
        )
    task = StageTask(
        source.id_type,
        options.budget,
        groups=tuple(tasks),
        group_of={shard: number for number, shards in enumerate(groups) for shard in names[shards.group]},
        columns=options.columns,
        assignment=f"{n_shards} shards",
        delay=lateness.delay,
        on_budget=options.on_budget,
    )
    messages = _pack_rows(source, lateness, wanted_by(plans, source.is_of_type), sent, routes, layout)
    return _run_stages(messages, task, 1, [(shard, 0, shard) for shard in sorted(task.group_of)])


def build_site_stream(
    program: SiteProgram,
    arising: Sequence[str],
    source: EventFrame,
    options: RunOptions,
    lateness: Lateness,
) -> DataFrame:
    """Return the outcomes of a program of sites as one stream.

    `arising` are the sites at which events arise; rows of other sites are rejected.
    """
    demand = site_demand(program)
    sent, layout = wire_columns(demand, source)
    places = {name: number for number, name in enumerate(program.sites) if name in arising}
    sent[PLACE] = site_number(source, places)
    wanted = source.is_of_type(sorted(demand.types))
    route = site_route(program.sites, sent)
    messages = _pack_rows(source, lateness, wanted, sent, [route], layout, required=(PLACE,))
    task = site_task(SitesTask(program.to_json(), layout), source.id_type, options, is_batch=False)
    reporting = [(site, level, report_name(site, level)) for site, level in _reporting(program)]
    return _run_stages(messages, task, program.n_stages, reporting[:MOST_OBSERVED])


def _pack_rows(
    source: EventFrame,
    lateness: Lateness,
    wanted: Column | None,
    sent: Mapping[str, Column],
    routes: Sequence[Route],
    layout: Layout,
    required: tuple[str, ...] = (),
) -> DataFrame:
    """Return the rows that may be wanted as messages to shards, with a watermark that all events move.

    Rows without a time, a type, an id or a value in one of the columns `required` are rejected.
    """
    needed = tuple(name for name in (layout.time, layout.type, layout.id, *required) if name is not None)
    pack = PackTask(tuple(routes), layout.type, layout.flags, needed)
    rows, timed = _add_watermark(source, lateness)
    if wanted is not None:  # a filter that mentions the time stays above the watermark
        rows = rows.where(wanted | ~source.is_good | column_of(timed).isNull())
    return select_columns(rows, sent).mapInArrow(pack, MESSAGES)


def _run_stages(
    messages: DataFrame, task: StageTask, n_stages: int, reporting: Sequence[tuple[str, int, str]]
) -> DataFrame:
    """Return the outcomes of all stages; the reports of shards at levels are metrics by name.

    Metrics are taken of the messages: they are computed for every row, and outcomes are many.
    """
    for number in range(n_stages):
        messages = messages.groupBy(SHARD).transformWithStateInPandas(
            StageOperator(task, number), MESSAGES, "append", "eventTime"
        )
    reports = [
        F.max(
            F.when((F.col(SHARD) == shard) & (F.col(ROLE) == f"{NEWS}{level}"), F.col(PACK).cast("string"))
        ).alias(name)
        for shard, level, name in reporting
    ]
    return unpack_outcomes(messages.observe(REPORTS, *reports) if reports else messages, task)


def fingerprint(query: Query) -> str:
    """Return what a query asks, without its name and what of its results it shows, in few characters."""
    returns = (ReturnColumn("n", CountTrends()),) if query.is_trend else ()
    asked = to_text(replace(query, name="q", returns=returns, having=()))
    return blake2b(asked.encode(), digest_size=12).hexdigest()


def _add_watermark(source: EventFrame, lateness: Lateness) -> tuple[DataFrame, str]:
    """Return the events with a watermark, and the column that has it."""
    delay = f"{lateness.delay // 1000} milliseconds"
    if lateness.is_given:
        return source.events, source.time
    if isinstance(source.events.schema[source.time].dataType, T.TimestampType):
        return source.events.withWatermark(source.time, delay), source.time
    timed = source.events.withColumn(WATERMARK, source.time_column)
    return timed.withWatermark(WATERMARK, delay), WATERMARK


def _shard_number(keys: Sequence[str], n_shards: int) -> Column:
    """Return the number of the shard of a row; NULL without a value in every key: such rows never match."""
    present = F.lit(True)
    for key in keys:
        present &= column_of(key).isNotNull()
    hashed = F.pmod(F.xxhash64(*(column_of(key) for key in keys)), F.lit(n_shards)).cast("int")
    return F.when(present, hashed)


def _route(demand: Demand, layout: Layout, shards: tuple[str, ...], place: str | None) -> Route:
    own = _layout_of(demand, layout)
    columns = dict.fromkeys(
        name for name in (own.time, own.type, own.id, own.content, own.tie, *own.flags) if name is not None
    )
    columns |= dict.fromkeys(column for column, _ in own.attributes.values())
    derived = tuple(number for number, name in enumerate(layout.derived_types) if name in demand.types)
    return Route(shards, tuple(columns), None if demand.counts else demand.types, derived, place)


def _layout_of(demand: Demand, layout: Layout) -> Layout:
    """Return the layout with those attributes alone that a group mentions."""
    own = {name: column for name, column in layout.attributes.items() if name in demand.attributes}
    return replace(layout, attributes=own)


def n_unobserved(program: SiteProgram) -> int:
    """Return how many sites and levels report among the outcomes alone, for they are too many as metrics.

    >>> n_unobserved(SiteProgram(tuple(map(str, range(600))), (), ()))
    100
    """
    return max(0, len(_reporting(program)) - MOST_OBSERVED)


def _reporting(program: SiteProgram) -> list[tuple[str, int]]:
    """Return who reports, and at which level: all sites at the lowest, at others those with work.

    Before them come the places where matches meet.
    """
    lowest = {(0, number) for number in range(len(program.sites))}
    working = sorted(lowest | {(work.level, work.site) for work in program.works})
    meeting = [(f"{DISTINCT} {query}", program.n_levels) for query in program.meeting]
    return meeting + [(program.sites[number], level) for level, number in working]
