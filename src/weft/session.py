"""The facade: queries and a DataFrame of events in, a DataFrame of matches out."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.errors import DataError, WeftError, near_name
from weft.explain import explain, form_lines, plan_lines
from weft.expressions import type_of
from weft.language.binder import bind
from weft.language.parser import parse
from weft.language.read import read
from weft.optimizer.choice import Choice
from weft.optimizer.pipeline import SECONDS, Strategy
from weft.optimizer.sharing.limits import Progress
from weft.pattern.nodes import Query
from weft.planning import (
    PlannedShare,
    Planning,
    costs_compared,
    estimated_statistics,
    expected_rows,
    merged_choice,
    plan_share,
    why_lines,
)
from weft.runtime.budget import Budget
from weft.schema import TIMESTAMP
from weft.spark.analyze import SHARE, Analysis, analysis_of, is_match
from weft.spark.batch import (
    Input,
    Returned,
    count_rows,
    detect_share,
    matches_schema,
    merge_returned,
    rejected_rows,
)
from weft.spark.partitioning import divide
from weft.spark.schemas import event_schema, require_column, value_type
from weft.statistics.model import Statistics
from weft.statistics_file import load_statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Detection", "detect", "explain", "prepare"]

Queries = str | Query | Sequence[str | Query]


def detect(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    partitions: int | None = None,
    budget: Budget | None = None,
    plan: Strategy | Choice = "auto",
    statistics: Statistics | str | Path | None = None,
    search_seconds: float = SECONDS,
) -> "DataFrame":
    """Return the matches of all queries, one row per match.

    Columns: `query`, `match_id`, `start`, `end`, `events` (array of struct variable, type, ts, id, in
    time order) and the RETURN columns of the queries, NULL in the rows of other queries.

    Parameters
    ----------
    events
        Any DataFrame; the columns that no query mentions are not read.
    queries
        Query text, Query objects, or a sequence of these.
    time, type, id, order_by
        The columns that hold an event's time, its type, its identity (without one, the content of the
        row is its identity) and the order among events of equal time.
    types
        Event types derived from other columns, as SQL conditions: `{"BigTrade": "volume > 10000"}`.
    partitions
        The number of shards; chosen from the size of the data by default.
    budget
        How much a query may cost before it is stopped with an error.
    plan
        How queries are ordered and shared: "auto" searches for the best plan, "reorder" orders each query
        and shares nothing, "share" shares what can be shared, "trivial" does neither; or a plan stored
        earlier (`weft.load_plan`), to which queries that it does not know are added.
    statistics
        Rates and selectivities, or the file that holds them; estimated from a sample by default.
    search_seconds
        How long to search for a plan at most.
    """
    return prepare(
        events,
        queries,
        time=time,
        type=type,
        id=id,
        order_by=order_by,
        types=types,
        partitions=partitions,
        budget=budget,
        plan=plan,
        statistics=statistics,
        search_seconds=search_seconds,
    ).matches


def prepare(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    partitions: int | None = None,
    budget: Budget | None = None,
    plan: Strategy | Choice = "auto",
    statistics: Statistics | str | Path | None = None,
    search_seconds: float = SECONDS,
    origin: str = "<query>",
) -> "Detection":
    """Check queries against events and return the detection, which also explains and counts.

    Takes the arguments of `detect`; `origin` names the queries' source in error messages.
    """
    source = _input(events, time=time, type=type, id=id, order_by=order_by, types=types)
    bound = _bound(queries, source, origin)
    if partitions is not None and partitions < 1:
        raise WeftError(f"partitions is {partitions}; it must be at least 1")
    planning = Planning(plan, search_seconds)
    if isinstance(statistics, str | Path):
        statistics = load_statistics(statistics, source.schema)
    return Detection(source, bound, partitions, budget or Budget(), planning, statistics)


class Detection:
    """A workload bound to a DataFrame of events."""

    def __init__(
        self,
        source: Input,
        queries: tuple[Query, ...],
        partitions: int | None,
        budget: Budget,
        planning: Planning,
        statistics: Statistics | None = None,
    ) -> None:
        self.queries = queries
        self._source = source
        self._partitions = partitions
        self._budget = budget
        self._planning = planning
        self._statistics = statistics
        self._looked: Statistics | None = None
        self._planned: list[PlannedShare] | None = None

    @cached_property
    def matches(self) -> "DataFrame":
        """One row per match of any query."""
        frames = self._detected(analyze=False)
        if not frames:
            schema = matches_schema(self._source, self._returned)
            return self._source.events.sparkSession.createDataFrame([], schema)
        return reduce(lambda a, b: a.unionByName(b), frames)

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given, or estimated from a sample of all of the events, once."""
        if self._statistics is None:
            self._statistics = estimated_statistics(self._source, self.queries, is_quick=False)
        return self._statistics

    @property
    def plan(self) -> Choice:
        """The order in which each query is evaluated, as data that can be stored and used again."""
        return merged_choice(self.weave())

    def look(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""
        if self._statistics is not None:
            return self._statistics
        if self._looked is None:
            is_needed = self._planning.needs_statistics(self.queries)
            quick = partial(estimated_statistics, self._source, self.queries, is_quick=True)
            self._looked = quick() if is_needed else Statistics()
        return self._looked

    def weave(
        self, progress: Progress | None = None, is_cancelled: Callable[[], bool] = lambda: False
    ) -> list[PlannedShare]:
        """Choose the plans unless that is done; `progress` is told the share of the search that is over."""
        if self._planned is None:
            statistics = self.look()
            self._planned = [
                plan_share(
                    share,
                    self._source.schema,
                    self._planning,
                    statistics,
                    progress=progress,
                    is_cancelled=is_cancelled,
                )
                for share in divide(self.queries)
            ]
        return self._planned

    def _detected(self, *, analyze: bool) -> list["DataFrame"]:
        return [
            detect_share(
                planned.optimized.plan,
                planned.share,
                self._source,
                self._returned,
                self._budget,
                self._partitions,
                analyze=analyze,
            )
            for planned in self.weave()
        ]

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
            for query in self.queries
        }

    @property
    def rejected(self) -> "DataFrame":
        """The rows that are no events, with a column `reason`."""
        return rejected_rows(self._source)

    def input_counts(self) -> tuple[int, int]:
        """Return the number of events and of rejected rows."""
        return self._counts

    def costs(self) -> dict[str, float]:
        """Return the expected cost of the plan and the baselines, in nanoseconds per second of events."""
        total: dict[str, float] = {}
        for planned in self.weave():
            for name, cost in self._costs_of(planned).items():
                total[name] = total.get(name, 0.0) + cost
        return total

    def _costs_of(self, planned: PlannedShare) -> dict[str, float]:
        return costs_compared(planned, self._source.schema, self._planning, self.statistics)

    def explain(self) -> str:
        """Return the normal forms, the plans with the rows expected of their nodes, and what they cost."""
        lines = form_lines(self.queries)
        for planned in self.weave():
            costs = self._costs_of(planned)
            estimated = expected_rows(planned, self._source.schema, self.statistics)
            lines += ["", *why_lines(costs, planned), *plan_lines(planned.optimized.plan, estimated)]
        return "\n".join(lines)

    def analyze(self, write: "Callable[[DataFrame], None] | None" = None) -> Analysis:
        """Run the detection once and return what each node of its plans did.

        `write` is given the matches of this run.
        """
        frames = [
            frame.withColumn(SHARE, F.lit(number))
            for number, frame in enumerate(self._detected(analyze=True))
        ]
        if not frames:
            return Analysis({}, ())
        measured = reduce(lambda a, b: a.unionByName(b), frames)
        plans = [planned.optimized.plan for planned in self.weave()]
        estimated = [expected_rows(one, self._source.schema, self.statistics) for one in self.weave()]
        if write is None:
            return analysis_of(measured, plans, estimated)
        measured = measured.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            analysis = analysis_of(measured, plans, estimated)
            write(measured.where(is_match()).drop(SHARE))
        finally:
            measured.unpersist()
        return analysis

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return count_rows(self._source)

    @cached_property
    def _returned(self) -> Returned:
        types = {
            query.name: {column.name: type_of(column.expression) for column in query.returns}
            for query in self.queries
        }
        return merge_returned(self.queries, types)


