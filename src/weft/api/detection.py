"""A workload bound to a DataFrame of events: its matches, its plans, and what both cost."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.api.planning import (
    PlannedShare,
    costs_compared,
    estimated_statistics,
    expected_rows,
    merged_plan,
    plan_share,
    why_lines,
)
from weft.api.workload import Workload
from weft.explain.plans import form_lines, plan_lines
from weft.explain.trends import trend_lines
from weft.hosts.spark.analyze import SHARE, Analysis, analysis_of, is_match
from weft.hosts.spark.batch import Input, count_rows, detect_share, matches_schema
from weft.hosts.spark.partitioning import divide, divide_trends
from weft.hosts.spark.trend_analyze import trend_analysis_of
from weft.hosts.spark.trend_batch import aggregate_share
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Detection(Workload):
    """A workload bound to a DataFrame of events."""

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        partitions: int | None,
        budget: Budget,
        planning: Planning,
        statistics: Statistics | None = None,
        sharing: Sharing = "dynamic",
    ) -> None:
        super().__init__(source, queries, partitions, budget, planning, sharing)
        self._statistics = statistics
        self._looked: Statistics | None = None
        self._planned: list[PlannedShare] | None = None

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query that is no trend query."""
        frames = self._detected(analyze=False)
        if not frames:
            schema = matches_schema(self.source, self._returned)
            return self.source.events.sparkSession.createDataFrame([], schema)
        return reduce(lambda a, b: a.unionByName(b), frames)

    @cached_property
    def trends(self) -> "DataFrame":
        """One row per trend query, window and group that has trends.

        Columns: `query`, `window_start`, `window_end`, the groups and aggregates of all trend queries, NULL
        in the rows of others, and `beyond`: by their columns, the digits of values too large for these.
        """
        return self._union(self._aggregated(analyze=False))

    def _aggregated(self, *, analyze: bool) -> list["DataFrame"]:
        return [
            aggregate_share(
                share,
                self.source,
                self._trend_columns,
                self._sharing,
                self._partitions,
                analyze=analyze,
            )
            for share in divide_trends(self.templates)
        ]

    def _union(self, results: list["DataFrame"]) -> "DataFrame":
        if not results:
            return self.source.events.sparkSession.createDataFrame([], self._trend_columns.schema)
        return reduce(lambda a, b: a.unionByName(b), results)

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given, or estimated from a sample of all of the events, once."""
        if self._statistics is None:
            self._statistics = estimated_statistics(self.source, self.match_queries, is_quick=False)
        return self._statistics

    @property
    def plan(self) -> StoredPlan:
        """The order in which each query is evaluated, as data that can be stored and used again."""
        return merged_plan(self.weave())

    def look(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""
        if self._statistics is not None:
            return self._statistics
        if self._looked is None:
            is_needed = self._planning.needs_statistics(self.match_queries)
            quick = partial(estimated_statistics, self.source, self.match_queries, is_quick=True)
            self._looked = quick() if is_needed else Statistics()
        return self._looked

    def weave(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> list[PlannedShare]:
        """Choose the plans unless that is done; `progress` is told the share of the search that is over."""
        if self._planned is None:
            statistics = self.look()
            self._planned = [
                plan_share(
                    share,
                    self.source.schema,
                    self._planning,
                    statistics,
                    progress=progress,
                    is_cancelled=is_cancelled,
                )
                for share in divide(self.match_queries)
            ]
        return self._planned

    def _detected(self, *, analyze: bool) -> list["DataFrame"]:
        return [
            detect_share(
                planned.optimized.plan,
                planned.share,
                self.source,
                self._returned,
                self._budget,
                self._partitions,
                analyze=analyze,
            )
            for planned in self.weave()
        ]

    def input_counts(self) -> tuple[int, int]:
        """Return the number of events and of rejected rows."""
        return self._counts

    def costs(self) -> dict[str, float]:
        """Return the expected cost of the plan and the baselines, in nanoseconds per second of events."""
        total: dict[str, float] = {}
        for planned in self.weave():
            for name, cost in self._costs_of(planned).items():
                total[name] = total.get(name, 0.0) + cost
        return total

    def _costs_of(self, planned: PlannedShare) -> dict[str, float]:
        return costs_compared(planned, self.source.schema, self._planning, self.statistics)

    def explain(self) -> str:
        """Return the normal forms, the plans with the rows expected of their nodes, and what they cost.

        Of trend queries, it is the templates, and which queries may share work.
        """
        lines = form_lines(self.match_queries) if self.match_queries else []
        for planned in self.weave():
            costs = self._costs_of(planned)
            estimated = expected_rows(planned, self.source.schema, self.statistics)
            lines += [
                "",
                *why_lines(costs, planned, self._planning),
                *plan_lines(planned.optimized.plan, estimated),
            ]
        if self.templates:
            lines += ([""] if lines else []) + trend_lines(self.templates)
        return "\n".join(lines)

    def analyze(self, write: "Callable[..., None] | None" = None) -> Analysis:
        """Run the detection once and return what each node of its plans did, and what trend queries shared.

        `write` is given the matches of this run and, where there are trend queries, their results.
        """
        matched = [
            frame.withColumn(SHARE, F.lit(number))
            for number, frame in enumerate(self._detected(analyze=True))
        ]
        measured = reduce(lambda a, b: a.unionByName(b), matched) if matched else None
        aggregated = self._union(self._aggregated(analyze=True)) if self.templates else None
        kept = [frame for frame in (measured, aggregated) if frame is not None and write is not None]
        for frame in kept:
            frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            analysis = self._analysis(measured)
            if aggregated is not None:
                analysis = replace(analysis, trends=trend_analysis_of(aggregated))
            if write is not None and kept:
                matches = self.matches if measured is None else measured.where(is_match()).drop(SHARE)
                write(matches, *([] if aggregated is None else [aggregated.where(is_match())]))
        finally:
            for frame in kept:
                frame.unpersist()
        return analysis

    def _analysis(self, measured: "DataFrame | None") -> Analysis:
        if measured is None:
            return Analysis({}, ())
        plans = [planned.optimized.plan for planned in self.weave()]
        estimated = [expected_rows(one, self.source.schema, self.statistics) for one in self.weave()]
        return analysis_of(measured, plans, estimated)

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return count_rows(self.source)
