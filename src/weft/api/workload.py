"""A workload: queries bound to a frame of events, and what is wanted of their plans and results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from weft.api.options import Sites, Streaming
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.outcomes import ResultColumns, result_columns
from weft.io.trend_sinks import TrendNames, trend_names
from weft.normalize.template import template_of
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.runtime.budget import Budget
from weft.statistics.model import Statistics


@dataclass(frozen=True)
class Workload:
    """Queries bound to events that are there or still to come, and the options of their detection."""

    source: EventFrame
    queries: tuple[Query, ...]
    planning: Planning = field(default_factory=Planning)
    budget: Budget = field(default_factory=Budget)
    partitions: int | None = None
    statistics: Statistics | None = None  # those given
    streaming: Streaming = field(default_factory=Streaming)
    sites: Sites | None = None

    @cached_property
    def match_queries(self) -> tuple[Query, ...]:
        """The queries that ask for matches."""
        return tuple(query for query in self.queries if not query.is_trend)

    @cached_property
    def trend_queries(self) -> tuple[Query, ...]:
        """The queries that ask for aggregates over trends."""
        return tuple(query for query in self.queries if query.is_trend)

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """The templates of the trend queries."""
        return tuple(template_of(query, self.source.schema) for query in self.trend_queries)

    @cached_property
    def columns(self) -> ResultColumns:
        """The columns of all results."""
        return result_columns(self.queries, self.templates)

    @cached_property
    def return_columns(self) -> Mapping[str, Mapping[str, str]]:
        """For each query, the columns of matches that hold its RETURN values, by their names."""
        names = self.columns.returned.names
        return {
            query.name: dict(zip((column.name for column in query.returns), names[query.name], strict=True))
            for query in self.match_queries
        }

    @cached_property
    def trend_names(self) -> Mapping[str, TrendNames]:
        """For each trend query, the columns of trends that hold its groups and aggregates, by name."""
        return trend_names(self.templates, self.columns.trends.names)

    def templates_of(self, names: Sequence[str]) -> tuple[Template, ...]:
        """Return the templates of some trend queries."""
        known = {template.query: template for template in self.templates}
        return tuple(known[name] for name in names)
