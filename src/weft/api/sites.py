"""Detections at the sites where events arise."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property

from weft.api.detection import Detection
from weft.api.options import Sites
from weft.api.planning import network_of
from weft.api.workload import Workload
from weft.errors import WeftError
from weft.explanation.analysis import Analysis, transfers_of
from weft.explanation.placements import placement_text, sent_bytes
from weft.hosts.host import Frame, ResultFrames, Write
from weft.optimizer.planning import SECONDS
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.pipeline import ALGORITHM_OF, Placed, place
from weft.placement.site_program import site_program
from weft.placement.site_statistics import SiteStatistics
from weft.plan.sites import SiteProgram
from weft.runtime.stages.report import Transfer


class SiteDetection(Detection):
    """Queries that are evaluated at the sites of their events: there is no one plan, and no trends."""

    def __init__(self, workload: Workload, sites: Sites) -> None:
        super().__init__(workload)
        self.sites = sites
        if self.trend_queries:
            names = ", ".join(query.name for query in self.trend_queries)
            raise WeftError(
                f"trend queries have no placement: {names}\n"
                "  hint: their aggregates are taken over all sites; detect them without sites="
            )

    @property
    @abstractmethod
    def _problem(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        """The network with the rates of all kinds, and the queries to place there."""

    @cached_property
    def trends(self) -> Frame:
        raise WeftError("none of the queries is a trend query: look at matches")

    @property
    def transfers(self) -> Frame:
        return self._results.transfers

    @property
    def plan(self) -> StoredPlan:
        raise WeftError(
            "a plan for many sites cannot be stored\n  hint: store one without sites=, or the statistics"
        )

    @cached_property
    def placed(self) -> Placed:
        algorithm, seconds = ALGORITHM_OF[self.sites.placement], self.workload.planning.search_seconds
        return place(*self._problem, algorithm, seconds=SECONDS if seconds is None else seconds)

    @cached_property
    def site_program(self) -> SiteProgram:
        return site_program(self.placed.graph, self._problem[1], self.source.schema, self.statistics)

    def choose_plans(
        self,
        progress: Progress | None = None,  # noqa: ARG002
        is_cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002
    ) -> None:
        _ = self.site_program  # a placement is found in seconds


class SiteBatchDetection(SiteDetection):
    """Queries on events that are all there; these are counted once to choose where to evaluate what."""

    @cached_property
    def _results(self) -> ResultFrames:
        self._tell_of_types()
        queries = tuple(dict.fromkeys(query.query for query in self.site_statistics.queries))
        found: ResultFrames = self.host.run_sites(self.site_program, queries, self._options)
        if self.host.keeps_results:
            (counted,) = self.host.count([found], None, kinds=())
            self._tell_of_run(counted.counts, self.queries)
        return found

    @cached_property
    def site_statistics(self) -> SiteStatistics:
        return network_of(self.host, self.match_queries, self.sites.column, self.statistics)

    @property
    def network(self) -> Network:
        return self.site_statistics.network

    @property
    def _problem(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        return self.network, self.site_statistics.queries

    def explain(self) -> str:
        """Return where queries are evaluated, what that sends and how far from the best it can be."""
        return placement_text(self.placed, self.site_statistics)

    def analyze(self, write: Write | None = None) -> Analysis:
        (counted,) = self.host.count([self._results], write, kinds=self._kinds)
        self._tell_of_run(counted.counts, self.queries)
        transfers = transfers_of(counted.reports.values(), self._predicted_transfers())
        return Analysis(counted.counts, counted.timeouts, transfers=transfers, stopped=counted.stopped)

    def _predicted_transfers(self) -> list[Transfer]:
        """Return what every channel is expected to bring."""
        graph, program, known = self.placed.graph, self.site_program, self.site_statistics
        predicted = []
        for (vertex, _), channel in zip(graph.channels, program.channels, strict=True):
            rows = known.rows(graph.rate(vertex))
            ends = program.sites[channel.source], program.sites[channel.target]
            size = rows * sent_bytes(known, vertex.projection)
            predicted.append(Transfer(channel.projection, *ends, 0, 0, rows, size))
        return predicted
