"""The command line: check, explain and run queries, and a demonstration."""

import json
import logging
import signal
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from weft import demo as demonstration
from weft.errors import WeftError
from weft.language.read import read
from weft.pattern.nodes import Query
from weft.query_files import QueryText, read_queries
from weft.report import progress_shown, queries_table, say_error, summary_table, terminal
from weft.runtime.budget import Budget
from weft.session import Detection, prepare
from weft.session import explain as explain_queries
from weft.spark.failures import SPARK_FAILURES, failure_of
from weft.spark.local import local_session
from weft.spark.progress import current_progress, no_progress
from weft.spark.sinks import check_target, write_matches
from weft.spark.sources import find_events, read_events
from weft.spark.times import TimeUnit

FAILED, INTERRUPTED = 1, 130

app = typer.Typer(
    name="weft",
    help="Find patterns of events with Spark: many queries, one shared plan.",
    epilog="Start with: weft demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Queries = Annotated[
    str, typer.Argument(metavar="QUERIES", help="A file of queries, or a directory of *.weft files.")
]
Events = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="CSV with a header, JSON lines or Parquet; a file or a directory of files of one format.",
    ),
]
TimeColumn = Annotated[
    str,
    typer.Option("--time", help="The column of the event time: a timestamp, a number or ISO 8601 text."),
]
TypeColumn = Annotated[str, typer.Option("--type", help="The column of the event type.")]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="The column of the event's identity; equal ids count once.")
]
OrderColumn = Annotated[
    str | None, typer.Option("--order-by", help="The column that orders events of equal time.")
]
Unit = Annotated[
    TimeUnit,
    typer.Option("--time-unit", help="What numbers in the time column count: seconds, ms or us."),
]
Master = Annotated[str, typer.Option("--master", help="Where Spark runs; local[*] is all of this machine.")]


@app.command(
    epilog="Examples:\n\n  weft check fraud.weft\n\n  weft check queries/",
)
def check(queries: Queries) -> None:
    """Check queries for mistakes, without events: syntax, names, types as far as they are known."""
    with _errors_told():
        bound = _bind(read_queries(queries), tie_break=True)
        terminal().print(queries_table(bound))
        terminal().print(f"{len(bound)} {'query is' if len(bound) == 1 else 'queries are'} fine.")


@app.command(
    epilog="Examples:\n\n"
    "  weft explain fraud.weft\n\n"
    "  weft explain fraud.weft events.parquet --time ts --type type",
)
def explain(
    queries: Queries,
    events: Annotated[
        str | None,
        typer.Argument(metavar="[EVENTS]", help="Events whose columns give the types; nothing is run."),
    ] = None,
    time: TimeColumn = "ts",
    type: TypeColumn = "type",
    id: IdColumn = None,
    time_unit: Unit = "ms",
    order_by: OrderColumn = None,
    master: Master = "local[*]",
) -> None:
    """Show the normal forms of queries and their shared plan as a tree."""
    with _errors_told():
        text = read_queries(queries)
        bound = _bind(text, tie_break=order_by is not None)
        if events is None:
            typer.echo(explain_queries(bound))
            return
        columns = Columns(time=time, time_unit=time_unit, type=type, id=id, order_by=order_by)
        find_events(events)
        spark = _start_spark(master)
        with progress_shown("Looking at the events", partial(current_progress, spark)):
            detection = _prepare(spark, text, events, columns)
        typer.echo(detection.explain())


