"""The runs of queries that are evaluated at the sites of their events, in batch and on a stream."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from weft.api.beside_checkpoint import BesideCheckpoint
from weft.api.options import Sites
from weft.api.planning import estimated_statistics
from weft.api.site_planning import network_of
from weft.api.stream import ASSIGNMENT
from weft.api.workload import Workload
from weft.codec import from_json, stored, to_json
from weft.errors import WeftError
from weft.explanation.placements import ExplainedPlacement, sent_bytes
from weft.hosts.spark.analyze import GROUP, Analysis, count_outcomes, outcomes_of_groups, transfers_of
from weft.hosts.spark.assignment import check_windows
from weft.hosts.spark.batch import site_outcomes
from weft.hosts.spark.outcomes import Outcomes
from weft.hosts.spark.stream import Lateness, build_site_stream, fingerprint, use_rocksdb
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.pipeline import ALGORITHM_OF, Placed, place
from weft.placement.site_program import site_program
from weft.placement.site_statistics import SiteStatistics, stream_network
from weft.plan.sites import SiteProgram
from weft.runtime.stages.report import Transfer
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACEMENT = "placement"


def sites_of(workload: Workload) -> Sites:
    """Return the sites of a workload that has them; trend queries have no placement."""
    if workload.trend_queries:
        names = ", ".join(query.name for query in workload.trend_queries)
        raise WeftError(
            f"trend queries have no placement: {names}\n"
            "  hint: their aggregates are taken over all sites; detect them without sites="
        )
    if workload.sites is None:
        raise ValueError("a workload without sites has no placement")
    return workload.sites


class _SiteRun:
    """What both modes share: there is no one plan, and no trends."""

    @property
    def trends(self) -> "DataFrame":
        raise WeftError("none of the queries is a trend query: look at matches")

    @property
    def plan(self) -> StoredPlan:
        raise WeftError(
            "a plan for many sites cannot be stored\n  hint: store one without sites=, or the statistics"
        )


class SiteBatchRun(_SiteRun):
    """A workload on events that are all there, evaluated at the sites at which these arose.

    The events are counted once to choose where to evaluate what.
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.sites = sites_of(workload)
        self._statistics = workload.statistics

    @cached_property
    def outcomes(self) -> "DataFrame":
        work = self.workload
        queries = tuple(dict.fromkeys(query.query for query in self.known.queries))
        return site_outcomes(self.program, queries, work.source, work.columns, work.budget, work.partitions)

    @property
    def matches(self) -> "DataFrame":
        return Outcomes(self.outcomes).matches

    @property
    def statistics(self) -> Statistics:
        if self._statistics is None:
            work = self.workload
            self._statistics = estimated_statistics(work.source, work.match_queries, is_quick=False)
        return self._statistics

    def sample_statistics(self) -> Statistics:
        return self.statistics

    @cached_property
    def known(self) -> SiteStatistics:
        """The network that the events make up, counted in one scan, and the queries to place there."""
        work = self.workload
        return network_of(work.source, work.match_queries, self.sites.column, self.statistics)

    @property
    def network(self) -> Network:
        return self.known.network

    @cached_property
    def placed(self) -> Placed:
        """Where projections of the queries are evaluated, what that costs and how good it is."""
        seconds = self.workload.planning.search_seconds
        algorithm = ALGORITHM_OF[self.sites.placement]
        return place(self.known.network, self.known.queries, algorithm, seconds=seconds)

    @cached_property
    def program(self) -> SiteProgram:
        """What every site evaluates and sends."""
        schema = self.workload.source.schema
        return site_program(self.placed.graph, self.known.queries, schema, self.statistics)

    def choose_plans(self, progress: Progress | None, is_cancelled: Callable[[], bool]) -> None:  # noqa: ARG002
        _ = self.program  # a placement is found in seconds

    def explain(self) -> str:
        """Return where queries are evaluated, what that sends and how far from the best it can be."""
        return str(ExplainedPlacement(self.placed, self.known))

    def analyze(self, write: "Callable[..., None] | None") -> Analysis:
        measured = outcomes_of_groups([self.outcomes])
        if measured is None:
            raise ValueError("a program of sites has outcomes")
        if write is not None:
            measured.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            (counted,) = count_outcomes(measured, 1)
            if write is not None:
                write(Outcomes(measured.drop(GROUP)).matches)
        finally:
            if write is not None:
                measured.unpersist()
        transfers = transfers_of(counted.reports.values(), self._predicted())
        return Analysis(counted.counts, transfers=transfers)

    def _predicted(self) -> list[Transfer]:
        """Return what every channel is expected to bring."""
        predicted = []
        channels = zip(self.placed.graph.channels, self.program.channels, strict=True)
        for (vertex, _), channel in channels:
            rows = self.known.rows(self.placed.graph.rate(vertex))
            size = rows * sent_bytes(self.known, vertex.projection)
            sites = self.program.sites[channel.source], self.program.sites[channel.target]
            predicted.append(Transfer(channel.projection, *sites, 0, 0, rows, size))
        return predicted


