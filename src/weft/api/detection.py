"""The detection: queries bound to events, in batch or on a stream, at one place or at sites."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.api.compilation import compiled_since
from weft.api.planning import estimate_statistics
from weft.api.refusals import look_up, needs_sites, runs_once
from weft.api.run_notices import absent_types, run_notices, types_in
from weft.api.workload import Workload
from weft.diagnosis.diagnose import diagnose
from weft.diagnosis.look import Key
from weft.diagnosis.why import Why
from weft.errors import WeftError
from weft.explanation.analysis import Analysis, CountedOutcomes
from weft.explanation.contradictions import contradictions
from weft.hosts.host import Frame, Host, InputCounts, ResultFrames, RunOptions, Write
from weft.hosts.meaning import EventMeaning
from weft.hosts.results import TrendNames, renamed_columns, result_columns, trend_names
from weft.kernels.compilation import n_compiled
from weft.normalize.template import template_of
from weft.notices import Notice, warn_of
from weft.optimizer.cautions import cautions_of
from weft.optimizer.search import Search
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.placement.network import Network
from weft.placement.pipeline import Placed
from weft.placement.site_statistics import SiteStatistics
from weft.plan.nodes import Plan
from weft.plan.sites import SiteProgram
from weft.plan.template import Template
from weft.runtime.stages.task import ResultColumns
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import Observation

    from weft.hosts.spark.assignment import ShardAssignment


class Detection(ABC):
    """Queries bound to events: their results, their plans, and what both cost.

    The same in every mode: `matches`, `timeouts`, `trends`, `late`, `rejected` and `outcomes`, frames of the
    host. Of Spark each is a run of its own, and `outcomes` has all kinds in one (`weft.Outcomes` tells them
    apart); without it, tables that are kept once found. What a mode cannot give is an error that says why.
    """

    is_streaming = False  # whether the events are a stream

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self._statistics = workload.statistics
        self._sampled: Statistics | None = None  # by a quick look at the events
        self._n_compiled = n_compiled()  # kernels, before it was made
        self._told: list[Notice] = []  # what showed when it was made and while it ran
        self._tell(self._of_queries())

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, checked against the events."""
        return self.workload.queries

    @cached_property
    def match_queries(self) -> tuple[Query, ...]:
        """The queries that ask for matches."""
        return tuple(query for query in self.queries if not query.is_trend)

    @cached_property
    def trend_queries(self) -> tuple[Query, ...]:
        """The queries that ask for aggregates over trends."""
        return tuple(query for query in self.queries if query.is_trend)

    @property
    def host(self) -> Host[Any]:
        """Where the events lie and what runs the detection."""
        return self.workload.host

    @property
    def source(self) -> EventMeaning:
        """The events, and what their columns mean."""
        return self.host.source

    @cached_property
    def matches(self) -> Frame:
        """One row per match of any query that is no trend query.

        Columns: `query`, `match_id`, `start`, `end`, `events` (array of struct variable, type, ts, id, in
        time order) and the RETURN columns of the queries, NULL in the rows of other queries.
        """
        return self._results.matches

    @cached_property
    def timeouts(self) -> Frame:
        """One row per first event without a match, of queries with TIMEOUTS: how far the pattern got from it.

        Columns: those of `matches`, of the events that were reached, and `missing`, the variable of the first
        operand that was not; it is NULL where all were, and yet there is no match. Of a stream, a row comes
        once the window of its first event is over.
        """
        self._check_timeouts()
        return self._results.timeouts

    def _check_timeouts(self) -> None:
        if not any(query.policy.timeouts for query in self.queries):
            raise WeftError(
                "none of the queries asks for timeouts\n  hint: add TIMEOUTS to those that shall tell them"
            )

    @cached_property
    def trends(self) -> Frame:
        """One row per trend query, window and group that has trends; of a stream, once the window is over.

        Columns: `query`, `window_start`, `window_end`, the groups and aggregates of all trend queries, NULL
        in the rows of others, and `beyond`: by their columns, values too large for these.
        """
        return self._results.trends

    @property
    def late(self) -> Frame:
        """The rows of a stream that came after the watermark had passed them: time, type and id."""
        raise WeftError("`events` is a batch: no row of it comes too late")

    @property
    def rejected(self) -> Frame:
        """The rows that are no events, with a column `reason`."""
        return self.host.rejected

    @cached_property
    def outcomes(self) -> Frame:
        """Matches, timeouts, trends, late rows and reports in one run, told apart by the column `kind`.

        Where there are trend queries, the column `trend` has their results: windows, groups and aggregates;
        where queries have TIMEOUTS, the column `missing` has what a timeout lacks.
        The columns `shard` and `report` are those of reports.
        """
        return self._results.shown

    @property
    @abstractmethod
    def _results(self) -> ResultFrames:
        """The outcomes of all kinds in one run."""

    @cached_property
    def _options(self) -> RunOptions:
        """What is asked of a run, and how much it may cost."""
        workload = self.workload
        return RunOptions(
            columns=self._columns,
            budget=workload.budget,
            partitions=workload.partitions,
            on_budget=workload.on_budget,
        )

    @property
    def changes(self) -> Frame:
        """The changes of plans of a stream: one row for each shard and new version of its plan."""
        raise WeftError("plans change on streams alone, where `adapt` says so")

    @property
    def stopped(self) -> Frame:
        """The queries that exceeded their budget: query, shard and reason; their matches are incomplete.

        Like any of these frames, it is a run of its own; `run`, `outcomes` and `observed` tell it of one run,
        together with the results. Of a stream, a query that stays stopped has a row for every step.
        """
        return self._results.stopped

    def observed(self, observation: "Observation") -> ResultFrames:
        """Return the outcomes of a batch, and let an observation know which queries an action stops.

        After an action on its frames, `observation.get["stopped"]` has a row for each query and shard: query,
        shard and reason.
        """
        if self.is_streaming:
            raise WeftError("an observation is for a batch: follow a stream with weft.StreamMonitor")
        observed: ResultFrames = self.host.observed(self._results, observation)
        return observed

    @property
    def transfers(self) -> Frame:
        """What sites sent each other: projection, source, target, rows and bytes, of each step."""
        raise needs_sites("transfers")

    def matches_of(self, name: str) -> Frame:
        """Return the matches of one query with its RETURN columns, under their own names and types."""
        columns = look_up(name, self.return_columns, "query")
        return self.host.select_matches(self.matches, name, columns)

    def trends_of(self, name: str) -> Frame:
        """Return the results of one trend query with its columns, under their own names and types."""
        names = look_up(name, self.trend_names, "trend query")
        return self.host.select_trends(self.trends, name, names)

    @cached_property
    def return_columns(self) -> Mapping[str, Mapping[str, str]]:
        """For each query, the columns of `matches` that hold its RETURN values, by their names."""
        names = self._columns.returned.names
        return {
            query.name: dict(zip((column.name for column in query.returns), names[query.name], strict=True))
            for query in self.match_queries
        }

    @cached_property
    def trend_names(self) -> Mapping[str, TrendNames]:
        """For each trend query, the columns of `trends` that hold its groups and aggregates, by name."""
        return trend_names(self._templates, self._columns.trends.names)

    @cached_property
    def _templates(self) -> tuple[Template, ...]:
        """The templates of the trend queries."""
        return tuple(template_of(query, self.source.schema) for query in self.trend_queries)

    @cached_property
    def _columns(self) -> ResultColumns:
        """The columns of all results."""
        return result_columns(self.queries, self._templates)

    @property
    @abstractmethod
    def plan(self) -> StoredPlan:
        """The order in which each query is evaluated, as data that can be stored and used again."""

    @property
    def search(self) -> Search | None:
        """What the search for the plans took, what ended it and what it gained; None where there was none."""
        return None

    @property
    def shared_plan(self) -> Plan:
        """The graph of operators of all query groups together."""
        raise WeftError("every site has a plan of its own; see explain()")

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given; of a batch otherwise estimated from its events, once."""
        if self._statistics is None:
            self._statistics = (
                Statistics()
                if self.is_streaming
                else estimate_statistics(self.host, self.match_queries, is_quick=False)
            )
        return self._statistics

    def sample_statistics(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""
        return self.statistics

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a person should know: of the queries, of the events as far as they were looked at, of runs."""
        compiled = compiled_since(self._n_compiled)
        return tuple(dict.fromkeys((*self._cautions, *self._told, *compiled)))

    def _tell(self, notices: Iterable[Notice]) -> None:
        """Take note of what a person should know, and warn of what was not told before."""
        new = [notice for notice in dict.fromkeys(notices) if notice not in self._told]
        self._told += new
        if self.workload.warns:
            warn_of(new)

    def _of_queries(self) -> Iterator[Notice]:
        """Yield what a person should know of the queries before anything is read."""
        schema, tie_break = self.source.schema, self.source.order_by is not None
        yield from contradictions(self.queries, {schema.time}, tie_break=tie_break)
        yield from renamed_columns(self.queries, self._templates)
        yield from self.host.notices_of(self.queries)

    @property
    def _cautions(self) -> tuple[Notice, ...]:
        """What is likely to explode, by the statistics at hand: lists without a bound, too many matches."""
        known = self._statistics or self._sampled or Statistics()
        budget = self.workload.budget
        limits = budget.partial_matches, budget.candidates
        return cautions_of(self.queries, self.source.schema, known, *limits)

    @abstractmethod
    def choose_plans(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Choose the plans unless that is done; `progress` is told the share of the search that is over."""

    @abstractmethod
    def explain(self) -> str:
        """Return how the queries are evaluated as text: normal forms, plans, templates, placement, costs."""

    def run(self, write: Write | None = None) -> CountedOutcomes:
        """Run a batch once; return how many matches or results each query has, and which were stopped.

        `write` is given the matches of this run and, where there are trend queries, their results.
        """
        if self.is_streaming:
            raise runs_once()
        (counted,) = self.host.count([self._results], write, kinds=self._kinds)
        self._tell_of_run(counted.counts, self.queries)
        return counted

    @property
    def _kinds(self) -> Collection[str]:
        """The kinds of results, besides matches, that the queries ask for."""
        asked = {"trends": bool(self.trend_queries), "timeouts": self._columns.has_timeouts}
        return [kind for kind, is_asked in asked.items() if is_asked]

    def analyze(self, write: Write | None = None) -> Analysis:  # noqa: ARG002
        """Run a batch once and return what each node of its plans did, what trends shared and sites sent.

        `write` is given the matches of this run; where there are trend queries, their results as `trends`;
        and where queries have TIMEOUTS, these as `timeouts`.
        """
        raise runs_once()

    def learn(self, analysis: Analysis) -> Statistics:  # noqa: ARG002
        """Return the statistics, corrected by the events and partial matches that an analyzed run counted.

        Given to `Planning(statistics=...)`, or stored with `save_statistics`, they choose the next plan.
        """
        raise WeftError("a run teaches something in a batch without sites alone")

    def why(self, name: str, *, key: Key | None = None, at: datetime | str | None = None) -> Why:
        """Say how far a query gets on the events of a batch, step by step, and what it misses most narrowly.

        Counts are of the input as it is given: before any filter, each event once, of all sites together.
        With `key`, such as `{"user": "ann"}`, look at events with these values only; with a time `at`, at
        events up to one window before and after it. A step that exceeds its budget is told; those after it
        are counted.
        """
        if self.is_streaming:
            raise runs_once()
        rule = look_up(name, {query.name: query for query in self.queries}, "query")
        return diagnose(self.host, rule, key=key, at=at)

    def input_counts(self) -> tuple[int, int]:
        """Return the number of events and of rejected rows of a batch."""
        if self.is_streaming:
            raise WeftError("the rows of a stream are not all there: follow it with weft.StreamMonitor")
        return self._counts.n_events, self._counts.n_rejected

    @cached_property
    def _counts(self) -> InputCounts:
        return self.host.count_rows(types_in(self.queries))

    @cached_property
    def _absent(self) -> Mapping[str, str | None]:
        """The types that no event has, by a quick look; nothing where nobody is to be warned."""
        return self.host.absent_types(types_in(self.queries)) if self.workload.warns else {}

    def _tell_of_types(self) -> None:
        """Warn of types that no event has before a frame is returned, whose run warns nobody."""
        self._tell(absent_types(self.queries, self._absent, self.host.source.types))

    def _tell_of_run(self, counted: Mapping[str, int], queries: Sequence[Query]) -> None:
        """Tell what a person should know of a run that found so many results of each of some queries."""
        # A host that keeps what it found knows more of derived types with every run.
        rows = self.host.count_rows(types_in(queries)) if self.host.keeps_results else self._counts
        self._tell(run_notices(queries, counted, rows, self.host.source.types))

    def costs(self) -> dict[str, float]:
        """Return the expected cost of the plan and the baselines, in nanoseconds per second of events."""
        raise WeftError("costs are compared for a batch without sites; see explain()")

    @property
    def started(self) -> list[str]:
        """The queries that the stream in the checkpoint did not have: they start empty."""
        return []

    @property
    def ended(self) -> list[str]:
        """The queries that the stream in the checkpoint had and that are gone."""
        return []

    @cached_property
    def assignment(self) -> "ShardAssignment":
        """Which queries of a stream run on the same shards; with a checkpoint, as at the first start."""
        raise WeftError("queries are assigned to shards on a stream without sites alone")

    @property
    def network(self) -> Network:
        """The sites, and the rates of events there."""
        raise needs_sites("network")

    @cached_property
    def site_statistics(self) -> SiteStatistics:
        """The events of a batch counted by site in one scan, and the queries to place there."""
        raise WeftError("events are counted by site in a batch with sites=weft.Sites(column) alone")

    @cached_property
    def placed(self) -> Placed:
        """Where projections of the queries are evaluated, what that costs and how good it is."""
        raise needs_sites("placed")

    @cached_property
    def site_program(self) -> SiteProgram:
        """What every site evaluates and sends; on a stream with a checkpoint, as at the first start."""
        raise needs_sites("site_program")
