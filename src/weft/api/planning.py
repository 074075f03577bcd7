"""Choose the plans of a workload on given events: what to ask of the data, how long to search."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.codec import write_text
from weft.cost.shape import MOST_EXACT
from weft.explanation.analysis import Analysis, input_kinds
from weft.hosts.divide import QueryGroup
from weft.hosts.host import Host
from weft.language.read import text_of_file
from weft.normalize.pipeline import normalize
from weft.optimizer.correct_statistics import learn
from weft.optimizer.pipeline import Optimized, choose_plan
from weft.optimizer.planning import Planning, Strategy
from weft.optimizer.shape_of import inquiry_of
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import CountWindow, Query
from weft.pattern.normal_form import EVERY_TYPE
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.site_program import attributes_by_type
from weft.placement.site_statistics import SiteStatistics, kinds_of, site_statistics
from weft.plan.nearest import nearest_joins
from weft.plan.nodes import Node
from weft.plan.template import Template
from weft.runtime.trends.executor import TrendPlan
from weft.schema import Schema
from weft.statistics.model import ItemKey, PatternCount, PatternKey, Statistics
from weft.statistics.sampling import UNSEEN


def trend_plan(templates: Sequence[Template], planning: Planning) -> TrendPlan:
    """Return what the shards of trend queries run."""
    return TrendPlan(tuple(templates), planning.sharing, planning.exact)


@dataclass(frozen=True)
class PlannedGroup:
    """Queries that run on one division of the events, and their plan."""

    group: QueryGroup
    optimized: Optimized


def plan_group(
    group: QueryGroup,
    schema: Schema,
    planning: Planning,
    statistics: Statistics,
    *,
    is_stream: bool = False,
    progress: Progress | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> PlannedGroup:
    """Choose the plan of a group."""
    known = replace(planning, statistics=statistics)
    chosen = choose_plan(
        group.queries, schema, known, is_stream=is_stream, progress=progress, is_cancelled=is_cancelled
    )
    return PlannedGroup(group, chosen)


def plan_groups(
    groups: Iterable[QueryGroup],
    plan: Callable[[QueryGroup, Planning], PlannedGroup],
    planning: Planning,
    searched: Optimized | None = None,
) -> list[PlannedGroup]:
    """Choose the plans of all groups in the seconds that are given for all of them.

    Groups of queries of which a plan was `searched` before keep its trees.
    """
    waiting, planned = list(groups), list[PlannedGroup]()
    seconds = planning.search_seconds
    while waiting:
        n_left = sum(len(group.queries) for group in waiting)
        group = waiting.pop(0)
        if searched is not None and all(query.name in searched.stored.trees for query in group.queries):
            given = Planning(
                plan=searched.stored,
                cost=planning.cost,
                objective=planning.objective,
                sharing=planning.sharing,
            )
            kept = plan(group, given)
            optimized = replace(kept.optimized, notes=searched.notes, search=searched.search)
            planned.append(replace(kept, optimized=optimized))
            searched = replace(searched, notes=(), search=None)  # told once
            continue
        share = None if seconds is None else seconds * len(group.queries) / n_left
        planned.append(plan(group, replace(planning, search_seconds=share)))
        search = planned[-1].optimized.search
        if seconds is not None and search is not None:
            seconds = max(0.0, seconds - search.seconds)
    return planned


def expected_rows(planned: PlannedGroup, schema: Schema, statistics: Statistics) -> Mapping[Node, float]:
    """Return how many rows the nodes of a plan are expected to have on all of the events."""
    planning = Planning(plan=planned.optimized.stored, statistics=statistics)
    rates = choose_plan(planned.group.queries, schema, planning).expected
    return {node: rate * statistics.span for node, rate in rates.items()}


def learn_from(planned: Sequence[PlannedGroup], analysis: Analysis, statistics: Statistics) -> Statistics:
    """Return statistics corrected by the rows that a run built; plans with stopped queries teach nothing."""
    rates: dict[ItemKey, float] = {}
    counts: dict[PatternKey, PatternCount] = {}
    for own, analyzed in zip(planned, analysis.plans, strict=True):
        if any(query.name in analysis.stopped for query in own.group.queries):
            continue
        for node, kind in input_kinds(analyzed.plan).items():
            if kind.type != EVERY_TYPE:
                rates[kind] = max(float(analyzed.metrics[node].rows), UNSEEN) / statistics.span
        partial = nearest_joins(analyzed.plan)
        for node, key in own.optimized.computed.items():
            if node in analyzed.metrics and node not in partial:
                counts[key] = PatternCount(analyzed.metrics[node].rows)
    forms = [form for own in planned for query in own.group.queries for form in normalize(query)]
    return learn(statistics, rates, counts, forms)


def work_of(planned: PlannedGroup, schema: Schema, planning: Planning, statistics: Statistics) -> float:
    """Return what a plan costs in all, whatever it was chosen for."""
    if not planning.latency_weight:
        return planned.optimized.cost
    same = Planning(plan=planned.optimized.stored, statistics=statistics, cost=planning.cost)
    return choose_plan(planned.group.queries, schema, same).cost


def compare_costs(
    planned: PlannedGroup, schema: Schema, planning: Planning, statistics: Statistics
) -> dict[str, float]:
    """Return the cost of the plan and of the baselines, under the same statistics."""
    same = Planning(
        plan=planned.optimized.stored,
        statistics=statistics,
        cost=planning.cost,
        objective=planning.objective,
    )
    baselines: tuple[Strategy, ...] = ("trivial", "reorder", "share")
    chosen = {"this plan": same} | {name: replace(same, plan=name) for name in baselines}
    return {name: choose_plan(planned.group.queries, schema, wanted).cost for name, wanted in chosen.items()}


def why_lines(costs: Mapping[str, float], planned: PlannedGroup, planning: Planning) -> list[str]:
    """Say what a plan is expected to cost and how it was found.

    The measured cost is shown in microseconds of one core for each second of the stream.
    """
    is_measured, scale = planning.cost == "measured", _scale(planning)
    unit = "Cost in microseconds for a second of events" if is_measured else "Partial matches at a moment"
    if planning.latency_weight:
        unit = f"{unit}, {planning.latency_weight:.0%} by what waits for the last event of a match"
    shown = ", ".join(f"{name} {cost / scale:,.1f}" for name, cost in costs.items())
    lines = [f"{unit}: {shown}", *search_lines(planned, planning)]
    long = [
        query.name
        for query in planned.group.queries
        if any(len(form.items) > MOST_EXACT and not form.is_some for form in normalize(query))
    ]
    if long:
        named = ", ".join(long[:5]) + (f" and {len(long) - 5} more" if len(long) > 5 else "")
        lines.append(
            f"Greedy order or ZStream's tree, the better of the two, beyond {MOST_EXACT} items: {named}"
        )
    return lines


def search_lines(planned: PlannedGroup, planning: Planning) -> list[str]:
    """Say which options a plan was chosen by, and what the search for it did."""
    options, search = planning.options(), planned.optimized.search
    lines = (
        [f"Planning: {', '.join(f'{name} {value}' for name, value in options.items())}"] if options else []
    )
    return [*lines, *([] if search is None else search.lines(_scale(planning))), *planned.optimized.notes]


def _scale(planning: Planning) -> float:
    """Return what a cost is divided by where it is shown."""
    return 1000.0 if planning.cost == "measured" else 1.0


def estimate_statistics(host: Host[Any], queries: Sequence[Query], *, is_quick: bool) -> Statistics:
    """Estimate what the optimizer would like to know, from a sample of the events."""
    forms = [form for query in queries for form in normalize(query)]
    counts_all = any(isinstance(form.window, CountWindow) for form in forms)
    return host.estimate(inquiry_of(forms), counts_all=counts_all, is_quick=is_quick)


def network_of(
    host: Host[Any], queries: Sequence[Query], site: str, statistics: Statistics
) -> SiteStatistics:
    """Count the events at the sites in a column, in one scan; selectivities come from the statistics."""
    schema = host.source.schema
    placed = normal_form_queries(queries, schema, statistics)
    attributes = set[str]().union(*attributes_by_type(placed, schema).values())
    counted = host.site_counts(site, kinds_of(placed), attributes)
    return site_statistics(queries, schema, statistics, counted)


def merge_plans(planned: Sequence[PlannedGroup]) -> StoredPlan:
    """Return the stored plans of all groups as one."""
    stored = [group.optimized.stored for group in planned]
    trees = {name: tree for plan in stored for name, tree in plan.trees.items()}
    return StoredPlan(trees, all(plan.is_shared for plan in stored))


def load_plan(path: str | Path) -> StoredPlan:
    """Read a plan that was stored with `save_plan` or `weft run --save-plan`."""
    return StoredPlan.from_json(text_of_file(path), str(path))


def save_plan(plan: StoredPlan, path: str | Path) -> None:
    """Write a plan to a file that `load_plan` reads."""
    write_text(path, plan.to_json() + "\n")
