"""Detections at the sites where events arise, in batch and on a stream."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from weft.api.detection import Detection, Workload
from weft.api.one_place import ASSIGNMENT
from weft.api.options import Sites
from weft.api.planning import network_of
from weft.codec import from_json, stored, to_json
from weft.errors import WeftError
from weft.explanation.placements import placement_text, sent_bytes
from weft.hosts.spark.analyze import Analysis, transfers_of
from weft.hosts.spark.assignment import check_windows
from weft.hosts.spark.batch import site_outcomes
from weft.hosts.spark.outcomes import Outcomes
from weft.hosts.spark.stream import Lateness, build_site_stream, fingerprint, use_rocksdb
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.pipeline import ALGORITHM_OF, Placed, place
from weft.placement.site_program import site_program
from weft.placement.site_statistics import SiteStatistics, stream_network
from weft.plan.sites import SiteProgram
from weft.runtime.stages.report import Transfer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACEMENT = "placement"  # the name of a note beside a checkpoint


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
    def trends(self) -> "DataFrame":
        raise WeftError("none of the queries is a trend query: look at matches")

    @property
    def transfers(self) -> "DataFrame":
        return Outcomes(self._outcomes).transfers

    @property
    def plan(self) -> StoredPlan:
        raise WeftError(
            "a plan for many sites cannot be stored\n  hint: store one without sites=, or the statistics"
        )

    @cached_property
    def placed(self) -> Placed:
        algorithm = ALGORITHM_OF[self.sites.placement]
        return place(*self._problem, algorithm, seconds=self.workload.planning.search_seconds)

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
    def _outcomes(self) -> "DataFrame":
        queries = tuple(dict.fromkeys(query.query for query in self.site_statistics.queries))
        return site_outcomes(
            self.site_program,
            queries,
            self.source,
            self._columns,
            self.workload.budget,
            self.workload.partitions,
            on_budget=self.workload.on_budget,
        )

    @cached_property
    def site_statistics(self) -> SiteStatistics:
        return network_of(self.source, self.match_queries, self.sites.column, self.statistics)

    @property
    def network(self) -> Network:
        return self.site_statistics.network

    @property
    def _problem(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        return self.network, self.site_statistics.queries

    def explain(self) -> str:
        """Return where queries are evaluated, what that sends and how far from the best it can be."""
        return placement_text(self.placed, self.site_statistics)

    def analyze(self, write: "Callable[..., None] | None" = None) -> Analysis:
        (counted,) = self._run_groups([self._outcomes], write)
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


@stored
class KnownPlacement:
    """What a checkpoint knows of a placed stream: queries by their fingerprints, sites, and the program."""

    queries: Mapping[str, str]
    sites: tuple[str, ...]
    program: SiteProgram


class SiteStreamDetection(SiteDetection):
    """Queries on a stream whose events arise at sites, evaluated there as far as that pays.

    The first start decides where queries are evaluated; the checkpoint remembers it.
    """

    def __init__(self, workload: Workload, sites: Sites, lateness: Lateness) -> None:
        super().__init__(workload, sites)
        if workload.streaming.adaptation.decide != "off":
            raise WeftError("`adapt` cannot be combined with `sites`: a placement is kept")
        if sites.network is None:
            raise WeftError(
                "`sites` of a stream needs `network`: there are no events to look at before it starts\n"
                "  hint: give network=weft.Network(sites, rates), or that of weft.prepare for its past"
            )
        check_windows(workload.queries)
        self._network = sites.network
        self._lateness = lateness
        self._placing = stream_network(self.queries, self.source.schema, self.statistics, self._network)

    @cached_property
    def _outcomes(self) -> "DataFrame":
        use_rocksdb(self.source.events.sparkSession)
        program, sites = self.site_program, self.network.sites
        if self._known_program is None:
            known = KnownPlacement(self._fingerprints, tuple(sites), program)
            self._notes.write(PLACEMENT, to_json(PLACEMENT, known))
        budget = self.workload.budget
        return build_site_stream(program, sites, self.source, self._columns, budget, self._lateness)

    @property
    def network(self) -> Network:
        return self._network

    @property
    def _problem(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        return self._placing

    @cached_property
    def site_program(self) -> SiteProgram:
        return super().site_program if self._known_program is None else self._known_program

    def explain(self) -> str:
        """Return what each site evaluates at each level, and what it sends."""
        program = self.site_program
        lines = [f"{len(program.sites)} sites, {program.n_levels} levels"]
        for channel in program.channels:
            way = f"{program.sites[channel.source]} -> {program.sites[channel.target]}"
            lines.append(f"{way}: {channel.projection} ({channel.rate:.6g} per second)")
        lines += [
            f"{output.query}: for its TIMEOUTS, all of its events come to {program.sites[work.site]}"
            for work in program.works
            for output in work.plan.outputs
            if output.timeouts
        ]
        return "\n".join(lines)

    @property
    def _fingerprints(self) -> Mapping[str, str]:
        return {query.name: fingerprint(query) for query in self.queries}

    @cached_property
    def _known_program(self) -> SiteProgram | None:
        """The program in the checkpoint, if there is one."""
        if self._notes.read(ASSIGNMENT):
            raise WeftError(
                "the stream has started without sites, and its state is divided so\n"
                "  hint: leave out `sites`, or start with a new checkpoint"
            )
        texts = self._notes.read(PLACEMENT)
        if not texts:
            return None
        known: KnownPlacement = from_json(PLACEMENT, *texts[0])
        if dict(known.queries) != self._fingerprints or known.sites != tuple(self.network.sites):
            raise WeftError(
                "the stream has started with other queries or other sites, and its state is divided so\n"
                "  hint: give those of the first start, or start with a new checkpoint"
            )
        return known.program
