"""Build the DataFrame of the outcomes of a batch: prune, filter, divide, one step for each shard."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.codec import to_json
from weft.hosts.spark.divide import ByKey, ByTime, Division, time_of
from weft.hosts.spark.frame import EventFrame, wire_columns
from weft.hosts.spark.outcomes import ResultColumns, spark_schema
from weft.hosts.spark.pushdown import Demand, demand_of, quoted, wanted_by
from weft.hosts.spark.steps import MESSAGES, BatchStage, BatchStep
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.plan.sites import SITE, SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.messages import OUTCOME, PACK, ROLE, SHARD, unpacked
from weft.runtime.stages.routing import PackTask, Route
from weft.runtime.stages.shard_stage import outcome_columns
from weft.runtime.stages.slices import TimeSlices, slice_time
from weft.runtime.stages.stages import n_stages, site_shards
from weft.runtime.stages.task import GroupTask, SitesTask, StageTask
from weft.runtime.trends.executor import TrendPlan

PARTITIONS = "spark.sql.shuffle.partitions"
PLACE, SLICE = "weft_place", "weft_slice"  # columns of a row's shard and slice of time, as numbers


def batch_outcomes(
    plan: Plan | TrendPlan,
    division: Division,
    source: EventFrame,
    columns: ResultColumns,
    budget: Budget,
    partitions: int | None,
    *,
    analyze: bool = False,
) -> DataFrame:
    """Return the outcomes of one group of queries; with `analyze`, reports of what was done among them."""
    sent, layout = wire_columns(demand_of(plan), source)
    rows = source.events.where(source.is_good)
    wanted = wanted_by([plan], source.is_of_type)
    rows = rows if wanted is None else rows.where(wanted)
    divided, slices = _divided(rows, sent, layout, division, partitions, source, _common_keys(plan))
    is_trend = isinstance(plan, TrendPlan)
    task = StageTask(
        run=uuid4().hex,
        id_is_text=source.id_is_text,
        budget=budget,
        groups=(group_task(plan, layout),),
        returned={} if is_trend else columns.returned.types,
        return_names={} if is_trend else columns.returned.names,
        trends=columns.trends.types if is_trend else {},
        trend_names=columns.trends.names if is_trend else {},
        analyze=analyze,
        has_reports=analyze,
        is_batch=True,
    )
    step = BatchStep(task, slices, None if slices is None else SHARD)
    return divided.mapInArrow(step, spark_schema(outcome_columns(task).schema))


def group_task(plan: Plan | TrendPlan, layout: Layout) -> GroupTask:
    """Return what the shards of a group run."""
    if isinstance(plan, TrendPlan):
        return GroupTask(to_json("templates", plan.templates), layout, sharing=plan.sharing)
    return GroupTask(to_json("plan", plan), layout)


def _common_keys(plan: Plan | TrendPlan) -> list[str]:
    """Return the attributes in which every event that trend queries want has a value."""
    if isinstance(plan, Plan):
        return []
    return sorted(set.intersection(*(set(template.keys) for template in plan.templates)))


def _divided(
    rows: DataFrame,
    columns: Mapping[str, Column],
    layout: Layout,
    division: Division,
    partitions: int | None,
    source: EventFrame,
    keys: Iterable[str],
) -> tuple[DataFrame, TimeSlices | None]:
    """Return the columns of the rows, shuffled to their shards; and the slices of time, if these are shards.

    Rows with NULL in an attribute of the division or in one of `keys` are left out. Without a given number
    of partitions, Spark merges small ones by size.
    """
    own = division.attributes if isinstance(division, ByKey) else ()
    slices = _slices(division, partitions, source)
    sent = dict(columns)
    if slices is not None:
        sent[SHARD] = slice_numbers(source, slices)
    selected = rows.select(*(value.alias(name) for name, value in sent.items()))
    for key in dict.fromkeys([*own, *keys]):
        selected = selected.where(F.col(layout.attributes[key][0]).isNotNull())
    if slices is not None and partitions is not None:
        return selected.repartitionById(partitions, F.col(SHARD)), slices
    by = [SHARD] if slices is not None else [layout.attributes[key][0] for key in own]
    if not by:
        return selected.repartition(1), slices
    return (
        selected.repartition(*by) if partitions is None else selected.repartition(partitions, *by)
    ), slices


def _slices(division: Division, partitions: int | None, source: EventFrame) -> TimeSlices | None:
    if not isinstance(division, ByTime) or partitions == 1:
        return None
    n_shards = partitions
    if n_shards is None:  # even, so that every other shard can run together
        n_shards = n_shuffled(source)
        n_shards += n_shards % 2
    return slice_time(division.reach, division.lead, n_shards)


def n_shuffled(source: EventFrame) -> int:
    """Return Spark's number of partitions after a shuffle."""
    return int(source.events.sparkSession.conf.get(PARTITIONS) or 200)


