"""Events in Arrow: where they come from, and what their columns mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from weft.hosts.local.memory import spool_limit
from weft.hosts.local.spool import Spool
from weft.hosts.meaning import EventMeaning

if TYPE_CHECKING:
    from weft.hosts.local.derived import DerivedType

BATCH_ROWS = 1 << 17


class ArrowEvents(Protocol):
    """Rows in Arrow that can be read again and again, a few columns at a time."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""

    @property
    def n_bytes(self) -> int:
        """How much there is to read, about."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows with some of their columns."""


class TableEvents:
    """Rows that are in memory, or were read from a stream that can be read only once."""

    def __init__(self, schema: pa.Schema, rows: pa.Table) -> None:
        self.schema = schema
        self.rows = rows

    @property
    def n_bytes(self) -> int:
        return int(self.rows.nbytes)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        selected = self.rows.select(list(columns))
        if not columns:  # a batch without columns would have no rows
            yield from (own.select([]) for own in self.rows.to_batches(BATCH_ROWS))
            return
        yield from selected.to_batches(BATCH_ROWS)


def events_in_memory(given: Any) -> TableEvents:
    """Return the rows of an object with Arrow's PyCapsule interface; of many, the first ones go to a file.

    >>> events_in_memory(pa.table({"x": [1, 2]})).n_bytes
    16
    """
    if isinstance(given, pa.Table):
        return TableEvents(given.schema, given)
    if isinstance(given, pa.RecordBatch) or not hasattr(given, "__arrow_c_stream__"):
        table = pa.table(given)
        return TableEvents(table.schema, table)
    reader = pa.RecordBatchReader.from_stream(given)
    with Spool(spool_limit()) as spool:
        for batch in reader:
            spool.add(0, batch)
        rows = spool.take(0) if spool.piles else reader.schema.empty_table()
    return TableEvents(reader.schema, rows)


@dataclass(frozen=True, kw_only=True)
class LocalEvents(EventMeaning):
    """Rows in Arrow, and what their columns mean."""

    rows: ArrowEvents
    derived: Mapping[str, "DerivedType"] = field(default_factory=dict)
