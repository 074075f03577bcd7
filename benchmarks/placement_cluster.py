"""Task events of a Google cluster on 20 nodes, the case study of the paper on MuSE graphs.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
section 7.3, table 3 and figure 8: 12 hours of events of tasks that fail (D), finish (E), are evicted (C),
killed (F) or rescheduled with other constraints (H), and two queries on them, alone and together.

The events are no part of the project. They are read from `data/google_cluster.parquet` (`outside.py`), if it
exists: `ts`, `node` and `type`, from Google's cluster traces (https://github.com/google/cluster-data). They
have no ids of users and jobs, so these are drawn: every event has one of 20 users and one of 20 jobs, all
equally likely and independent of everything else. So two events agree with a probability of 0.05, which is
the selectivity that the paper's authors use.

Throughput and latency are those of streams: the events of 30 minutes are a batch, and its matches are there
when the batch ends. All runs have the same machine for all sites: the numbers say how much work a placement
is, nothing of networks. Before the first that counts, one runs to warm up.
"""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from contest import Say
from generate import DATA
from measures import Measure
from outside import outside, why_missing
from plots import Panel, plot_panels
from pyspark.sql import SparkSession
from result_tables import Row, report_table
from stream_runs import arriving, drained, in_order, reports_in, scratch, stream_session

import weft
from weft.api.detection import Detection
from weft.api.options import PlacementName
from weft.hosts.spark.local import local_session
from weft.runtime.budget import Budget

EVENTS = outside("data/google_cluster.parquet")
N_IDS = 20  # users, and jobs
SEED = 1
VERSION = 1  # part of the file's name: raise it when the events change
QUERIES = {
    "SEQ": "QUERY evicted PATTERN SEQ(D fail, C evict, F kill, H update) WHERE [user] WITHIN 30 minutes",
    "AND": "QUERY together PATTERN AND(E finish, D fail, F kill, H update) WHERE [job] WITHIN 30 minutes",
}
WORKLOADS = {**QUERIES, "both": "\n".join(QUERIES.values())}
MASTER = "local[2]"
BATCH_MINUTES = 30  # of events in a batch of a stream
OPTIONS: dict[str, Any] = {
    "time": "ts",
    "type": "type",
    "id": "id",
    "site": "node",
    "budget": Budget(partial_matches=20_000_000),  # an update completes millions of matches of AND at once
}
THROUGHPUT, LATENCY = "events per second", "latency, s"
PLACES = ("least", "quarter", "median", "three quarters", "most")
QUANTILES = (0, 0.25, 0.5, 0.75, 1)
MOST_RATIO = {"SEQ": 0.01, "AND": 0.05, "both": 0.05}  # of what centralized evaluation sends


def why_not() -> str | None:
    """Return why the case study cannot run, or None where it can."""
    return why_missing(EVENTS, "benchmarks/placement_cluster.py")


def cluster_parquet(events: Path = EVENTS) -> Path:
    """Return the file of the events with ids of users and jobs, after writing it where it is missing."""
    place = DATA / f"cluster-seed{SEED}-v{VERSION}.parquet"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_suffix(".tmp")
        table = with_ids(pq.read_table(events))
        table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
        pq.write_table(table, unfinished)
        unfinished.rename(place)
    return place


def with_ids(events: pa.Table) -> pa.Table:
    """Return events with their number, a user and a job.

    >>> events = with_ids(pa.table({"ts": [1, 2], "node": [0, 1], "type": ["C", "D"]}))
    >>> events.column_names, events["id"].to_pylist()
    (['ts', 'node', 'type', 'id', 'user', 'job'], [0, 1])
    """
    random = np.random.default_rng(SEED)
    columns = {
        "id": np.arange(events.num_rows),
        "user": random.integers(N_IDS, size=events.num_rows),
        "job": random.integers(N_IDS, size=events.num_rows),
    }
    for name, values in columns.items():
        events = events.append_column(name, pa.array(values))
    return events


@dataclass(frozen=True)
class Sent:
    """What a placement sends, as predicted and as measured, its matches, and how long a batch run takes."""

    ratio: float
    predicted_rows: float
    rows: int
    bytes: int
    matches: int
    seconds: float


@dataclass(frozen=True)
class Streamed:
    """For every batch of a stream, events in a second and the seconds until its matches are there.

    `matches` are those of all batches, the first included.
    """

    throughputs: tuple[float, ...]
    latencies: tuple[float, ...]
    matches: int


def measure_cluster(search_seconds: float, say: Say) -> list[Measure]:
    """Measure table 3, predicted and as rows that sites send each other, and figure 8."""
    reason = why_not()
    if reason is not None:
        say(reason)
        return []
    spark = local_session(MASTER, name="weft benchmarks")
    _sent(spark, WORKLOADS["SEQ"], "central", search_seconds, lambda _: None)
    sent = {
        name: {
            placement: _sent(spark, text, placement, search_seconds, say)
            for placement in get_args(PlacementName)
        }
        for name, text in WORKLOADS.items()
    }
    report_table("placement-cluster", [row for name, own in sent.items() for row in _sent_rows(name, own)])
    spark = stream_session()
    _streamed(spark, WORKLOADS["SEQ"], "central", search_seconds, lambda _: None)
    streamed = {
        name: {
            placement: _streamed(spark, text, placement, search_seconds, say)
            for placement in get_args(PlacementName)
        }
        for name, text in WORKLOADS.items()
    }
    rows = [row for name, own in streamed.items() for row in _streamed_rows(name, own)]
    report_table("placement-cluster-streams", rows)
    panels = [panel for name in WORKLOADS for panel in _panels(name, rows)]
    say(plot_panels("placement-cluster", panels))
    return [one for name in WORKLOADS for one in _measures(name, sent[name], streamed[name])]


