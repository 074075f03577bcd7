"""What a Python worker of Spark does for trend queries: a partition of rows in, aggregates out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.codec import from_json
from weft.hosts.spark.partitioning import Array, Slices
from weft.hosts.spark.worker import shard_tables
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import ROWS_PER_BATCH
from weft.runtime.trends.emit import BEYOND, emit_trends, trend_schema
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.shared import Counters, aggregate_workload

COUNTERS = "counters"
LIMBS_PER_ROW = 256  # a row with more of them counts as several, so that batches have bounds in bytes


@dataclass(frozen=True)
class TrendTask:
    """All that a worker needs; the templates travel as JSON."""

    templates: str
    layout: Layout
    sharing: Sharing
    columns: Mapping[str, pa.DataType]  # of all trend queries
    names: Mapping[str, Sequence[str]]  # query -> columns of its template's columns
    slices: Slices | None = None
    shard_column: str | None = None
    analyze: bool = False  # besides the results, say what sharing did

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Aggregate the trends of one partition."""
        schema = trend_schema(self.columns)
        for table, shards in shard_tables(batches, self.slices, self.shard_column):
            events = ingest(table, self.layout)
            results, counters = aggregate_workload(_templates(self.templates), events, self.sharing)
            for found in results:
                names = self.names[found.template.query]
                for chosen in _batches(found, self._owned(found, shards)):
                    yield emit_trends(found, events, names, schema, chosen)
            if self.analyze:
                yield _metrics(counters, schema)

    def _owned(self, found: TrendRows, shards: Array | None) -> Array:
        """Return the rows whose window starts in a slice of these shards; the others belong to a neighbor."""
        if self.slices is None or shards is None or found.template.slide is None:
            return np.arange(found.n_rows)
        owners = self.slices.shard_of(found.windows * found.template.slide)
        return np.flatnonzero(np.isin(owners, shards))


def _batches(found: TrendRows, rows: Array) -> list[Array]:
    """Cut rows into batches, the smaller the longer their numbers are."""
    sizes = found.offsets[(rows + 1) * found.width] - found.offsets[rows * found.width]
    weights = np.cumsum(1 + sizes // LIMBS_PER_ROW)
    cuts = np.flatnonzero(np.diff(weights // ROWS_PER_BATCH)) + 1
    return [part for part in np.split(rows, cuts) if part.size]


def _metrics(counters: Counters, schema: pa.Schema) -> pa.RecordBatch:
    """Return what sharing did as a row of the schema of results: JSON in `beyond`, the rest NULL."""
    arrays = [
        pa.array([[(COUNTERS, json.dumps(asdict(counters)))]], field.type)
        if field.name == BEYOND
        else pa.nulls(1, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@lru_cache(maxsize=4)
def _templates(text: str) -> tuple[Template, ...]:
    """Read templates once per worker process."""
    templates: tuple[Template, ...] = from_json("templates", text)
    return templates
