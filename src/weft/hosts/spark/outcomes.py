"""Outcomes as Spark has them: the frames of each kind among them, and how many there are."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from weft.errors import WeftError
from weft.explanation.analysis import CountedOutcomes
from weft.hosts.results import SHOWN, shown_name
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
from weft.runtime.stages.report import Report

GROUP = "weft_group"  # the number of the query group, among outcomes of several
CHANGES = (
    "array<struct<step: long, version: long, reason: string, queries: array<string>, way: string, "
    "predicted: double, measured: double, kept: string>>"
)
STOPPED = "map<string, string>"  # query -> reason
TRANSFERS = "array<struct<projection: string, source: string, target: string, rows: long, bytes: long>>"


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
    def shown(self) -> DataFrame:
        """All of them, with the names that users see; a RETURN column may not have one of these."""
        return self.frame.withColumnsRenamed({name: shown_name(name) for name in self.frame.columns})

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
        """The alarms of shards, and what came of each: a new version of the plan, or why it is kept.

        A row says what raised the alarm, which queries were planned anew, how the shard switches, and the
        share of their cost that this is predicted to save. Where `kept` says why, the plan stays. A change
        comes again once the share of the counted work that it did save is known.
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


def count_outcomes(measured: DataFrame, n_groups: int) -> list[CountedOutcomes]:
    """Run groups, whose outcomes have the number of the group in GROUP, and count what came of each."""
    counts: list[dict[str, int]] = [{} for _ in range(n_groups)]
    timeouts: list[dict[str, int]] = [{} for _ in range(n_groups)]
    reports: list[dict[str, Report]] = [{} for _ in range(n_groups)]
    for row in measured.groupBy(GROUP, KIND, "query", SHARD, REPORT).count().collect():
        if row[KIND] in (MATCH_KIND, TREND_KIND):
            counts[row[GROUP]][row["query"]] = row["count"]
        elif row[KIND] == TIMEOUT_KIND:
            timeouts[row[GROUP]][row["query"]] = row["count"]
        else:
            reports[row[GROUP]][row[SHARD]] = Report.from_json(row[REPORT])
    return [CountedOutcomes(*own) for own in zip(counts, timeouts, reports, strict=True)]


def outcomes_of_groups(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the outcomes of several groups in one frame, each with the number of its group."""
    numbered = [frame.withColumn(GROUP, F.lit(number)) for number, frame in enumerate(frames)]
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), numbered)
