"""Steps that the commands have in common: options as values, queries, Spark, errors told."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from pyspark.sql import SparkSession

from weft.adaptation.settings import Decider
from weft.api.planning import load_plan
from weft.api.session import Detection, Placement, prepare
from weft.cli.report import progress_shown, say_error
from weft.errors import WeftError, near_name
from weft.hosts.spark.failures import SPARK_FAILURES, failure_of
from weft.hosts.spark.local import local_session
from weft.hosts.spark.progress import no_progress
from weft.io.query_files import QueryText
from weft.io.sources import read_events
from weft.io.times import TimeUnit
from weft.language.read import read
from weft.optimizer.pipeline import STRATEGIES, Strategy
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget

FAILED, INTERRUPTED = 1, 130


@dataclass(frozen=True, slots=True)
class Columns:
    """What the options say of the columns of the events."""

    time: str
    time_unit: TimeUnit
    type: str
    id: str | None
    order_by: str | None
    site: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say of the plan."""

    plan: Strategy | StoredPlan
    statistics: str | None
    search_seconds: float
    save_plan: str | None
    save_statistics: str | None
    sharing: Sharing = "dynamic"
    adapt: Decider = "off"
    placement: Placement | None = None


def plan_of(name: str) -> Strategy | StoredPlan:
    """Return the strategy of a name, or the plan in a file."""
    for strategy in STRATEGIES:
        if name == strategy:
            return strategy
    if not name.endswith(".json"):
        near = near_name(name, STRATEGIES)
        hint = f"; did you mean {near}?" if near else ""
        raise WeftError(f"--plan {name}: expected {', '.join(STRATEGIES)} or a file that ends in .json{hint}")
    return load_plan(name)


def bind_queries(text: QueryText, *, tie_break: bool) -> tuple[Query, ...]:
    """Check queries as far as is possible without a schema."""
    with text.errors_in_own_file():
        return read(text.text, None, origin=text.origin, tie_break=tie_break)


def check_site_options(
    *, site: str | None, placement: Placement | None, history: str | None = None, needs_history: bool = False
) -> None:
    """Refuse options that speak of sites where there are none, and sites of which nothing is known."""
    for name, value in (("--placement", placement), ("--history", history)):
        if value is not None and site is None:
            raise WeftError(f"{name} needs --site, the column of the site at which events arise")
    if needs_history and site is not None and history is None:
        raise WeftError(
            "--site needs --history on a stream: its sites are not known before it starts\n"
            "  hint: name a file or a directory of past events, from which sites and rates are counted"
        )


def prepared_events(
    spark: SparkSession,
    text: QueryText,
    events: str,
    columns: Columns,
    wanted: Wanted,
    budget: Budget | None = None,
) -> Detection:
    """Bind queries to the events of files."""
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
            site=columns.site,
            placement=wanted.placement,
            budget=budget,
            plan=wanted.plan,
            statistics=wanted.statistics,
            search_seconds=wanted.search_seconds,
            sharing=wanted.sharing,
            origin=text.origin,
        )


def start_spark(master: str) -> SparkSession:
    """Start a session, or take the one that runs."""
    with progress_shown("Starting Spark", no_progress):
        session = local_session(master)
    # Spark's own handler talks to the JVM while another call is under way, which fails noisily.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return session


@contextmanager
def errors_told() -> Iterator[None]:
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
