"""A host: where the events of a batch lie, and what runs the steps of their shards.

What it gives as results are frames of its own kind: of Spark DataFrames, without it `weft.ResultTable`s.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from weft.explanation.analysis import CountedOutcomes
from weft.hosts.divide import Division
from weft.hosts.meaning import EventMeaning
from weft.hosts.progress import ProgressSource
from weft.hosts.results import TrendNames
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.placement.site_statistics import SiteCounts
from weft.plan.nodes import Plan
from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget, OnBudget
from weft.runtime.stages.task import ResultColumns
from weft.runtime.trends.executor import TrendPlan
from weft.statistics.model import Inquiry, ItemKey, Statistics

Frame: TypeAlias = Any
Write: TypeAlias = Callable[..., None]  # takes matches, and where there are such `trends=` and `timeouts=`


@dataclass(frozen=True, slots=True)
class GroupWork:
    """A group of queries: their plan, and how the events are divided for it."""

    plan: Plan | TrendPlan
    division: Division


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What is asked of a run, and how much it may cost."""

    columns: ResultColumns
    budget: Budget
    partitions: int | None = None
    on_budget: OnBudget = "stop"
    analyze: bool = False  # whether reports say what was done in detail


@dataclass(frozen=True)
class InputCounts:
    """What there is of the rows: events and others, the times of the first and the last event.

    `absent` are types that no event has, of those that were asked for, each with the nearest one there is.
    """

    n_events: int
    n_rejected: int
    absent: Mapping[str, str | None] = field(default_factory=dict)
    earliest: int | None = None
    latest: int | None = None


class ResultFrames(Protocol):
    """The outcomes of a run, by kind."""

    @property
    def matches(self) -> Frame:
        """One row per match."""

    @property
    def timeouts(self) -> Frame:
        """One row per timeout."""

    @property
    def trends(self) -> Frame:
        """One row per result of a trend query."""

    @property
    def stopped(self) -> Frame:
        """The queries that exceeded their budget: query, shard and reason."""

    @property
    def transfers(self) -> Frame:
        """What sites sent each other."""

    @property
    def shown(self) -> Frame:
        """The outcomes of all kinds, with the names that users see."""


OwnResults = TypeVar("OwnResults", bound=ResultFrames)


class Host(ABC, Generic[OwnResults]):
    """Runs the steps of a batch on events that lie here."""

    name: str
    keeps_results = False  # whether what was found once is kept, and not found anew for each frame of it

    @property
    @abstractmethod
    def source(self) -> EventMeaning:
        """The events, and what their columns mean."""

    @property
    @abstractmethod
    def progress(self) -> ProgressSource:
        """What tells how far the host is with its work."""

    def notices_of(self, queries: Sequence[Query]) -> list[Notice]:  # noqa: ARG002
        """Return what a person should know of queries here, before anything is read."""
        return []

    @abstractmethod
    def count_rows(self, types: Collection[str]) -> InputCounts:
        """Return how many rows there are, which of some types no event has, and the times of events."""

    def absent_types(self, types: Collection[str]) -> Mapping[str, str | None]:  # noqa: ARG002
        """Return what a quick look shows of types that no event has, each with the nearest one there is.

        Nothing where a run, which is soon to come, tells it anyhow.
        """
        return {}

    @abstractmethod
    def count_types(self) -> Mapping[str, int]:
        """Return the number of events of each type in the input, each event once."""

    def count_kinds(self, kinds: Mapping[str, ItemKey]) -> Mapping[str, int]:  # noqa: ARG002
        """Return the number of events of those kinds that the host counts by itself, each event once."""
        return {}

    @property
    @abstractmethod
    def rejected(self) -> Frame:
        """The rows without a time, a type, an id or a site, with the reason."""

    @abstractmethod
    def estimate(self, inquiry: Inquiry, *, counts_all: bool, is_quick: bool) -> Statistics:
        """Return what a sample of the events says of items, predicate groups and keys.

        With `counts_all`, events of all types are sampled, and `total_rate` is that of all of them. To be
        quick is to be content with the first events, if they come in order of time.
        """

    @abstractmethod
    def site_counts(self, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]) -> SiteCounts:
        """Return how many events of each kind there are at each site."""

    @abstractmethod
    def run_groups(self, work: Sequence[GroupWork], options: RunOptions) -> list[OwnResults]:
        """Return the outcomes of each of some groups of queries."""

    @abstractmethod
    def run_sites(self, program: SiteProgram, queries: Sequence[Query], options: RunOptions) -> OwnResults:
        """Return the outcomes of queries that are evaluated at the sites of their events."""

    @abstractmethod
    def union(self, results: Sequence[OwnResults]) -> OwnResults:
        """Return the outcomes of several groups, one at least, as those of one."""

    @abstractmethod
    def empty(self, schema: pa.Schema) -> Frame:
        """Return a frame without rows."""

    @abstractmethod
    def count(
        self, results: Sequence[OwnResults], write: Write | None, *, kinds: Collection[str]
    ) -> list[CountedOutcomes]:
        """Run groups once and count what came of each; `write` is given their results of some `kinds`."""

    @abstractmethod
    def observed(self, results: OwnResults, observation: Any) -> OwnResults:
        """Return outcomes, of which an observation of Spark is told which queries an action on them stops."""

    @abstractmethod
    def select_matches(self, matches: Frame, query: str, columns: Mapping[str, str]) -> Frame:
        """Return the matches of a query; its RETURN columns, found under the given names, under its own."""

    @abstractmethod
    def closest_matches(
        self, matches: Frame, query: str, columns: Mapping[str, str], *, by: str | None, most: int
    ) -> list[dict[str, Any]]:
        """Return the matches of a query, as `select_matches` has them, with the smallest values of a column.

        Of those with equal values, or without such a column, these are the ones that take the least time,
        then the earliest ones. Each is a dictionary by column.
        """

    @abstractmethod
    def select_trends(self, trends: Frame, query: str, names: TrendNames) -> Frame:
        """Return the results of a trend query with its columns under their own names."""