def slice_numbers(source: EventFrame, slices: TimeSlices) -> Column:
    """Return the shards of a row: its own, and the neighbor whose matches may reach or look to it.

    One SQL expression rather than a dozen calls, each of which is a round trip to the JVM.
    """
    time = f"unix_micros(cast({quoted(source.time)} as timestamp))"

    def shard(moment: str) -> str:
        number = f"({moment} - pmod({moment}, {slices.width})) div {slices.width}"
        return f"cast(pmod({number}, {slices.n_shards}) as int)"

    # A slice is longer than reach and lead together, so these two are the same or neighbors.
    first, last = shard(f"({time} - {slices.reach})"), shard(f"({time} + {slices.lead})")
    return F.expr(f"explode(if({first} = {last}, array({last}), array({first}, {last})))")


def site_outcomes(
    program: SiteProgram,
    queries: Sequence[Query],
    source: EventFrame,
    columns: ResultColumns,
    budget: Budget,
    partitions: int | None,
) -> DataFrame:
    """Return the outcomes of queries that are evaluated at the sites of their events.

    The events are divided by site, and inside of a site by slices of time. There is a stage for every
    level of the program: only what its graph says is shuffled from site to site.
    """
    most = partitions or n_shuffled(source)
    slices = _site_slices(queries, most // max(len(program.sites), 1))
    demand = site_demand(program)
    sent, layout = wire_columns(demand, source)
    sites = SitesTask(program.to_json(), layout, slices)
    task = site_task(sites, source, columns, budget, is_batch=True)
    shards = site_shards(sites)
    sent[PLACE] = site_number(source, {name: number for number, name in enumerate(program.sites)})
    wanted = source.is_good & source.is_of_type(sorted(demand.types))
    rows = source.events.where(wanted)
    if slices is not None:
        rows = rows.withColumn(SLICE, slice_numbers(source, slices))
        sent[PLACE] = sent[PLACE] * slices.n_shards + F.col(SLICE)
    rows = rows.select(*(value.alias(name) for name, value in sent.items()))
    messages = rows.mapInArrow(PackTask((site_route(shards, sent),), layout.type, layout.flags), MESSAGES)
    n_partitions = max(1, min(most, len(shards)))
    for number in range(n_stages(program)):
        messages = messages.repartition(n_partitions, SHARD).mapInArrow(BatchStage(task, number), MESSAGES)
    packs = messages.where(F.col(ROLE) == OUTCOME).select(PACK)
    return packs.mapInArrow(unpacked, spark_schema(outcome_columns(task).schema))


def _site_slices(queries: Sequence[Query], n_shards: int) -> TimeSlices | None:
    """Return slices for an even number of shards of each site; None: a site is one shard."""
    division = time_of(queries)
    if division is None or n_shards < 2:
        return None
    return slice_time(division.reach, division.lead, n_shards - n_shards % 2)


def site_demand(program: SiteProgram) -> Demand:
    """Return what the plans of all sites ask of the events, and what travels between sites."""
    demand = Demand(frozenset(), frozenset())
    for plan in dict.fromkeys(work.plan for work in program.works):
        demand |= demand_of(plan)
    travelling = {name for channel in program.channels for own in channel.attributes for name in own}
    return Demand(demand.types, (demand.attributes | travelling) - {SITE}, demand.counts)


def site_number(source: EventFrame, places: Mapping[str, int]) -> Column:
    """Return the number of a row's site; NULL without one, or where it is none of those known."""
    pairs = [F.lit(value) for pair in places.items() for value in pair]
    numbers = F.create_map(*pairs) if pairs else F.lit(None).cast("map<string, int>")
    return F.try_element_at(numbers, F.col(quoted(source.site or "")).cast("string"))


def site_route(shards: Sequence[str], sent: Mapping[str, Column]) -> Route:
    """Return where rows of sites go: to the shard of their number."""
    return Route(tuple(shards), tuple(name for name in sent if name != PLACE), None, (), PLACE)


def site_task(
    sites: SitesTask, source: EventFrame, columns: ResultColumns, budget: Budget, *, is_batch: bool
) -> StageTask:
    """Return the envelope of a program of sites."""
    return StageTask(
        run=uuid4().hex,
        id_is_text=source.id_is_text,
        budget=budget,
        sites=sites,
        returned=columns.returned.types,
        return_names=columns.returned.names,
        assignment=sites.name,
        is_batch=is_batch,
    )
