"""The command `weft stream`: matches as events come, until there are none or somebody stops it."""

import signal
import threading
import time as clock
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.adaptation.settings import Adaptation
from weft.api.detect import prepare
from weft.api.detection import Detection
from weft.api.options import Columns, Streaming
from weft.api.run_notices import run_notices
from weft.cli import options
from weft.cli.adapt_options import AdaptOptions
from weft.cli.console import Queries, in_options, say_error, say_notices, terminal
from weft.cli.groups import with_groups
from weft.cli.policy_options import PolicyOptions
from weft.cli.report import print_summary, show_progress
from weft.cli.spark_engine import SparkEngine, report_failures, start_spark
from weft.cli.steps import planning_of, prepare_files, search_plan, sites_of
from weft.cli.stream_report import show_stream
from weft.cli.trend_options import TrendOptions
from weft.errors import DataError, WeftError
from weft.explanation.placements import bytes_text
from weft.hosts.host import InputCounts
from weft.hosts.progress import no_progress
from weft.hosts.spark.assignment import check_windows
from weft.hosts.spark.batch import PARTITIONS
from weft.hosts.spark.failures import SPARK_FAILURES
from weft.hosts.spark.local import local_cores
from weft.hosts.spark.monitor import StreamMonitor
from weft.hosts.spark.progress import spark_progress
from weft.hosts.spark.stream import n_unobserved
from weft.io.event_files import find_events
from weft.io.spark import stream_sources
from weft.io.spark.checkpoint_notes import CheckpointNotes
from weft.io.spark.stream_sinks import BatchDirectory, BatchWriter
from weft.io.targets import MATCHES, TIMEOUTS, TRENDS
from weft.language.literals import parse_duration
from weft.language.read import read_queries
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.runtime.budget import Budget, OnBudget

