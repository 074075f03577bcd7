"""Queries placed on the sites of a stream: streaming DataFrames of matches, and the graph that finds them."""

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from weft.api.planning import PlannedShare
from weft.api.stream_detection import StreamDetection
from weft.errors import DataError, WeftError
from weft.hosts.spark.batch import Input
from weft.hosts.spark.parts import Part
from weft.hosts.spark.placed_stream import placed_outcomes, transfers_in
from weft.hosts.spark.stream import Lateness, fingerprint, use_rocksdb
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Progress
from weft.pattern.nodes import Query
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.pipeline import ALGORITHM_OF, place
from weft.placement.site_program import site_program
from weft.placement.site_statistics import stream_network
from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERSION = 1


class PlacedStreamDetection(StreamDetection):
    """A workload on a stream whose events arise at sites, evaluated there as far as that pays.

    `outcomes`, `matches` and `late` are those of any stream. `transfers` is what sites send each other, in
    every micro-batch. The first start decides where queries are evaluated; the checkpoint remembers it.
    """

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        budget: Budget,
        planning: Planning,
        statistics: Statistics | None,
        lateness: Lateness,
        checkpoint: str | None,
        site: str,
        placement: str,
        network: Network,
    ) -> None:
        super().__init__(source, queries, None, budget, planning, statistics, lateness, checkpoint)
        self.site = site
        self.placement = placement
        self.known_network = network
        self._sites  # noqa: B018 - what cannot be placed is refused at once

    @cached_property
    def outcomes(self) -> "DataFrame":
        """Matches, late rows and the reports of sites, told apart by the column `kind`."""
        use_rocksdb(self.source.events.sparkSession)
        program = self.program
        self._remember()
        places = {name: number for number, name in enumerate(program.sites) if name in self._arising}
        return placed_outcomes(
            program, places, self.source, self.site, self._returned, self._budget, self._lateness
        )

    @property
    def transfers(self) -> "DataFrame":
        """What sites send each other: projection, source, target, rows and bytes of each micro-batch."""
        return transfers_in(self.outcomes)

    @cached_property
    def graph(self) -> MuseGraph:
        """Where projections of the queries are evaluated, as the network at hand suggests."""
        network, queries = self._sites
        algorithm = ALGORITHM_OF[self.placement]
        return place(network, queries, algorithm, seconds=self._planning.search_seconds).graph

    @cached_property
    def program(self) -> SiteProgram:
        """What every site evaluates and sends; with a checkpoint, as it was when the stream first ran."""
        if self._known_program is not None:
            return self._known_program
        _, queries = self._sites
        return site_program(self.graph, queries, self.source.schema, self.statistics)

    def weave(
        self,
        progress: Progress | None = None,  # noqa: ARG002 - a placement is found in seconds
        is_cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002
    ) -> dict[Part, PlannedShare]:
        """Place the queries unless that is done; there is no plan of all events."""
        _ = self.program
        return {}

    def explain(self) -> str:
        """Return what each site evaluates at each level, and what it sends."""
        program = self.program
        lines = [f"{len(program.sites)} sites, {max(1, program.n_levels)} levels"]
        for stream in program.channels:
            way = f"{program.sites[stream.source]} -> {program.sites[stream.target]}"
            lines.append(f"{way}: {stream.projection} ({stream.rate:.6g} per second)")
        return "\n".join(lines)

    @property
    def _arising(self) -> frozenset[str]:
        return frozenset(self.known_network.sites)

    @cached_property
    def _sites(self) -> tuple[Network, tuple[NormalFormQuery, ...]]:
        return stream_network(self.queries, self.source.schema, self.statistics, self.known_network)

    @property
    def _fingerprints(self) -> Mapping[str, str]:
        return {query.name: fingerprint(query) for query in self.queries}

    @property
    def _program_path(self) -> str | None:
        return None if self._checkpoint is None else f"{self._checkpoint.rstrip('/')}/weft/placement"

    @cached_property
    def _known_program(self) -> SiteProgram | None:
        """The program in the checkpoint, if there is one."""
        if self._program_path is None:
            return None
        if self._known_division is not None:
            raise WeftError(
                "the stream has started without sites, and its state is divided so\n"
                "  hint: leave out site, or start with a new checkpoint"
            )
        spark = self.source.events.sparkSession
        try:
            found = spark.read.text(self._program_path, wholetext=True).collect()
        except AnalysisException:  # nothing there: the stream has not run yet
            return None
        if not found:
            return None
        document = json.loads(found[0]["value"])
        if document.get("version") != VERSION:
            raise DataError(f"{self._program_path}: version {document.get('version')!r}, {VERSION} expected")
        if document["queries"] != self._fingerprints or document["sites"] != list(self.known_network.sites):
            raise WeftError(
                "the stream has started with other queries or other sites, and its state is divided so\n"
                "  hint: give those of the first start, or start with a new checkpoint"
            )
        return SiteProgram.from_json(document["program"])

    def _remember(self) -> None:
        """Add the program to the checkpoint, for the next start; what is there stays."""
        if self._program_path is not None and self._known_program is None:
            spark = self.source.events.sparkSession
            document = {
                "version": VERSION,
                "queries": self._fingerprints,
                "sites": list(self.known_network.sites),
                "program": self.program.to_json(),
            }
            text = spark.createDataFrame([(json.dumps(document, ensure_ascii=False),)], "value string")
            text.coalesce(1).write.mode("append").text(self._program_path)
