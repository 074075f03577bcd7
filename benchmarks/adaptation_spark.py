"""A stream of Spark as users run it: files in a directory, and what it reports of its plan."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from contest import Arena
from processes import cpu_seconds
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from stream_runs import WATERMARK, arriving, drained, in_order, reports_in, scratch

import weft
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.schema import Schema
from weft.statistics.model import Statistics

PLAN_STEPS = 3_000  # of the search for a plan: the same on every machine


@dataclass(frozen=True)
class Drifting:
    """Queries, what a user has from before, and a stream of events, of which each batch is a file."""

    name: str
    text: str
    schema: Schema
    history: pa.Table
    table: pa.Table
    n_per_batch: int

    @cached_property
    def known(self) -> Statistics:
        """The statistics of what a user has from before."""
        return self._statistics(self.history)

    @cached_property
    def hindsight(self) -> Statistics:
        """The statistics of the whole stream."""
        return self._statistics(self.table)

    def _statistics(self, table: pa.Table) -> Statistics:
        prepared = weft.prepare(table, self.text, time="ts", type="type", id="id", notices=False)
        return prepared.statistics

    def planning(self, known: Statistics) -> weft.Planning:
        """Return how plans are chosen, by what is known."""
        return weft.Planning(statistics=known, steps=PLAN_STEPS)

    @cached_property
    def arena(self) -> Arena:
        """The same for the engine alone."""
        return Arena(self.text, self.schema, self.known, self.table)

    @cached_property
    def events(self) -> Events:
        """The events that a shard sees: those of types that a query names."""
        return ingest(self.arena.rows, self.arena.layout)

    def write(self, place: Path) -> Path:
        """Write each batch as a file."""
        place.mkdir(parents=True)
        for number, start in enumerate(range(0, self.table.num_rows, self.n_per_batch)):
            pq.write_table(self.table.slice(start, self.n_per_batch), place / f"part-{number:05d}.parquet")
        return in_order(place)


@dataclass(frozen=True)
class SparkRun:
    """What a stream took: its batches after the first, with which the operator starts, and what they did.

    `seconds` are those of the clock, `step_seconds` those of the shards, of which `adapting` went into
    watching, planning and changing plans. Processor time is that of all batches.
    """

    n_events: int
    seconds: float
    step_seconds: float
    adapting: float
    worker_seconds: float
    jvm_seconds: float
    n_changes: int
    n_kept: int
    n_matches: int

    @property
    def throughput(self) -> float:
        """Events per second."""
        return self.n_events / self.seconds

    @property
    def processor_seconds(self) -> float:
        """The processor time of the JVM and of the workers."""
        return self.worker_seconds + self.jvm_seconds


def run_stream(
    spark: SparkSession, drifting: Drifting, files: Path, known: Statistics, streaming: weft.Streaming
) -> SparkRun:
    """Run a stream to its end."""
    detection = weft.prepare(
        arriving(spark, files, 1),
        drifting.text,
        time="ts",
        type="type",
        id="id",
        watermark=WATERMARK,
        planning=drifting.planning(known),
        streaming=streaming,
    )
    jvm, workers = cpu_seconds()
    with scratch() as directory:
        query = drained(detection.matches, directory / "state")
    jvm_after, workers_after = cpu_seconds()
    return told(query, workers_after - workers, jvm_after - jvm)


def told(query: StreamingQuery, worker_seconds: float, jvm_seconds: float) -> SparkRun:
    """Return what a stream tells of itself."""
    batches = [progress for progress in query.recentProgress if progress.numInputRows]
    reports = [report for progress in query.recentProgress for report in reports_in(progress)]
    later = [report for progress in batches[1:] for report in reports_in(progress)]
    changes = [change for report in reports for change in report["changes"]]
    return SparkRun(
        sum(progress.numInputRows for progress in batches[1:]),
        sum(progress.durationMs["triggerExecution"] for progress in batches[1:]) / 1000,
        sum(report["seconds"] for report in later),
        sum(report["adapting"] for report in later),
        worker_seconds,
        jvm_seconds,
        sum(change.get("kept") is None and change.get("measured") is None for change in changes),
        sum(change.get("kept") is not None for change in changes),
        sum(sum(report["matches"].values()) for report in reports),
    )