def _detection(spark: SparkSession, text: str, placement: PlacementName, seconds: float) -> Detection:
    events = spark.read.parquet(str(cluster_parquet()))
    detection = weft.prepare(
        events,
        text,
        **OPTIONS,
        sites=weft.Sites(placement=placement),
        planning=weft.Planning(search_seconds=seconds),
    )
    assert isinstance(detection, Detection)
    return detection


def _sent(spark: SparkSession, text: str, placement: PlacementName, search_seconds: float, say: Say) -> Sent:
    detection = _detection(spark, text, placement, search_seconds)
    placed, known = detection.placed, detection.site_statistics
    started = time.perf_counter()
    analysis = detection.analyze()
    taken = time.perf_counter() - started
    matches = sum(analysis.counts.values())
    rows, size = (sum(getattr(one, name) for one in analysis.transfers) for name in ("rows", "bytes"))
    found = Sent(placed.ratio, known.rows(placed.cost), rows, size, matches, taken)
    say(f"{text.split()[1]}, {placement}: {found}")
    return found


def _streamed(
    spark: SparkSession, text: str, placement: PlacementName, search_seconds: float, say: Say
) -> Streamed:
    """Run a stream over all events; the first batch, with which it starts, is left out."""
    known = _detection(spark, text, placement, search_seconds)
    with scratch() as directory:
        events = arriving(spark, in_order(_in_files(directory / "events")), 1)
        stream = weft.prepare(
            events,
            text,
            watermark="1 second",
            **OPTIONS,
            sites=weft.Sites(placement=placement, network=known.network),
            planning=weft.Planning(statistics=known.statistics, search_seconds=search_seconds),
            streaming=weft.Streaming(checkpoint=str(directory / "state")),
        )
        batches = drained(stream.matches, directory / "state").recentProgress
    matches = sum(sum(report["matches"].values()) for batch in batches for report in reports_in(batch))
    busy = [batch for batch in batches[1:] if batch.numInputRows]
    seconds = [batch.durationMs["triggerExecution"] / 1000 for batch in busy]
    rates = [batch.numInputRows / taken for batch, taken in zip(busy, seconds, strict=True)]
    say(f"{text.split()[1]}, {placement}: median of {len(busy)} batches {statistics.median(seconds):.2f} s")
    return Streamed(tuple(rates), tuple(seconds), matches)


def _in_files(place: Path) -> Path:
    """Write the events of every batch into a file of their own."""
    place.mkdir(parents=True)
    events = pq.read_table(cluster_parquet())
    parts = pc.divide(events["ts"].cast(pa.int64()), BATCH_MINUTES * 60 * 1_000_000)
    for number in pc.unique(parts).to_pylist():
        own = events.filter(pc.equal(parts, number))
        pq.write_table(own, place / f"part-{number:05d}.parquet")
    return place


def _sent_rows(name: str, sent: dict[PlacementName, Sent]) -> list[Row]:
    central = sent["central"]
    return [
        {
            "workload": name,
            "placement": placement,
            "predicted, % of central": 100 * own.ratio,
            "measured, % of central": 100 * own.rows / central.rows,
            "rows predicted": own.predicted_rows,
            "rows": own.rows,
            "bytes": own.bytes,
            "matches": own.matches,
            "seconds of a batch run": own.seconds,
        }
        for placement, own in sent.items()
    ]


def _streamed_rows(name: str, streamed: dict[PlacementName, Streamed]) -> list[Row]:
    return [
        {
            "workload": name,
            "placement": placement,
            "what": what,
            **dict(zip(PLACES, np.quantile(values, QUANTILES).tolist(), strict=True)),
        }
        for placement, own in streamed.items()
        for what, values in ((THROUGHPUT, own.throughputs), (LATENCY, own.latencies))
    ]


def _panels(name: str, rows: list[Row]) -> list[Panel]:
    """Return figure 8 for one workload: throughput, and latency."""
    found = []
    for what in (THROUGHPUT, LATENCY):
        own = [row for row in rows if row["workload"] == name and row["what"] == what]
        lines = {str(row["placement"]): [float(row[place]) for place in PLACES] for row in own}
        found.append(Panel(f"(8) {name}", "batches", what, PLACES, lines))
    return found


def _measures(
    name: str, sent: dict[PlacementName, Sent], streamed: dict[PlacementName, Streamed]
) -> list[Measure]:
    best, central = sent["muse"], sent["central"]
    found = {own.matches for own in (*sent.values(), *streamed.values())}
    assert len(found) == 1, f"placements find different matches: {found}"
    section, most = "placement-cluster", MOST_RATIO[name]
    return [
        Measure(section, f"{name}: predicted, of what is sent centrally", best.ratio, at_most=most),
        Measure(
            section, f"{name}: measured, of what is sent centrally", best.rows / central.rows, at_most=most
        ),
        Measure(section, f"{name}: single sink, predicted, the same", sent["single-sink"].ratio),
        Measure(section, f"{name}: matches", best.matches),
        *(
            Measure(section, f"{name} as a stream, {placement}: {what}", value)
            for placement, own in streamed.items()
            for what, value in (
                ("events per second, median", statistics.median(own.throughputs)),
                ("seconds for a batch, median", statistics.median(own.latencies)),
                ("seconds for a batch, most", max(own.latencies)),
            )
        ),
    ]
