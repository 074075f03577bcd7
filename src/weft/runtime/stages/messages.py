"""Messages between stages: rows for a shard of the next one, or outcomes and reports on their way out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from weft.runtime.matches.emit import ROWS_PER_BATCH
from weft.runtime.stages.report import Report
from weft.runtime.state.journal import Store
from weft.runtime.state.segments import table_to_bytes

RAW, OWN, OUTCOME, DISTINCT = "raw", "own", "outcome", "distinct"  # roles of messages
NEWS, SENT = "news ", "sent "  # those of reports, with the level, and of matches, with a channel's number
REJECTED = b"weft.rejected"
SHARD, ROLE, PACK = "weft_shard", "weft_role", "weft_pack"  # the columns of messages


@dataclass(frozen=True, slots=True)
class Message:
    """Rows for a shard: events as they arose, events passed on, matches; or what is on its way out."""

    shard: str
    role: str
    pack: bytes

    @property
    def row(self) -> pa.RecordBatch:
        """The message as the one row of a table of messages."""
        values = {SHARD: [self.shard], ROLE: [self.role], PACK: [self.pack]}
        return pa.RecordBatch.from_pydict(values)

    @property
    def is_out(self) -> bool:
        """Whether no stage takes it any more."""
        return self.role == OUTCOME or self.role.startswith(NEWS)

    @property
    def channel(self) -> int | None:
        """The channel on which matches were sent; None: it has others."""
        return int(self.role.removeprefix(SENT)) if self.role.startswith(SENT) else None


class Stage(Protocol):
    """All shards of one stage: what came to one of them in, messages for the next stage out."""

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: Store | None
    ) -> Iterator[Message]:
        """Run a step of a shard; without a store, the one step of a batch."""


def outgoing(shard: str, level: int, report: Report, rows: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    """Yield what leaves a step: its report as news of a level, and its outcomes in packs."""
    yield Message(shard, f"{NEWS}{level}", report.to_json().encode())
    for pack in in_packs(rows):
        yield Message(shard, OUTCOME, pack)


def in_packs(rows: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """Yield rows of one schema as packs of a bounded size, each as soon as it is full.

    >>> rows = pa.RecordBatch.from_pydict({"x": range(ROWS_PER_BATCH)})
    >>> packs = in_packs([rows.slice(0, 9), rows, rows.slice(0, 5)])
    >>> [pa.ipc.open_stream(pack).read_all().num_rows for pack in packs]
    [65545, 5]
    """
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in rows:
        waiting.append(batch)
        n_rows += batch.num_rows
        if n_rows >= ROWS_PER_BATCH:
            yield table_to_bytes(pa.Table.from_batches(waiting))
            waiting, n_rows = [], 0
    if waiting:
        yield table_to_bytes(pa.Table.from_batches(waiting))


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of packs."""
    for batch in batches:
        for pack in batch.column(0):
            yield from pa.ipc.open_stream(pack.as_buffer())


def count_rejected(packs: Iterable[pa.Table]) -> int:
    """Return how many rows that were no events some packs speak of."""
    return sum(int((pack.schema.metadata or {}).get(REJECTED, 0)) for pack in packs)
