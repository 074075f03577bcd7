"""A workload bound to a stream of events: streaming DataFrames of matches and trends, and its division."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from weft.adaptation.adapter import adapter_of
from weft.adaptation.settings import Adaptation
from weft.api.planning import PlannedShare, merged_plan, plan_share
from weft.api.workload import Workload
from weft.errors import WeftError
from weft.explain.plans import form_lines, plan_lines
from weft.explain.trends import trend_lines
from weft.hosts.spark.batch import Input
from weft.hosts.spark.partitioning import Share, Together
from weft.hosts.spark.parts import Division, Part, check_windows, divide_stream
from weft.hosts.spark.stream import (
    PARTITIONS,
    Lateness,
    PlannedPart,
    changes_in,
    late_in,
    matches_in,
    stream_outcomes,
    trends_in,
    use_rocksdb,
)
from weft.hosts.spark.stream_task import AdaptedPart
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget
from weft.runtime.trends.executor import TrendPlan
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class StreamDetection(Workload):
    """A workload bound to a stream.

    `matches`, `trends`, `late` and `outcomes` are streaming DataFrames; each that is started is a run of its
    own. To have matches, trends and late rows from one run, start `outcomes` with `foreachBatch`.
    """

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        partitions: int | None,
        budget: Budget,
        planning: Planning,
        statistics: Statistics | None,
        lateness: Lateness,
        checkpoint: str | None = None,
        sharing: Sharing = "dynamic",
        adaptation: Adaptation | None = None,
    ) -> None:
        super().__init__(source, queries, partitions, budget, planning, sharing)
        check_windows(queries)
        self.statistics = statistics or Statistics()
        self._lateness = lateness
        self._checkpoint = checkpoint
        self._adaptation = adaptation or Adaptation("off")
        self._planned: dict[Part, PlannedShare] | None = None

    @cached_property
    def outcomes(self) -> "DataFrame":
        """Matches, trends, late rows and the reports of shards, told apart by the column `kind`.

        Where there are trend queries, the column `trend` has their results: windows, groups and aggregates.
        """
        use_rocksdb(self.source.events.sparkSession)
        self._remember()
        planned = [
            PlannedPart(part, planned.share.queries, planned.optimized.plan, self._adapted(planned))
            for part, planned in self.weave().items()
        ]
        return stream_outcomes(
            [*planned, *self._trend_parts()],
            self.source,
            self._returned,
            self._trend_columns,
            self._budget,
            self._lateness,
            self.division.n_shards,
        )

    def _adapted(self, planned: PlannedShare) -> AdaptedPart | None:
        """Return what it takes to adapt a plan; one that was asked for by name or by a file stays."""
        if self._adaptation.decide == "off" or self._planning.plan not in ("auto", "mcep"):
            return None
        queries, choice = planned.share.queries, planned.optimized.stored.to_json()
        return AdaptedPart(queries, self.source.schema, choice, self.statistics, self._adaptation)

    def _watched(self, planned: PlannedShare) -> list[str]:
        """Say under which conditions a plan stays."""
        adapted = self._adapted(planned)
        if adapted is None:
            return []
        adapter = adapter_of(
            adapted.queries, adapted.schema, adapted.choice, adapted.statistics, adapted.adaptation
        )
        return adapter.lines()

    @property
    def changes(self) -> "DataFrame":
        """The changes of plans: one row for each shard and new version of its plan, with the reason."""
        return changes_in(self.outcomes)

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query that is no trend query."""
        return matches_in(self.outcomes)

    @cached_property
    def trends(self) -> "DataFrame":
        """One row per trend query, window and group with trends, once the watermark has passed the window.

        The columns are those of `Detection.trends`.
        """
        if not self.trend_queries:
            raise WeftError("none of the queries is a trend query: look at matches")
        return trends_in(self.outcomes)

    @property
    def late(self) -> "DataFrame":
        """The rows that came after the watermark had passed them: time, type and id."""
        return late_in(self.outcomes)

    @property
    def plan(self) -> StoredPlan:
        """The order in which each query is evaluated, as data that can be stored and used again."""
        return merged_plan(list(self.weave().values()))

    @cached_property
    def division(self) -> Division:
        """Which queries run on the same shards; with a checkpoint, as it was when the stream first ran."""
        known = self._known_division
        if known is None:
            n_shards = self._partitions or self._default_shards()
        elif self._partitions in (None, known.n_shards):
            n_shards = known.n_shards
        else:
            raise WeftError(
                f"the stream has started with partitions={known.n_shards}, and its state is divided so; now "
                f"partitions is {self._partitions}\n  hint: leave it out, or start with a new checkpoint"
            )
        return divide_stream(self.queries, n_shards, self._plan_together, known)

    @property
    def started(self) -> list[str]:
        """The queries that the stream in the checkpoint did not have: they start empty."""
        known = self._known_division
        return [] if known is None else [q.name for q in self.queries if q.name not in known.parts]

    @property
    def ended(self) -> list[str]:
        """The queries that the stream in the checkpoint had and that are gone."""
        names = {query.name for query in self.queries}
        known = self._known_division
        return [] if known is None else [name for name in known.parts if name not in names]

    def weave(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> dict[Part, PlannedShare]:
        """Choose the plans unless that is done; `progress` is told the share of the search that is over."""
        if self._planned is None:
            by_name = {query.name: query for query in self.queries}
            self._planned = {
                part: self._plan([by_name[name] for name in names], progress, is_cancelled)
                for part, names in self.division.members.items()
                if not part.trends
            }
        return self._planned

    def _trend_parts(self) -> list[PlannedPart]:
        queries = {query.name: query for query in self.trend_queries}
        templates = {template.query: template for template in self.templates}
        return [
            PlannedPart(
                part,
                tuple(queries[name] for name in names),
                TrendPlan(tuple(templates[name] for name in names), self._sharing),
            )
            for part, names in self.division.members.items()
            if part.trends
        ]

    def _plan(
        self,
        queries: Sequence[Query],
        progress: Progress | None = None,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> PlannedShare:
        return plan_share(
            Share(tuple(queries), Together()),
            self.source.schema,
            self._planning,
            self.statistics,
            progress=progress,
            is_cancelled=is_cancelled,
        )

    def _plan_together(self, queries: Sequence[Query]) -> tuple[Plan, float]:
        chosen = self._plan(queries).optimized
        return chosen.plan, chosen.cost / self.statistics.events_per_second

    def explain(self) -> str:
        """Return the normal forms, and the plan of each part; of trend queries, the templates."""
        lines = form_lines(self.match_queries) if self.match_queries else []
        for part, planned in self.weave().items():
            lines += ["", self._headline(part), *plan_lines(planned.optimized.plan)]
            lines += self._watched(planned)
        for one in self._trend_parts():
            if isinstance(one.plan, TrendPlan):
                lines += ["", self._headline(one.part), *trend_lines(one.plan.templates)]
        return "\n".join(lines).lstrip("\n")

    def _headline(self, part: Part) -> str:
        count = part.n_shards(self.division.n_shards)
        return f"{part.name}: {count} shards" if count > 1 else f"{part.name}: 1 shard"

    def _default_shards(self) -> int:
        return int(self.source.events.sparkSession.conf.get(PARTITIONS) or 200)

    @property
    def _division_path(self) -> str | None:
        return None if self._checkpoint is None else f"{self._checkpoint.rstrip('/')}/weft/division"

    @cached_property
    def _known_division(self) -> Division | None:
        """The latest division in the checkpoint, if there is one."""
        if self._division_path is None:
            return None
        spark = self.source.events.sparkSession
        try:
            found = spark.read.text(self._division_path, wholetext=True).collect()
        except AnalysisException:  # nothing there: the stream has not run yet
            return None
        known = [Division.from_json(row["value"], self._division_path) for row in found]
        return max(known, key=lambda division: division.revision, default=None)

    def _remember(self) -> None:
        """Add the division to the checkpoint, for the next start; what is there stays."""
        if self._division_path is not None and self._known_division != self.division:
            spark = self.source.events.sparkSession
            text = spark.createDataFrame([(self.division.to_json(),)], "value string")
            text.coalesce(1).write.mode("append").text(self._division_path)
