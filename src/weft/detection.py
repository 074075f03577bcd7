"""A workload bound to a DataFrame of events: its matches, its plans, and what both cost."""

from collections.abc import Callable
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.explanation import form_lines, plan_lines
from weft.optimizer.choice import Choice
from weft.optimizer.sharing.limits import Progress
from weft.pattern.nodes import Query
from weft.planning import (
    PlannedShare,
    Planning,
    costs_compared,
    estimated_statistics,
    expected_rows,
    merged_choice,
    plan_share,
    why_lines,
)
from weft.runtime.budget import Budget
from weft.spark.analyze import SHARE, Analysis, analysis_of, is_match
from weft.spark.batch import Input, count_rows, detect_share, matches_schema
from weft.spark.partitioning import divide
from weft.statistics.model import Statistics
from weft.workload import Workload

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
    ) -> None:
        super().__init__(source, queries, partitions, budget, planning)
        self._statistics = statistics
        self._looked: Statistics | None = None
        self._planned: list[PlannedShare] | None = None

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query."""
        frames = self._detected(analyze=False)
        if not frames:
            schema = matches_schema(self.source, self._returned)
            return self.source.events.sparkSession.createDataFrame([], schema)
        return reduce(lambda a, b: a.unionByName(b), frames)

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given, or estimated from a sample of all of the events, once."""
        if self._statistics is None:
            self._statistics = estimated_statistics(self.source, self.queries, is_quick=False)
        return self._statistics

    @property
    def plan(self) -> Choice:
        """The order in which each query is evaluated, as data that can be stored and used again."""
        return merged_choice(self.weave())

    def look(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""
        if self._statistics is not None:
            return self._statistics
        if self._looked is None:
            is_needed = self._planning.needs_statistics(self.queries)
            quick = partial(estimated_statistics, self.source, self.queries, is_quick=True)
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
                for share in divide(self.queries)
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
        """Return the normal forms, the plans with the rows expected of their nodes, and what they cost."""
        lines = form_lines(self.queries)
        for planned in self.weave():
            costs = self._costs_of(planned)
            estimated = expected_rows(planned, self.source.schema, self.statistics)
            lines += ["", *why_lines(costs, planned), *plan_lines(planned.optimized.plan, estimated)]
        return "\n".join(lines)

    def analyze(self, write: "Callable[[DataFrame], None] | None" = None) -> Analysis:
        """Run the detection once and return what each node of its plans did.

        `write` is given the matches of this run.
        """
        frames = [
            frame.withColumn(SHARE, F.lit(number))
            for number, frame in enumerate(self._detected(analyze=True))
        ]
        if not frames:
            return Analysis({}, ())
        measured = reduce(lambda a, b: a.unionByName(b), frames)
        plans = [planned.optimized.plan for planned in self.weave()]
        estimated = [expected_rows(one, self.source.schema, self.statistics) for one in self.weave()]
        if write is None:
            return analysis_of(measured, plans, estimated)
        measured = measured.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            analysis = analysis_of(measured, plans, estimated)
            write(measured.where(is_match()).drop(SHARE))
        finally:
            measured.unpersist()
        return analysis

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return count_rows(self.source)
