"""Detections at one place: groups of queries, each with its plan."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from weft.api.detection import Detection
from weft.api.planning import (
    PlannedGroup,
    compare_costs,
    estimate_statistics,
    expected_rows,
    learn_from,
    merge_plans,
    plan_group,
    plan_groups,
    trend_plan,
    why_lines,
)
from weft.explanation.analysis import Analysis, analyze_plan, analyze_trends, input_kinds
from weft.explanation.plans import caution_lines, form_lines, plan_lines
from weft.explanation.trends import trend_lines
from weft.hosts.divide import QueryGroup, divide, divide_trends
from weft.hosts.host import Frame, GroupWork, ResultFrames, Write
from weft.hosts.queries import count_events
from weft.notices import Notice
from weft.optimizer.pipeline import Optimized
from weft.optimizer.planning import Planning
from weft.optimizer.search import Search, merge_searches
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Node, Plan
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.statistics.model import Statistics


class OnePlaceDetection(Detection):
    """A detection whose match queries are planned in groups."""

    _planned: list[PlannedGroup] | None = None
    _searched: Optimized | None = None  # a plan for some of the queries that was searched for already

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

            def plan(group: QueryGroup, planning: Planning) -> PlannedGroup:
                return plan_group(
                    group,
                    schema,
                    planning,
                    statistics,
                    is_stream=self.is_streaming,
                    progress=progress,
                    is_cancelled=is_cancelled,
                )

            self._planned = plan_groups(self._groups(), plan, planning, self._searched)
            self._tell((*self._cautions, *self._short_searches(self._planned)))

    def _short_searches(self, planned: Sequence[PlannedGroup]) -> Iterator[Notice]:
        """Yield what to say of searches that the limit ended."""
        seconds = self.workload.planning.search_seconds
        searches = [(own.group.queries, own.optimized.search) for own in planned]
        n_queries = sum(
            len(queries)
            for queries, search in searches
            if search is not None and search.stopped_by == "seconds"
        )
        if n_queries and seconds:
            yield Notice(
                kind="short search",
                reason=f"the search for a plan of {n_queries} {'query' if n_queries == 1 else 'queries'} "
                f"was cut short after {seconds:g} s",
                remedy="planning=weft.Planning(search_seconds=...), or --search-seconds, lets it go on; the "
                "matches are the same",
            )

    @property
    def _plans(self) -> list[PlannedGroup]:
        self.choose_plans()
        return self._planned or []

    @property
    def plan(self) -> StoredPlan:
        return merge_plans(self._plans)

    @property
    def search(self) -> Search | None:
        found = [planned.optimized.search for planned in self._plans]
        return merge_searches([search for search in found if search is not None])

    @property
    def shared_plan(self) -> Plan:
        return Plan(tuple(output for planned in self._plans for output in planned.optimized.plan.outputs))


class BatchDetection(OnePlaceDetection):
    """Queries on events that are all there."""

    @cached_property
    def _results(self) -> ResultFrames:
        return self._united([*self._match_results, *self._trend_results], self.queries)

    def _united(self, results: Sequence[ResultFrames], queries: Sequence[Query]) -> ResultFrames:
        """Return the outcomes of groups as one; a host that has them now lets tell of them."""
        if self.host.keeps_results:
            counted = self.host.count(results, None, kinds=())
            counts = {name: count for group in counted for name, count in group.counts.items()}
            self._tell_of_run(counts, queries)
        united: ResultFrames = self.host.union(results)
        return united

    @cached_property
    def _match_results(self) -> list[ResultFrames]:
        self._tell_of_types()
        return self.host.run_groups(self._match_work, self._options)

    @cached_property
    def _trend_results(self) -> list[ResultFrames]:
        self._tell_of_types()
        return self.host.run_groups(self._trend_work, self._options)

    @cached_property
    def matches(self) -> Frame:
        if not self.match_queries:
            return self.host.empty(self._outcome_columns.match_schema)
        return self._united(self._match_results, self.match_queries).matches

    @cached_property
    def timeouts(self) -> Frame:
        self._check_timeouts()
        return self._united(self._match_results, self.match_queries).timeouts

    @cached_property
    def trends(self) -> Frame:
        if not self.trend_queries:
            return self.host.empty(self._outcome_columns.trend_schema)
        return self._united(self._trend_results, self.trend_queries).trends

    @property
    def _outcome_columns(self) -> OutcomeColumns:
        return OutcomeColumns(self.source.id_type, self._columns)

    @property
    def _match_work(self) -> list[GroupWork]:
        return [GroupWork(planned.optimized.plan, planned.group.division) for planned in self._plans]

    @property
    def _trend_work(self) -> list[GroupWork]:
        groups = divide_trends(self.trend_queries, self._templates)
        planning = self.workload.planning
        return [GroupWork(trend_plan(group.templates, planning), group.division) for group in groups]

    def sample_statistics(self) -> Statistics:
        if self._statistics is not None:
            return self._statistics
        if self._sampled is None:
            queries = self.match_queries
            self._sampled = (
                estimate_statistics(self.host, queries, is_quick=True)
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
        return "\n".join([*lines, *caution_lines(self._cautions)])

    def _count_input(self, plan: Plan) -> Mapping[Node, int]:
        """Return how many events of the input each node that reads it stands for."""
        kinds = input_kinds(plan)
        names = {node: f"node{number}" for number, node in enumerate(kinds)}
        counted = count_events(
            self.host, {names[node]: kind for node, kind in kinds.items()}, self.workload.budget
        )
        return {node: counted.counts[name] for node, name in names.items() if name not in counted.stopped}

    def learn(self, analysis: Analysis) -> Statistics:
        return learn_from(self._plans, analysis, self.statistics)

    def analyze(self, write: Write | None = None) -> Analysis:
        work = [*self._match_work, *self._trend_work]
        results = self.host.run_groups(work, replace(self._options, analyze=True))
        counted = self.host.count(results, write, kinds=self._kinds)
        counts = {name: count for group in counted for name, count in group.counts.items()}
        self._tell_of_run(counts, self.queries)
        of_matches, of_trends = counted[: len(self._plans)], counted[len(self._plans) :]
        return Analysis(
            {name: count for group in of_matches for name, count in group.counts.items()},
            {name: count for group in of_matches for name, count in group.timeouts.items()},
            tuple(
                analyze_plan(
                    planned.optimized.plan,
                    group.reports,
                    expected_rows(planned, self.source.schema, self.statistics),
                    self._count_input(planned.optimized.plan),
                )
                for planned, group in zip(self._plans, of_matches, strict=True)
            ),
            analyze_trends(of_trends) if self.trend_queries else None,
            stopped={name: reasons for group in counted for name, reasons in group.stopped.items()},
        )
