"""The same sequences as self-joins in Spark SQL and in DuckDB, each for a limited time.

Neither has a fast join on a range alone, so the time is cut into buckets as long as the window, and every
later event is put into its own bucket and the one before: then all events of a match share the bucket of
the first, and the engines use their hash joins.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from generate import DATA
from measures import Measure
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from ratios import cost_of, count_matches, discard_matches
from workloads import SequenceQuery, Workload

TAG = "weft-benchmark-peer"


@dataclass(frozen=True)
class Dialect:
    """How a system writes the microseconds of a time, and one row for each of two buckets."""

    source: str
    micros: str
    both_buckets: str
    divide: str


@dataclass(frozen=True)
class Peer:
    """A system that counts with SQL, and what happens when it is told to stop."""

    name: str
    dialect: Dialect
    count: Callable[[str], int]
    stop: Callable[[], object]
    stopped: type[Exception]


def self_join(query: SequenceQuery, dialect: Dialect) -> str:
    """Return the SQL that counts the matches of a sequence."""
    window = query.window * 1000
    joins = [f"({_events(query.types[0], window, dialect, both=False)}) a"]
    for place, step in enumerate(query.steps, start=1):
        earlier, later = query.variables[place - 1 : place + 1]
        joins.append(
            f"JOIN ({_events(query.types[place], window, dialect, both=True)}) {later}\n"
            f"  ON {later}.bucket = a.bucket AND {later}.t > {earlier}.t AND {later}.t <= a.t + {window}\n"
            f"  AND {later}.price {step.operator} {earlier}.price * {step.factor}"
        )
    return "SELECT count(*) FROM " + "\n".join(joins)


def _events(kind: str, window: int, dialect: Dialect, *, both: bool) -> str:
    """Select the events of one type, each in its bucket, or also in the one before."""
    bucket = f"t {dialect.divide} {window}"
    shown = dialect.both_buckets.format(bucket=bucket) if both else bucket
    source = f"SELECT {dialect.micros} AS t, price FROM {dialect.source} WHERE type = '{kind}'"
    return f"SELECT t, price, {shown} AS bucket FROM ({source})"


def duckdb_peer(place: Path) -> Peer:
    """Return DuckDB with all cores, on the Parquet files."""
    connection = duckdb.connect(config={"temp_directory": str(DATA / "duckdb-spill")})
    dialect = Dialect(
        f"read_parquet('{place}/*.parquet')", "epoch_us(ts)", "unnest([{bucket}, {bucket} - 1])", "//"
    )
    return Peer(
        "DuckDB",
        dialect,
        lambda sql: connection.sql(sql).fetchall()[0][0],
        connection.interrupt,
        duckdb.InterruptException,
    )


def spark_peer(spark: SparkSession, place: Path) -> Peer:
    """Return Spark SQL in the session that Weft uses."""
    spark.read.parquet(str(place)).createOrReplaceTempView("events")
    spark.addTag(TAG)
    dialect = Dialect("events", "unix_micros(ts)", "explode(array({bucket}, {bucket} - 1))", "DIV")
    return Peer(
        "Spark SQL",
        dialect,
        lambda sql: spark.sql(sql).collect()[0][0],
        lambda: spark.interruptTag(TAG),
        PySparkException,
    )


def measure_peers(
    spark: SparkSession, place: Path, workload: Workload, seconds: float, say: Callable[[str], None]
) -> list[Measure]:
    """Return Weft's time for all queries, and how far each peer comes in the time it has."""
    events = spark.read.parquet(str(place))
    expected = count_matches(events, workload)
    ours = min(cost_of(lambda: discard_matches(events, workload)).seconds for _ in range(2))
    found = [Measure("peers", f"Weft, all {len(workload.sequences)} queries at once", ours, "s")]
    for peer in (duckdb_peer(place), spark_peer(spark, place)):
        found += _race(peer, workload, expected, seconds, say)
    spark.removeTag(TAG)
    return found


def _race(
    peer: Peer, workload: Workload, expected: Counter[str], seconds: float, say: Callable[[str], None]
) -> list[Measure]:
    """Run query by query until the time is used up, and check every count."""
    peer.count(f"SELECT count(*) FROM {peer.dialect.source}")
    alarm = threading.Timer(seconds, peer.stop)
    alarm.start()
    start = time.perf_counter()
    n_done, took, wrong = 0, 0.0, []
    for query in workload.sequences:
        try:
            n_found = peer.count(self_join(query, peer.dialect))
        except peer.stopped:
            if time.perf_counter() - start < seconds:
                raise
            break
        if time.perf_counter() - start >= seconds:
            break
        took = time.perf_counter() - start
        n_done += 1
        say(f"{peer.name} {query.name}: {n_found} matches after {took:.1f} s")
        if n_found != expected[query.name]:
            wrong.append(query.name)
    alarm.cancel()
    if wrong:
        raise RuntimeError(f"{peer.name} and Weft disagree on {', '.join(wrong)}")
    n_queries = len(workload.sequences)
    done = f"{n_done} of {n_queries} in {took if n_done == n_queries else seconds:.1f} s"
    return [Measure("peers", f"{peer.name}, one query after the other", done)]
