"""Spark as a host: DataFrames in, DataFrames out, each a run of its own when there is an action on it."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from weft.explanation.analysis import CountedOutcomes
from weft.hosts.host import GroupWork, Host, InputCounts, RunOptions, Write
from weft.hosts.progress import ProgressSource
from weft.hosts.results import TrendNames
from weft.hosts.sampling import MANY_ROWS, ROWS, estimate
from weft.hosts.spark.batch import batch_outcomes, site_outcomes
from weft.hosts.spark.counting import absent_types, count_kinds, count_rows, count_types
from weft.hosts.spark.failures import plain_failures
from weft.hosts.spark.frame import EventFrame, rejected_rows
from weft.hosts.spark.outcomes import GROUP, Outcomes, count_outcomes, observe_stopped, outcomes_of_groups
from weft.hosts.spark.progress import spark_progress
from weft.hosts.spark.pushdown import column_of
from weft.hosts.spark.sampling import EventSampler, site_counts
from weft.hosts.spark.schemas import spark_schema
from weft.hosts.spark.zones import SESSION_ZONE, zone_notices
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.placement.site_statistics import SiteCounts
from weft.plan.sites import SiteProgram
from weft.statistics.model import Inquiry, ItemKey, Statistics


class SparkHost(Host[Outcomes]):
    """Runs steps in the workers of Spark."""

    name = "spark"

    def __init__(self, source: EventFrame) -> None:
        self._source = source

    @property
    def source(self) -> EventFrame:
        return self._source

    @cached_property
    def progress(self) -> ProgressSource:
        return spark_progress(self.source.events.sparkSession)

    def notices_of(self, queries: Sequence[Query]) -> list[Notice]:
        zone = self.source.events.sparkSession.conf.get(SESSION_ZONE)
        return zone_notices(queries, self.source.zoneless, self.source.time, str(zone))

    def count_rows(self, types: Collection[str]) -> InputCounts:
        return count_rows(self.source, types)

    def absent_types(self, types: Collection[str]) -> Mapping[str, str | None]:
        return absent_types(self.source, types)

    def count_types(self) -> Mapping[str, int]:
        return count_types(self.source)

    def count_kinds(self, kinds: Mapping[str, ItemKey]) -> Mapping[str, int]:
        return count_kinds(self.source, kinds)

    @property
    def rejected(self) -> DataFrame:
        return rejected_rows(self.source)

    def estimate(self, inquiry: Inquiry, *, counts_all: bool, is_quick: bool) -> Statistics:
        types = {item.type for item in inquiry.every_item}
        rows = ROWS if is_quick else MANY_ROWS
        sampler = EventSampler(self.source, types, inquiry.attributes, counts_all, rows)
        return estimate(sampler, inquiry, is_quick=is_quick)

    def site_counts(self, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]) -> SiteCounts:
        return site_counts(self.source, site, kinds, attributes)

    def run_groups(self, work: Sequence[GroupWork], options: RunOptions) -> list[Outcomes]:
        return [Outcomes(batch_outcomes(own, self.source, options)) for own in work]

    def run_sites(self, program: SiteProgram, queries: Sequence[Query], options: RunOptions) -> Outcomes:
        return Outcomes(site_outcomes(program, queries, self.source, options))

    def union(self, results: Sequence[Outcomes]) -> Outcomes:
        frames = [own.frame for own in results]
        return Outcomes(reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames))

    def empty(self, schema: pa.Schema) -> DataFrame:
        return self.source.events.sparkSession.createDataFrame([], spark_schema(schema))

    def count(
        self, results: Sequence[Outcomes], write: Write | None, *, kinds: Collection[str]
    ) -> list[CountedOutcomes]:
        measured = outcomes_of_groups([own.frame for own in results])
        with plain_failures():
            if write is None:
                return count_outcomes(measured, len(results))
            measured.persist(StorageLevel.MEMORY_AND_DISK)
            try:
                counted = count_outcomes(measured, len(results))
                found = Outcomes(measured.drop(GROUP))
                write(found.matches, **{kind: getattr(found, kind) for kind in kinds})
            finally:
                measured.unpersist()
        return counted

    def observed(self, results: Outcomes, observation: Observation) -> Outcomes:
        """Return outcomes, of which an observation is told which queries an action on them stops."""
        return Outcomes(observe_stopped(results.frame, observation))

    def select_matches(self, matches: DataFrame, query: str, columns: Mapping[str, str]) -> DataFrame:
        own = [column_of(name).alias(shown) for shown, name in columns.items()]
        common = ["query", "match_id", "start", "end", "events"]
        return matches.where(F.col("query") == query).select(*common, *own)

    def closest_matches(
        self, matches: DataFrame, query: str, columns: Mapping[str, str], *, by: str | None, most: int
    ) -> list[dict[str, Any]]:
        took = F.unix_micros("end") - F.unix_micros("start")
        first = [] if by is None else [column_of(by).asc_nulls_last()]
        chosen = self.select_matches(matches, query, columns).orderBy(*first, took, "start", "match_id")
        return list(chosen.limit(most).toArrow().to_pylist())

    def select_trends(self, trends: DataFrame, query: str, names: TrendNames) -> DataFrame:
        own = {**names.group, **names.aggregates}
        shown = {column: own_name for own_name, column in own.items()}
        beyond = F.col("beyond")
        if any(column != own_name for column, own_name in shown.items()):
            renamed = F.create_map(*(F.lit(text) for pair in shown.items() for text in pair))
            beyond = F.transform_keys(beyond, lambda column, _: renamed[column])
        columns = [column_of(name).alias(own_name) for own_name, name in own.items()]
        common = ["query", "window_start", "window_end"]
        return trends.where(F.col("query") == query).select(*common, *columns, beyond.alias("beyond"))
