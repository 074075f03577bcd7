"""Build the streaming DataFrame of a placed program: watermark, packs by site, one operator per level."""

from collections.abc import Mapping
from hashlib import blake2b
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.hosts.spark.batch import Input, Returned, id_is_text, matches_schema, mentioned, wire_columns
from weft.hosts.spark.packing import PackTask, Route, unpacked
from weft.hosts.spark.placed_stream_operator import LevelOperator
from weft.hosts.spark.placed_stream_task import DISTINCT, ROLE, PlacedTask, report_name
from weft.hosts.spark.pushdown import quoted
from weft.hosts.spark.stream import PLACE, REPORTS, Lateness, watermarked
from weft.hosts.spark.stream_task import KIND, PACK, REPORT, SHARD
from weft.plan.nodes import Scan
from weft.plan.sites import SITE, SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.site_level import NEWS, OUTCOME
from weft.tree import find

SENT_ROWS = "array<struct<projection: string, source: string, target: string, rows: long, bytes: long>>"
MOST_OBSERVED = 500  # reports that are metrics of a query's progress; all of them are among the outcomes


def placed_outcomes(
    program: SiteProgram,
    places: Mapping[str, int],
    source: Input,
    site: str,
    returned: Returned,
    budget: Budget,
    lateness: Lateness,
) -> DataFrame:
    """Return matches, late rows and reports of a program as one stream, told apart by `kind`.

    `places` are the numbers of the sites at which events arise; rows of other sites are rejected.
    """
    types, columns, layout = _wire(program, source)
    rows, timed = watermarked(source, lateness)
    # Filters that mention the time stay above the watermark, which all events move.
    rows = rows.where(source.is_of_type(types) | ~source.is_good | F.col(quoted(timed)).isNull())
    sent = rows.select(
        *(value.alias(name) for name, value in columns.items()), _place(site, places).alias(PLACE)
    )
    required = [name for name in (layout.time, layout.type, layout.id, PLACE) if name is not None]
    route = Route(program.sites, tuple(columns), None, (), PLACE)
    packed = sent.mapInArrow(
        PackTask((route,), layout.type, layout.flags, tuple(required)), f"{SHARD} string, {PACK} binary"
    )
    text = program.to_json()
    name = blake2b(text.encode(), digest_size=12).hexdigest()
    task = PlacedTask(
        uuid4().hex, text, name, layout, id_is_text(source), returned.types, returned.names, budget
    )
    passing = packed.withColumn(ROLE, F.lit("raw"))
    for level in range(max(1, program.n_levels) + bool(program.repeated)):
        passing = passing.groupBy(SHARD).transformWithStateInPandas(
            LevelOperator(task, level),
            f"{SHARD} string, {ROLE} string, {PACK} binary",
            "append",
            "eventTime",
        )
    schema = T.StructType([T.StructField(KIND, T.StringType()), *matches_schema(source, returned).fields])
    reports = [_report(name, level) for name, level in _reporting(program)[:MOST_OBSERVED]]
    packs = passing.observe(REPORTS, *reports)
    return packs.where(F.col(ROLE) == OUTCOME).select(PACK).mapInArrow(unpacked, schema)


def transfers_in(outcomes: DataFrame) -> DataFrame:
    """Return what sites sent each other, of a stream of outcomes or one of its batches.

    Each row is what one site sent another of the matches of a projection, or of its events, in a micro-batch.
    """
    reports = outcomes.where(F.col(KIND) == REPORT)
    sent = F.from_json(F.get_json_object("match_id", "$.sent"), SENT_ROWS)
    return reports.select(F.explode(sent).alias("sent")).select("sent.*")


def _wire(program: SiteProgram, source: Input) -> tuple[list[str], dict[str, Column], Layout]:
    """Return the types of events that a program looks at, and the columns that travel for them."""
    plans = list(dict.fromkeys(work.plan for work in program.works))
    types = {scan.type for plan in plans for output in plan.outputs for scan in find(output, Scan)}
    names = set[str]().union(*map(mentioned, plans)) - {SITE}
    names |= {name for stream in program.channels for own in stream.attributes for name in own}
    return sorted(types), *wire_columns(types, names, source)


def _place(site: str, places: Mapping[str, int]) -> Column:
    """Return the number of a row's site; NULL without one, or where it is none of those known."""
    pairs = [F.lit(value) for pair in places.items() for value in pair]
    numbers = F.create_map(*pairs) if pairs else F.lit(None).cast("map<string, int>")
    return F.try_element_at(numbers, F.col(quoted(site)).cast("string"))


def n_unobserved(program: SiteProgram) -> int:
    """Return how many sites and levels report among the outcomes alone, for they are too many as metrics.

    >>> n_unobserved(SiteProgram(tuple(map(str, range(600))), (), ()))
    100
    """
    return max(0, len(_reporting(program)) - MOST_OBSERVED)


def _reporting(program: SiteProgram) -> list[tuple[str, int]]:
    """Return who reports, and at which level: all sites at the lowest, at others those with work.

    Before them come the places where matches meet that several sites may find.
    """
    found = dict.fromkeys((0, number) for number in range(len(program.sites)))
    found |= dict.fromkeys(sorted((work.level, work.site) for work in program.works))
    meeting = [(f"{DISTINCT}{query}", max(1, program.n_levels)) for query in program.repeated]
    return meeting + [(program.sites[number], level) for level, number in found]


def _report(site: str, level: int) -> Column:
    """Return the report of a site at a level as a metric."""
    is_own = (F.col(SHARD) == site) & (F.col(ROLE) == f"{NEWS}{level}")
    return F.max(F.when(is_own, F.col(PACK).cast("string"))).alias(report_name(site, level))