@stored
class KnownPlacement:
    """What a checkpoint knows of a placed stream: queries by their fingerprints, sites, and the program."""

    queries: Mapping[str, str]
    sites: tuple[str, ...]
    program: SiteProgram


class SiteStreamRun(_SiteRun):
    """A workload on a stream whose events arise at sites, evaluated there as far as that pays.

    The first start decides where queries are evaluated; the checkpoint remembers it.
    """

    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()

    def __init__(self, workload: Workload, lateness: Lateness) -> None:
        self.workload = workload
        self.sites = sites_of(workload)
        if workload.streaming.adaptation.decide != "off":
            raise WeftError("`adapt` cannot be combined with `sites`: a placement is kept")
        if self.sites.network is None:
            raise WeftError(
                "`sites` of a stream needs `network`: there are no events to look at before it starts\n"
                "  hint: give network=weft.Network(sites, rates), or that of weft.prepare for its past"
            )
        check_windows(workload.queries)
        self.network: Network = self.sites.network
        self.statistics = workload.statistics or Statistics()
        self._lateness = lateness
        self._placing = stream_network(
            workload.queries, workload.source.schema, self.statistics, self.network
        )

    @cached_property
    def outcomes(self) -> "DataFrame":
        work = self.workload
        use_rocksdb(work.source.events.sparkSession)
        program = self.program
        self._remember()
        return build_site_stream(
            program, self.network.sites, work.source, work.columns, work.budget, self._lateness
        )

    @property
    def matches(self) -> "DataFrame":
        return Outcomes(self.outcomes).matches

    def sample_statistics(self) -> Statistics:
        return self.statistics

    @cached_property
    def placed(self) -> Placed:
        """Where projections of the queries are evaluated, as the network at hand suggests."""
        network, queries = self._placing
        algorithm = ALGORITHM_OF[self.sites.placement]
        return place(network, queries, algorithm, seconds=self.workload.planning.search_seconds)

    @property
    def graph(self) -> MuseGraph:
        return self.placed.graph

    @property
    def queries_placed(self) -> tuple[NormalFormQuery, ...]:
        return self._placing[1]

    @cached_property
    def program(self) -> SiteProgram:
        """What every site evaluates and sends; with a checkpoint, as it was when the stream first ran."""
        if self._known_program is not None:
            return self._known_program
        schema = self.workload.source.schema
        return site_program(self.graph, self.queries_placed, schema, self.statistics)

    def choose_plans(self, progress: Progress | None, is_cancelled: Callable[[], bool]) -> None:  # noqa: ARG002
        _ = self.program  # a placement is found in seconds

    def explain(self) -> str:
        """Return what each site evaluates at each level, and what it sends."""
        program = self.program
        lines = [f"{len(program.sites)} sites, {max(1, program.n_levels)} levels"]
        for channel in program.channels:
            way = f"{program.sites[channel.source]} -> {program.sites[channel.target]}"
            lines.append(f"{way}: {channel.projection} ({channel.rate:.6g} per second)")
        return "\n".join(lines)

    def analyze(self, write: "Callable[..., None] | None") -> Analysis:  # noqa: ARG002
        raise WeftError(
            "a stream cannot be run once to be analyzed\n"
            "  hint: look at .transfers, or analyze the queries on past events"
        )

    @property
    def _beside(self) -> BesideCheckpoint:
        return BesideCheckpoint(self.workload.source.events.sparkSession, self.workload.streaming.checkpoint)

    @property
    def _fingerprints(self) -> Mapping[str, str]:
        return {query.name: fingerprint(query) for query in self.workload.queries}

    @cached_property
    def _known_program(self) -> SiteProgram | None:
        """The program in the checkpoint, if there is one."""
        if self._beside.read(ASSIGNMENT):
            raise WeftError(
                "the stream has started without sites, and its state is divided so\n"
                "  hint: leave out `sites`, or start with a new checkpoint"
            )
        texts = self._beside.read(PLACEMENT)
        if not texts:
            return None
        known: KnownPlacement = from_json(PLACEMENT, *texts[0])
        if dict(known.queries) != self._fingerprints or known.sites != tuple(self.network.sites):
            raise WeftError(
                "the stream has started with other queries or other sites, and its state is divided so\n"
                "  hint: give those of the first start, or start with a new checkpoint"
            )
        return known.program

    def _remember(self) -> None:
        """Add the program to the checkpoint, for the next start; what is there stays."""
        if self._known_program is None:
            known = KnownPlacement(self._fingerprints, tuple(self.network.sites), self.program)
            self._beside.add(PLACEMENT, to_json(PLACEMENT, known))
