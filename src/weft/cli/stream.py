"""The command `weft stream`: matches as events come, until there are none or somebody stops it."""

import json
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from pyspark.sql import SparkSession

from weft.api.placed_detection import PlacedDetection
from weft.api.placed_stream_detection import PlacedStreamDetection
from weft.api.session import StreamDetection, prepare_stream
from weft.cli.follow import follow, stop_on_signals
from weft.cli.options import (
    PARTIAL_MATCHES,
    AdaptOption,
    AsJson,
    AvailableNow,
    BudgetOption,
    Checkpoint,
    HistoryOption,
    IdColumn,
    LateDirectory,
    Master,
    MatchesDirectory,
    MatchesFormat,
    MaxFiles,
    OrderColumn,
    Partitions,
    PlacementOption,
    PlanOption,
    Queries,
    SchemaOption,
    SearchSeconds,
    SharingOption,
    SiteColumn,
    Source,
    SourceFormat,
    StatisticsOption,
    TimeColumn,
    TriggerOption,
    TypeColumn,
    Unit,
    WatermarkOption,
)
from weft.cli.report import progress_shown, say_error, stream_shown, summary_table, terminal
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
from weft.errors import DataError, WeftError
from weft.explain.placements import bytes_text
from weft.hosts.spark.local import local_cores
from weft.hosts.spark.parts import check_windows
from weft.hosts.spark.placed_stream import n_unobserved
from weft.hosts.spark.progress import SearchProgress, current_progress, no_progress
from weft.hosts.spark.stream import PARTITIONS
from weft.hosts.spark.stream_metrics import StreamMonitor
from weft.io.query_files import QueryText, read_queries
from weft.io.sinks import MATCHES, TRENDS
from weft.io.sources import Format, find_events
from weft.io.stream_sinks import BatchDirectory, BatchWriter, MatchFormat
from weft.io.stream_sources import (
    SourceShape,
    check_source,
    kafka_topic,
    known_shape,
    read_stream,
    remember_shape,
    shape_of,
)
from weft.language.literals import parse_duration
from weft.optimizer.pipeline import SECONDS
from weft.pattern.nodes import Query
from weft.runtime.budget import Budget

LAST_NEWS = 10.0  # seconds to wait for the metrics of the last batch
STREAM_EXAMPLES = (
    "Examples:\n\n"
    "  weft stream fraud.weft incoming/ --time ts --type type --id id --watermark 10s "
    "--checkpoint state/ --out matches/\n\n"
    "  weft stream fraud.weft incoming/ --time ts --type type --watermark 10s --checkpoint state/ "
    "--out matches/ --available-now --json\n\n"
    "  weft stream fraud.weft incoming/ --time ts --type type --watermark 10s --checkpoint state/ "
    "--out matches/ --site plant --history past.parquet\n\n"
    '  weft stream fraud.weft kafka:localhost:9092/payments --schema "id long, ts timestamp, type string" '
    "--time ts --type type --watermark 1m --checkpoint state/ --out matches/"
)


@dataclass(frozen=True, slots=True)
class Feed:
    """What the options say of the source."""

    source: str
    format: Format | None
    schema: str | None
    max_files: int | None
    watermark: str
    history: str | None


@dataclass(frozen=True, slots=True)
class Running:
    """What the options say of the state, and of when batches begin."""

    checkpoint: str
    partitions: int | None
    every: str | None  # None: take what is there, then end
    budget: Budget
    master: str


