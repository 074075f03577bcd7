"""Build the DataFrame of matches of queries that are evaluated at the sites of their events.

The events are divided by site, and inside of a site by slices of time. There is one step for every level of
the program that sends, and a last one that finds the matches. A step reads the events of its sites, which are
where they are, together with what lower levels have sent: only that is shuffled from site to site, one row
for a match and a site that needs it. What a site has received stays there for the steps to come, so that
every step runs once.
"""

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.hosts.spark.batch import (
    Input,
    Returned,
    id_is_text,
    matches_schema,
    mentioned,
    scanned_types,
    shard_numbers,
    wire_columns,
)
from weft.hosts.spark.partitioning import ByTime, Slices, slice_time, time_of
from weft.hosts.spark.placed_worker import SHARD, SITE, SiteTask, sent_schema
from weft.hosts.spark.sampling import kind_condition, site_column
from weft.hosts.spark.schemas import spark_type
from weft.pattern.nodes import Query
from weft.placement.normal_form_query import NormalFormQuery
from weft.placement.site_statistics import kinds_of
from weft.plan.sites import SITE as SITE_NUMBER
from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.stages.site_wire import TIE_VALUE


@dataclass(frozen=True)
class PlacedInput:
    """Events with sites, the queries that are placed there, and their program."""

    source: Input
    queries: tuple[NormalFormQuery, ...]
    program: SiteProgram


@dataclass(frozen=True)
class Transfer:
    """What one site sent to another of a projection: rows and bytes, as predicted and as measured."""

    projection: str
    source: str
    target: str
    predicted_rows: float
    rows: int
    predicted_bytes: float
    bytes: int


def detect_placed(
    placed: PlacedInput, returned: Returned, budget: Budget, partitions: int | None, *, analyze: bool = False
) -> DataFrame | None:
    """Return the matches that the program finds; None if it has nothing to do.

    With `analyze`, the rows whose `query` is NULL say in `match_id` what sites received.
    """
    return _Levels(placed, returned, budget, partitions, analyze=analyze).matches()


