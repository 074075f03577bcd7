"""Weft's runtime alone, in this process, on one core, without Spark."""

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from estimates import estimated_statistics
from measures import Measure
from workloads import Workload

from weft.cost.measured import Measured
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget, Meter
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import emit, match_schema
from weft.runtime.matches.execute import BATCH_EVENTS, Executor, Found
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.walk import new_walker, walk_steps
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema(
    {"ts": TIMESTAMP, "type": STRING, "id": LONG, "key": LONG, "price": DOUBLE, "volume": LONG}, time="ts"
)

SAMPLE_EVENTS = 100_000


@dataclass(frozen=True)
class CoreRun:
    """What one run did, and how many seconds each part of it took."""

    ingest_seconds: float
    execute_seconds: float
    emit_seconds: float
    meter: Meter
    matches: Counter[str]

    @property
    def seconds(self) -> float:
        return self.ingest_seconds + self.execute_seconds + self.emit_seconds

    @property
    def n_built(self) -> int:
        return sum(self.meter.built.values())

    @property
    def n_examined(self) -> int:
        return sum(self.meter.examined.values())


def read_rows(events: Path, workload: Workload) -> pa.Table:
    """Return the rows and columns that Spark would hand to Python."""
    wanted = pc.field("type").isin(list(workload.types))
    return pq.read_table(events, columns=list(workload.columns), filters=wanted)


def layout_of(schema: Schema, attributes: Iterable[str], type_names: Iterable[str]) -> Layout:
    """Return where the events of the benchmarks have their time, type, id and attributes."""
    return Layout(
        time="ts",
        type="type",
        id="id",
        content=None,
        tie=None,
        attributes={name: (name, schema.attributes[name]) for name in attributes},
        type_names=tuple(type_names),
    )


def plan_for(rows: pa.Table, workload: Workload) -> Plan:
    """Return the plan that Weft would choose after a look at some of the rows."""
    queries = bind(parse(workload.text), SCHEMA)
    layout = layout_of(SCHEMA, workload.attributes, workload.types)
    known = estimated_statistics(queries, ingest(rows.slice(0, SAMPLE_EVENTS), layout))
    return optimize(queries, SCHEMA, Planning(statistics=known, cost=Measured()))


def run_on_one_core(rows: pa.Table, workload: Workload, plan: Plan | None = None) -> CoreRun:
    """Run a workload on rows in memory, as a worker of Spark does."""
    layout = layout_of(SCHEMA, workload.attributes, workload.types)
    return run_plan(plan or plan_for(rows, workload), rows, layout)


def run_plan(
    plan: Plan,
    rows: pa.Table,
    layout: Layout,
    *,
    budget: Budget | None = None,
    batch_events: int = BATCH_EVENTS,
) -> CoreRun:
    """Run a plan on rows in memory, from Arrow to Arrow."""
    schema = match_schema(pa.int64(), {})
    matches: Counter[str] = Counter()
    start = time.perf_counter()
    events = ingest(rows, layout)
    ingested = time.perf_counter()
    executor = Executor(Program(plan), budget)
    emitting = 0.0
    walker = new_walker()
    executor.skipped = walker.skipped
    for found in walk_steps(_found(executor, events, batch_events), walker):
        before = time.perf_counter()
        matches[found.query] += emit(found, (), schema).num_rows
        emitting += time.perf_counter() - before
    return CoreRun(
        ingest_seconds=ingested - start,
        execute_seconds=time.perf_counter() - ingested - emitting,
        emit_seconds=emitting,
        meter=executor.meter,
        matches=matches,
    )


def _found(executor: Executor, events: Events, batch_events: int) -> Iterator[Found]:
    """Yield the matches, batch by batch; batches shorter than the executor's own are never divided."""
    if batch_events >= BATCH_EVENTS:
        yield from executor.run(events)
        return
    for start in range(0, events.n_events, batch_events):
        stop = min(start + batch_events, events.n_events)
        frontier = END_OF_TIME if stop == events.n_events else int(events.times[stop])
        yield from executor.process(events.take(slice(start, stop)), frontier)


def measure_one_core(events: Path, n_events: int, workload: Workload, repeat: int) -> list[Measure]:
    """Return the speed of the best of several runs, after one that warms the kernels."""
    pa.set_cpu_count(1)
    rows = read_rows(events, workload)
    plan = plan_for(rows, workload)
    run_on_one_core(rows.slice(0, SAMPLE_EVENTS), workload, plan)
    best = min((run_on_one_core(rows, workload, plan) for _ in range(repeat)), key=lambda run: run.seconds)
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
    plan = plan_for(rows, workload)
    run_on_one_core(rows.slice(0, SAMPLE_EVENTS), workload, plan)
    profiler = cProfile.Profile()
    run = profiler.runcall(run_on_one_core, rows, workload, plan)
    print(
        f"\n{workload.name}: ingest {run.ingest_seconds:.2f} s, execute {run.execute_seconds:.2f} s, "
        f"emit {run.emit_seconds:.2f} s (under the profiler)"
    )
    pstats.Stats(profiler).sort_stats("tottime").print_stats(lines)
