"""The run of a stream: queries assigned to shards, which keep their state over restarts."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from weft.adaptation.adapted_group import AdaptedGroup
from weft.api.beside_checkpoint import BesideCheckpoint
from weft.api.planning import PlannedGroup, merged_plan, plan_group
from weft.api.workload import Workload
from weft.errors import WeftError
from weft.explanation.plans import form_lines, plan_lines
from weft.explanation.trends import trend_lines
from weft.hosts.spark.analyze import Analysis
from weft.hosts.spark.assignment import ShardAssignment, ShardGroup, assign_shards, check_windows
from weft.hosts.spark.batch import n_shuffled
from weft.hosts.spark.divide import QueryGroup, Together
from weft.hosts.spark.outcomes import Outcomes
from weft.hosts.spark.stream import Lateness, PlannedShards, build_stream, use_rocksdb
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.runtime.trends.executor import TrendPlan
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ASSIGNMENT = "assignment"


class StreamRun:
    """A workload on a stream; each frame that is started is a run of its own."""

    def __init__(self, workload: Workload, lateness: Lateness) -> None:
        check_windows(workload.queries)
        self.workload = workload
        self.statistics = workload.statistics or Statistics()
        self._lateness = lateness
        self._planned: dict[ShardGroup, PlannedGroup] | None = None

    @cached_property
    def outcomes(self) -> "DataFrame":
        work = self.workload
        use_rocksdb(work.source.events.sparkSession)
        self._remember()
        return build_stream(
            [*self._match_shards(), *self._trend_shards()],
            work.source,
            work.columns,
            work.budget,
            self._lateness,
            self.assignment.n_shards,
        )

    @property
    def matches(self) -> "DataFrame":
        return Outcomes(self.outcomes).matches

    @property
    def trends(self) -> "DataFrame":
        return Outcomes(self.outcomes).trends

    @property
    def plan(self) -> StoredPlan:
        return merged_plan(list(self._plans().values()))

    def sample_statistics(self) -> Statistics:
        return self.statistics

    @cached_property
    def assignment(self) -> ShardAssignment:
        """Which queries run on the same shards; with a checkpoint, as it was when the stream first ran."""
        known, wanted = self._known_assignment, self.workload.partitions
        if known is None:
            n_shards = wanted or n_shuffled(self.workload.source)
        elif wanted in (None, known.n_shards):
            n_shards = known.n_shards
        else:
            raise WeftError(
                f"the stream has started with partitions={known.n_shards}, and its state is divided so; now "
                f"partitions is {wanted}\n  hint: leave it out, or start with a new checkpoint"
            )
        return assign_shards(self.workload.queries, n_shards, self._plan_together, known)

    @property
    def started(self) -> list[str]:
        """The queries that the stream in the checkpoint did not have: they start empty."""
        known = self._known_assignment
        return [] if known is None else [q.name for q in self.workload.queries if q.name not in known.groups]

    @property
    def ended(self) -> list[str]:
        """The queries that the stream in the checkpoint had and that are gone."""
        names = {query.name for query in self.workload.queries}
        known = self._known_assignment
        return [] if known is None else [name for name in known.groups if name not in names]

    def choose_plans(self, progress: Progress | None, is_cancelled: Callable[[], bool]) -> None:
        if self._planned is None:
            by_name = {query.name: query for query in self.workload.queries}
            self._planned = {
                group: self._plan([by_name[name] for name in names], progress, is_cancelled)
                for group, names in self.assignment.members.items()
                if not group.trends
            }

    def _plans(self) -> dict[ShardGroup, PlannedGroup]:
        self.choose_plans(None, lambda: False)
        return self._planned or {}

    @property
    def shared_plan(self) -> Plan:
        """The plans of all groups as one."""
        return Plan(tuple(output for one in self._plans().values() for output in one.optimized.plan.outputs))

    def _plan(
        self,
        queries: Sequence[Query],
        progress: Progress | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> PlannedGroup:
        return plan_group(
            QueryGroup(tuple(queries), Together()),
            self.workload.source.schema,
            self.workload.planning,
            self.statistics,
            progress=progress,
            is_cancelled=is_cancelled,
        )

    def _plan_together(self, queries: Sequence[Query]) -> tuple[Plan, float]:
        chosen = self._plan(queries).optimized
        return chosen.plan, chosen.cost / self.statistics.events_per_second

    def _match_shards(self) -> list[PlannedShards]:
        return [
            PlannedShards(group, planned.group.queries, planned.optimized.plan, self._adapted(planned))
            for group, planned in self._plans().items()
        ]

    def _trend_shards(self) -> list[PlannedShards]:
        work = self.workload
        queries = {query.name: query for query in work.trend_queries}
        return [
            PlannedShards(
                group,
                tuple(queries[name] for name in names),
                TrendPlan(work.templates_of(names), work.planning.sharing),
            )
            for group, names in self.assignment.members.items()
            if group.trends
        ]

    def _adapted(self, planned: PlannedGroup) -> AdaptedGroup | None:
        """Return what it takes to adapt a plan; one that was asked for by name or by a file stays."""
        work = self.workload
        adaptation = work.streaming.adaptation
        if adaptation.decide == "off" or work.planning.plan not in ("auto", "mcep"):
            return None
        stored = planned.optimized.stored.to_json()
        return AdaptedGroup(planned.group.queries, work.source.schema, stored, self.statistics, adaptation)

    def explain(self) -> str:
        """Return the normal forms, and the plan of each group; of trend queries, the templates."""
        work = self.workload
        lines = form_lines(work.match_queries) if work.match_queries else []
        for group, planned in self._plans().items():
            lines += ["", self._headline(group), *plan_lines(planned.optimized.plan)]
            lines += self._watched(planned)
        for shards in self._trend_shards():
            if isinstance(shards.plan, TrendPlan):
                lines += ["", self._headline(shards.group), *trend_lines(shards.plan.templates)]
        return "\n".join(lines).lstrip("\n")

    def _watched(self, planned: PlannedGroup) -> list[str]:
        """Say under which conditions a plan stays."""
        adapted = self._adapted(planned)
        if adapted is None:
            return []
        lines = adapted.adapter().lines()
        headline = "Watched, in nanoseconds for a second of events (a part is planned anew when they swap):"
        return [headline, *lines] if lines else []

    def _headline(self, group: ShardGroup) -> str:
        count = group.n_shards(self.assignment.n_shards)
        return f"{group.name}: {count} shards" if count > 1 else f"{group.name}: 1 shard"

    def analyze(self, write: "Callable[..., None] | None") -> Analysis:  # noqa: ARG002
        raise WeftError(
            "a stream cannot be run once to be analyzed\n"
            "  hint: follow it with weft.StreamMonitor, or analyze the queries on past events"
        )

    @property
    def _beside(self) -> BesideCheckpoint:
        return BesideCheckpoint(self.workload.source.events.sparkSession, self.workload.streaming.checkpoint)

    @cached_property
    def _known_assignment(self) -> ShardAssignment | None:
        """The latest assignment in the checkpoint, if there is one."""
        known = [ShardAssignment.from_json(text, place) for text, place in self._beside.read(ASSIGNMENT)]
        return max(known, key=lambda assignment: assignment.revision, default=None)

    def _remember(self) -> None:
        """Add the assignment to the checkpoint, for the next start; what is there stays."""
        if self._known_assignment != self.assignment:
            self._beside.add(ASSIGNMENT, self.assignment.to_json())