def stream(
    queries: Queries,
    source: Source,
    *,
    time: TimeColumn,
    type: TypeColumn,
    watermark: WatermarkOption,
    checkpoint: Checkpoint,
    out: MatchesDirectory,
    format: MatchesFormat = "json",
    late: LateDirectory = None,
    id: IdColumn = None,
    time_unit: Unit = "ms",
    order_by: OrderColumn = None,
    source_format: SourceFormat = None,
    schema: SchemaOption = None,
    available_now: AvailableNow = False,
    trigger: TriggerOption = None,
    max_files: MaxFiles = None,
    partitions: Partitions = None,
    budget: BudgetOption = PARTIAL_MATCHES,
    plan: PlanOption = "auto",
    statistics: StatisticsOption = None,
    search_seconds: SearchSeconds = SECONDS,
    sharing: SharingOption = "dynamic",
    adapt: AdaptOption = "off",
    site: SiteColumn = None,
    placement: PlacementOption = None,
    history: HistoryOption = None,
    as_json: AsJson = False,
    master: Master = "local[*]",
) -> None:
    """Find matches in a stream, as its events come.

    Each batch with matches becomes one file in the output, complete from the start and never twice: also
    when the stream was killed and started again with the same checkpoint. A match that depends on what
    does NOT come appears once the watermark has passed its window, and so do the results of trend queries.
    """
    with errors_told():
        text = read_queries(queries)
        bound = bind_queries(text, tie_break=order_by is not None)
        check_windows(bound)
        check_site_options(site=site, placement=placement, history=history, needs_history=True)
        if site is not None and adapt != "off":
            raise WeftError(f"--adapt {adapt}: a placement is kept; leave out --adapt or --site")
        if history is not None:
            find_events(history)
        columns = Columns(time=time, time_unit=time_unit, type=type, id=id, order_by=order_by, site=site)
        wanted = Wanted(plan_of(plan), statistics, search_seconds, None, None, sharing, adapt, placement)
        feed = Feed(source, source_format, schema, max_files, watermark, history)
        running = Running(
            checkpoint,
            partitions,
            _every(trigger, available_now=available_now),
            Budget(partial_matches=budget),
            master,
        )
        writer = _writer(bound, out, late, format)
        _check(feed, running, writer.directories)
        spark = start_spark(master)
        shape = _shape(spark, feed, running, columns)
        detection = _planned(spark, text, feed, shape, columns, wanted, running)
        writer.returned, writer.trend_names = detection.return_columns, detection.trend_names
        started = clock.perf_counter()
        with stream_shown([query.name for query in detection.queries]) as monitor:
            status = _run(spark, detection, writer, running, shape, monitor)
        _summarize(detection, monitor, clock.perf_counter() - started, as_json=as_json)
        if monitor.totals.rows and not monitor.totals.events:
            say_error(
                f"every row was rejected\n  hint: is `{time}` the time of the events, in {time_unit} if it "
                "is a number (--time-unit)? do the rows fit the schema (--schema)?"
            )
        if status:
            raise typer.Exit(status)


def _writer(queries: Sequence[Query], out: str, late: str | None, format: MatchFormat) -> BatchWriter:
    """Return where outcomes go; Parquet of both kinds to two directories, since their columns differ."""
    has_trends = any(query.is_trend for query in queries)
    has_matches = not all(query.is_trend for query in queries)
    is_apart = has_trends and has_matches and format == "parquet"
    path = Path(out)
    return BatchWriter(
        matches=BatchDirectory(path / MATCHES if is_apart else path, format) if has_matches else None,
        late=None if late is None else BatchDirectory(Path(late), format),
        returned={},
        trends=BatchDirectory(path / TRENDS if is_apart else path, format) if has_trends else None,
    )


def _every(trigger: str | None, *, available_now: bool) -> str | None:
    if available_now and trigger is not None:
        raise WeftError("--available-now takes what is there at once: leave out --trigger")
    milliseconds = 0 if trigger is None else _milliseconds("--trigger", trigger)
    return None if available_now else f"{milliseconds} milliseconds"


