"""The local host beside Spark, DuckDB and Polars on the same Parquet files, and how soon it answers."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import duckdb
import polars as pl
from generate import events_table
from measures import Measure
from peers import duckdb_peer, self_join
from pyspark.sql import SparkSession
from ratios import count_matches, discard_matches
from workloads import Workload

import weft

TIMES_FASTER = 4.0  # than Spark, at least
COLD_SECONDS = 3.0  # from the command to its end, on so many rows:
COLD_ROWS = 3_000
COLD_RUNS = 5
QUIET = 2.0  # seconds after which the JVM has tidied up after a job
TEN_MINUTES = 600_000_000
NEXT = (
    "QUERY next_of_key\nPATTERN SEQ(T00 a, T01 b)\nWHERE [key]\nWITHIN 10 minutes\nSTRATEGY NEXT\n"
    "RETURN a.id AS a, b.id AS b"
)
KEYED_SQL = """
WITH events AS (SELECT epoch_us(ts) AS t, type, key, price FROM read_parquet('{place}/*.parquet'))
SELECT count(*) FROM events a JOIN events b ON b.key = a.key AND b.t > a.t
JOIN events c ON c.key = a.key AND c.t > b.t AND c.t <= a.t + {window} AND c.price > a.price * 1.1
WHERE a.type = 'T00' AND b.type = 'T01' AND c.type = 'T02'
"""
QUERY = "QUERY q PATTERN SEQ(T00 a, T01 b) WHERE b.price > a.price * 1.3 WITHIN 100 milliseconds"


def measure_local(
    spark: SparkSession,
    place: Path,
    workloads: list[Workload],
    *,
    repeat: int,
    say: Callable[[str], None],
) -> list[Measure]:
    """Return the times of both hosts for each workload, all matches delivered, and those of others."""
    found: list[Measure] = []
    # A process without Spark, as its users have; here the JVM and its workers would share the memory.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        for workload in workloads:
            found += _beside_spark(spark, place, workload, apart, repeat=repeat, say=say)
    time.sleep(QUIET)
    found += _keyed_in_duckdb(place, next(own for own in workloads if own.key is not None))
    found += _sequences_in_duckdb(place, next(own for own in workloads if own.name == "queries20"), say)
    return [*found, *_next_in_polars(place), *measure_cold()]


def matches_of(place: Path, text: str) -> weft.ResultTable:
    """Return all matches that the local host finds in files, planned anew."""
    return weft.prepare(str(place), text, time="ts", type="type", id="id", notices=False).matches


def seconds_to_find(place: Path, text: str) -> float:
    """Return how long the local host takes to plan, and to find and hand over all matches."""
    return _seconds(lambda: matches_of(place, text))


def _beside_spark(
    spark: SparkSession,
    place: Path,
    workload: Workload,
    apart: Executor,
    *,
    repeat: int,
    say: Callable[[str], None],
) -> list[Measure]:
    events = spark.read.parquet(str(place))
    expected = count_matches(events, workload)
    found = matches_of(place, workload.text)
    counted = {row["values"]: row["counts"] for row in found["query"].value_counts().to_pylist()}
    if counted != {name: count for name, count in expected.items() if count}:
        raise RuntimeError(f"the hosts disagree on the matches of {workload.name}")
    apart.submit(seconds_to_find, place, workload.text).result()  # kernels are loaded
    pairs = []
    for number in range(repeat):
        on_spark = _seconds(lambda: discard_matches(events, workload))
        time.sleep(QUIET)
        local = apart.submit(seconds_to_find, place, workload.text).result()
        pairs.append((on_spark, local))
        say(f"{workload.name} {number + 1}/{repeat}: Spark {on_spark:.2f} s, local {local:.2f} s")
    name = f"local, {workload.name}"
    return [
        Measure(name, "Spark local[2]", min(one for one, _ in pairs), "s"),
        Measure(name, "local host", min(own for _, own in pairs), "s"),
        Measure(
            name,
            "Spark / local, median of the pairs",
            statistics.median(a / b for a, b in pairs),
            "times",
            at_least=TIMES_FASTER,
        ),
        Measure(name, "matches", sum(expected.values())),
    ]


def _keyed_in_duckdb(place: Path, workload: Workload) -> list[Measure]:
    sql = KEYED_SQL.format(place=place, window=TEN_MINUTES)
    connection = duckdb.connect()
    n_found = connection.sql(sql).fetchall()[0][0]
    if n_found != len(matches_of(place, workload.text)):
        raise RuntimeError("DuckDB and Weft disagree on keyed")
    theirs = min(_seconds(lambda: connection.sql(sql).fetchall()) for _ in range(2))
    ours = min(_seconds(lambda: matches_of(place, workload.text)) for _ in range(2))
    return [
        Measure("local, keyed", "DuckDB self-join, matches counted", theirs, "s"),
        Measure("local, keyed", "DuckDB / local host", theirs / ours, "times"),
    ]


def _sequences_in_duckdb(place: Path, workload: Workload, say: Callable[[str], None]) -> list[Measure]:
    peer = duckdb_peer(place)

    def count_all() -> dict[str, int]:
        return {query.name: peer.count(self_join(query, peer.dialect)) for query in workload.sequences}

    expected = matches_of(place, workload.text)["query"].value_counts().to_pylist()
    if {name: n for name, n in count_all().items() if n} != {
        row["values"]: row["counts"] for row in expected
    }:
        raise RuntimeError("DuckDB and Weft disagree on queries20")
    theirs = _seconds(count_all)
    ours = min(_seconds(lambda: matches_of(place, workload.text)) for _ in range(2))
    say(f"queries20: DuckDB {theirs:.2f} s, local {ours:.2f} s")
    return [
        Measure("local, queries20", "DuckDB self-joins in buckets, matches counted", theirs, "s"),
        Measure("local, queries20", "DuckDB / local host", theirs / ours, "times"),
    ]


def _next_in_polars(place: Path) -> list[Measure]:
    """The next event of a key is what a join as of a time can say; all matches of a sequence are not."""

    def polars() -> int:
        events = pl.scan_parquet(f"{place}/*.parquet").select("ts", "type", "id", "key")
        first, second = (events.filter(pl.col("type") == kind).sort("ts") for kind in ("T00", "T01"))
        joined = first.join_asof(
            second, on="ts", by="key", strategy="forward", tolerance="10m", allow_exact_matches=False
        )
        return len(joined.filter(pl.col("id_right").is_not_null()).select("id", "id_right").collect())

    if polars() != len(matches_of(place, NEXT)):
        raise RuntimeError("Polars and Weft disagree on the next event of a key")
    theirs = min(_seconds(polars) for _ in range(3))
    ours = min(_seconds(lambda: matches_of(place, NEXT)) for _ in range(3))
    return [
        Measure("local, next of a key", "Polars join_asof", theirs, "s"),
        Measure("local, next of a key", "local host", ours, "s"),
        Measure("local, next of a key", "Polars / local host", theirs / ours, "times"),
    ]


def measure_cold(runs: int = COLD_RUNS) -> list[Measure]:
    """Return how long `weft run` takes in a fresh process, to its end and to its first line."""
    weft_command = str(Path(sys.executable).with_name("weft"))
    with tempfile.TemporaryDirectory(prefix="weft-cold-") as directory:
        queries, events = Path(directory, "q.weft"), Path(directory, "events.csv")
        queries.write_text(QUERY, encoding="utf-8")
        pl.from_arrow(events_table(0, COLD_ROWS, 0, (1,))).write_csv(events)
        command = [weft_command, "run", str(queries), str(events), "--time", "ts", "--type", "type"]
        command += ["--id", "id"]
        whole, first = zip(*(_time_command(command) for _ in range(runs + 1)), strict=True)
    name = f"local, {COLD_ROWS:,} rows cold"
    return [
        Measure(name, "weft run", statistics.median(whole[1:]), "s", COLD_SECONDS),
        Measure(name, "to the first line", statistics.median(first[1:]), "s"),
    ]


def _time_command(command: list[str]) -> tuple[float, float]:
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - started
        process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"weft run ended with status {process.returncode}")
    return time.perf_counter() - started, first


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
