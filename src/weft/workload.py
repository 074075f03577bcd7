"""Queries bound to events, whether these are all there or still to come."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.errors import WeftError, near_name
from weft.expressions import type_of
from weft.pattern.nodes import Query
from weft.planning import Planning
from weft.runtime.budget import Budget
from weft.spark.batch import Input, Returned, merge_returned, rejected_rows

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
    ) -> None:
        self.queries = queries
        self.match_queries = tuple(query for query in queries if not query.is_trend)
        self.trend_queries = tuple(query for query in queries if query.is_trend)
        self.source = source
        self._partitions = partitions
        self._budget = budget
        self._planning = planning

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query."""
        raise TypeError("a workload finds matches in a batch or in a stream")

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
