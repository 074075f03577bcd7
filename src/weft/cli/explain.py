"""The command `weft explain`: normal forms, the shared plan, and where sites evaluate it."""

from functools import partial
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from weft.api.detection import Detection
from weft.api.site_planning import explain_placement
from weft.cli.console import Queries, check_picture, write_picture
from weft.cli.options import Master, PlacementOptions, StoredPlanOptions, UsualColumnOptions, with_groups
from weft.cli.report import progress_shown
from weft.cli.steps import choose_plan, failures_told, planning_of, prepare_files, start_spark
from weft.errors import WeftError
from weft.explanation.plans import explain as explain_queries
from weft.hosts.spark.progress import current_progress
from weft.io.sources import find_events
from weft.language.read import read_queries
from weft.statistics.file import save_statistics

EXAMPLES = (
    "Examples:\n\n"
    "  weft explain fraud.weft\n\n"
    "  weft explain fraud.weft events.parquet --time ts --type type\n\n"
    "  weft explain fraud.weft events.parquet --placement --site plant --picture graph.svg"
)


@with_groups
def explain(
    queries: Queries,
    events: Annotated[
        str | None,
        typer.Argument(metavar="[EVENTS]", help="Events to plan for; a sample of them is looked at."),
    ] = None,
    *,
    columns: UsualColumnOptions,
    planning: StoredPlanOptions,
    placed: PlacementOptions,
    master: Master = "local[*]",
) -> None:
    """Show the normal forms of queries and their shared plan as a tree.

    With events, the plan is chosen for them, and shown with the rows expected of each node.
    """
    with failures_told():
        _check(placed, events)
        bound = read_queries(queries, None, tie_break=columns.order_by is not None)
        if events is None:
            typer.echo(explain_queries(bound))
            return
        planning_of(planning)
        find_events(events)
        spark = start_spark(master)
        detection = prepare_files(spark, queries, events, columns, planning)
        if placed.placement:
            typer.echo(_placement_text(spark, detection, placed, planning))
            return
        choose_plan(spark, detection, planning)
        typer.echo(detection.explain())


def _check(placed: PlacementOptions, events: str | None) -> None:
    """Say what is missing, before anything takes time."""
    if not placed.placement:
        if placed.site is not None or placed.picture is not None:
            raise WeftError("--site and --picture show a placement: add --placement")
        return
    if events is None:
        raise WeftError("--placement needs events: a file or directory after the queries")
    if placed.site is None:
        raise WeftError("--placement needs --site, the column of the site at which events arise")
    check_picture(placed.picture)


def _placement_text(
    spark: SparkSession, detection: Detection, placed: PlacementOptions, planning: StoredPlanOptions
) -> str:
    """Return the placement of the queries on the sites of their events; draw it if that is wanted."""
    assert placed.site is not None  # as was checked
    with progress_shown("Looking at the events", partial(current_progress, spark)):
        statistics = detection.statistics
        if planning.save_statistics is not None:
            save_statistics(statistics, planning.save_statistics)
        explained = explain_placement(
            detection.source, detection.queries, placed.site, statistics, seconds=planning.search_seconds
        )
    if placed.picture is not None:
        write_picture(placed.picture, explained.picture)
    return str(explained)
