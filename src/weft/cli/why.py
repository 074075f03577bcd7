"""The command `weft why`: how far a rule gets on given events, and what it misses most narrowly."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from weft.api.detection import Detection
from weft.cli import options
from weft.cli.console import Queries, report_errors, say_error, terminal
from weft.cli.engines import run_engine
from weft.cli.groups import with_groups
from weft.cli.policy_options import PolicyOptions
from weft.cli.report import show_progress
from weft.cli.steps import prepare_files
from weft.diagnosis.look import look_at
from weft.diagnosis.why import Why, event_text, shown_steps
from weft.errors import WeftError, near_name
from weft.io.event_files import find_events
from weft.language.read import read_queries
from weft.pattern.nodes import Query

EXAMPLES = (
    "Examples:\n\n"
    "  weft why fraud.weft events.parquet\n\n"
    "  weft why fraud.weft events.csv --rule large --key user=ann --at 2026-01-31T09:30:00\n\n"
    "  weft why fraud.weft events.csv --time at --type kind --id id --json"
)


@with_groups
def why(
    queries: Queries,
    events: options.Events,
    *,
    rule: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The rule to look at; by default all."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE", help="Look at events with this value only; may be given several times."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Look at events up to one window before and after it."),
    ] = None,
    columns: options.UsualColumnOptions,
    policies: PolicyOptions,
    as_json: options.AsJson = False,
    engine: options.EngineOptions,
) -> None:
    """Say how far a rule gets on given events, step by step, and what it misses most narrowly.

    For each item of its pattern: how many events there are, how many pass each condition, and how many
    partial matches are left by each join, window, condition and NOT. Where nothing is left, the partial
    match that gets furthest is shown, with what it lacks. Counts are of the input as it is given, each event
    once.
    """
    with report_errors():
        bound = read_queries(queries, None, tie_break=columns.order_by is not None, default=policies.policy())
        names = [own.name for own in chosen_rules(bound, rule)]
        values = dict(map(key_of, key or ()))
        find_events(events)
    with run_engine(engine, events) as chosen:
        detection = prepare_files(
            chosen.read, queries, events, columns, options.PlanOptions(plan="trivial"), policies=policies
        )
        asked = [own for own in detection.queries if own.name in names]
        for own in asked:
            look_at(detection.source.schema, own, values, at)  # mistakes show before anything takes time
        with show_progress("Looking at the events", detection.host.progress):
            told = [detection.why(own.name, key=values, at=at) for own in asked]
        show(told, detection, as_json=as_json)


def show(told: Sequence[Why], detection: Detection, *, as_json: bool) -> None:
    """Print what is told of rules: one JSON object, or a table for each."""
    if as_json:
        typer.echo(json.dumps({"rules": [own.as_dict() for own in told]}, ensure_ascii=False))
        return
    console = terminal()
    for own in told:
        console.print(Text(own.verdict, style="bold"), soft_wrap=True)
        for table in tables(own):
            console.print(table)
        if own.closest is not None:
            console.print(
                Text.assemble(("closest miss: ", "bold"), (own.closest.text, "red")), soft_wrap=True
            )
            for event in own.closest.events:
                style = "red" if event.is_blocker else ""
                console.print(Text(f"  {event_text(event)}", style=style), soft_wrap=True)
        if own is not told[-1]:
            console.print()
    n_events, n_rejected = detection.input_counts()
    if n_rejected and not n_events:
        say_error(f"every one of {n_rejected:,} rows was rejected\n  hint: weft run says why")


def tables(why: Why) -> list[Table | Text]:
    """Return a table of steps for each alternative of a rule that is shown, and for all of them together."""
    shown: list[Table | Text] = []
    for title, steps in shown_steps(why):
        if not steps:
            shown.append(Text(title))
            continue
        table = Table("step", "left", "", title=escape(title) or None, title_justify="left")
        table.columns[1].justify = "right"
        for step in steps:
            style = "red" if step.is_empty else None
            table.add_row(escape(step.label), step.count, escape(step.remark), style=style)
        shown.append(table)
    return shown


def chosen_rules(queries: Sequence[Query], name: str | None) -> list[Query]:
    """Return the rule of a name, or all rules.

    >>> from weft.language.parser import parse
    >>> [own.name for own in chosen_rules(parse("QUERY a PATTERN A QUERY b PATTERN B"), "b")]
    ['b']
    """
    chosen = [own for own in queries if name in (None, own.name)]
    if not chosen:
        names = [own.name for own in queries]
        near = near_name(str(name), names)
        hint = f"did you mean {near!r}?" if near else f"the rules are: {', '.join(names)}"
        raise WeftError(f"--rule {name}: there is no such rule\n  hint: {hint}")
    return chosen


def key_of(text: str) -> tuple[str, str]:
    """Return the column and the value of an option.

    >>> key_of("user=ann")
    ('user', 'ann')
    """
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise WeftError(f"--key {text}: expected COLUMN=VALUE\n  hint: for example --key user=ann")
    return name.strip(), value
