"""The run of a batch: groups of queries, each with its plan and its division of the events."""

from collections.abc import Callable
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from weft.api.planning import (
    PlannedGroup,
    costs_compared,
    estimated_statistics,
    expected_rows,
    merged_plan,
    plan_group,
    why_lines,
)
from weft.api.workload import Workload
from weft.explanation.plans import form_lines, plan_lines
from weft.explanation.trends import trend_lines
from weft.hosts.spark.analyze import (
    GROUP,
    Analysis,
    analyzed_plan,
    analyzed_trends,
    count_outcomes,
    outcomes_of_groups,
)
from weft.hosts.spark.batch import batch_outcomes
from weft.hosts.spark.divide import divide, divide_trends
from weft.hosts.spark.outcomes import Outcomes, spark_schema
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.plan.nodes import Plan
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.runtime.trends.executor import TrendPlan
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BatchRun:
    """A workload on events that are all there."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._statistics = workload.statistics
        self._sampled: Statistics | None = None
        self._planned: list[PlannedGroup] | None = None

    @cached_property
    def outcomes(self) -> "DataFrame":
        frames = [*self._match_frames(), *self._trend_frames()]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    @cached_property
    def matches(self) -> "DataFrame":
        frames = [Outcomes(frame).matches for frame in self._match_frames()]
        return self._united(frames, self._columns.match_schema)

    @cached_property
    def trends(self) -> "DataFrame":
        frames = [Outcomes(frame).trends for frame in self._trend_frames()]
        return self._united(frames, self._columns.trend_schema)

    @property
    def _columns(self) -> OutcomeColumns:
        return self.workload.columns.of(self.workload.source.arrow_id_type)

    def _united(self, frames: list["DataFrame"], schema: object) -> "DataFrame":
        if not frames:
            spark = self.workload.source.events.sparkSession
            return spark.createDataFrame([], spark_schema(schema))
        return reduce(lambda a, b: a.unionByName(b), frames)

    def _match_frames(self, *, analyze: bool = False) -> list["DataFrame"]:
        return [
            batch_outcomes(
                planned.optimized.plan,
                planned.group.division,
                self.workload.source,
                self.workload.columns,
                self.workload.budget,
                self.workload.partitions,
                analyze=analyze,
            )
            for planned in self._plans()
        ]

    def _trend_frames(self, *, analyze: bool = False) -> list["DataFrame"]:
        work = self.workload
        return [
            batch_outcomes(
                TrendPlan(group.templates, work.planning.sharing),
                group.division,
                work.source,
                work.columns,
                work.budget,
                work.partitions,
                analyze=analyze,
            )
            for group in divide_trends(work.trend_queries, work.templates)
        ]

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given, or estimated from a sample of all of the events, once."""
        if self._statistics is None:
            work = self.workload
            self._statistics = estimated_statistics(work.source, work.match_queries, is_quick=False)
        return self._statistics

    @property
    def plan(self) -> StoredPlan:
        return merged_plan(self._plans())

    def sample_statistics(self) -> Statistics:
        if self._statistics is not None:
            return self._statistics
        if self._sampled is None:
            work = self.workload
            quick = partial(estimated_statistics, work.source, work.match_queries, is_quick=True)
            self._sampled = quick() if work.planning.needs_statistics(work.match_queries) else Statistics()
        return self._sampled

    def choose_plans(self, progress: Progress | None, is_cancelled: Callable[[], bool]) -> None:
        if self._planned is None:
            work, statistics = self.workload, self.sample_statistics()
            self._planned = [
                plan_group(
                    group,
                    work.source.schema,
                    work.planning,
                    statistics,
                    progress=progress,
                    is_cancelled=is_cancelled,
                )
                for group in divide(work.match_queries)
            ]

    def _plans(self) -> list[PlannedGroup]:
        self.choose_plans(None, lambda: False)
        return self._planned or []

    @property
    def shared_plan(self) -> Plan:
        """The plans of all groups as one."""
        return Plan(tuple(output for one in self._plans() for output in one.optimized.plan.outputs))

    def costs(self) -> dict[str, float]:
        """Return the expected cost of the plan and the baselines, in nanoseconds per second of events."""
        total: dict[str, float] = {}
        for planned in self._plans():
            for name, cost in self._costs_of(planned).items():
                total[name] = total.get(name, 0.0) + cost
        return total

    def _costs_of(self, planned: PlannedGroup) -> dict[str, float]:
        work = self.workload
        return costs_compared(planned, work.source.schema, work.planning, self.statistics)

    def explain(self) -> str:
        """Return the normal forms, the plans with the rows expected of their nodes, and what they cost.

        Of trend queries, it is the templates, and which queries may share work.
        """
        work = self.workload
        lines = form_lines(work.match_queries) if work.match_queries else []
        for planned in self._plans():
            costs = self._costs_of(planned)
            estimated = expected_rows(planned, work.source.schema, self.statistics)
            lines += ["", *why_lines(costs, planned, work.planning)]
            lines += plan_lines(planned.optimized.plan, estimated)
        if work.templates:
            lines += ([""] if lines else []) + trend_lines(work.templates)
        return "\n".join(lines)

    def analyze(self, write: "Callable[..., None] | None") -> Analysis:
        plans = self._plans()
        frames = [*self._match_frames(analyze=True), *self._trend_frames(analyze=True)]
        measured = outcomes_of_groups(frames)
        if measured is None:
            return Analysis({})
        if write is not None:
            measured.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counted = count_outcomes(measured, len(frames))
            if write is not None:
                results = Outcomes(measured.drop(GROUP))
                matches = [results.matches] if plans else [self.matches]
                write(*matches, *([results.trends] if self.workload.templates else []))
        finally:
            if write is not None:
                measured.unpersist()
        schema = self.workload.source.schema
        return Analysis(
            {name: count for group in counted[: len(plans)] for name, count in group.counts.items()},
            tuple(
                analyzed_plan(
                    planned.optimized.plan,
                    counted[number].reports,
                    expected_rows(planned, schema, self.statistics),
                )
                for number, planned in enumerate(plans)
            ),
            analyzed_trends(counted[len(plans) :]) if self.workload.templates else None,
        )
