"""A driver in a process of its own, for others to kill: detect on a stream of files, or on all of them.

python stream_driver.py '{"master": "local[2]", "events": "...", "ids": "...", ...}'
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import weft
from weft.hosts.spark.local import local_session

DELAY = "10 seconds"
COLUMNS = "ts timestamp, kind string, id long, user long, x long"
QUERIES = """
QUERY keyed    PATTERN SEQ(A a, B b, C c) WHERE [user] WITHIN 2 minutes RETURN a.x + c.x AS total
QUERY lists    PATTERN SEQ(A a, B{1,3} b[], D d) WHERE [user] WITHIN 2 minutes RETURN COUNT(b) AS n
QUERY absent   PATTERN SEQ(A a, C c, NOT D d) WHERE [user] WITHIN 2 minutes
QUERY apart    PATTERN SEQ(D d, E e) WHERE e.x > d.x + 990 WITHIN 1 minute
QUERY silence  PATTERN SEQ(F f, G g, NOT H h) WHERE f.x < 20 AND g.x < 20 AND h.x < 200 WITHIN 90 seconds
QUERY counted  PATTERN SEQ(F f, NOT G g, H h, NOT E e) WHERE f.x < 300 WITHIN 6 EVENTS
QUERY per_user PATTERN SEQ(F f, H h) PARTITION BY user WITHIN 4 EVENTS
"""


def main() -> None:
    """Find the matches, on a stream where there is a checkpoint, and write their ids at the end."""
    options = json.loads(sys.argv[1])
    spark = local_session(options["master"])
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    # A driver that is killed again and again should start fast.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    if "checkpoint" in options:
        run_stream(spark, options)
        found = spark.read.parquet(options["matches"])
    else:
        events = spark.read.schema(COLUMNS).parquet(options["events"])
        found = weft.detect(
            events, QUERIES, time="ts", type="kind", id="id", planning=weft.Planning(search_seconds=0)
        )
    rows = [f"{row['query']} {row['match_id']}" for row in found.select("query", "match_id").collect()]
    Path(options["ids"]).write_text("\n".join(sorted(rows)), encoding="utf-8")
    spark.stop()


def run_stream(spark: SparkSession, options: dict[str, Any]) -> None:
    """Write the matches to a sink until all files have been read."""
    files = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", options["files_per_batch"])
    checkpoint = options["checkpoint"]
    found = weft.detect(
        files.parquet(options["events"]),
        QUERIES,
        time="ts",
        type="kind",
        id="id",
        watermark=DELAY,
        streaming=weft.Streaming(checkpoint=checkpoint),
        planning=weft.Planning(search_seconds=0),
    )
    writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    if options["sink"] == "files":
        writer = writer.format("parquet").option("path", options["matches"])
    else:
        writer = writer.foreachBatch(overwriting(options["matches"]))
    writer.start().awaitTermination()


def overwriting(place: str) -> Callable[[DataFrame, int], None]:
    """Return what writes each batch under its number: a batch that is run again replaces itself."""

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(f"{place}/batch={number}")

    return write


if __name__ == "__main__":
    main()
