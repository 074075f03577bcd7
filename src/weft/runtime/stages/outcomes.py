"""Outcomes: the rows that a step gives, each of a kind, in one schema.

A row is a match, a timeout, a result of a trend query, a row that came too late, or a report. The columns of
other kinds are NULL in it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.plan.nodes import TimeoutBranch
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import TIMESTAMP, emit_in_parts, match_schema
from weft.runtime.matches.execute import Found
from weft.runtime.stages.messages import SHARD
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard_executor import FoundAtSite, FoundTrends, Result, is_timeout
from weft.runtime.stages.shard_program import StepOutcome
from weft.runtime.stages.task import ResultColumns, StageTask
from weft.runtime.state.segments import one_array
from weft.runtime.trends.emit import emit_trends_in_parts, trend_schema

KIND, TREND, MISSING, REPORT = "weft_kind", "weft_trend", "weft_missing", "weft_report"
MATCH_KIND, TIMEOUT_KIND, TREND_KIND = "match", "timeout", "trend"
LATE_KIND, REPORT_KIND = "late", "report"


@dataclass(frozen=True)
class OutcomeColumns:
    """The columns of outcomes: those of results, given the type of the ids of events, and of reports."""

    id_type: pa.DataType
    columns: ResultColumns = field(default_factory=ResultColumns)

    @cached_property
    def match_schema(self) -> pa.Schema:
        """The columns of matches."""
        return match_schema(self.id_type, self.columns.returned.types)

    @cached_property
    def trend_schema(self) -> pa.Schema:
        """The columns of results of trend queries."""
        return trend_schema(self.columns.trends.types)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of outcomes of all kinds."""
        fields = [pa.field(KIND, pa.string()), *self.match_schema]
        if self.columns.trends.names:
            fields.append(pa.field(TREND, pa.struct(list(self.trend_schema)[1:])))
        if self.columns.has_timeouts:
            fields.append(pa.field(MISSING, pa.string()))
        fields += [pa.field(SHARD, pa.string()), pa.field(REPORT, pa.string())]
        return pa.schema(fields)

    def of_step(
        self, name: str, outcome: StepOutcome, layout: Layout, held_back: Collection[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield the report of a step, under a name, late rows, and results; matches may be held back."""
        yield self.report(name, outcome.report)
        if outcome.late is not None:
            yield self.late(outcome.late, layout)
        results = outcome.found
        yield from self.rows(one for one in results if one.query not in held_back or is_timeout(one))

    def rows(self, results: Iterable[Result]) -> Iterator[pa.RecordBatch]:
        """Yield matches, timeouts and results of trend queries; rows for other sites are no outcomes."""
        for result in results:
            match result:
                case Found():
                    yield from self._matches(result)
                case FoundTrends():
                    yield from self._trends(result)
                case FoundAtSite(found=matches) if result.query is not None:
                    yield from self._matches(matches)

    def late(self, rows: pa.Table, layout: Layout) -> pa.RecordBatch:
        """Return rows that came too late, each as the only event of a match."""
        times = one_array(rows[layout.time]).cast(pa.int64()).cast(TIMESTAMP)
        kind = self.match_schema.field("events").type
        identity = layout.id or layout.content
        nothing = pa.nulls(rows.num_rows, pa.string())
        event = pa.StructArray.from_arrays(
            [
                nothing,
                nothing if layout.type is None else one_array(rows[layout.type]).cast(pa.string()),
                times,
                (nothing if identity is None else one_array(rows[identity])).cast(self.id_type),
            ],
            fields=list(kind.value_type),
        )
        offsets = pa.array(np.arange(rows.num_rows + 1, dtype=np.int32))
        events = pa.ListArray.from_arrays(offsets, event, type=kind)
        return self._of_kind(LATE_KIND, {"start": times, "end": times, "events": events}, rows.num_rows)

    def report(self, shard: str, report: Report) -> pa.RecordBatch:
        """Return the report of a step of a shard."""
        texts = {SHARD: pa.array([shard]), REPORT: pa.array([report.to_json()])}
        return self._of_kind(REPORT_KIND, texts, 1)

    def _matches(self, matches: Found) -> Iterator[pa.RecordBatch]:
        kind, more = MATCH_KIND, {}
        if isinstance(matches.source, TimeoutBranch):
            kind, more = TIMEOUT_KIND, {MISSING: matches.source.missing}
        for rows in emit_in_parts(matches, self.columns.returned.names[matches.query], self.match_schema):
            columns = dict(zip(rows.schema.names, rows.columns, strict=True))
            columns |= {name: pa.array([text] * rows.num_rows, pa.string()) for name, text in more.items()}
            yield self._of_kind(kind, columns, rows.num_rows)

    def _trends(self, trends: FoundTrends) -> Iterator[pa.RecordBatch]:
        names, schema = self.columns.trends.names[trends.query], self.trend_schema
        for rows in emit_trends_in_parts(trends.results, trends.events, trends.rows, names, schema):
            fields = list(schema)[1:]
            nested = pa.StructArray.from_arrays([rows[field.name] for field in fields], fields=fields)
            yield self._of_kind(TREND_KIND, {"query": rows["query"], TREND: nested}, rows.num_rows)

    def _of_kind(self, kind: str, columns: Mapping[str, pa.Array], n_rows: int) -> pa.RecordBatch:
        """Return rows of a kind, NULL in the columns of others."""
        kinds = pa.array([kind]).take(pa.array(np.zeros(n_rows, np.int64)))
        given = {KIND: kinds, **columns}
        arrays = [
            given[field.name] if field.name in given else pa.nulls(n_rows, field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def outcome_columns(task: StageTask) -> OutcomeColumns:
    """Return the columns of the outcomes of a task."""
    return OutcomeColumns(task.id_type, task.columns)
