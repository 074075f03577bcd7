"""Detections at one place, in batch and on a stream: groups of queries, each with its plan."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from typing import TYPE_CHECKING

from weft.adaptation.settings import AdaptedGroup
from weft.api.detection import Detection, Workload
from weft.api.planning import (
    PlannedGroup,
    compare_costs,
    estimate_statistics,
    expected_rows,
    merge_plans,
    plan_group,
    why_lines,
)
from weft.errors import WeftError
from weft.explanation.plans import caution_lines, form_lines, plan_lines
from weft.explanation.trends import trend_lines
from weft.hosts.spark.analyze import Analysis, analyze_plan, analyze_trends
from weft.hosts.spark.assignment import ShardAssignment, ShardGroup, assign_shards, check_windows
from weft.hosts.spark.batch import batch_outcomes, n_shuffled
from weft.hosts.spark.divide import Division, QueryGroup, Together, divide, divide_trends
from weft.hosts.spark.outcomes import Outcomes
from weft.hosts.spark.schemas import spark_schema
from weft.hosts.spark.stream import Lateness, PlannedShards, build_stream, use_rocksdb
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.runtime.trends.executor import TrendPlan
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ASSIGNMENT = "assignment"  # the name of a note beside a checkpoint


class OnePlaceDetection(Detection):
    """A detection whose match queries are planned in groups."""

    _planned: list[PlannedGroup] | None = None

    @abstractmethod
    def _groups(self) -> Iterable[QueryGroup]:
        """Return the groups of the match queries."""

    def choose_plans(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        if self._planned is None:
            statistics, schema, planning = (
                self.sample_statistics(),
                self.source.schema,
                self.workload.planning,
            )
            self._planned = [
                plan_group(group, schema, planning, statistics, progress=progress, is_cancelled=is_cancelled)
                for group in self._groups()
            ]

    @property
    def _plans(self) -> list[PlannedGroup]:
        self.choose_plans()
        return self._planned or []

    @property
    def plan(self) -> StoredPlan:
        return merge_plans(self._plans)

    @property
    def shared_plan(self) -> Plan:
        return Plan(tuple(output for planned in self._plans for output in planned.optimized.plan.outputs))


class BatchDetection(OnePlaceDetection):
    """Queries on events that are all there."""

    @cached_property
    def _outcomes(self) -> "DataFrame":
        frames = [*self._run(self._match_work), *self._run(self._trend_work)]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    @cached_property
    def matches(self) -> "DataFrame":
        frames = [Outcomes(frame).matches for frame in self._run(self._match_work, has_reports=False)]
        return self._union(frames, self._outcome_columns.match_schema)

    @cached_property
    def timeouts(self) -> "DataFrame":
        self._check_timeouts()
        frames = [Outcomes(frame).timeouts for frame in self._run(self._match_work, has_reports=False)]
        return reduce(lambda a, b: a.unionByName(b), frames)

    @cached_property
    def trends(self) -> "DataFrame":
        frames = [Outcomes(frame).trends for frame in self._run(self._trend_work, has_reports=False)]
        return self._union(frames, self._outcome_columns.trend_schema)

    @property
    def _outcome_columns(self) -> OutcomeColumns:
        return OutcomeColumns(self.source.id_type, self._columns)

    def _union(self, frames: list["DataFrame"], schema: object) -> "DataFrame":
        if not frames:
            return self.source.events.sparkSession.createDataFrame([], spark_schema(schema))
        return reduce(lambda a, b: a.unionByName(b), frames)

    @property
    def _match_work(self) -> list[tuple[Plan | TrendPlan, Division]]:
        return [(planned.optimized.plan, planned.group.division) for planned in self._plans]

    @property
    def _trend_work(self) -> list[tuple[Plan | TrendPlan, Division]]:
        groups = divide_trends(self.trend_queries, self._templates)
        sharing = self.workload.planning.sharing
        return [(TrendPlan(group.templates, sharing), group.division) for group in groups]

    def _run(
        self,
        work: Iterable[tuple[Plan | TrendPlan, Division]],
        *,
        analyze: bool = False,
        has_reports: bool = True,
    ) -> list["DataFrame"]:
        """Return the outcomes of groups of queries, each with its plan and its division of the events."""
        workload = self.workload
        return [
            batch_outcomes(
                plan,
                division,
                self.source,
                self._columns,
                workload.budget,
                workload.partitions,
                on_budget=workload.on_budget,
                analyze=analyze,
                has_reports=has_reports,
            )
            for plan, division in work
        ]

    def sample_statistics(self) -> Statistics:
        if self._statistics is not None:
            return self._statistics
        if self._sampled is None:
            queries = self.match_queries
            self._sampled = (
                estimate_statistics(self.source, queries, is_quick=True)
                if self.workload.planning.needs_statistics(queries)
                else Statistics()
            )
        return self._sampled

    def _groups(self) -> Iterable[QueryGroup]:
        return divide(self.match_queries)

    def costs(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for planned in self._plans:
            for name, cost in self._costs_of(planned).items():
                total[name] = total.get(name, 0.0) + cost
        return total

    def _costs_of(self, planned: PlannedGroup) -> dict[str, float]:
        return compare_costs(planned, self.source.schema, self.workload.planning, self.statistics)

    def explain(self) -> str:
        """Return the normal forms, the plans with the rows expected of their nodes, and what they cost.

        Of trend queries, it is the templates, and which queries may share work.
        """
        lines = form_lines(self.match_queries) if self.match_queries else []
        for planned in self._plans:
            estimated = expected_rows(planned, self.source.schema, self.statistics)
            lines += ["", *why_lines(self._costs_of(planned), planned, self.workload.planning)]
            lines += plan_lines(planned.optimized.plan, estimated)
        if self._templates:
            lines += ([""] if lines else []) + trend_lines(self._templates)
        return "\n".join([*lines, *caution_lines(self.cautions)])

    def analyze(self, write: "Callable[..., None] | None" = None) -> Analysis:
        work = [*self._match_work, *self._trend_work]
        counted = self._run_groups(self._run(work, analyze=True), write)
        of_matches, of_trends = counted[: len(self._plans)], counted[len(self._plans) :]
        return Analysis(
            {name: count for group in of_matches for name, count in group.counts.items()},
            {name: count for group in of_matches for name, count in group.timeouts.items()},
            tuple(
                analyze_plan(
                    planned.optimized.plan,
                    group.reports,
                    expected_rows(planned, self.source.schema, self.statistics),
                )
                for planned, group in zip(self._plans, of_matches, strict=True)
            ),
            analyze_trends(of_trends) if self.trend_queries else None,
            stopped={name: reasons for group in counted for name, reasons in group.stopped.items()},
        )


class StreamDetection(OnePlaceDetection):
    """Queries on a stream, assigned to shards that keep their state over restarts."""

    def __init__(self, workload: Workload, lateness: Lateness) -> None:
        check_windows(workload.queries)
        super().__init__(workload)
        self._lateness = lateness

    @cached_property
    def _outcomes(self) -> "DataFrame":
        use_rocksdb(self.source.events.sparkSession)
        if self._known_assignment != self.assignment:
            self._notes.write(ASSIGNMENT, self.assignment.to_json())
        shards = [*self._match_shards(), *self._trend_shards()]
        return build_stream(
            shards,
            self.source,
            self._columns,
            self.workload.budget,
            self._lateness,
            self.assignment.n_shards,
            on_budget=self.workload.on_budget,
        )

    @property
    def changes(self) -> "DataFrame":
        return Outcomes(self._outcomes).changes

    @cached_property
    def assignment(self) -> ShardAssignment:
        known, wanted = self._known_assignment, self.workload.partitions
        if known is None:
            n_shards = wanted or n_shuffled(self.source)
        elif wanted in (None, known.n_shards):
            n_shards = known.n_shards
        else:
            raise WeftError(
                f"the stream has started with partitions={known.n_shards}, and its state is divided so; now "
                f"partitions is {wanted}\n  hint: leave it out, or start with a new checkpoint"
            )
        return assign_shards(self.queries, n_shards, self._plan_together, known)

    @cached_property
    def _known_assignment(self) -> ShardAssignment | None:
        """The latest assignment in the checkpoint, if there is one."""
        known = [ShardAssignment.from_json(text, place) for text, place in self._notes.read(ASSIGNMENT)]
        return max(known, key=lambda assignment: assignment.revision, default=None)

    @property
    def started(self) -> list[str]:
        known = self._known_assignment
        return (
            [] if known is None else [query.name for query in self.queries if query.name not in known.groups]
        )

    @property
    def ended(self) -> list[str]:
        known = self._known_assignment
        return [] if known is None else [name for name in known.groups if name not in self._names]

    @property
    def _names(self) -> list[str]:
        return [query.name for query in self.queries]

    def _members(self, *, trends: bool) -> dict[ShardGroup, tuple[Query, ...]]:
        """Return the groups for matches or for trends, with their queries."""
        by_name = {query.name: query for query in self.queries}
        return {
            group: tuple(by_name[name] for name in names)
            for group, names in self.assignment.members.items()
            if group.trends == trends
        }

    def _groups(self) -> Iterable[QueryGroup]:
        return [QueryGroup(queries, Together()) for queries in self._members(trends=False).values()]

    def _plan_together(self, queries: Sequence[Query]) -> tuple[Plan, float]:
        group = QueryGroup(tuple(queries), Together())
        chosen = plan_group(group, self.source.schema, self.workload.planning, self.statistics).optimized
        return chosen.plan, chosen.cost / self.statistics.events_per_second

    def _match_shards(self) -> list[PlannedShards]:
        return [
            PlannedShards(group, planned.group.queries, planned.optimized.plan, self._adapted_group(planned))
            for group, planned in zip(self._members(trends=False), self._plans, strict=True)
        ]

    def _trend_shards(self) -> list[PlannedShards]:
        plans = self._trend_plans()
        return [
            PlannedShards(group, queries, plans[group])
            for group, queries in self._members(trends=True).items()
        ]

    def _trend_plans(self) -> dict[ShardGroup, TrendPlan]:
        templates = {template.query: template for template in self._templates}
        return {
            group: TrendPlan(
                tuple(templates[query.name] for query in queries), self.workload.planning.sharing
            )
            for group, queries in self._members(trends=True).items()
        }

    def _adapted_group(self, planned: PlannedGroup) -> AdaptedGroup | None:
        """Return what it takes to adapt a plan; one that was asked for by name or by a file stays."""
        adaptation = self.workload.streaming.adaptation
        if adaptation.decide == "off" or self.workload.planning.plan not in ("auto", "mcep"):
            return None
        stored = planned.optimized.stored
        return AdaptedGroup(planned.group.queries, self.source.schema, stored, self.statistics, adaptation)

    def explain(self) -> str:
        """Return the normal forms, and the plan of each group; of trend queries, the templates."""
        lines = form_lines(self.match_queries) if self.match_queries else []
        for group, planned in zip(self._members(trends=False), self._plans, strict=True):
            lines += ["", self._headline(group), *plan_lines(planned.optimized.plan)]
            adapted = self._adapted_group(planned)
            lines += [] if adapted is None else adapted.adapter().lines()
        for group, plan in self._trend_plans().items():
            lines += ["", self._headline(group), *trend_lines(plan.templates)]
        return "\n".join([*lines, *caution_lines(self.cautions)]).lstrip("\n")

    def _headline(self, group: ShardGroup) -> str:
        count = group.n_shards(self.assignment.n_shards)
        return f"{group.name}: {count} shards" if count > 1 else f"{group.name}: 1 shard"
