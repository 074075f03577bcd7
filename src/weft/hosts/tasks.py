"""What a batch gives its workers to do: the task of a query group or of sites, and the slices of time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from weft.codec import to_json
from weft.hosts.demand import Demand, demand_of_all
from weft.hosts.divide import ByTime, Division
from weft.hosts.host import RunOptions
from weft.plan.nodes import Plan
from weft.plan.sites import SITE, SiteProgram
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.routing import Route
from weft.runtime.stages.slices import TimeSlices, slice_time
from weft.runtime.stages.task import GroupTask, MergedColumns, SitesTask, StageTask
from weft.runtime.trends.executor import TrendPlan

PLACE = "weft_place"  # the column of a row's shard, as a number


def batch_task(
    plan: Plan | TrendPlan, layout: Layout, id_type: pa.DataType, options: RunOptions
) -> StageTask:
    """Return the task of a query group, whose results have the columns of its kind alone."""
    columns = options.columns
    return StageTask(
        id_type,
        options.budget,
        groups=(group_task(plan, layout),),
        columns=(
            replace(columns, returned=MergedColumns(), has_timeouts=False)
            if isinstance(plan, TrendPlan)
            else replace(columns, trends=MergedColumns())
        ),
        analyze=options.analyze,
        on_budget=options.on_budget,
    )


def group_task(plan: Plan | TrendPlan, layout: Layout) -> GroupTask:
    """Return what the shards of a group run."""
    return GroupTask(to_json("plan", plan), layout)


def common_keys(plan: Plan | TrendPlan) -> list[str]:
    """Return the attributes in which every event that trend queries want has a value."""
    if isinstance(plan, Plan):
        return []
    return sorted(set.intersection(*(set(template.keys) for template in plan.templates)))


def slices_for(division: Division | None, n_shards: int) -> TimeSlices | None:
    """Return slices of time for so many shards; None where the division is another, or one shard has all."""
    if not isinstance(division, ByTime) or n_shards < 2:
        return None
    return slice_time(division.reach, division.lead, n_shards)


def site_demand(program: SiteProgram) -> Demand:
    """Return what the plans of all sites ask of the events, and what travels between sites."""
    demand = demand_of_all(dict.fromkeys(work.plan for work in program.works))
    travelling = {name for channel in program.channels for own in channel.attributes for name in own}
    return replace(demand, attributes=(demand.attributes | travelling) - {SITE})


def site_task(sites: SitesTask, id_type: pa.DataType, options: RunOptions, *, is_batch: bool) -> StageTask:
    """Return the task of a program of sites."""
    return StageTask(
        id_type,
        options.budget,
        sites=sites,
        columns=options.columns,
        assignment=sites.name,
        is_batch=is_batch,
        on_budget=options.on_budget,
    )


def site_route(shards: Sequence[str], columns: Iterable[str]) -> Route:
    """Return where rows of sites go: to the shard of their number."""
    return Route(tuple(shards), tuple(name for name in columns if name != PLACE), None, (), PLACE)
