"""The command line: check, explain and run queries, on events and on streams, and a demonstration."""

import json
import logging
import time as clock
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession

from weft.api.placed_detection import PlacedAnalysis
from weft.api.planning import save_plan
from weft.api.session import Detection
from weft.api.session import explain as explain_queries
from weft.cli import demo as demonstration
from weft.cli.delivery import Delivery
from weft.cli.explain_placement import check_placement_options, show_placement
from weft.cli.options import (
    PARTIAL_MATCHES,
    AsJson,
    BudgetOption,
    Events,
    Explained,
    ExplainedSite,
    IdColumn,
    Master,
    OrderColumn,
    PictureOption,
    PlacementFlag,
    PlacementOption,
    PlanOption,
    Queries,
    SavePlan,
    SaveStatistics,
    SearchSeconds,
    SharingOption,
    SiteColumn,
    StatisticsOption,
    TimeColumn,
    TypeColumn,
    Unit,
)
from weft.cli.place import PLACE_EXAMPLES, place
from weft.cli.report import (
    progress_shown,
    queries_table,
    say_error,
    summary_table,
    terminal,
    trends_table,
)
from weft.cli.steps import (
    Columns,
    Wanted,
    bind_queries,
    check_site_options,
    errors_told,
    plan_of,
    prepared_events,
    start_spark,
)
from weft.cli.stream import STREAM_EXAMPLES, stream
from weft.hosts.spark.progress import SearchProgress, current_progress
from weft.io.query_files import QueryText, read_queries
from weft.io.sinks import check_target
from weft.io.sources import find_events
from weft.optimizer.pipeline import SECONDS
from weft.runtime.budget import Budget
from weft.statistics.file import save_statistics

app = typer.Typer(
    name="weft",
    help="Find patterns of events with Spark: many queries, one shared plan.\n\n"
    "Queries stand in *.weft files, or as statements of CCL in *.ccl files. The best plan is searched for, "
    "or one is read from a file: see --plan of weft run.",
    epilog="Start with: weft demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(
    epilog="Examples:\n\n  weft check fraud.weft\n\n  weft check queries/",
)
def check(queries: Queries) -> None:
    """Check queries for mistakes, without events: syntax, names, types as far as they are known."""
    with errors_told():
        bound = bind_queries(read_queries(queries), tie_break=True)
        terminal().print(queries_table(bound))
        terminal().print(f"{len(bound)} {'query is' if len(bound) == 1 else 'queries are'} fine.")


@app.command(
    epilog="Examples:\n\n"
    "  weft explain fraud.weft\n\n"
    "  weft explain fraud.weft events.parquet --time ts --type type\n\n"
    "  weft explain fraud.weft events.parquet --placement --site plant --picture graph.svg",
)
def explain(
    queries: Queries,
    events: Annotated[
        str | None,
        typer.Argument(metavar="[EVENTS]", help="Events to plan for; a sample of them is looked at."),
    ] = None,
    *,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    id: IdColumn = None,
    time_unit: Unit = "ms",
    order_by: OrderColumn = None,
    plan: PlanOption = "auto",
    save_plan: SavePlan = None,
    statistics: StatisticsOption = None,
    save_statistics: SaveStatistics = None,
    search_seconds: SearchSeconds = SECONDS,
    placement: PlacementFlag = False,
    site: ExplainedSite = None,
    picture: PictureOption = None,
    master: Master = "local[*]",
) -> None:
    """Show the normal forms of queries and their shared plan as a tree.

    With events, the plan is chosen for them, and shown with the rows expected of each node.
    """
    with errors_told():
        check_placement_options(placement=placement, site=site, picture=picture, events=events)
        text = read_queries(queries)
        bound = bind_queries(text, tie_break=order_by is not None)
        if events is None:
            typer.echo(explain_queries(bound))
            return
        columns = Columns(time=time, time_unit=time_unit, type=type, id=id, order_by=order_by)
        wanted = Wanted(plan_of(plan), statistics, search_seconds, save_plan, save_statistics)
        find_events(events)
        spark = start_spark(master)
        if placement and site is not None:
            typer.echo(
                show_placement(prepared_events(spark, text, events, columns, wanted), site, wanted, picture)
            )
            return
        detection = _planned(spark, text, events, columns, wanted)
        typer.echo(detection.explain())


