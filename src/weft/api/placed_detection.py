"""A workload on events that arise at sites: evaluated there, and what sites send each other counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark import StorageLevel

from weft.api.detection import Detection
from weft.api.planning import PlannedShare
from weft.api.site_planning import network_of
from weft.errors import WeftError
from weft.explain.placement_picture import number_text
from weft.explain.placements import ExplainedPlacement, bytes_text, sent_bytes
from weft.hosts.spark.analyze import METRICS, Analysis, is_match, matches_in, metrics
from weft.hosts.spark.batch import Input, matches_schema
from weft.hosts.spark.placed_batch import PlacedInput, Transfer, detect_placed, transfers_of
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.placement.network import Network
from weft.placement.pipeline import ALGORITHM_OF, Placed, place
from weft.placement.site_program import site_program
from weft.placement.site_statistics import SiteStatistics
from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_TRANSFERS = 20  # that are shown one by one


class PlacedDetection(Detection):
    """A workload bound to a DataFrame of events, evaluated at the sites at which these arose.

    Nothing runs before it is asked for, but the events are counted once to choose where to evaluate what.
    """

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        partitions: int | None,
        budget: Budget,
        planning: Planning,
        statistics: Statistics | None,
        placement: str,
    ) -> None:
        super().__init__(source, queries, partitions, budget, planning, statistics)
        if self.trend_queries:
            names = ", ".join(query.name for query in self.trend_queries)
            raise WeftError(
                f"trend queries have no placement: {names}\n"
                "  hint: their aggregates are taken over all sites; detect them without site="
            )
        self.placement = placement

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query, the same as without sites."""
        found = detect_placed(self._placed_input, self._returned, self._budget, self._partitions)
        return self._nothing if found is None else found

    @cached_property
    def known(self) -> SiteStatistics:
        """The network that the events make up, counted in one scan, and the queries to place there."""
        if self.source.site is None:
            raise ValueError("events without sites have no network")
        return network_of(self.source, self.match_queries, self.source.site, self.statistics)

    @property
    def network(self) -> Network:
        """The sites, and the rates of events there."""
        return self.known.network

    @cached_property
    def placed(self) -> Placed:
        """Where projections of the queries are evaluated, what that costs and how good it is."""
        algorithm, seconds = ALGORITHM_OF[self.placement], self._planning.search_seconds
        return place(self.known.network, self.known.queries, algorithm, seconds=seconds)

    @cached_property
    def program(self) -> SiteProgram:
        """What every site evaluates and sends."""
        return site_program(self.placed.graph, self.known.queries, self.source.schema, self.statistics)

    @property
    def plan(self) -> StoredPlan:
        """Sites have plans of their own, which cannot be stored."""
        raise WeftError(
            "a plan for many sites cannot be stored\n  hint: store one without site=, or the statistics"
        )

    def look(self) -> Statistics:
        """Look at the events, unless the statistics are known."""
        return self.statistics

    def weave(
        self,
        progress: Progress | None = None,  # noqa: ARG002 - a placement is found in seconds
        is_cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002
    ) -> list[PlannedShare]:
        """Place the queries unless that is done; there is no plan of all events."""
        _ = self.program
        return []

    def explain(self) -> str:
        """Return where queries are evaluated, what that sends and how far from the best it can be."""
        return str(ExplainedPlacement(self.placed, self.known))

    def transfers(self) -> tuple[Transfer, ...]:
        """Run the detection once and return what sites sent each other, as predicted and as measured."""
        return self.analyze().transfers

    def analyze(self, write: "Callable[..., None] | None" = None) -> "PlacedAnalysis":
        """Run the detection once; return its matches per query and what sites sent each other.

        `write` is given the matches of this run.
        """
        found = detect_placed(
            self._placed_input, self._returned, self._budget, self._partitions, analyze=True
        )
        if found is None:
            if write is not None:
                write(self._nothing)
            return PlacedAnalysis({}, ())
        if write is not None:
            found.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counted = found.groupBy("query", metrics()).count().collect()
            if write is not None:
                write(found.where(is_match()))
        finally:
            if write is not None:
                found.unpersist()
        told = [row for row in counted if row[METRICS] is not None]
        measured = [row[METRICS] for row in told for _ in range(row["count"])]  # slices may say the same
        transfers = transfers_of(measured, self.program, self._predicted())
        return PlacedAnalysis(matches_in(counted), (), transfers=transfers)

    def _predicted(self) -> list[tuple[float, float]]:
        """Return the rows and bytes that every stream is expected to have."""
        found = []
        for vertex, _ in self.placed.graph.channels:
            rows = self.known.rows(self.placed.graph.rate(vertex))
            found.append((rows, rows * sent_bytes(self.known, vertex.projection)))
        return found

    @property
    def _placed_input(self) -> PlacedInput:
        return PlacedInput(self.source, self.known.queries, self.program)

    @property
    def _nothing(self) -> "DataFrame":
        schema = matches_schema(self.source, self._returned)
        return self.source.events.sparkSession.createDataFrame([], schema)


@dataclass(frozen=True)
class PlacedAnalysis(Analysis):
    """One run on many sites: the matches of each query, and what sites sent each other."""

    transfers: tuple[Transfer, ...] = ()

    def __str__(self) -> str:
        return "\n".join(transfer_lines(self.transfers))


def transfer_lines(transfers: Sequence[Transfer]) -> list[str]:
    """Return what sites sent each other as text, the most first.

    >>> transfer_lines([Transfer("SEQ(A, B)", "x", "y", 11.0, 12, 500.0, 480)])[1]
    '  x -> y  SEQ(A, B)  12 rows (11 predicted), 480 B (500 B predicted)'
    """
    rows, predicted = sum(one.rows for one in transfers), sum(one.predicted_rows for one in transfers)
    sizes, expected = sum(one.bytes for one in transfers), sum(one.predicted_bytes for one in transfers)
    lines = [f"Between sites: {_amount(rows, predicted, sizes, expected)}"]
    for one in sorted(transfers, key=lambda one: -one.rows)[:MOST_TRANSFERS]:
        amount = _amount(one.rows, one.predicted_rows, one.bytes, one.predicted_bytes)
        lines.append(f"  {one.source} -> {one.target}  {one.projection}  {amount}")
    if len(transfers) > MOST_TRANSFERS:
        lines.append(f"  and {len(transfers) - MOST_TRANSFERS} more")
    return lines


def _amount(rows: int, predicted: float, size: int, expected: float) -> str:
    return (
        f"{rows:,} rows ({number_text(predicted)} predicted), "
        f"{bytes_text(size)} ({bytes_text(expected)} predicted)"
    )
