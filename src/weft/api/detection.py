"""The detection: queries bound to events, in batch or on a stream, at one place or at sites."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.api.batch import BatchRun
from weft.api.runs import Run
from weft.api.sites import SiteBatchRun, SiteStreamRun
from weft.api.stream import StreamRun
from weft.api.workload import Workload
from weft.errors import WeftError, near_name
from weft.hosts.spark.analyze import Analysis
from weft.hosts.spark.assignment import ShardAssignment
from weft.hosts.spark.frame import EventFrame, count_rows, rejected_rows
from weft.hosts.spark.outcomes import Outcomes, shown_outcomes
from weft.hosts.spark.pushdown import quoted
from weft.io.trend_sinks import TrendNames
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.placement.network import Network
from weft.placement.pipeline import Placed
from weft.placement.site_statistics import SiteStatistics
from weft.plan.nodes import Plan
from weft.plan.sites import SiteProgram
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Named = TypeVar("Named")


class Detection:
    """Queries bound to events: their results, their plans, and what both cost.

    The same in every mode: `matches`, `trends`, `late`, `rejected` and `outcomes` are frames, of a stream
    streaming ones, each of which is a run of its own when it is started; `outcomes` has all kinds in one run
    (`weft.Outcomes` tells them apart). What a mode cannot give is an error that says why.
    """

    def __init__(self, workload: Workload, run: Run) -> None:
        self.workload = workload
        self._run = run

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries, checked against the events."""
        return self.workload.queries

    @property
    def match_queries(self) -> tuple[Query, ...]:
        """The queries that ask for matches."""
        return self.workload.match_queries

    @property
    def trend_queries(self) -> tuple[Query, ...]:
        """The queries that ask for aggregates over trends."""
        return self.workload.trend_queries

    @property
    def source(self) -> EventFrame:
        """The events, and what their columns mean."""
        return self.workload.source

    @property
    def is_streaming(self) -> bool:
        """Whether the events are a stream."""
        return bool(self.source.events.isStreaming)

    @property
    def matches(self) -> "DataFrame":
        """One row per match of any query that is no trend query.

        Columns: `query`, `match_id`, `start`, `end`, `events` (array of struct variable, type, ts, id, in
        time order) and the RETURN columns of the queries, NULL in the rows of other queries.
        """
        return self._run.matches

    @property
    def trends(self) -> "DataFrame":
        """One row per trend query, window and group that has trends; of a stream, once the window is over.

        Columns: `query`, `window_start`, `window_end`, the groups and aggregates of all trend queries, NULL
        in the rows of others, and `beyond`: by their columns, the digits of values too large for these.
        """
        return self._run.trends

    @property
    def late(self) -> "DataFrame":
        """The rows of a stream that came after the watermark had passed them: time, type and id."""
        if not self.is_streaming:
            raise WeftError("`events` is a batch DataFrame: no row of it comes too late")
        return Outcomes(self._run.outcomes).late

    @property
    def rejected(self) -> "DataFrame":
        """The rows that are no events, with a column `reason`."""
        return rejected_rows(self.source)

    @cached_property
    def outcomes(self) -> "DataFrame":
        """Matches, trends, late rows and reports of shards in one run, told apart by the column `kind`.

        Where there are trend queries, the column `trend` has their results: windows, groups and aggregates.
        The columns `shard` and `report` are those of reports.
        """
        return shown_outcomes(self._run.outcomes)

    @property
    def changes(self) -> "DataFrame":
        """The changes of plans of a stream: one row for each shard and new version of its plan."""
        if not isinstance(self._run, StreamRun):
            raise WeftError("plans change on streams alone, where `adapt` says so")
        return Outcomes(self._run.outcomes).changes

    @property
    def transfers(self) -> "DataFrame":
        """What sites sent each other: projection, source, target, rows and bytes, of each step."""
        self._of_sites("transfers")
        return Outcomes(self._run.outcomes).transfers

    def matches_of(self, name: str) -> "DataFrame":
        """Return the matches of one query with its RETURN columns, under their own names and types."""
        columns = _named(name, self.return_columns, "query")
        own = [F.col(quoted(column)).alias(shown) for shown, column in columns.items()]
        common = ["query", "match_id", "start", "end", "events"]
        return self.matches.where(F.col("query") == name).select(*common, *own)

    def trends_of(self, name: str) -> "DataFrame":
        """Return the results of one trend query with its columns, under their own names and types."""
        names = _named(name, self.trend_names, "trend query")
        own = {**names.group, **names.aggregates}
        shown = {column: own_name for own_name, column in own.items()}
        beyond = F.col("beyond")
        if any(column != own_name for column, own_name in shown.items()):
            renamed = F.create_map(*(F.lit(text) for pair in shown.items() for text in pair))
            beyond = F.transform_keys(beyond, lambda column, _: renamed[column])
        columns = [F.col(quoted(column)).alias(own_name) for own_name, column in own.items()]
        common = ["query", "window_start", "window_end"]
        return self.trends.where(F.col("query") == name).select(*common, *columns, beyond.alias("beyond"))

    @property
    def return_columns(self) -> Mapping[str, Mapping[str, str]]:
        """For each query, the columns of `matches` that hold its RETURN values, by their names."""
        return self.workload.return_columns

    @property
    def trend_names(self) -> Mapping[str, TrendNames]:
        """For each trend query, the columns of `trends` that hold its groups and aggregates, by name."""
        return self.workload.trend_names

    @property
    def plan(self) -> StoredPlan:
        """The order in which each query is evaluated, as data that can be stored and used again."""
        return self._run.plan

    @property
    def shared_plan(self) -> Plan:
        """The graph of operators of all query groups together."""
        if not isinstance(self._run, BatchRun | StreamRun):
            raise WeftError("every site has a plan of its own; see explain()")
        return self._run.shared_plan

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given; of a batch otherwise estimated from its events, once."""
        return self._run.statistics

    def sample_statistics(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""
        return self._run.sample_statistics()

    def choose_plans(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Choose the plans unless that is done; `progress` is told the share of the search that is over."""
        self._run.choose_plans(progress, is_cancelled)

    def explain(self) -> str:
        """Return how the queries are evaluated as text: normal forms, plans, templates, placement, costs."""
        return self._run.explain()

    def analyze(self, write: "Callable[..., None] | None" = None) -> Analysis:
        """Run a batch once and return what each node of its plans did, what trends shared and sites sent.

        `write` is given the matches of this run and, where there are trend queries, their results.
        """
        return self._run.analyze(write)

    def input_counts(self) -> tuple[int, int]:
        """Return the number of events and of rejected rows of a batch."""
        if self.is_streaming:
            raise WeftError("the rows of a stream are not all there: follow it with weft.StreamMonitor")
        return self._counts

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return count_rows(self.source)

    def costs(self) -> dict[str, float]:
        """Return the expected cost of the plan and the baselines, in nanoseconds per second of events."""
        if not isinstance(self._run, BatchRun):
            raise WeftError("costs are compared for a batch without sites; see explain()")
        return self._run.costs()

    @property
    def started(self) -> list[str]:
        """The queries that the stream in the checkpoint did not have: they start empty."""
        return list(self._run.started) if isinstance(self._run, StreamRun | SiteStreamRun) else []

    @property
    def ended(self) -> list[str]:
        """The queries that the stream in the checkpoint had and that are gone."""
        return list(self._run.ended) if isinstance(self._run, StreamRun | SiteStreamRun) else []

    @property
    def assignment(self) -> ShardAssignment:
        """Which queries of a stream run on the same shards; with a checkpoint, as at the first start."""
        if not isinstance(self._run, StreamRun):
            raise WeftError("queries are assigned to shards on a stream without sites alone")
        return self._run.assignment

    @property
    def network(self) -> Network:
        """The sites, and the rates of events there."""
        return self._of_sites("network").network

    @property
    def site_statistics(self) -> SiteStatistics:
        """The events of a batch counted by site, and the queries to place there."""
        if not isinstance(self._run, SiteBatchRun):
            raise WeftError("events are counted by site in a batch with sites=weft.Sites(column) alone")
        return self._run.known

    @property
    def placed(self) -> Placed:
        """Where projections of the queries are evaluated, what that costs and how good it is."""
        return self._of_sites("placed").placed

    @property
    def site_program(self) -> SiteProgram:
        """What every site evaluates and sends."""
        return self._of_sites("site_program").program

    def _of_sites(self, name: str) -> SiteBatchRun | SiteStreamRun:
        if isinstance(self._run, SiteBatchRun | SiteStreamRun):
            return self._run
        raise WeftError(f"{name} needs sites=weft.Sites(column), the column of the site of an event")


def _named(name: str, known: Mapping[str, Named], kind: str) -> Named:
    if name not in known:
        near = near_name(name, known)
        hint = f"; did you mean {near!r}?" if near else ""
        raise WeftError(f"no {kind} named {name!r}{hint}")
    return known[name]
