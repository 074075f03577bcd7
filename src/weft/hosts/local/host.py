"""The local host: Arrow in, Arrow out; what was once found is kept."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError, near_name
from weft.explanation.analysis import CountedOutcomes
from weft.hosts.host import GroupWork, Host, InputCounts, RunOptions, Write
from weft.hosts.local.counting import count_kinds, count_types
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.outcomes import LocalOutcomes, unite
from weft.hosts.local.result_table import ResultTable
from weft.hosts.local.run import GroupRun, GroupsRun, RunState
from weft.hosts.local.sampling import LocalSampler, site_counts
from weft.hosts.local.sites import SitesRun
from weft.hosts.local.wire import RowCounts, good_rows, is_good, required_columns
from weft.hosts.progress import ProgressSource
from weft.hosts.results import TrendNames
from weft.hosts.sampling import MANY_ROWS, ROWS, estimate
from weft.pattern.nodes import Query
from weft.placement.site_statistics import SiteCounts
from weft.plan.sites import SiteProgram
from weft.runtime.stages.outcomes import outcome_columns
from weft.statistics.model import Inquiry, ItemKey, Statistics

COMMON = ("query", "match_id", "start", "end", "events")
OF_WINDOWS = ("query", "window_start", "window_end")
BEYOND = "beyond"


class LocalHost(Host[LocalOutcomes]):
    """Runs steps in threads of this process."""

    name = "local"
    keeps_results = True

    def __init__(self, source: LocalEvents) -> None:
        self._source = source
        self._state = RunState()

    @property
    def source(self) -> LocalEvents:
        return self._source

    @property
    def progress(self) -> ProgressSource:
        return self._state.progress

    @property
    def counts(self) -> RowCounts:
        """What there is of the rows; counted by a run, or by reading them once more."""
        if self._state.counts is None:
            self._state.counts = self._count()
        return self._state.counts

    def _count(self) -> RowCounts:
        source, total = self.source, RowCounts()
        mentioned = [name for derived in source.derived.values() for name in derived.attributes]
        for rows in source.rows.batches(required_columns(source, mentioned)):
            total.add(good_rows(rows, source, source.derived)[1])
        return total

    def count_rows(self, types: Collection[str]) -> InputCounts:
        counts, source = self.counts, self.source
        known = [name for name, count in counts.n_of_type.items() if count]
        # Of derived types, only those that were asked for were counted.
        told = [name for name in types if name not in source.derived or name in counts.n_of_type]
        return InputCounts(
            counts.n_rows - counts.n_rejected,
            counts.n_rejected,
            {name: near_name(name, known) for name in sorted(told) if name not in known},
            counts.earliest,
            counts.latest,
        )

    def count_types(self) -> Mapping[str, int]:
        return count_types(self.source)

    def count_kinds(self, kinds: Mapping[str, ItemKey]) -> Mapping[str, int]:
        return count_kinds(self.source, kinds)

    @property
    def rejected(self) -> ResultTable:
        source = self.source
        schema = source.rows.schema.append(pa.field("reason", pa.string()))
        parts = [schema.empty_table()]
        for rows in source.rows.batches(source.rows.schema.names):
            good = is_good(rows, source)
            if good is None:
                continue
            bad = rows.filter(pc.invert(good))
            reason = pa.nulls(bad.num_rows, pa.string())
            for name in reversed((source.time, *source.required)):
                text = f"{name} is not a time" if name == source.time else f"{name} is NULL"
                reason = pc.if_else(bad.column(name).is_null(), pa.scalar(text), reason)
            parts.append(pa.Table.from_batches([bad.append_column("reason", reason)]))
        return ResultTable(pa.concat_tables(parts))

    def estimate(self, inquiry: Inquiry, *, counts_all: bool, is_quick: bool) -> Statistics:
        types = {item.type for item in inquiry.every_item}
        rows = ROWS if is_quick else MANY_ROWS
        sampler = LocalSampler(self.source, types, inquiry.attributes, counts_all, rows)
        return estimate(sampler, inquiry, is_quick=is_quick)

    def site_counts(self, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]) -> SiteCounts:
        return site_counts(self.source, site, kinds, attributes)

    def run_groups(self, work: Sequence[GroupWork], options: RunOptions) -> list[LocalOutcomes]:
        groups = [GroupRun.of(own, self.source, options) for own in work]
        run = GroupsRun(self.source, groups, self._state)
        return [
            LocalOutcomes(outcome_columns(group.task).schema, lambda place=place: run.tables[place])  # type: ignore[misc]
            for place, group in enumerate(groups)
        ]

    def run_sites(self, program: SiteProgram, queries: Sequence[Query], options: RunOptions) -> LocalOutcomes:
        run = SitesRun(self.source, program, queries, options, self._state)
        return LocalOutcomes(outcome_columns(run.task).schema, lambda: run.tables)

    def union(self, results: Sequence[LocalOutcomes]) -> LocalOutcomes:
        return unite(results)

    def empty(self, schema: pa.Schema) -> ResultTable:
        return ResultTable(schema.empty_table())

    def count(
        self, results: Sequence[LocalOutcomes], write: Write | None, *, kinds: Collection[str]
    ) -> list[CountedOutcomes]:
        counted = [own.counted() for own in results]
        if write is not None:
            together = unite(results)
            write(together.matches, **{kind: getattr(together, kind) for kind in kinds})
        return counted

    def observed(self, results: LocalOutcomes, observation: Any) -> LocalOutcomes:  # noqa: ARG002
        raise WeftError(
            "an observation is for Spark's DataFrames\n"
            "  hint: leave it out; Detection.stopped and Detection.run() say which queries were stopped"
        )

    def select_matches(self, matches: ResultTable, query: str, columns: Mapping[str, str]) -> ResultTable:
        rows = matches.arrow.filter(pc.equal(matches.arrow["query"], query))
        names = [*COMMON, *columns]
        return ResultTable(rows.select([*COMMON, *columns.values()]).rename_columns(names))

    def closest_matches(
        self, matches: ResultTable, query: str, columns: Mapping[str, str], *, by: str | None, most: int
    ) -> list[dict[str, Any]]:
        rows = self.select_matches(matches, query, columns).arrow
        took = pc.subtract(rows["end"].cast(pa.int64()), rows["start"].cast(pa.int64()))
        keys = {} if by is None else {"by": rows[by]}
        keys |= {name: rows[name] for name in ("start", "match_id")} | {"took": took}
        names = [name for name in ("by", "took", "start", "match_id") if name in keys]
        chosen = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in names])[:most]
        return list(rows.take(chosen).to_pylist())

    def select_trends(self, trends: ResultTable, query: str, names: TrendNames) -> ResultTable:
        rows = trends.arrow.filter(pc.equal(trends.arrow["query"], query))
        own = {**names.group, **names.aggregates}
        shown = rows.select([*OF_WINDOWS, *own.values(), BEYOND]).rename_columns([*OF_WINDOWS, *own, BEYOND])
        if any(column != name for name, column in own.items()):
            shown = _with_own_names(shown, {column: name for name, column in own.items()})
        return ResultTable(shown)


def _with_own_names(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Return rows whose numbers beyond a column are known by the query's own names of the columns."""
    place = rows.schema.get_field_index(BEYOND)
    beyond = rows.column(place).combine_chunks()
    keys = pa.array([names.get(key, key) for key in beyond.keys.to_pylist()], pa.string())
    renamed = pa.MapArray.from_arrays(beyond.offsets, keys, beyond.items).cast(beyond.type)
    if beyond.null_count:
        renamed = pc.if_else(beyond.is_valid(), renamed, pa.scalar(None, beyond.type))
    return rows.set_column(place, rows.schema.field(place), renamed)
