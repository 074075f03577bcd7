"""The rules of a test: as they are given, as queries, and what the columns of their events mean."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from weft.api.events import open_host
from weft.api.options import Columns
from weft.errors import QueryError
from weft.hosts.meaning import EventRoles
from weft.language.policy_words import default_policy
from weft.language.read import Queries, read_queries
from weft.pattern.nodes import Query
from weft.pattern.policies import Policy
from weft.schema import Schema


@dataclass(frozen=True, kw_only=True)
class RuleColumns:
    """The columns of the events that rules are tested with."""

    time: str = "ts"
    type: str = "type"
    id: str = "id"
    order_by: str | None = None

    @property
    def roles(self) -> EventRoles:
        """The columns as the engine takes them."""
        return EventRoles(time=self.time, type=self.type, id=self.id, order_by=self.order_by)

    def schema_of(self, events: Any) -> Schema:
        """Return what rules may mention of events."""
        return open_host(events, self.roles, Columns(order_by=self.order_by)).source.schema


@dataclass(frozen=True)
class RuleSet:
    """Rules as they are given, and as queries that are not yet bound to events."""

    given: Queries
    queries: tuple[Query, ...]
    columns: RuleColumns
    default: Policy
    origin: str

    @classmethod
    def read(
        cls,
        given: Queries,
        columns: RuleColumns,
        *,
        strategy: str | None = None,
        skip: str | None = None,
        suppress: str | timedelta | None = None,
        origin: str = "<rules>",
    ) -> "RuleSet":
        """Return the rules of texts, paths, queries and builders; what is wrong without events is refused.

        >>> rules = RuleSet.read("QUERY q PATTERN SEQ(A a, B b)", RuleColumns(), strategy="next")
        >>> [(query.name, query.policy.strategy) for query in rules.queries]
        [('q', 'next')]
        """
        default = default_policy(strategy, skip, suppress)
        tie_break = columns.order_by is not None
        given = given if isinstance(given, str) or not hasattr(given, "__iter__") else list(given)
        queries = read_queries(given, None, origin=origin, tie_break=tie_break, default=default)
        return cls(given, queries, columns, default, origin)

    def named(self, names: Collection[str]) -> tuple[Query, ...]:
        """Return the rules of some names, in the order of all."""
        return tuple(query for query in self.queries if query.name in names)

    def with_places(self, error: QueryError, events: Any, names: Collection[str]) -> QueryError:
        """Return an error about some rules as one that tells the places in their text."""
        try:
            read_queries(
                self.given,
                self.columns.schema_of(events),
                origin=self.origin,
                tie_break=self.columns.order_by is not None,
                default=self.default,
            )
        except QueryError as placed:
            own = [problem for problem in placed.problems if problem.query in names]
            if own:
                return QueryError(own, placed.source, placed.origin)
        return error
