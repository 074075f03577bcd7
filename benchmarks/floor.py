"""The floor under every ratio: rows are read, shuffled once, handed to Python and counted there."""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from workloads import Workload

PARTITIONS = 4  # two for each core: the floor is slower with more


def move_rows(events: DataFrame, workload: Workload, *, only_its_types: bool = False) -> int:
    """Move the columns that a workload needs to Python and return how many rows arrived.

    The shuffle is by hash, of the key or else of the id: a round-robin one would sort the rows first, and
    so flatter every ratio.
    """
    if only_its_types:
        events = events.where(F.col("type").isin(list(workload.types)))
    rows = events.select(*workload.columns).repartition(PARTITIONS, workload.key or "id")
    counts = rows.mapInArrow(_counter(), "n_rows long").collect()
    return sum(row["n_rows"] for row in counts)


def _counter() -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the counting function; as a closure it travels by value, so workers need not import this."""

    def count_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        n_rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pydict({"n_rows": pa.array([n_rows], pa.int64())})

    return count_rows
