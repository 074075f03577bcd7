"""Weft's runtime alone, in this process, on one core, without Spark."""

import cProfile
import pstats
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from measures import Measure
from workloads import Workload

from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.runtime.emit import emit, match_schema
from weft.runtime.execute import Executor, Program
from weft.runtime.ingest import Layout, ingest
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema(
    {"ts": TIMESTAMP, "type": STRING, "id": LONG, "key": LONG, "price": DOUBLE, "volume": LONG}, time="ts"
)


@dataclass(frozen=True)
class CoreRun:
    """What one run did, and how many seconds each part of it took."""

    ingest_seconds: float
    execute_seconds: float
    emit_seconds: float
    n_built: int
    n_examined: int
    matches: Counter[str]

    @property
    def seconds(self) -> float:
        return self.ingest_seconds + self.execute_seconds + self.emit_seconds


def read_rows(events: Path, workload: Workload) -> pa.Table:
    """Return the rows and columns that Spark would hand to Python."""
    wanted = pc.field("type").isin(list(workload.types))
    return pq.read_table(events, columns=list(workload.columns), filters=wanted)


def run_on_one_core(rows: pa.Table, workload: Workload) -> CoreRun:
    """Run a workload on rows in memory, as a worker of Spark does."""
    plan = optimize(bind(parse(workload.text), SCHEMA), SCHEMA)
    layout = Layout(
        time="ts",
        type="type",
        id="id",
        content=None,
        tie=None,
        attributes={name: (name, SCHEMA.attributes[name]) for name in workload.attributes},
        type_names=workload.types,
    )
    schema = match_schema(pa.int64(), {})
    matches: Counter[str] = Counter()
    start = time.perf_counter()
    events = ingest(rows, layout)
    ingested = time.perf_counter()
    executor = Executor(Program(plan))
    emitting = 0.0
    for found in executor.run(events):
        before = time.perf_counter()
        output = plan.outputs[found.output]
        matches[output.query] += emit(found, output, (), schema).num_rows
        emitting += time.perf_counter() - before
    return CoreRun(
        ingest_seconds=ingested - start,
        execute_seconds=time.perf_counter() - ingested - emitting,
        emit_seconds=emitting,
        n_built=sum(executor.meter.built.values()),
        n_examined=sum(executor.meter.examined.values()),
        matches=matches,
    )


def measure_one_core(events: Path, n_events: int, workload: Workload, repeat: int) -> list[Measure]:
    """Return the speed of the best of several runs, after one that warms the kernels."""
    pa.set_cpu_count(1)
    rows = read_rows(events, workload)
    run_on_one_core(rows.slice(0, 100_000), workload)
    best = min((run_on_one_core(rows, workload) for _ in range(repeat)), key=lambda run: run.seconds)
    return [
        Measure("one_core", "seconds", best.seconds, "s"),
        Measure("one_core", "of these ingest", best.ingest_seconds, "s"),
        Measure("one_core", "of these execute", best.execute_seconds, "s"),
        Measure("one_core", "of these emit", best.emit_seconds, "s"),
        Measure("one_core", "events per second", n_events / best.seconds, "1/s"),
        Measure("one_core", "partial matches per second", best.n_built / best.seconds, "1/s"),
    ]


def print_profile(events: Path, workload: Workload, *, lines: int = 25) -> None:
    """Print where a warm run of a workload spends its time, function by function."""
    pa.set_cpu_count(1)
    rows = read_rows(events, workload)
    run_on_one_core(rows.slice(0, 100_000), workload)
    profiler = cProfile.Profile()
    run = profiler.runcall(run_on_one_core, rows, workload)
    print(
        f"\n{workload.name}: ingest {run.ingest_seconds:.2f} s, execute {run.execute_seconds:.2f} s, "
        f"emit {run.emit_seconds:.2f} s (under the profiler)"
    )
    pstats.Stats(profiler).sort_stats("tottime").print_stats(lines)