class _Levels:
    def __init__(
        self,
        placed: PlacedInput,
        returned: Returned,
        budget: Budget,
        partitions: int | None,
        *,
        analyze: bool,
    ) -> None:
        self.placed, self.program = placed, placed.program
        self.returned, self.budget, self.analyze = returned, budget, analyze
        source = placed.source
        shuffled = source.events.sparkSession.conf.get("spark.sql.shuffle.partitions")
        most = partitions or int(shuffled or 200)
        n_sites = len(self.program.sites)
        self.division = time_of(_distinct(placed.queries))
        self.slices = _slices(self.division, most // max(n_sites, 1))
        self.n_partitions = min(most, n_sites * (1 if self.slices is None else self.slices.n_shards))
        plans = [work.plan for work in self.program.works]
        types = {name for plan in plans for name in scanned_types(plan)}
        names = {name for plan in plans for name in mentioned(plan)} - {SITE_NUMBER}
        self.columns, self.layout = wire_columns(types, names, source)

    def matches(self) -> DataFrame | None:
        """Return what is found when all has been sent; to analyze, sites tell what they got."""
        if all(work.sends for work in self.program.works):
            return None
        received = None
        for level in range(self.program.n_levels - 1):
            received = self._step(level, received).repartition(self.n_partitions, SITE, SHARD)
        return self._without_repeated(self._step(None, received))

    def _without_repeated(self, found: DataFrame) -> DataFrame:
        """Keep matches once that several alternatives of a query may find."""
        if not self.program.repeated:
            return found
        repeated = F.col("query").isin(list(self.program.repeated))
        others = found.where(~F.coalesce(repeated, F.lit(False)))
        return others.unionByName(found.where(repeated).dropDuplicates(["query", "match_id"]))

    def _step(self, level: int | None, received: DataFrame | None) -> DataFrame:
        """Return what sites send at a level besides what they have received, or the matches they find."""
        task = SiteTask(
            program=self.program.to_json(),
            level=level,
            layout=self.layout,
            budget=self.budget,
            id_is_text=id_is_text(self.placed.source),
            returned=self.returned.types,
            return_names=self.returned.names,
            division=self.division,
            slices=self.slices,
            analyze=self.analyze and level is None,
        )
        schema = self._sent_schema(task) if task.sends else matches_schema(self.placed.source, self.returned)
        own = self._own({work.site for work in task.works_of(self.program)}).groupBy(SITE, SHARD)
        if received is None:

            def alone(key: tuple[pa.Scalar, ...], own: pa.Table) -> pa.Table:
                return task.run_alone(key, own)

            return own.applyInArrow(alone, schema)

        def together(key: tuple[pa.Scalar, ...], own: pa.Table, received: pa.Table) -> pa.Table:
            return task.run(key, own, received)

        return own.cogroup(received.groupBy(SITE, SHARD)).applyInArrow(together, schema)

    def _own(self, sites: Set[int]) -> DataFrame:
        """Return the events of some sites, each at its own."""
        source, program = self.placed.source, self.program
        name = site_column(source.site or "")
        wanted = source.is_good & self._of_some_kind()
        if len(sites) < len(program.sites):
            wanted &= name.isin([program.sites[site] for site in sorted(sites)])
        shard = F.lit(0).cast("int")
        if self.slices is not None and self.division is not None:
            shard = shard_numbers(source, self.slices, self.division)
        columns = {SITE: name, SHARD: shard, **self.columns}
        rows = source.events.where(wanted).select(*(value.alias(name) for name, value in columns.items()))
        return rows.repartition(self.n_partitions, SITE, SHARD)

    def _of_some_kind(self) -> Column:
        keys = kinds_of(self.placed.queries).values()
        conditions = [kind_condition(self.placed.source, key)[0] for key in keys]
        return reduce(lambda a, b: a | b, conditions, F.lit(False))

    def _sent_schema(self, task: SiteTask) -> T.StructType:
        """Return the columns of rows that go from site to site, as Spark has them."""
        values = {source: spark_type(kind) for _, source, kind in task.wire.travelling}
        if self.layout.tie_type is not None:
            values[TIE_VALUE] = spark_type(self.layout.tie_type)
        plain = {
            pa.int32(): T.IntegerType(),
            pa.int64(): T.LongType(),
            pa.string(): T.StringType(),
            pa.bool_(): T.BooleanType(),
        }

        def field(one: pa.Field) -> T.StructField:
            return T.StructField(one.name, values.get(one.name) or plain[one.type])

        event = T.StructType([field(one) for one in task.wire.event_type])
        *columns, events = sent_schema(task.wire)
        return T.StructType([*map(field, columns), T.StructField(events.name, T.ArrayType(event))])


def transfers_of(
    measured: Iterable[str], program: SiteProgram, predicted: Iterable[tuple[float, float]]
) -> tuple[Transfer, ...]:
    """Sum up what sites say they received; `predicted` has the rows and bytes expected of each stream."""
    rows = [0] * len(program.channels)
    sizes = [0] * len(program.channels)
    for text in measured:
        counted: Mapping[str, int] = json.loads(text)
        rows[counted["stream"]] += counted["rows"]
        sizes[counted["stream"]] += counted["bytes"]
    return tuple(
        Transfer(
            stream.projection,
            program.sites[stream.source],
            program.sites[stream.target],
            expected[0],
            rows[number],
            expected[1],
            sizes[number],
        )
        for number, (stream, expected) in enumerate(zip(program.channels, predicted, strict=True))
    )


def _slices(division: ByTime | None, n_shards: int) -> Slices | None:
    """Return slices for an even number of shards of each site; None: a site is one shard."""
    if division is None or n_shards < 2:
        return None
    return slice_time(division, n_shards - n_shards % 2)


def _distinct(queries: Iterable[NormalFormQuery]) -> tuple[Query, ...]:
    return tuple(dict.fromkeys(query.query for query in queries))
