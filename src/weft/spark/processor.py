"""The stateful operator: Spark's state store and timers on one side, the shards of a stream on the other."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from weft.plan.nodes import Plan
from weft.plan.serialize import from_json
from weft.runtime.budget import Budget
from weft.runtime.emit import TIMESTAMP, emit, match_schema
from weft.runtime.ingest import Layout
from weft.runtime.segments import table_from_bytes, table_to_bytes
from weft.runtime.shard import Memory, Outcome, Shard, Work
from weft.schema import Type
from weft.spark.packing import OWNER, PACK, rejected_in

KIND = "kind"
MATCH, LATE, REPORT = "match", "late", "report"
_memory = Memory()  # of this worker process


@dataclass(frozen=True)
class PartTask:
    """What the shards of a part do; the plan travels as JSON."""

    plan: str
    layout: Layout
    fingerprints: Mapping[str, str]
    is_owner: bool  # whether the packs say who accounts for a row


@dataclass(frozen=True)
class StreamTask:
    """All that the operator needs."""

    run: str  # a name that no other stream has
    parts: tuple[PartTask, ...]
    part_of: Mapping[str, int]  # shard -> part
    id_is_text: bool
    returned: Mapping[str, Type]
    return_names: Mapping[str, tuple[str, ...]]
    budget: Budget
    delay: int
    n_shards: int

    @property
    def id_type(self) -> pa.DataType:
        return pa.string() if self.id_is_text else pa.int64()

    def work(self, shard: str) -> Work:
        """Return the work of a shard."""
        part = self.parts[self.part_of[shard]]
        return Work(
            _plan(part.plan),
            part.layout,
            self.id_type,
            part.fingerprints,
            self.budget,
            self.delay,
            self.n_shards,
            OWNER if part.is_owner else None,
        )


class ShardProcessor(StatefulProcessor):
    """Runs the shards of a stream. Their state: a journal, and segments by their numbers."""

    def __init__(self, task: StreamTask) -> None:
        self._task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._journal = handle.getValueState("journal", "text string")
        self._segments = handle.getMapState("segments", "number long", "content binary")

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,
    ) -> Iterator[pd.DataFrame]:
        """Take the packs of a shard."""
        tables = [table_from_bytes(pack) for frame in rows for pack in frame[PACK]]
        yield from self.step(key[0], tables, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        """Let time pass in a shard that got no events."""
        yield from self.step(key[0], [], timerValues)

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    def step(self, name: str, tables: list[pa.Table], timers: TimerValues) -> Iterator[pd.DataFrame]:
        """Run a step of a shard and return what came of it, packed."""
        if name not in self._task.part_of:  # its queries are gone
            self._journal.clear()
            self._segments.clear()
            return
        store = _StateStore(self._journal, self._segments)
        shard = Shard(f"{self._task.run} {name}", self._task.work(name), store, _memory)
        outcome = shard.step(tables, timers.getCurrentWatermarkInMs(), sum(map(rejected_in, tables)))
        if outcome is None:
            return
        self._set_timer(outcome)
        yield pd.DataFrame({PACK: [table_to_bytes(pa.Table.from_batches(list(self._rows(name, outcome))))]})

    def _set_timer(self, outcome: Outcome) -> None:
        if outcome.wake != outcome.previous_wake:
            if outcome.previous_wake is not None:
                self._handle.deleteTimer(outcome.previous_wake)
            if outcome.wake is not None:
                self._handle.registerTimer(outcome.wake)

    def _rows(self, shard: str, outcome: Outcome) -> Iterator[pa.RecordBatch]:
        schema = match_schema(self._task.id_type, self._task.returned)
        yield _of_kind(REPORT, _report(shard, outcome, schema))
        for found in outcome.found:
            output = outcome.plan.outputs[found.output]
            names = self._task.return_names[output.query]
            yield _of_kind(MATCH, emit(found, output, names, schema))
        if outcome.late is not None:
            layout = self._task.parts[self._task.part_of[shard]].layout
            yield _of_kind(LATE, _late(outcome.late, layout, schema))


class _StateStore:
    """The state of the shard at hand, as Spark keeps it."""

    def __init__(self, journal: Any, segments: Any) -> None:
        self._journal = journal
        self._segments = segments

    def journal(self) -> str | None:
        found = self._journal.get()
        return None if found is None else str(found[0])

    def set_journal(self, text: str) -> None:
        self._journal.update((text,))

    def segment(self, number: int) -> bytes:
        return bytes(self._segments.getValue((number,))[0])

    def set_segment(self, number: int, content: bytes) -> None:
        self._segments.updateValue((number,), (content,))

    def remove_segment(self, number: int) -> None:
        self._segments.removeKey((number,))


def _of_kind(kind: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    kinds = pa.array([kind]).take(pa.array(np.zeros(rows.num_rows, np.int64)))
    return pa.RecordBatch.from_arrays([kinds, *rows.columns], [KIND, *rows.schema.names])


def _report(shard: str, outcome: Outcome, schema: pa.Schema) -> pa.RecordBatch:
    """Return the report of a step as a row of the schema of matches: JSON in `match_id`."""
    text = json.dumps(asdict(outcome.report), ensure_ascii=False)
    values = {"query": [shard], "match_id": [text]}
    arrays = [pa.array(values.get(field.name, [None]), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _late(rows: pa.Table, layout: Layout, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows that came too late in the schema of matches, as their only event."""
    n_rows = rows.num_rows
    times = rows[layout.time].combine_chunks().cast(pa.int64()).cast(TIMESTAMP)
    kind = schema.field("events").type
    if isinstance(times, pa.ChunkedArray):
        times = times.combine_chunks()
    identity = layout.id or layout.content
    ids = pa.nulls(n_rows, pa.string()) if identity is None else _one(rows[identity])
    types = (
        pa.nulls(n_rows, pa.string()) if layout.type is None else _one(rows[layout.type]).cast(pa.string())
    )
    event = pa.StructArray.from_arrays(
        [pa.nulls(n_rows, pa.string()), types, times, ids.cast(kind.value_type.field("id").type)],
        fields=list(kind.value_type),
    )
    offsets = pa.array(np.arange(n_rows + 1, dtype=np.int32))
    columns = {"start": times, "end": times, "events": pa.ListArray.from_arrays(offsets, event, type=kind)}
    arrays = [columns.get(field.name, pa.nulls(n_rows, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _one(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


@lru_cache(maxsize=16)
def _plan(text: str) -> Plan:
    return from_json(text)
