"""Build the DataFrame of the outcomes of a batch: prune, filter, divide, one step for each shard."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.hosts.demand import demand_of
from weft.hosts.divide import ByKey, ByTime, time_of
from weft.hosts.host import GroupWork, RunOptions
from weft.hosts.spark.frame import EventFrame, select_columns, wire_columns
from weft.hosts.spark.pushdown import column_of, quote_column, wanted_by
from weft.hosts.spark.schemas import spark_schema
from weft.hosts.spark.steps import MESSAGES, BatchStage, BatchStep
from weft.hosts.tasks import PLACE, batch_task, common_keys, site_demand, site_route, site_task, slices_for
from weft.pattern.nodes import Query
from weft.plan.sites import SiteProgram
from weft.runtime.stages.messages import OUTCOME, PACK, ROLE, SHARD, unpack
from weft.runtime.stages.outcomes import outcome_columns
from weft.runtime.stages.routing import PackTask
from weft.runtime.stages.site_stage import SiteNetwork
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.task import SitesTask, StageTask

PARTITIONS = "spark.sql.shuffle.partitions"
SLICE = "weft_slice"  # the column of a row's slice of time, as a number


def batch_outcomes(work: GroupWork, source: EventFrame, options: RunOptions) -> DataFrame:
    """Return the outcomes of one group of queries, with reports of what was stopped.

    With `analyze`, there are reports of all that was done.
    """
    plan, division, partitions = work.plan, work.division, options.partitions
    sent, layout = wire_columns(demand_of(plan), source)
    n_shards = n_shuffled(source)
    n_shards += n_shards % 2  # even, so that every other shard can run together
    slices = slices_for(division, partitions or n_shards)
    if slices is not None:
        sent[SHARD] = slice_numbers(source, slices)
    wanted = wanted_by([plan], source.is_of_type)
    good = source.events.where(source.is_good)
    rows = select_columns(good if wanted is None else good.where(wanted), sent)
    own_keys = division.attributes if isinstance(division, ByKey) else ()
    for key in dict.fromkeys([*own_keys, *common_keys(plan)]):
        rows = rows.where(F.col(layout.attributes[key][0]).isNotNull())
    by = [layout.attributes[key][0] for key in own_keys] if slices is None else [SHARD]
    task = batch_task(plan, layout, source.id_type, options)
    shuffled = _shuffle(rows, by, partitions, is_numbered=slices is not None)
    if slices is None or not isinstance(division, ByTime) or not division.meet:
        return shuffled.mapInArrow(BatchStep(task, slices), spark_schema(outcome_columns(task).schema))
    found = shuffled.mapInArrow(BatchStep(task, slices, meets=True), MESSAGES)
    return unpack_outcomes(found.repartition(SHARD).mapInArrow(BatchStage(task, 1), MESSAGES), task)


def _shuffle(rows: DataFrame, by: Sequence[str], partitions: int | None, *, is_numbered: bool) -> DataFrame:
    """Return rows shuffled by columns, one of which may be the number of their shard.

    Without a given number of partitions, Spark merges small ones by size.
    """
    if not by:
        return rows.repartition(1)
    if partitions is None:
        return rows.repartition(*by)
    return rows.repartitionById(partitions, F.col(*by)) if is_numbered else rows.repartition(partitions, *by)


def n_shuffled(source: EventFrame) -> int:
    """Return Spark's number of partitions after a shuffle."""
    return int(source.events.sparkSession.conf.get(PARTITIONS) or 200)


def slice_numbers(source: EventFrame, slices: TimeSlices) -> Column:
    """Return the shards of a row: its own, and the neighbor whose matches may reach or look to it.

    One SQL expression rather than a dozen calls, each of which is a round trip to the JVM.
    """
    time = f"unix_micros(cast({quote_column(source.time)} as timestamp))"

    def shard(moment: str) -> str:
        number = f"({moment} - pmod({moment}, {slices.width})) div {slices.width}"
        return f"cast(pmod({number}, {slices.n_shards}) as int)"

    # A slice is longer than reach and lead together, so these two are the same or neighbors.
    first, last = shard(f"({time} - {slices.reach})"), shard(f"({time} + {slices.lead})")
    return F.expr(f"explode(if({first} = {last}, array({last}), array({first}, {last})))")


def site_outcomes(
    program: SiteProgram, queries: Sequence[Query], source: EventFrame, options: RunOptions
) -> DataFrame:
    """Return the outcomes of queries that are evaluated at the sites of their events.

    The events are divided by site, and inside of a site by slices of time. There is a stage for every
    level of the program: only what its graph says is shuffled from site to site.
    """
    most = options.partitions or n_shuffled(source)
    n_slices = most // max(len(program.sites), 1)
    slices = slices_for(time_of(queries), n_slices - n_slices % 2)
    demand = site_demand(program)
    sent, layout = wire_columns(demand, source)
    sites = SitesTask(program.to_json(), layout, slices)
    task = site_task(sites, source.id_type, options, is_batch=True)
    shards = SiteNetwork(sites, source.id_type).shards
    sent[PLACE] = site_number(source, {name: number for number, name in enumerate(program.sites)})
    wanted = source.is_good & source.is_of_type(sorted(demand.types))
    rows = source.events.where(wanted)
    if slices is not None:
        rows = rows.withColumn(SLICE, slice_numbers(source, slices))
        sent[PLACE] = sent[PLACE] * slices.n_shards + F.col(SLICE)
    pack = PackTask((site_route(shards, sent),), layout.type, layout.flags)
    messages = select_columns(rows, sent).mapInArrow(pack, MESSAGES)
    n_partitions = max(1, min(most, len(shards)))
    for number in range(program.n_stages):
        messages = messages.repartition(n_partitions, SHARD).mapInArrow(BatchStage(task, number), MESSAGES)
    return unpack_outcomes(messages, task)


def unpack_outcomes(messages: DataFrame, task: StageTask) -> DataFrame:
    """Return the outcomes among the messages of the last stage of a task."""
    packs = messages.where(F.col(ROLE) == OUTCOME).select(PACK)
    return packs.mapInArrow(unpack, spark_schema(outcome_columns(task).schema))


def site_number(source: EventFrame, places: Mapping[str, int]) -> Column:
    """Return the number of a row's site; NULL without one, or where it is none of those known."""
    pairs = [F.lit(value) for pair in places.items() for value in pair]
    numbers = F.create_map(*pairs) if pairs else F.lit(None).cast("map<string, int>")
    return F.try_element_at(numbers, column_of(source.site or "").cast("string"))
