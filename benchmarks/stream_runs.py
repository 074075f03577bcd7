"""Streams: throughput against the batch run, cost over time, latency, state and recovery."""

import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from generate import EVENTS_PER_FILE, SCHEMA
from measures import Measure
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from ratios import discard_matches, prepared
from stream_baselines import moved_packs, unpacked_steps
from workloads import Workload, keyed

import weft
from weft.api.detection import Detection
from weft.hosts.spark.local import local_session
from weft.statistics.model import Statistics

Say = Callable[[str], None]

MASTER, N_SHARDS = "local[2]", 2
WATERMARK = "10 seconds"
BATCH_EVENTS, UNPACKED_EVENTS = 500_000, 1_500_000
PARTITIONS, BATCH_PARTITIONS = "spark.sql.shuffle.partitions", "32"
N_BATCHES = 100
LATENCY_FILES, LATENCY_EVENTS, LATENCY_GAP = 60, 2_000, 0.5
LONG_WINDOW = """
QUERY long PATTERN SEQ(T00 a, T01 b, T02 c) WHERE [key] AND c.price > a.price * 1.1 WITHIN 1 day
"""


def stream_session() -> SparkSession:
    """Return a session for streams: a state store per core."""
    spark = local_session(MASTER, name="weft benchmarks")
    spark.conf.set(PARTITIONS, str(N_SHARDS))
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", str(2 * N_BATCHES))
    return spark


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a directory that is removed afterwards."""
    place = Path(tempfile.mkdtemp(prefix="weft-stream-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def in_order(place: Path) -> Path:
    """Give files of events times of their own, in the order of their names: streams take the oldest first."""
    for number, file in enumerate(sorted(place.glob("*.parquet"))):
        os.utime(file, (1_600_000_000 + number, 1_600_000_000 + number))
    return place


def arriving(spark: SparkSession, place: Path, files_per_batch: int) -> DataFrame:
    """Return files of events as a stream."""
    schema = spark.read.parquet(str(next(iter(sorted(place.glob("*.parquet")))))).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch).parquet(str(place))


def detected(events: DataFrame, text: str, known: Statistics | None = None) -> Detection:
    """Bind queries to a stream, with what is known from history."""
    return weft.prepare(
        events,
        text,
        time="ts",
        type="type",
        id="id",
        watermark=WATERMARK,
        planning=weft.Planning(statistics=known),
    )


def drained(matches: DataFrame, checkpoint: Path) -> StreamingQuery:
    """Run a stream over all there is, throw its rows away, and return the query."""
    query = (
        matches.writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def reports_in(progress: Any) -> list[dict[str, Any]]:
    """Return what the shards reported in a batch."""
    observed = progress.observedMetrics.get("weft")
    return [json.loads(text)["value"] for text in observed.asDict().values() if text] if observed else []


def measure_stream(place: Path, n_events: int, workload: Workload, repeat: int, say: Say) -> list[Measure]:
    """Compare the stream with the batch run of the same workload, and with rows that are not packed.

    The throughput of a stream is that of its batches after the first, with which the operator starts.
    """
    spark, place = stream_session(), in_order(place)
    files = BATCH_EVENTS // EVENTS_PER_FILE
    rounds = []
    matches = 0
    known = prepared(spark.read.parquet(str(place)), workload).statistics
    for number in range(repeat + 1):  # the first round warms up
        with scratch() as directory:
            spark.conf.set(PARTITIONS, BATCH_PARTITIONS)
            batch = _timed(lambda: discard_matches(spark.read.parquet(str(place)), workload))
            spark.conf.set(PARTITIONS, "1")  # these queries share one shard
            started = time.perf_counter()
            query = drained(
                detected(arriving(spark, place, files), workload.text, known).matches, directory / "packed"
            )
            whole = time.perf_counter() - started
            matches = sum(
                sum(report["matches"].values()) for p in query.recentProgress for report in reports_in(p)
            )
            few = _first_files(place, directory / "few", UNPACKED_EVENTS // EVENTS_PER_FILE)
            rows = unpacked_steps(detected(arriving(spark, few, files), workload.text, known))
            unpacked = drained(rows, directory / "unpacked")
            idle = drained(
                moved_packs(detected(arriving(spark, place, files), workload.text, known)), directory / "idle"
            )
            rates = _rate(query), _rate(idle), _rate(unpacked)
            rounds.append(Round(n_events / batch, n_events / whole, *rates))
            say(f"stream {number}/{repeat}: {rounds[-1]}")
    return [
        *rounds_compared(rounds[1:]),
        Measure("stream", "matches", matches),
    ]


@dataclass(frozen=True)
class Round:
    """Events per second: in batch, of a stream with its start, and of the batches of three streams.

    These are the stream itself, one whose operator does nothing with its packs, and one without packs.
    """

    batch: float
    whole: float
    packed: float
    idle: float
    unpacked: float

    def __str__(self) -> str:
        return (
            f"batch {self.batch:,.0f}, stream {self.whole:,.0f} ({self.packed:,.0f} once it runs), "
            f"packs merely moved {self.idle:,.0f}, rows {self.unpacked:,.0f} per second"
        )


def rounds_compared(rounds: Sequence[Round]) -> list[Measure]:
    """Return the rates, and the medians of their ratios."""

    def median(of: Callable[[Round], float]) -> float:
        return statistics.median(map(of, rounds))

    return [
        Measure("stream", "batch run", max(one.batch for one in rounds), "1/s"),
        Measure("stream", "stream, start included", max(one.whole for one in rounds), "1/s"),
        Measure("stream", "stream", max(one.packed for one in rounds), "1/s"),
        Measure("stream", "packs merely moved", max(one.idle for one in rounds), "1/s"),
        Measure("stream", "rows not packed", max(one.unpacked for one in rounds), "1/s"),
        Measure("stream", "stream / batch run", median(lambda one: one.packed / one.batch), at_least=0.5),
        Measure("stream", "the same, start included", median(lambda one: one.whole / one.batch)),
        Measure(
            "stream", "stream / rows not packed", median(lambda one: one.packed / one.unpacked), at_least=5
        ),
        Measure(
            "stream", "packs merely moved / rows not packed", median(lambda one: one.idle / one.unpacked)
        ),
        Measure("stream", "stream / packs merely moved", median(lambda one: one.packed / one.idle)),
    ]


def _rate(query: StreamingQuery) -> float:
    """Return the events per second of the batches after the first."""
    later = [progress for progress in query.recentProgress if progress.numInputRows][1:]
    seconds = sum(progress.durationMs["triggerExecution"] for progress in later) / 1000
    return sum(progress.numInputRows for progress in later) / seconds


def _timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _first_files(place: Path, target: Path, count: int) -> Path:
    target.mkdir(parents=True)
    for file in sorted(place.glob("*.parquet"))[:count]:
        (target / file.name).symlink_to(file.resolve())
    return target


def measure_growth(place: Path, n_events: int, say: Say) -> list[Measure]:
    """Say how the time of a batch changes over a hundred batches, with a window of twelve of them."""
    spark = stream_session()
    with scratch() as directory:
        files = _cut(place, directory / "events", n_events // N_BATCHES)
        query = drained(detected(arriving(spark, files, 1), keyed().text).matches, directory / "checkpoint")
        seconds = [p.durationMs["triggerExecution"] / 1000 for p in query.recentProgress if p.numInputRows]
        last = [report for p in query.recentProgress[-5:] for report in reports_in(p)]
    tenth = len(seconds) // 10
    second, final = seconds[tenth : 2 * tenth], seconds[-tenth:]
    early, late = statistics.median(second), statistics.median(final)
    say(f"growth: {len(seconds)} batches, {early:.2f} s, then {late:.2f} s")
    largest = max(last, key=lambda report: report["buffered"])
    return [
        Measure("growth", "batches", len(seconds)),
        Measure("growth", "second tenth, median of a batch", statistics.median(second), "s"),
        Measure("growth", "last tenth, median of a batch", statistics.median(final), "s"),
        Measure(
            "growth",
            "last over second tenth",
            statistics.median(final) / statistics.median(second),
            at_most=1.2,
        ),
        Measure(
            "growth", "state bytes per buffered event", largest["state_bytes"] / largest["buffered"], "B"
        ),
        Measure(
            "growth",
            "state bytes per partial match kept",
            largest["state_bytes"] / max(1, sum(largest["partial_matches"].values())),
            "B",
        ),
        Measure("growth", "buffered events in a shard", largest["buffered"]),
    ]


def _cut(place: Path, target: Path, n_rows: int) -> Path:
    """Write events again in files of so many rows."""
    target.mkdir(parents=True)
    table = ds.dataset(sorted(map(str, place.glob("*.parquet")))).to_table()
    for number, start in enumerate(range(0, table.num_rows, n_rows)):
        pq.write_table(table.slice(start, n_rows), target / f"part-{number:05d}.parquet")
    return in_order(target)


def measure_latency(say: Say) -> list[Measure]:
    """Say how long it takes from the arrival of the event that completes a match until it is emitted."""
    spark = stream_session()
    with scratch() as directory:
        incoming = directory / "events"
        incoming.mkdir()
        _write_now(incoming, 0)
        found = detected(
            arriving(spark, incoming, 1000), keyed().text.replace("10 minutes", "10 seconds")
        ).matches
        waits: list[float] = []

        def take(batch: DataFrame, _: int) -> None:
            ends = [row["end"].timestamp() for row in batch.select("end").collect()]
            now = time.time()
            waits.extend(now - end for end in ends)

        query = (
            found.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(directory / "checkpoint"))
            .trigger(processingTime="0 seconds")
            .start()
        )
        time.sleep(15)  # until the first batch is done
        waits.clear()
        for number in range(1, LATENCY_FILES):
            _write_now(incoming, number)
            time.sleep(LATENCY_GAP)
        time.sleep(5)
        query.stop()
    say(f"latency: {len(waits)} matches")
    return [
        Measure("latency", "matches", len(waits)),
        Measure("latency", "from arrival to emitted, median", float(np.median(waits)), "s"),
        Measure("latency", "from arrival to emitted, 99th percentile", float(np.percentile(waits, 99)), "s"),
    ]


def _write_now(directory: Path, number: int) -> None:
    """Write a file of events that happen now; they appear together."""
    generator = np.random.default_rng(number)
    now = int(time.time() * 1e6)
    times = np.sort(generator.integers(now - int(LATENCY_GAP * 1e6), now, LATENCY_EVENTS))
    kinds = generator.choice([f"T{rank:02d}" for rank in range(4)], LATENCY_EVENTS)
    table = pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "type": kinds,
            "id": np.arange(LATENCY_EVENTS) + number * LATENCY_EVENTS,
            "key": generator.integers(0, 2_000, LATENCY_EVENTS),
            "price": generator.normal(100, 10, LATENCY_EVENTS),
            "volume": generator.integers(1, 100, LATENCY_EVENTS),
        },
        schema=SCHEMA,
    )
    hidden = directory / f".part-{number:05d}.tmp"
    pq.write_table(table, hidden)
    hidden.rename(directory / f"part-{number:05d}.parquet")


def measure_recovery(place: Path, n_buffered: int, say: Say) -> list[Measure]:
    """Say how long the first batch takes after a restart, with a million events in the state."""
    spark = stream_session()
    with scratch() as directory:
        files = directory / "events"
        files.mkdir()
        table = ds.dataset(sorted(map(str, place.glob("*.parquet")))).to_table(
            filter=pc.is_in(ds.field("type"), pa.array(["T00", "T01", "T02"]))
        )
        step = n_buffered // 4
        for number in range(4):
            pq.write_table(table.slice(number * step, step), files / f"part-{number:05d}.parquet")
        in_order(files)
        drained(detected(arriving(spark, files, 1), LONG_WINDOW).matches, directory / "checkpoint")
        pq.write_table(table.slice(4 * step, 1000), files / "part-00004.parquet")
        fresh = _first_batch(spark, files, directory / "checkpoint")
    reports = reports_in(fresh)
    repeated = sum(report["repeated"] for report in reports)
    say(f"recovery: {repeated:,} events run again")
    return [
        Measure("recovery", "events in the state", repeated),
        Measure(
            "recovery",
            "slowest shard, reading and running them again",
            max(r["seconds"] for r in reports),
            "s",
        ),
        Measure(
            "recovery", "first batch after the restart", fresh.durationMs["triggerExecution"] / 1000, "s"
        ),
        Measure("recovery", "state bytes", sum(report["state_bytes"] for report in reports), "B"),
    ]


def _first_batch(spark: SparkSession, files: Path, checkpoint: Path) -> Any:
    """Restart a stream with workers that know nothing, and return the progress of the batch with rows."""
    query = drained(detected(arriving(spark, files, 1), LONG_WINDOW).matches, checkpoint)
    return next(p for p in query.recentProgress if p.numInputRows)