@app.command(
    epilog="Examples:\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type\n\n"
    "  weft run fraud.weft log.csv --time at --time-unit s --type kind --id id --out matches.jsonl\n\n"
    "  weft run queries/ events/ --time ts --type type --out matches/ --json\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type --explain analyze\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type --site plant --placement muse",
)
def run(
    queries: Queries,
    events: Events,
    *,
    time: TimeColumn,
    type: TypeColumn,
    id: IdColumn = None,
    time_unit: Unit = "ms",
    order_by: OrderColumn = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.jsonl|DIR",
            help="Where matches and results of trend queries go: JSON lines, or a directory of Parquet.",
        ),
    ] = None,
    as_json: AsJson = False,
    budget: BudgetOption = PARTIAL_MATCHES,
    plan: PlanOption = "auto",
    save_plan: SavePlan = None,
    statistics: StatisticsOption = None,
    save_statistics: SaveStatistics = None,
    search_seconds: SearchSeconds = SECONDS,
    sharing: SharingOption = "dynamic",
    site: SiteColumn = None,
    placement: PlacementOption = None,
    explained: Explained = None,
    master: Master = "local[*]",
) -> None:
    """Find all matches of queries in events, and the aggregates of trend queries."""
    with errors_told():
        text = read_queries(queries)
        bind_queries(text, tie_break=order_by is not None)  # a mistake shows before Spark starts
        check_site_options(site=site, placement=placement)
        columns = Columns(time=time, time_unit=time_unit, type=type, id=id, order_by=order_by, site=site)
        wanted = Wanted(
            plan_of(plan),
            statistics,
            search_seconds,
            save_plan,
            save_statistics,
            sharing,
            placement=placement,
        )
        find_events(events)
        if out is not None:
            check_target(out)
        spark = start_spark(master)
        started = clock.perf_counter()
        detection = _planned(spark, text, events, columns, wanted, Budget(partial_matches=budget))
        delivery = Delivery(detection, out, is_shown=not as_json)
        with progress_shown("Finding matches", partial(current_progress, spark)):
            is_analyzed = explained == "analyze" or site is not None
            analysis = detection.analyze(delivery.writer) if is_analyzed else None
            counted = delivery.run() if analysis is None else analysis.counts
            found = {query.name: counted.get(query.name, 0) for query in detection.queries}
            n_events, n_rejected = detection.input_counts()
        seconds = round(clock.perf_counter() - started, 3)
        if as_json:
            matches = {query.name: found[query.name] for query in detection.match_queries}
            trends = {query.name: found[query.name] for query in detection.trend_queries}
            summary = {"events": n_events, "rejected": n_rejected, "matches": matches}
            summary |= ({"trends": trends} if trends else {}) | {"seconds": seconds}
            if isinstance(analysis, PlacedAnalysis):
                summary |= {"transfers": [asdict(one) for one in analysis.transfers]}
            typer.echo(json.dumps(summary, ensure_ascii=False))
        else:
            if delivery.first_results:
                terminal().print(trends_table(delivery.first_results, detection.trend_names))
            terminal().print(
                summary_table(
                    events=n_events,
                    rejected=n_rejected,
                    matches=found,
                    seconds=seconds,
                    counted="results" if detection.trend_queries else "matches",
                )
            )
        if explained == "plan":
            typer.echo(f"\n{detection.explain()}", err=as_json)
        if analysis is not None and not (as_json and explained is None):
            typer.echo(f"\n{analysis}", err=as_json)
        if n_rejected and not n_events:
            say_error(_all_rejected(detection.rejected, columns))


app.command(epilog=STREAM_EXAMPLES)(stream)
app.command(epilog=PLACE_EXAMPLES)(place)


@app.command(epilog="Example:\n\n  weft demo --events 100000")
def demo(
    events: Annotated[int, typer.Option(min=10_000, help="How many events to make.")] = 1_000_000,
    master: Master = "local[*]",
) -> None:
    """Find fraud in a million events of a bank: twenty queries, one shared plan, some matches to read."""
    with errors_told():
        demonstration.show(terminal(), n_events=events, spark=start_spark(master))


def _planned(
    spark: SparkSession,
    text: QueryText,
    events: str,
    columns: Columns,
    wanted: Wanted,
    budget: Budget | None = None,
) -> Detection:
    """Bind queries to events, look at the events as far as needed, and choose the plan."""
    with progress_shown("Looking at the events", partial(current_progress, spark)):
        detection = prepared_events(spark, text, events, columns, wanted, budget)
        if wanted.save_statistics is not None:
            save_statistics(detection.statistics, wanted.save_statistics)
        detection.look()
    search = SearchProgress()
    with progress_shown("Weaving the plan", search.now):
        detection.weave(search.tell)
    if wanted.save_plan is not None:
        save_plan(detection.plan, wanted.save_plan)
    return detection


def _all_rejected(rejected: DataFrame, columns: Columns) -> str:
    reasons = sorted(row["reason"] for row in rejected.select("reason").distinct().limit(5).collect())
    return (
        f"every row was rejected: {'; '.join(reasons)}\n"
        f"  hint: is `{columns.time}` the time of the events, in {columns.time_unit} if it is a number "
        "(--time-unit)?"
    )


def main() -> None:
    """Run the command line."""
    # The bridge to Java logs stack traces when it is interrupted; what matters is told by us.
    logging.getLogger().addHandler(logging.NullHandler())
    app()