LAST_NEWS = 10.0  # seconds to wait for the metrics of the last batch
EXAMPLES = (
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


@with_groups
def stream(
    queries: Queries,
    source: options.Source,
    *,
    columns: options.ColumnOptions,
    policies: PolicyOptions,
    feed: options.SourceOptions,
    running: options.RunningOptions,
    adapting: AdaptOptions,
    output: options.OutputOptions,
    budget: options.BudgetOption = options.PARTIAL_MATCHES,
    on_budget: options.OnBudgetOption = "stop",
    planning: options.PlanOptions,
    trends: TrendOptions,
    sites: options.StreamSiteOptions,
    notices: options.NoticesOption = True,
    as_json: options.AsJson = False,
    master: options.Master = "local[*]",
) -> None:
    """Find matches in a stream, as its events come.

    Each batch with matches becomes one file in the output, complete from the start and never twice: also
    when the stream was killed and started again with the same checkpoint. A match that depends on what
    does NOT come appears once the watermark has passed its window, and so do the results of trend queries.
    """
    with report_failures():
        tie_break = columns.order_by is not None
        bound = read_queries(
            queries, None, tie_break=tie_break, default=policies.policy(), times={columns.time}
        )
        check_windows(bound)
        sites.check()
        adaptation = adapting.adaptation()
        if sites.site is not None and adaptation is not None and adaptation.decide != "off":
            raise WeftError(f"--adapt {adaptation.decide}: a placement is kept; leave out --adapt or --site")
        planning_of(planning, trends)
        if sites.history is not None:
            find_events(sites.history)
        job = StreamJob(
            queries,
            source,
            columns,
            policies,
            feed,
            running,
            adaptation,
            planning,
            sites,
            trends,
            budget,
            on_budget,
        )
        writer = _writer(bound, output)
        job.check(writer.directories)
        spark = start_spark(master)
        shape = job.shape(spark, master)
        detection = job.prepare(spark, shape)
        say_notices(detection.notices if notices else ())
        writer.returned, writer.trend_names = detection.return_columns, detection.trend_names
        started = clock.perf_counter()
        with show_stream([query.name for query in detection.queries], notices=notices) as monitor:
            status = job.run(spark, detection, writer, shape, monitor)
        at_end = list(_notices_at_end(detection, monitor))
        _summarize(detection, monitor, clock.perf_counter() - started, at_end, as_json=as_json)
        say_notices(at_end if notices else ())
        if monitor.totals.rows and not monitor.totals.events:
            say_error(
                f"every row was rejected\n  hint: is `{columns.time}` the time of the events, in "
                f"{columns.time_unit} if it is a number (--time-unit)? do the rows fit the schema (--schema)?"
            )
        if status:
            raise typer.Exit(status)


def _writer(queries: Sequence[Query], output: options.OutputOptions) -> BatchWriter:
    """Return where outcomes go; Parquet of several kinds to directories, since their columns differ."""
    has = {
        MATCHES: not all(query.is_trend for query in queries),
        TIMEOUTS: any(query.policy.timeouts for query in queries),
        TRENDS: any(query.is_trend for query in queries),
    }
    path, written = Path(output.out), output.format
    is_apart = written == "parquet" and sum(has.values()) > 1

    def directory(kind: str) -> BatchDirectory | None:
        return BatchDirectory(path / kind if is_apart else path, written) if has[kind] else None

    return BatchWriter(
        matches=directory(MATCHES),
        late=None if output.late is None else BatchDirectory(Path(output.late), written),
        returned={},
        trends=directory(TRENDS),
        timeouts=directory(TIMEOUTS),
    )


@dataclass(frozen=True)
class StreamJob:
    """What the options say of a stream, and the steps in which it comes to run."""

    queries: Path
    source: str
    columns: options.ColumnOptions
    policies: PolicyOptions
    feed: options.SourceOptions
    running: options.RunningOptions
    adaptation: Adaptation | None
    planning: options.PlanOptions
    sites: options.StreamSiteOptions
    trends: TrendOptions
    budget: int
    on_budget: OnBudget

    def check(self, directories: list[BatchDirectory]) -> None:
        """Let mistakes show before Spark starts."""
        _milliseconds("--watermark", self.feed.watermark)
        self._trigger()
        stream_sources.check_source(self.source, self.feed.source_format, self.feed.schema)
        is_kafka = stream_sources.kafka_topic(self.source) is not None
        if is_kafka and self.feed.max_files is not None:
            raise WeftError("--max-files is about files, and the source is Kafka")
        places = {} if is_kafka else {self.source: "the source"}
        for directory in directories:
            directory.check(self.running.checkpoint)
            _keep_apart(str(directory.path), places)
            places[str(directory.path)] = "a directory of the output"
        _keep_apart(self.running.checkpoint, places)

    def shape(self, spark: SparkSession, master: str) -> stream_sources.SourceShape:
        """Return how rows look, and set the number of parts of the state: both as at the first start."""
        known = stream_sources.known_shape(CheckpointNotes(spark, self.running.checkpoint))
        given = self.running.partitions
        if known is not None and given not in (None, known.partitions):
            raise WeftError(
                f"--partitions {given}: the stream has started with {known.partitions}, "
                "and its state is divided so\n  hint: leave out --partitions, or start with a new checkpoint"
            )
        partitions = known.partitions if known else given or local_cores(master)
        spark.conf.set(PARTITIONS, str(partitions))
        with show_progress("Looking at the source", no_progress):
            return stream_sources.shape_of(
                spark,
                self.source,
                self.columns,
                format=self.feed.source_format,
                schema=self.feed.schema,
                known=known,
                partitions=partitions,
            )

    def prepare(self, spark: SparkSession, shape: stream_sources.SourceShape) -> Detection:
        """Bind the queries to the stream, say what is another workload than before, and choose the plan."""
        columns = self.columns
        events = stream_sources.read_stream(spark, self.source, shape, columns, self.feed.max_files)
        past = self._past(spark)
        planning = planning_of(self.planning, self.trends)
        if past is not None:
            planning = replace(planning, statistics=past.statistics)
        detection = prepare(
            events,
            self.queries,
            time=columns.time,
            type=columns.type,
            id=columns.id,
            strategy=self.policies.strategy,
            skip=self.policies.skip,
            suppress=self.policies.suppress,
            watermark=self.feed.watermark,
            columns=Columns(order_by=columns.order_by, types=columns.conditions),
            planning=planning,
            streaming=Streaming(checkpoint=self.running.checkpoint, adapt=self.adaptation),
            sites=sites_of(self.sites, None if past is None else past.network),
            budget=Budget(partial_matches=self.budget),
            on_budget=self.on_budget,
            partitions=shape.partitions,
            notices=False,  # they are told in lines
        )
        for names, change in ((detection.started, "start empty"), (detection.ended, "are gone")):
            if names:
                say_error(f"another workload than before: {', '.join(names)} {change}")
        search_plan(detection)
        if self.sites.site is not None and (left_out := n_unobserved(detection.site_program)):
            say_error(f"{left_out:,} reports of sites are too many for metrics: counts leave them out")
        return detection

    def _past(self, spark: SparkSession) -> Detection | None:
        """Return the queries on past events, after a look at these; they tell the sites of the stream."""
        history = self.sites.history
        if history is None:
            return None
        with show_progress("Looking at the past", spark_progress(spark)):
            past = prepare_files(
                SparkEngine(spark).read,
                self.queries,
                history,
                self.columns,
                self.planning,
                policies=self.policies,
                sites=self.sites,
            )
            if not past.network.sites:
                raise DataError(f"{history}: no event has a site (--site {self.sites.site})")
        return past

    def run(
        self,
        spark: SparkSession,
        detection: Detection,
        writer: BatchWriter,
        shape: stream_sources.SourceShape,
        monitor: StreamMonitor,
    ) -> int:
        """Run the stream to its end, or until a signal comes; return the exit status."""
        checkpoint = self.running.checkpoint
        outcomes = detection.outcomes
        stream_sources.remember_shape(CheckpointNotes(spark, checkpoint), shape)
        for directory in writer.directories:
            directory.claim(checkpoint)
        writing = outcomes.writeStream.foreachBatch(writer).option("checkpointLocation", checkpoint)
        writing = writing.trigger(**self._trigger())
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

    def _trigger(self) -> dict[str, Any]:
        """Return when batches begin, as Spark takes it."""
        trigger = self.running.trigger
        if self.running.available_now and trigger is not None:
            raise WeftError("--available-now takes what is there at once: leave out --trigger")
        milliseconds = 0 if trigger is None else _milliseconds("--trigger", trigger)
        if self.running.available_now:
            return {"availableNow": True}
        return {"processingTime": f"{milliseconds} milliseconds"}


def _milliseconds(option: str, text: str) -> int:
    duration = parse_duration(text)
    if duration is None or duration < 0:
        raise WeftError(f"{option} {text}: expected a duration such as 10s or '5 minutes'")
    return -(-duration // 1000)


def _keep_apart(path: str, others: dict[str, str]) -> None:
    """Refuse a directory in another one: what is written there would be read as something else."""
    if "://" in path:
        return
    for other, role in others.items():
        if "://" not in other and Path(path).resolve().is_relative_to(Path(other).resolve()):
            raise DataError(f"{path}: this is in {other}, which is {role}; name another directory")


def _notices_at_end(detection: Detection, monitor: StreamMonitor) -> Iterator[Notice]:
    totals = monitor.totals
    return run_notices(detection.queries, totals.matches, InputCounts(totals.events, totals.rejected))


def _summarize(
    detection: Detection, monitor: StreamMonitor, seconds: float, at_end: Sequence[Notice], *, as_json: bool
) -> None:
    totals, sites = monitor.totals, detection.workload.sites
    results = {"matches": {query.name: totals.matches.get(query.name, 0) for query in detection.queries}}
    timed = [query.name for query in detection.queries if query.policy.timeouts]
    if timed:
        results["timeouts"] = {name: totals.timeouts.get(name, 0) for name in timed}
    counts = {name: getattr(totals, name) for name in ("batches", "events", "rejected", "late")}
    more: dict[str, object] = {
        "stopped": {name: in_options(reason) for name, reason in totals.stopped.items()},
        "notices": [notice.to_dict() for notice in (*detection.notices, *monitor.notices, *at_end)],
    }
    if detection.search is not None:
        more["search"] = detection.search.to_dict()
    if sites is not None:
        more["sent"] = {"rows": totals.sent_rows, "bytes": totals.sent_bytes}
    print_summary(detection, results, counts, seconds, more, as_json=as_json)
    if sites is not None and not as_json:
        sent = f"{totals.sent_rows:,} rows, {bytes_text(totals.sent_bytes)}"
        terminal().print(f"Between sites: {sent} (placement: {sites.placement})")


class Stop:
    """Remembers the first signal that asks to stop; a second one is no longer held back."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.status = 0

    def __call__(self, number: int, frame: object) -> None:  # noqa: ARG002
        self.status = 128 + number
        self.asked.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yield what remembers the signals that come meanwhile."""
    stop = Stop()
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def follow(query: StreamingQuery, writer: BatchWriter, stop: Stop) -> int:
    """Wait for the end of a stream, or stop it when that is asked for; return the exit status."""
    while query.isActive:
        if stop.asked.wait(0.1):
            query.stop()
            return stop.status
    failure = query.exception()
    if failure is not None:
        raise writer.failure if isinstance(writer.failure, SPARK_FAILURES) else failure
    return 0
