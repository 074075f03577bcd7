"""Steps of shards on Spark's state: packs in, packs of matches, trends, late rows and reports out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from weft.codec import from_json
from weft.hosts.spark.packing import OWNER, in_packs, rejected_in
from weft.hosts.spark.stream_task import (
    KIND,
    LATE,
    MATCH,
    NEWS,
    PACK,
    REPORT,
    SHARD,
    TREND,
    AdaptedPart,
    PartTask,
    StreamTask,
)
from weft.plan.nodes import Plan
from weft.plan.template import Template
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import TIMESTAMP, emit_in_parts, match_schema
from weft.runtime.stages.shard import Memory, Outcome, Report, Shard, Work
from weft.runtime.stages.shard_executor import Adapter, FoundTrends
from weft.runtime.state.segments import table_from_bytes
from weft.runtime.trends.emit import emit_trends, trend_schema
from weft.runtime.trends.executor import TrendPlan

_memory = Memory()  # of this worker process


class Steps:
    """Runs steps of the shard whose state Spark has at hand."""

    def __init__(
        self, task: StreamTask, handle: StatefulProcessorHandle, journal: Any, segments: Any
    ) -> None:
        self.task = task
        self._handle = handle
        self._journal = journal
        self._segments = segments

    def take(self, shard: str, packs: Sequence[bytes], watermark: int) -> Iterator[pd.DataFrame]:
        """Run a step of a shard on the rows of packs."""
        return self.step(shard, [table_from_bytes(pack) for pack in packs], watermark)

    def step(self, name: str, tables: Sequence[pa.Table], watermark: int) -> Iterator[pd.DataFrame]:
        """Run a step of a shard and return what came of it, packed."""
        if name not in self.task.part_of:  # its queries are gone
            self._journal.clear()
            self._segments.clear()
            return
        store = StateStore(self._journal, self._segments)
        shard = Shard(f"{self.task.run} {name}", self._work(name), store, _memory)
        outcome = shard.step(tables, watermark, sum(map(rejected_in, tables)))
        if outcome is None:
            return
        set_timer(self._handle, outcome.wake, outcome.previous_wake)
        news: str | None = report_text(outcome.report)
        for pack in in_packs(self._rows(name, outcome)):
            yield pd.DataFrame({SHARD: [name], NEWS: [news], PACK: [pack]})
            news = None

    @property
    def _id_type(self) -> pa.DataType:
        return pa.string() if self.task.id_is_text else pa.int64()

    def _work(self, shard: str) -> Work:
        number = self.task.part_of[shard]
        part = self.task.parts[number]
        return Work(
            _plan_of(part),
            part.layout,
            self._id_type,
            part.fingerprints,
            self.task.budget,
            self.task.delay,
            self.task.n_shards,
            OWNER if part.is_owner else None,
            _adapter(self.task.run, number, part.adapted),
        )

    def _rows(self, shard: str, outcome: Outcome) -> Iterator[pa.RecordBatch]:
        schema = match_schema(self._id_type, self.task.returned)
        if self.task.trend_names:
            schema = schema.append(_trend_field(self.task.trend_columns))
        yield of_kind(REPORT, report_row(shard, outcome.report, schema))
        for found in outcome.found:
            output = outcome.plan.outputs[found.output]
            names = self.task.return_names[output.query]
            for matches in emit_in_parts(found, output, names, schema):
                yield of_kind(MATCH, matches)
        for trends in outcome.trends:
            yield of_kind(TREND, self._results(trends, schema))
        if outcome.late is not None:
            layout = self.task.parts[self.task.part_of[shard]].layout
            yield of_kind(LATE, late_rows(outcome.late, layout, schema))

    def _results(self, found: FoundTrends, schema: pa.Schema) -> pa.RecordBatch:
        """Return results of a trend query in the schema of matches, all but the query in one column."""
        names = self.task.trend_names[found.rows.template.query]
        own = emit_trends(found.rows, found.events, names, trend_schema(self.task.trend_columns))
        fields = list(schema.field(TREND).type)
        nested = pa.StructArray.from_arrays([own[field.name] for field in fields], fields=fields)
        given = {"query": own["query"], TREND: nested}
        arrays = [
            given[field.name] if field.name in given else pa.nulls(own.num_rows, field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def set_timer(handle: StatefulProcessorHandle, wake: int | None, previous: int | None) -> None:
    """Have the shard at hand woken at a time, and no longer at an earlier choice."""
    if wake != previous:
        if previous is not None:
            handle.deleteTimer(previous)
        if wake is not None:
            handle.registerTimer(wake)


class StateStore:
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


def _trend_field(columns: Mapping[str, pa.DataType]) -> pa.Field:
    """Return the column that holds the result of a trend query."""
    return pa.field(TREND, pa.struct([field for field in trend_schema(columns) if field.name != "query"]))


def of_kind(kind: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of the schema of matches as outcomes of a kind."""
    kinds = pa.array([kind]).take(pa.array(np.zeros(rows.num_rows, np.int64)))
    return pa.RecordBatch.from_arrays([kinds, *rows.columns], [KIND, *rows.schema.names])


def report_text(report: Report) -> str:
    """Return a report as JSON."""
    return json.dumps(asdict(report), ensure_ascii=False)


def report_row(shard: str, report: Report, schema: pa.Schema) -> pa.RecordBatch:
    """Return the report of a step as a row of the schema of matches: JSON in `match_id`."""
    values = {"query": [shard], "match_id": [report_text(report)]}
    arrays = [pa.array(values.get(field.name, [None]), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def late_rows(rows: pa.Table, layout: Layout, schema: pa.Schema) -> pa.RecordBatch:
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


def _plan_of(part: PartTask) -> Plan | TrendPlan:
    return _plan(part.plan) if part.sharing is None else TrendPlan(_templates(part.plan), part.sharing)


_adapters: dict[tuple[str, int], Adapter] = {}  # of this worker process


def _adapter(run: str, number: int, part: AdaptedPart | None) -> Adapter | None:
    """Return what adapts the plans of a part; all its shards share it, and what it has at hand."""
    if part is None:
        return None
    if (run, number) not in _adapters:
        for old in [key for key in _adapters if key[0] != run]:
            del _adapters[old]
        made = import_module("weft.adaptation.adapter").adapter_of  # the optimizer with it: only if needed
        _adapters[run, number] = made(
            part.queries, part.schema, part.choice, part.statistics, part.adaptation
        )
    return _adapters[run, number]


@lru_cache(maxsize=16)
def _plan(text: str) -> Plan:
    plan: Plan = from_json("plan", text)
    return plan


@lru_cache(maxsize=16)
def _templates(text: str) -> tuple[Template, ...]:
    templates: tuple[Template, ...] = from_json("templates", text)
    return templates
