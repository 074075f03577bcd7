"""Cases as Spark DataFrames, and matches from Spark in the reference's form."""

import random

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from tests.helpers.engine import Bindings, arrow_events, bindings_of, plain
from tests.helpers.strategies import Case

from weft.api.detect import prepare
from weft.api.detection import Detection
from weft.api.options import Columns, PlacementName, Sites
from weft.hosts.spark.pushdown import column_of
from weft.optimizer.planning import Planning, Strategy
from weft.statistics.model import Statistics


def detection_of(
    spark: SparkSession,
    case: Case,
    partitions: int,
    *,
    plan: Strategy = "auto",
    statistics: Statistics | None = None,
) -> Detection:
    """Prepare a case on Spark; derived types become SQL conditions on a column of letters."""
    table, _ = arrow_events(case)
    letters = ["".join(sorted(event.types)) for event in case.events]
    frame = spark.createDataFrame(table.append_column("letters", [letters]))
    overlap = any(len(one) > 1 for one in letters)
    types = {name: f"contains(letters, '{name}')" for name in "ABCDE"} if overlap else {}
    return prepare(
        frame.drop("__time", "__row", "__flags"),
        case.text,
        time="ts",
        type=None if overlap else "__type",
        id="__id",
        partitions=partitions,
        columns=Columns(order_by=case.order_by, types=types),
        planning=Planning(plan=plan, statistics=statistics),
    )


def sited_detection_of(
    spark: SparkSession, case: Case, dice: random.Random, *, placement: PlacementName
) -> Detection:
    """Prepare a case whose events arise at three sites; those with one id at the same site."""
    table, _ = arrow_events(case)
    letters = ["".join(sorted(event.types)) for event in case.events]
    by_id: dict[object, str] = {}
    ids = table["__id"].to_pylist()
    sites = [by_id.setdefault(one, dice.choice(("x", "y", "z"))) for one in ids]
    frame = spark.createDataFrame(table.append_column("letters", [letters]).append_column("site", [sites]))
    return prepare(
        frame.drop("__time", "__row", "__flags"),
        case.text,
        time="ts",
        id="__id",
        columns=Columns(
            order_by=case.order_by, types={name: f"contains(letters, '{name}')" for name in "ABCDE"}
        ),
        sites=Sites(column="site", placement=placement),
    )


def matches_by_query(detection: Detection) -> dict[str, dict[Bindings, dict[str, object]]]:
    """Collect the matches of a detection; a match that comes twice is an error."""
    found: dict[str, dict[Bindings, dict[str, object]]] = {query.name: {} for query in detection.queries}
    for row in with_plain_times(detection.matches).collect():
        own = found[row["query"]]
        bindings = bindings_of([event.asDict() for event in row["events"]])
        assert bindings not in own, "a match was emitted twice"
        own[bindings] = {
            name: plain(row[column]) for name, column in detection.return_columns[row["query"]].items()
        }
    return found


def with_plain_times(frame: DataFrame) -> DataFrame:
    """Replace timestamps by microseconds, which have no time zone to go wrong."""
    columns = [
        F.unix_micros(column_of(field.name)).alias(field.name)
        if field.dataType.typeName() == "timestamp"
        else column_of(field.name)
        for field in frame.schema.fields
    ]
    return frame.select(*columns)


def events_frame(spark: SparkSession, rows: list[tuple[object, ...]], columns: str) -> DataFrame:
    """Return rows as a frame whose first column, `at` in seconds, becomes the timestamp `ts`."""
    frame = spark.createDataFrame(rows, columns)
    return frame.withColumn("ts", F.timestamp_micros((F.col("at") * 1_000_000).cast("long"))).drop("at")


def bound_ids(row: Row) -> dict[str, list[object]]:
    """Return variable -> ids of one match."""
    found: dict[str, list[object]] = {}
    for event in row["events"]:
        found.setdefault(event["variable"], []).append(event["id"])
    return found