def _input(
    events: "DataFrame",
    *,
    time: str,
    type: str | None,
    id: str | None,
    order_by: str | None,
    types: Mapping[str, str] | None,
) -> Input:
    frame = events.schema
    time_type = require_column(frame, time, "the event time")
    if value_type(time_type) != TIMESTAMP:
        raise DataError(
            f"the time column {time!r} is {time_type.simpleString()}, expected timestamp; "
            f"convert it, for example with to_timestamp or timestamp_millis"
        )
    if type is None and types is None:
        raise DataError("neither a type column (type=) nor derived types (types=) are given")
    for name, role in ((type, "the event type"), (id, "the event id"), (order_by, "the order")):
        if name is not None:
            require_column(frame, name, role)
    schema = event_schema(frame, time=time, has_type_column=type is not None, types=types)
    if order_by is not None and order_by not in schema.attributes:
        raise DataError(f"cannot order by {order_by!r}: {schema.unusable[order_by]}")
    return Input(events, schema, time, type, id, order_by, dict(types or {}))


def _bound(queries: Queries, source: Input, origin: str) -> tuple[Query, ...]:
    """Parse and check everything, reporting all problems together."""
    given = [queries] if isinstance(queries, str | Query) else list(queries)
    text = "\n\n".join(one for one in given if isinstance(one, str))
    built = [one for one in given if isinstance(one, Query)]
    if not text.strip() and not built:
        raise WeftError("no query was given")
    tie_break = source.order_by is not None
    if not built:
        return read(text, source.schema, origin=origin, tie_break=tie_break)
    parsed = parse(text, origin) if text.strip() else ()
    return bind((*parsed, *built), source.schema, origin=origin, tie_break=tie_break)
