"""Queries bound to events, whether these are all there or still to come."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.errors import WeftError, near_name
from weft.expressions import type_of
from weft.hosts.spark.batch import Input, Returned, merge_returned, rejected_rows
from weft.hosts.spark.pushdown import quoted
from weft.hosts.spark.trend_batch import TrendColumns, trend_columns
from weft.io.trend_sinks import TrendNames, trend_names
from weft.normalize.template import template_of
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Workload:
    """What a detection in batch and one on a stream have in common."""

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        partitions: int | None,
        budget: Budget,
        planning: Planning,
        sharing: Sharing,
    ) -> None:
        self.queries = queries
        self.match_queries = tuple(query for query in queries if not query.is_trend)
        self.trend_queries = tuple(query for query in queries if query.is_trend)
        self.templates = tuple(template_of(query, source.schema) for query in self.trend_queries)
        self.source = source
        self._partitions = partitions
        self._budget = budget
        self._planning = planning
        self._sharing = sharing

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query."""
        raise TypeError("a workload finds matches in a batch or in a stream")

    @cached_property
    def trends(self) -> "DataFrame":
        """One row per trend query, window and group that has trends."""
        raise TypeError("a workload has trends in a batch or in a stream")

    def matches_of(self, name: str) -> "DataFrame":
        """Return the matches of one query with its RETURN columns, under their own names and types."""
        columns = self.return_columns.get(name)
        if columns is None:
            near = near_name(name, self.return_columns)
            hint = f"; did you mean {near!r}?" if near else ""
            raise WeftError(f"no query named {name!r}{hint}")
        own = [F.col(f"`{column}`").alias(shown) for shown, column in columns.items()]
        common = ["query", "match_id", "start", "end", "events"]
        return self.matches.where(F.col("query") == name).select(*common, *own)

    @cached_property
    def return_columns(self) -> Mapping[str, Mapping[str, str]]:
        """For each query, the columns of `matches` that hold its RETURN values, by their names."""
        return {
            query.name: dict(
                zip((column.name for column in query.returns), self._returned.names[query.name], strict=True)
            )
            for query in self.match_queries
        }

    def trends_of(self, name: str) -> "DataFrame":
        """Return the results of one trend query with its columns, under their own names and types."""
        names = self.trend_names.get(name)
        if names is None:
            near = near_name(name, self.trend_names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise WeftError(f"no trend query named {name!r}{hint}")
        own = {**names.group, **names.aggregates}
        shown = {column: own_name for own_name, column in own.items()}
        beyond = F.col("beyond")
        if any(column != own_name for column, own_name in shown.items()):
            renamed = F.create_map(*(F.lit(text) for pair in shown.items() for text in pair))
            beyond = F.transform_keys(beyond, lambda column, _: renamed[column])
        columns = [F.col(quoted(column)).alias(own_name) for own_name, column in own.items()]
        common = ["query", "window_start", "window_end"]
        return self.trends.where(F.col("query") == name).select(*common, *columns, beyond.alias("beyond"))

    @cached_property
    def trend_names(self) -> Mapping[str, TrendNames]:
        """For each trend query, the columns of `trends` that hold its groups and aggregates, by name."""
        return trend_names(self.templates, self._trend_columns)

    @cached_property
    def _trend_columns(self) -> TrendColumns:
        return trend_columns(self.templates)

    @property
    def rejected(self) -> "DataFrame":
        """The rows that are no events, with a column `reason`."""
        return rejected_rows(self.source)

    @cached_property
    def _returned(self) -> Returned:
        types = {
            query.name: {column.name: type_of(column.expression) for column in query.returns}
            for query in self.match_queries
        }
        return merge_returned(self.match_queries, types)
