"""What a Python worker of Spark does: a partition of rows in, the matches of the plan out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from weft.codec import from_json
from weft.hosts.spark.partitioning import Array, Slices
from weft.runtime.budget import Budget
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import emit_in_parts, match_schema
from weft.runtime.matches.execute import Executor, Found, Program
from weft.schema import Type

WARMING_EVENTS = 1_000


@dataclass(frozen=True)
class ShardTask:
    """All that a worker needs; the plan travels as JSON."""

    plan: str
    layout: Layout
    budget: Budget
    id_is_text: bool
    returned: Mapping[str, Type]  # columns of all queries
    return_names: Mapping[str, Sequence[str]]  # query -> columns of its RETURN values
    slices: Slices | None = None
    shard_column: str | None = None
    analyze: bool = False  # besides the matches, say what each node did

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the plan on the rows of one partition."""
        for table, shards in shard_tables(batches, self.slices, self.shard_column):
            yield from self._run(_program(self.plan), table, shards)

    def _run(self, program: Program, table: pa.Table, shards: Array | None) -> Iterator[pa.RecordBatch]:
        schema = match_schema(pa.string() if self.id_is_text else pa.int64(), self.returned)
        events = ingest(table, self.layout)
        del table
        if self.analyze:  # a kernel is loaded when it is first called: no node should pay for that
            list(Executor(program, self.budget).run(events.take(slice(0, WARMING_EVENTS))))
        executor = Executor(program, self.budget)
        for found in executor.run(events):
            kept = found if shards is None else self._owned(found, shards)
            output = program.plan.outputs[kept.output]
            yield from emit_in_parts(kept, output, self.return_names[output.query], schema)
        if self.analyze:
            yield _metrics(executor, _shard_number(shards), schema)

    def _owned(self, found: Found, shards: Array) -> Found:
        """Keep the matches that begin in a slice of these shards; the others belong to a neighbor."""
        if self.slices is None:
            return found
        owners = self.slices.shard_of(found.events.times[found.table.first])
        kept = np.flatnonzero(np.isin(owners, shards))
        return Found(found.output, found.branch, found.table.take(kept), found.events)


def shard_tables(
    batches: Iterator[pa.RecordBatch], slices: Slices | None, shard_column: str | None
) -> Iterator[tuple[pa.Table, Array | None]]:
    """Yield the rows of a partition in one table, or those of shards that are no neighbors, with these."""
    collected = [batch for batch in batches if batch.num_rows]
    if not collected:
        return
    table = pa.Table.from_batches(collected)
    del collected
    if slices is None or shard_column is None:
        yield table, None
        return
    shards = table[shard_column].to_numpy()
    table = table.drop_columns([shard_column])
    groups = slices.groups(np.unique(shards))
    for group in groups:
        yield (table if len(groups) == 1 else table.filter(pa.array(np.isin(shards, group)))), group


def _metrics(executor: Executor, shard: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return what each node did as rows of the schema of matches: JSON in `match_id`, the rest NULL."""
    texts = [
        json.dumps({"shard": shard, "node": number, **asdict(executor.meter.metrics_of(node))})
        for number, node in enumerate(executor.program.order)
    ]
    arrays = [
        pa.array(texts, field.type) if field.name == "match_id" else pa.nulls(len(texts), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _shard_number(shards: Array | None) -> int:
    """Return a number that no other shard has: its first slice, or the number of the Spark task."""
    if shards is not None:
        return int(shards[0])
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


@lru_cache(maxsize=4)
def _program(plan: str) -> Program:
    """Make a plan ready once per worker process; its shards share it."""
    return Program(from_json("plan", plan))