@app.command(
    epilog="Examples:\n\n"
    "  weft run fraud.weft events.parquet --time ts --type type\n\n"
    "  weft run fraud.weft log.csv --time at --time-unit s --type kind --id id --out matches.jsonl\n\n"
    "  weft run queries/ events/ --time ts --type type --out matches/ --json",
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
            metavar="FILE.jsonl|DIR", help="Where matches go: JSON lines, or a directory of Parquet."
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
    ] = False,
    budget: Annotated[
        int,
        typer.Option(min=1, help="Partial matches that a step of a query may build before it is stopped."),
    ] = Budget().partial_matches,
    master: Master = "local[*]",
) -> None:
    """Find all matches of queries in events."""
    with _errors_told():
        text = read_queries(queries)
        _bind(text, tie_break=order_by is not None)  # a mistake shows before Spark starts
        columns = Columns(time=time, time_unit=time_unit, type=type, id=id, order_by=order_by)
        find_events(events)
        if out is not None:
            check_target(out)
        spark = _start_spark(master)
        started = clock.perf_counter()
        with progress_shown("Finding matches", partial(current_progress, spark)):
            detection = _prepare(spark, text, events, columns, Budget(partial_matches=budget))
            matches = _detect(detection, out)
            n_events, n_rejected = detection.input_counts()
        seconds = round(clock.perf_counter() - started, 3)
        if as_json:
            summary = {"events": n_events, "rejected": n_rejected, "matches": matches, "seconds": seconds}
            typer.echo(json.dumps(summary, ensure_ascii=False))
        else:
            terminal().print(
                summary_table(events=n_events, rejected=n_rejected, matches=matches, seconds=seconds)
            )
        if n_rejected and not n_events:
            say_error(_all_rejected(detection.rejected, columns))


@app.command(epilog="Example:\n\n  weft demo --events 100000")
def demo(
    events: Annotated[int, typer.Option(min=10_000, help="How many events to make.")] = 1_000_000,
    master: Master = "local[*]",
) -> None:
    """Find fraud in a million events of a bank: twenty queries, one shared plan, some matches to read."""
    with _errors_told():
        demonstration.show(terminal(), n_events=events, spark=_start_spark(master))


@dataclass(frozen=True, slots=True)
class Columns:
    """What the options say of the columns of the events."""

    time: str
    time_unit: TimeUnit
    type: str
    id: str | None
    order_by: str | None


def _bind(text: QueryText, *, tie_break: bool) -> tuple[Query, ...]:
    """Check queries as far as is possible without a schema."""
    with text.errors_in_own_file():
        return read(text.text, None, origin=text.origin, tie_break=tie_break)


def _start_spark(master: str) -> SparkSession:
    with progress_shown("Starting Spark", no_progress):
        session = local_session(master)
    # Spark's own handler talks to the JVM while another call is under way, which fails noisily.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return session


def _prepare(
    spark: SparkSession, text: QueryText, events: str, columns: Columns, budget: Budget | None = None
) -> Detection:
    frame = read_events(
        spark,
        events,
        time=columns.time,
        time_unit=columns.time_unit,
        type=columns.type,
        id=columns.id,
        order_by=columns.order_by,
    )
    with text.errors_in_own_file():
        return prepare(
            frame,
            text.text,
            time=columns.time,
            type=columns.type,
            id=columns.id,
            order_by=columns.order_by,
            budget=budget,
            origin=text.origin,
        )


def _detect(detection: Detection, out: str | None) -> dict[str, int]:
    """Run the detection once, write the matches if asked to, and count them per query."""
    matches = detection.matches if out is None else detection.matches.persist(StorageLevel.MEMORY_AND_DISK)
    counted = {row["query"]: row["count"] for row in matches.groupBy("query").count().collect()}
    if out is not None:
        write_matches(matches, detection.return_columns, out)
        matches.unpersist()
    return {query.name: counted.get(query.name, 0) for query in detection.queries}


def _all_rejected(rejected: DataFrame, columns: Columns) -> str:
    reasons = sorted(row["reason"] for row in rejected.select("reason").distinct().limit(5).collect())
    return (
        f"every row was rejected: {'; '.join(reasons)}\n"
        f"  hint: is `{columns.time}` the time of the events, in {columns.time_unit} if it is a number "
        "(--time-unit)?"
    )


@contextmanager
def _errors_told() -> Iterator[None]:
    """Turn what goes wrong into a message on standard error and an exit status."""
    try:
        yield
    except WeftError as error:
        say_error(str(error))
        raise typer.Exit(FAILED) from None
    except SPARK_FAILURES as error:
        say_error(str(failure_of(error)))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        say_error("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def main() -> None:
    """Run the command line."""
    # The bridge to Java logs stack traces when it is interrupted; what matters is told by us.
    logging.getLogger().addHandler(logging.NullHandler())
    app()