def _milliseconds(option: str, text: str) -> int:
    found = parse_duration(text)
    if found is None or found < 0:
        raise WeftError(f"{option} {text}: expected a duration such as 10s or '5 minutes'")
    return -(-found // 1000)


def _check(feed: Feed, running: Running, directories: list[BatchDirectory]) -> None:
    """Let mistakes show before Spark starts."""
    _milliseconds("--watermark", feed.watermark)
    check_source(feed.source, feed.format, feed.schema)
    is_kafka = kafka_topic(feed.source) is not None
    if is_kafka and feed.max_files is not None:
        raise WeftError("--max-files is about files, and the source is Kafka")
    places = {} if is_kafka else {feed.source: "the source"}
    for directory in directories:
        directory.check(running.checkpoint)
        _keep_apart(str(directory.path), places)
        places[str(directory.path)] = "a directory of the output"
    _keep_apart(running.checkpoint, places)


def _keep_apart(path: str, others: dict[str, str]) -> None:
    """Refuse a directory in another one: what is written there would be read as something else."""
    if "://" in path:
        return
    for other, role in others.items():
        if "://" not in other and Path(path).resolve().is_relative_to(Path(other).resolve()):
            raise DataError(f"{path}: this is in {other}, which is {role}; name another directory")


def _shape(spark: SparkSession, feed: Feed, running: Running, columns: Columns) -> SourceShape:
    """Return how rows look, and set the number of parts of the state: both as at the first start."""
    known = known_shape(spark, running.checkpoint)
    if known is not None and running.partitions not in (None, known.partitions):
        raise WeftError(
            f"--partitions {running.partitions}: the stream has started with {known.partitions}, "
            "and its state is divided so\n  hint: leave out --partitions, or start with a new checkpoint"
        )
    partitions = known.partitions if known else running.partitions or local_cores(running.master)
    spark.conf.set(PARTITIONS, str(partitions))
    with progress_shown("Looking at the source", no_progress):
        return shape_of(
            spark,
            feed.source,
            format=feed.format,
            schema=feed.schema,
            known=known,
            partitions=partitions,
            time=columns.time,
            type=columns.type,
            id=columns.id,
        )


def _planned(
    spark: SparkSession,
    text: QueryText,
    feed: Feed,
    shape: SourceShape,
    columns: Columns,
    wanted: Wanted,
    running: Running,
) -> StreamDetection:
    events = read_stream(
        spark,
        feed.source,
        shape,
        time=columns.time,
        time_unit=columns.time_unit,
        type=columns.type,
        id=columns.id,
        order_by=columns.order_by,
        max_files=feed.max_files,
    )
    past = _past(spark, text, feed, columns, wanted)
    with text.errors_in_own_file():
        detection = prepare_stream(
            events,
            text.text,
            time=columns.time,
            type=columns.type,
            id=columns.id,
            order_by=columns.order_by,
            partitions=shape.partitions,
            budget=running.budget,
            plan=wanted.plan,
            statistics=wanted.statistics if past is None else past.statistics,
            search_seconds=wanted.search_seconds,
            sharing=wanted.sharing,
            adapt=wanted.adapt,
            site=columns.site,
            placement=wanted.placement,
            network=None if past is None else past.network,
            watermark=feed.watermark,
            checkpoint=running.checkpoint,
            origin=text.origin,
        )
    for names, what in ((detection.started, "start empty"), (detection.ended, "are gone")):
        if names:
            say_error(f"another workload than before: {', '.join(names)} {what}")
    search = SearchProgress()
    with progress_shown("Weaving the plan", search.now):
        detection.weave(search.tell)
    if isinstance(detection, PlacedStreamDetection) and (left_out := n_unobserved(detection.program)):
        say_error(f"{left_out:,} reports of sites are too many for metrics: counts leave them out")
    return detection


def _past(
    spark: SparkSession, text: QueryText, feed: Feed, columns: Columns, wanted: Wanted
) -> PlacedDetection | None:
    """Return the queries on past events, after a look at these; they tell the sites of the stream."""
    if feed.history is None:
        return None
    with progress_shown("Looking at the past", partial(current_progress, spark)):
        found = prepared_events(spark, text, feed.history, columns, wanted)
        assert isinstance(found, PlacedDetection)  # --history needs --site
        if not found.network.sites:
            raise DataError(f"{feed.history}: no event has a site (--site {columns.site})")
    return found


def _run(
    spark: SparkSession,
    detection: StreamDetection,
    writer: BatchWriter,
    running: Running,
    shape: SourceShape,
    monitor: StreamMonitor,
) -> int:
    """Run the stream to its end, or until a signal comes; return the exit status."""
    outcomes = detection.outcomes
    remember_shape(spark, running.checkpoint, shape)
    for directory in writer.directories:
        directory.claim(running.checkpoint)
    writing = outcomes.writeStream.foreachBatch(writer).option("checkpointLocation", running.checkpoint)
    every = running.every
    writing = writing.trigger(availableNow=True) if every is None else writing.trigger(processingTime=every)
    spark.streams.addListener(monitor)
    try:
        with stop_on_signals() as stop:
            query = writing.start()
            try:
                return follow(query, writer, stop)
            finally:
                monitor.wait_for_end(LAST_NEWS)
    finally:
        spark.streams.removeListener(monitor)


def _summarize(detection: StreamDetection, monitor: StreamMonitor, seconds: float, *, as_json: bool) -> None:
    totals = monitor.totals
    matches = {query.name: totals.matches.get(query.name, 0) for query in detection.queries}
    if as_json:
        summary = {
            "batches": totals.batches,
            "events": totals.events,
            "rejected": totals.rejected,
            "late": totals.late,
            "matches": matches,
            "seconds": round(seconds, 3),
            "stopped": totals.stopped,
        }
        if isinstance(detection, PlacedStreamDetection):
            summary |= {"sent": {"rows": totals.sent_rows, "bytes": totals.sent_bytes}}
        typer.echo(json.dumps(summary, ensure_ascii=False))
        return
    terminal().print(
        summary_table(
            events=totals.events,
            rejected=totals.rejected,
            matches=matches,
            seconds=seconds,
            more={"late": totals.late, "batches": totals.batches},
            counted="results" if detection.trend_queries else "matches",
        )
    )
    if isinstance(detection, PlacedStreamDetection):
        sent = f"{totals.sent_rows:,} rows, {bytes_text(totals.sent_bytes)}"
        terminal().print(f"Between sites: {sent} (placement: {detection.placement})")
