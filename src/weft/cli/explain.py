"""The command `weft explain`: normal forms, the shared plan, and where sites evaluate it."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import typer

from weft.cli import options
from weft.cli.console import Queries, check_picture, report_errors, say_notices
from weft.cli.engines import run_engine
from weft.cli.groups import with_groups
from weft.cli.policy_options import PolicyOptions
from weft.cli.steps import choose_plan, planning_of, prepare_files
from weft.codec import write_text
from weft.errors import WeftError
from weft.explanation.placement_picture import picture
from weft.explanation.plans import explain as explain_queries
from weft.io.event_files import find_events
from weft.kernels.compilation import keep_quiet
from weft.language.read import read_queries

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
    columns: options.UsualColumnOptions,
    policies: PolicyOptions,
    planning: options.StoredPlanOptions,
    placed: options.PlacementOptions,
    engine: options.EngineOptions,
    notices: options.NoticesOption = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: the text, the search, the notices.")
    ] = False,
) -> None:
    """Show the normal forms of queries and their shared plan as a tree.

    With events, the plan is chosen for them, and shown with the rows expected of each node.
    """
    with report_errors():
        _check(placed, events)
        tie_break = columns.order_by is not None
        bound = read_queries(
            queries, None, tie_break=tie_break, default=policies.policy(), times={columns.time}
        )
        if events is None:
            _print(explain_queries(bound), as_json=as_json)
            return
        planning_of(planning)
        find_events(events)
    if not notices:
        keep_quiet()
    with run_engine(engine, events) as chosen:
        sites = options.SiteOptions(site=placed.site)
        detection = prepare_files(
            chosen.read, queries, events, columns, planning, policies=policies, sites=sites
        )
        choose_plan(detection, planning)
        say_notices(detection.notices if notices else ())
        more: dict[str, object] = {"notices": [notice.to_dict() for notice in detection.notices]}
        if detection.search is not None:
            more["search"] = detection.search.to_dict()
        _print(detection.explain(), more, as_json=as_json)
        if placed.picture is not None:
            write_text(placed.picture, picture(detection.placed.graph, unit="rows per second"))


def _print(text: str, more: Mapping[str, object] = MappingProxyType({}), *, as_json: bool) -> None:
    typer.echo(json.dumps({"explain": text, **more}, ensure_ascii=False) if as_json else text)


def _check(placed: options.PlacementOptions, events: str | None) -> None:
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
