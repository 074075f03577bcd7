"""What a Python worker of Spark does: a partition of rows in, the matches of the plan out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.plan.serialize import from_json
from weft.runtime.budget import Budget
from weft.runtime.emit import emit, match_schema
from weft.runtime.execute import Executor, Found, Program
from weft.runtime.ingest import Layout, ingest
from weft.schema import Type
from weft.spark.partitioning import Slices

ROWS_PER_BATCH = 65_536


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
    slice_column: str | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the plan on the rows of one partition."""
        collected = [batch for batch in batches if batch.num_rows]
        if not collected:
            return
        table = pa.Table.from_batches(collected)
        del collected
        program = _program(self.plan)
        if self.slices is None or self.slice_column is None:
            yield from self._run(program, table, None)
            return
        numbers = table[self.slice_column].to_numpy()
        table = table.drop_columns([self.slice_column])
        present = np.unique(numbers)
        for number in present:
            part = table if present.size == 1 else table.filter(pa.array(numbers == number))
            yield from self._run(program, part, self.slices.owned(int(number)))

    def _run(
        self, program: Program, table: pa.Table, owned: tuple[int, int] | None
    ) -> Iterator[pa.RecordBatch]:
        schema = match_schema(pa.string() if self.id_is_text else pa.int64(), self.returned)
        events = ingest(table, self.layout)
        del table
        for found in Executor(program, self.budget).run(events):
            kept = found if owned is None else _owned(found, *owned)
            output = program.plan.outputs[kept.output]
            for start in range(0, kept.table.n_rows, ROWS_PER_BATCH):
                rows = np.arange(start, min(start + ROWS_PER_BATCH, kept.table.n_rows))
                part = Found(kept.output, kept.branch, kept.table.take(rows), kept.events)
                yield emit(part, output, self.return_names[output.query], schema)


@lru_cache(maxsize=4)
def _program(plan: str) -> Program:
    """Make a plan ready once per worker process; its shards share it."""
    return Program(from_json(plan))


def _owned(found: Found, low: int, high: int) -> Found:
    """Keep the matches that begin in the slice; the others belong to a neighbor."""
    begins = found.events.times[found.table.first]
    kept = np.flatnonzero((begins >= low) & (begins < high))
    return Found(found.output, found.branch, found.table.take(kept), found.events)
