"""Steps that the commands which run queries have in common: plans, events of files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

from weft.api.detect import prepare
from weft.api.detection import Detection
from weft.api.options import Columns, Sites
from weft.api.planning import load_plan, save_plan
from weft.cli.options import ColumnOptions, PlanOptions, SiteOptions, StoredPlanOptions
from weft.cli.policy_options import PolicyOptions
from weft.cli.report import show_progress
from weft.cli.trend_options import NO_TRENDS, TrendOptions
from weft.errors import WeftError, near_name
from weft.explanation.analysis import Analysis
from weft.hosts.progress import SearchProgress
from weft.io.event_files import EventColumns
from weft.optimizer.planning import STRATEGIES, ObjectiveName, Planning, Strategy
from weft.optimizer.stored_plan import StoredPlan
from weft.placement.network import Network
from weft.runtime.budget import Budget, OnBudget
from weft.statistics.file import save_statistics

NO_SITES = SiteOptions()
Read: TypeAlias = Callable[[str, EventColumns], Any]  # the events at a path


def chosen_plan(name: str) -> Strategy | StoredPlan:
    """Return the strategy that --plan names, or the plan in the file."""
    for strategy in STRATEGIES:
        if name == strategy:
            return strategy
    if not name.endswith(".json"):
        near = near_name(name, STRATEGIES)
        hint = f"; did you mean {near}?" if near else ""
        raise WeftError(f"--plan {name}: expected {', '.join(STRATEGIES)} or a file that ends in .json{hint}")
    return load_plan(name)


def prepare_files(
    read: Read,
    queries: Path,
    events: str,
    columns: ColumnOptions,
    planning: PlanOptions,
    *,
    policies: PolicyOptions,
    sites: SiteOptions = NO_SITES,
    trends: TrendOptions = NO_TRENDS,
    budget: Budget | None = None,
    on_budget: OnBudget = "stop",
) -> Detection:
    """Bind queries to the events of files."""
    return prepare(
        read(events, columns),
        queries,
        time=columns.time,
        type=columns.type,
        id=columns.id,
        strategy=policies.strategy,
        skip=policies.skip,
        suppress=policies.suppress,
        columns=Columns(order_by=columns.order_by, types=columns.conditions),
        planning=planning_of(planning, trends),
        sites=sites_of(sites),
        budget=budget,
        on_budget=on_budget,
        notices=False,  # they are told in lines
    )


def planning_of(options: PlanOptions, trends: TrendOptions = NO_TRENDS) -> Planning:
    """Return what the options say of the plan."""
    if options.neighborhood_size is not None and options.neighborhood == "edge":
        raise WeftError("--neighborhood-size needs --neighborhood vertex: an edge joins two queries")
    return Planning(
        plan=chosen_plan(options.plan),
        statistics=options.statistics,
        search_seconds=options.search_seconds,
        steps=options.steps,
        seed=options.seed,
        heuristic=options.heuristic,
        neighborhood=options.neighborhood,
        k=options.neighborhood_size,
        prefix_only=options.prefix_only,
        cost=options.cost,
        objective=chosen_objective(options.objective),
        sharing=trends.sharing,
        exact=trends.exact,
    )


def chosen_objective(text: str) -> ObjectiveName | float:
    """Return the objective that a text names, or the number that it is.

    >>> chosen_objective("latency"), chosen_objective("0.25")
    ('latency', 0.25)
    """
    for name in get_args(ObjectiveName):
        if text == name:
            return cast(ObjectiveName, name)
    try:
        return float(text)
    except ValueError:
        raise WeftError(
            f"--objective {text}: expected throughput, latency, or a number from 0 to 1"
        ) from None


def sites_of(options: SiteOptions, network: Network | None = None) -> Sites | None:
    """Return what the options say of sites; None where there are none."""
    if options.site is None:
        return None
    return Sites(column=options.site, placement=options.placement or "muse", network=network)


def choose_plan(detection: Detection, planning: StoredPlanOptions) -> None:
    """Look at the events of a detection as far as needed, choose its plan, and store what is to be stored."""
    with show_progress("Looking at the events", detection.host.progress):
        if planning.save_statistics is not None:
            save_statistics(detection.statistics, planning.save_statistics)
        detection.sample_statistics()
    search_plan(detection)
    if planning.save_plan is not None:
        save_plan(detection.plan, planning.save_plan)


def learn_statistics(detection: Detection, analysis: Analysis | None, path: str) -> None:
    """Store the statistics once more, corrected by what a run counted."""
    if analysis is not None:
        save_statistics(detection.learn(analysis), path)


def search_plan(detection: Detection) -> None:
    """Search for the plan of a detection."""
    search = SearchProgress()
    with show_progress("Weaving the plan", search.now):
        detection.choose_plans(search.tell)
