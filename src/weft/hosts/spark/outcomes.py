"""Outcomes as Spark has them: their schema, and the frames of each kind among them."""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from weft.errors import WeftError
from weft.expressions import type_of
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.runtime.stages.messages import SHARD
from weft.runtime.stages.outcomes import (
    KIND,
    LATE_KIND,
    MATCH_KIND,
    MISSING,
    REPORT,
    REPORT_KIND,
    TIMEOUT_KIND,
    TREND,
    TREND_KIND,
)
from weft.runtime.stages.task import ColumnType, MergedColumns, ResultColumns
from weft.runtime.trends.emit import result_type

SHOWN = {  # columns as users see them
    KIND: "kind",
    TREND: "trend",
    MISSING: "missing",
    SHARD: "shard",
    REPORT: "report",
}
CHANGES = (
    "array<struct<step: long, version: long, reason: string, queries: array<string>, way: string, "
    "predicted: double, measured: double>>"
)
STOPPED = "map<string, string>"  # query -> reason
TRANSFERS = "array<struct<projection: string, source: string, target: string, rows: long, bytes: long>>"


def result_columns(queries: Sequence[Query], templates: Sequence[Template]) -> ResultColumns:
    """Give every RETURN value and every column of trend queries a column of the results."""
    returned = {
        query.name: {column.name: type_of(column.expression) for column in query.returns}
        for query in queries
        if not query.is_trend
    }
    trends = {
        template.query: {column.column: result_type(column) for column in template.columns}
        for template in templates
    }
    timed = [query.name for query in queries if query.policy.timeouts]
    merged = merge_columns(returned)
    if timed and (taken := [name for name in merged.types if name.casefold() == SHOWN[MISSING]]):
        raise WeftError(
            f"a query returns a column {taken[0]}, which says what is missing of the timeouts of {timed[0]}\n"
            f"  hint: give it another name in RETURN, for example with AS {taken[0]}_value"
        )
    return ResultColumns(merged, merge_columns(trends), has_timeouts=bool(timed))


def merge_columns(types_of: Mapping[str, Mapping[str, ColumnType]]) -> MergedColumns[ColumnType]:
    """Return the columns of all queries with their types, and for each query the columns of its values.

    Values of one name and type have one column; where types differ, or the case of the name, to which
    Spark pays no heed, there is one per query.

    >>> merge_columns({"p": {"n": 1, "x": 2}, "q": {"n": 1, "X": 2}})
    MergedColumns(types={'n': 1, 'p_x': 2, 'q_X': 2}, names={'p': ('n', 'p_x'), 'q': ('n', 'q_X')})
    """
    kinds: dict[str, set[tuple[str, ColumnType]]] = {}
    for own in types_of.values():
        for name, kind in own.items():
            kinds.setdefault(name.casefold(), set()).add((name, kind))
    types: dict[str, ColumnType] = {}
    names: dict[str, tuple[str, ...]] = {}
    for query, own in types_of.items():
        columns = {name: name if len(kinds[name.casefold()]) == 1 else f"{query}_{name}" for name in own}
        types |= {columns[name]: kind for name, kind in own.items()}
        names[query] = tuple(columns.values())
    return MergedColumns(types, names)


def shown_outcomes(frame: DataFrame) -> DataFrame:
    """Return outcomes with the names that users see; a RETURN column may not have one of these."""
    for name in frame.columns:
        if name.casefold() in SHOWN.values():
            raise WeftError(
                f"a query returns a column {name}, which among outcomes says something else\n"
                f"  hint: give it another name in RETURN, for example with AS {name}_value"
            )
    return frame.withColumnsRenamed(SHOWN)


def observe_stopped(outcomes: DataFrame, observation: Observation) -> DataFrame:
    """Let an observation be told, as `stopped`, which queries an action on outcomes has stopped."""
    return outcomes.observe(observation, F.flatten(F.collect_set(_stopped())).alias("stopped"))


def _stopped() -> Column:
    """Return the queries that a report says were stopped, each with the shard and the reason."""
    return F.transform(
        F.map_entries(_entry(REPORT, "stopped", STOPPED)),
        lambda entry: F.struct(
            entry["key"].alias("query"), F.col(SHARD).alias("shard"), entry["value"].alias("reason")
        ),
    )


def _entry(report: str, name: str, kind: str) -> Column:
    return F.from_json(F.get_json_object(report, f"$.value.{name}"), kind)


class Outcomes:
    """The frames of each kind among outcomes: of a whole run, or of one micro-batch of a stream.

    In `foreachBatch`, `weft.Outcomes(batch).matches` is what to write of a batch.
    """

    def __init__(self, frame: DataFrame) -> None:
        own_names = {shown: own for own, shown in SHOWN.items()}
        self.frame = frame if KIND in frame.columns else frame.withColumnsRenamed(own_names)

    @property
    def matches(self) -> DataFrame:
        """One row per match."""
        others = [name for name in SHOWN if name in self.frame.columns]
        return self._of_kind(MATCH_KIND).drop(*others)

    @property
    def timeouts(self) -> DataFrame:
        """One row per timeout, with the columns of a match and the variable that is `missing`.

        It is NULL where all of the pattern was reached, and yet there is no match.
        """
        if MISSING not in self.frame.columns:
            raise WeftError("none of the queries asks for TIMEOUTS: look at matches")
        others = [name for name in SHOWN if name != MISSING and name in self.frame.columns]
        return self._of_kind(TIMEOUT_KIND).drop(*others).withColumnRenamed(MISSING, SHOWN[MISSING])

    @property
    def trends(self) -> DataFrame:
        """One row per result of a trend query."""
        if TREND not in self.frame.columns:
            raise WeftError("none of the queries is a trend query: look at matches")
        return self._of_kind(TREND_KIND).select("query", f"{TREND}.*")

    @property
    def late(self) -> DataFrame:
        """The rows that came after the watermark had passed them: time, type and id."""
        event = F.col("events")[0]
        return self._of_kind(LATE_KIND).select(
            event["ts"].alias("ts"), event["type"].alias("type"), event["id"].alias("id")
        )

    @property
    def changes(self) -> DataFrame:
        """The changes of plans: one row for each shard and new version of its plan.

        It says why the plan was made, which queries it is for, how the shard switches, the share of the cost
        that it is predicted to save, and for a change of before the share of the counted work that it did
        save.
        """
        return self._report_entries("changes", CHANGES, "shard")

    @property
    def transfers(self) -> DataFrame:
        """What sites sent each other of the matches of a projection, or of its events."""
        return self._report_entries("sent", TRANSFERS)

    @property
    def stopped(self) -> DataFrame:
        """The queries that exceeded their budget: query, shard and reason; their matches are incomplete.

        Of a stream, a query that stays stopped has a row for every step of the shard.
        """
        return self.frame.select(F.explode(_stopped()).alias("entry")).select("entry.*")

    @property
    def reports(self) -> DataFrame:
        """The reports of the steps of shards, as JSON."""
        return self._of_kind(REPORT_KIND).select(F.col(SHARD).alias("shard"), F.col(REPORT).alias("report"))

    def _report_entries(self, name: str, kind: str, *others: str) -> DataFrame:
        listed = self.reports.select(*others, F.explode(_entry("report", name, kind)).alias("entry"))
        return listed.select(*others, "entry.*")

    def _of_kind(self, kind: str) -> DataFrame:
        return self.frame.where(F.col(KIND) == kind)
