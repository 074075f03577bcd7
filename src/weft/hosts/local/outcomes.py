"""The outcomes of a run in this process: tables of each kind, and how many there are."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError
from weft.explanation.analysis import CountedOutcomes
from weft.hosts.local.result_table import ResultTable
from weft.hosts.results import SHOWN, shown_name
from weft.runtime.stages.messages import SHARD
from weft.runtime.stages.outcomes import (
    MATCH_KIND,
    MISSING,
    REPORT,
    REPORT_KIND,
    TIMEOUT_KIND,
    TREND,
    TREND_KIND,
)
from weft.runtime.stages.report import Report

STOPPED = pa.schema([("query", pa.string()), ("shard", pa.string()), ("reason", pa.string())])
TRANSFERS = pa.schema(
    [
        ("projection", pa.string()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
KindTables = Mapping[str, pa.Table]  # the outcomes of each kind


class LocalOutcomes:
    """The tables of each kind among outcomes; what gives them is run when one of them is first asked for."""

    def __init__(self, schema: pa.Schema, run: Callable[[], KindTables]) -> None:
        self.schema = schema
        self._run = run

    @cached_property
    def _tables(self) -> KindTables:
        return self._run()

    def of_kind(self, kind: str) -> pa.Table:
        """Return the outcomes of a kind, with all columns."""
        return self._tables.get(kind, self.schema.empty_table())

    @property
    def matches(self) -> ResultTable:
        """One row per match."""
        others = [name for name in SHOWN if name in self.schema.names]
        return ResultTable(self.of_kind(MATCH_KIND).drop_columns(others))

    @property
    def timeouts(self) -> ResultTable:
        """One row per timeout, with the columns of a match and the variable that is `missing`."""
        if MISSING not in self.schema.names:
            raise WeftError("none of the queries asks for TIMEOUTS: look at matches")
        others = [name for name in SHOWN if name != MISSING and name in self.schema.names]
        return ResultTable(
            _renamed(self.of_kind(TIMEOUT_KIND).drop_columns(others), {MISSING: SHOWN[MISSING]})
        )

    @property
    def trends(self) -> ResultTable:
        """One row per result of a trend query."""
        if TREND not in self.schema.names:
            raise WeftError("none of the queries is a trend query: look at matches")
        rows = self.of_kind(TREND_KIND).select(["query", TREND])
        fields = [pa.field("query", pa.string()), *self.schema.field(TREND).type]
        columns = [rows["query"], *rows[TREND].combine_chunks().flatten()] if rows.num_rows else None
        schema = pa.schema(fields)
        return ResultTable(schema.empty_table() if columns is None else pa.table(columns, schema=schema))

    @property
    def stopped(self) -> ResultTable:
        """The queries that exceeded their budget: query, shard and reason; their matches are incomplete."""
        rows = [
            {"query": query, "shard": shard, "reason": reason}
            for shard, report in self.reports.items()
            for query, reason in report.stopped.items()
        ]
        return ResultTable(pa.Table.from_pylist(rows, STOPPED))

    @property
    def transfers(self) -> ResultTable:
        """What sites sent each other of the matches of a projection, or of its events."""
        sent = [own for report in self.reports.values() for own in report.sent]
        return ResultTable(
            pa.table([[getattr(own, name) for own in sent] for name in TRANSFERS.names], schema=TRANSFERS)
        )

    @property
    def shown(self) -> ResultTable:
        """The outcomes of all kinds, with the names that users see."""
        whole = pa.concat_tables([self.schema.empty_table(), *self._tables.values()])
        return ResultTable(_renamed(whole, {name: shown_name(name) for name in whole.column_names}))

    @cached_property
    def reports(self) -> Mapping[str, Report]:
        """The reports of the steps of shards."""
        rows = self.of_kind(REPORT_KIND)
        pairs = zip(rows[SHARD].to_pylist(), rows[REPORT].to_pylist(), strict=True)
        return {shard: Report.from_json(text) for shard, text in sorted(pairs)}

    def counted(self) -> CountedOutcomes:
        """Return how many results and timeouts each query has, and the reports."""
        of_trends, of_matches = self._count(TREND_KIND), self._count(MATCH_KIND)
        return CountedOutcomes(of_matches | of_trends, self._count(TIMEOUT_KIND), self.reports)

    def _count(self, kind: str) -> dict[str, int]:
        counted = pc.value_counts(self.of_kind(kind)["query"])
        return dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))


def unite(outcomes: Sequence[LocalOutcomes]) -> LocalOutcomes:
    """Return the outcomes of several groups, one at least, as those of one."""
    if len(outcomes) == 1:
        return outcomes[0]
    fields: dict[str, pa.Field] = {}
    for own in outcomes:
        fields |= {field.name: field for field in own.schema if field.name not in fields}
    schema = pa.schema(list(fields.values()))

    def run() -> KindTables:
        return concat_kinds((own._tables for own in outcomes), schema)  # noqa: SLF001 - of this class

    return LocalOutcomes(schema, run)


def concat_kinds(parts: Iterable[KindTables], schema: pa.Schema) -> KindTables:
    """Return the tables of all parts by kind; a column that one lacks is NULL there."""
    kinds: dict[str, list[pa.Table]] = {}
    for part in parts:
        for kind, table in part.items():
            kinds.setdefault(kind, [schema.empty_table()]).append(table)
    return {kind: pa.concat_tables(tables, promote_options="default") for kind, tables in kinds.items()}


def _renamed(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    return table.rename_columns([names.get(name, name) for name in table.column_names])
