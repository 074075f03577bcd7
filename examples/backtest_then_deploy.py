"""Run queries on history, keep their plan and statistics, and run them with both on a stream.

    python examples/backtest_then_deploy.py --help

The stream is made of the same events, which arrive as files; so its matches are those of the batch. One
thing differs: on a stream, a match that depends on what does not happen is known only when the watermark
has passed the end of its window. The last of these matches come out when time goes on. So the script lets
one more event come, two hours after the others, that takes part in no match.
"""

# ruff: noqa: T201 - a script prints

import argparse
import datetime as dt
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

import weft
from weft.hosts.spark.local import local_session

QUERIES = """
QUERY takeover
PATTERN SEQ(PasswordChange p, NOT SupportCall c, Transfer t)
WHERE [user] AND t.amount > 800
WITHIN 1 hour
RETURN t.user AS user, t.amount AS amount

QUERY card_testing
PATTERN SEQ(CardDeclined{2,3} d[], CardPayment p)
WHERE [user] AND p.amount > 500
WITHIN 20 minutes
RETURN COUNT(d) AS tries

QUERY never_called
PATTERN SEQ(Transfer t, NOT SupportCall c)
WHERE [user] AND t.amount > 950
WITHIN 30 minutes
"""
KINDS = ("Login", "CardDeclined", "CardPayment", "PasswordChange", "SupportCall", "Transfer")
COLUMNS = "id long, ts timestamp, type string, user string, amount double"
START = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
WATERMARK = "1 minute"
SILENCE = "2 hours"  # longer than any window


def main() -> None:
    """Read the arguments, run both, and compare."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--events", help=f"a folder of Parquet files with the columns {COLUMNS}; made up by default"
    )
    parser.add_argument("--count", type=int, default=2000, help="how many events to make up (%(default)s)")
    parser.add_argument("--files", type=int, default=4, help="in how many files they arrive (%(default)s)")
    parser.add_argument("--keep", help="a new folder for plan, statistics and state; else they go")
    given = parser.parse_args()
    if given.keep:
        try:
            Path(given.keep).mkdir(parents=True)
        except FileExistsError:
            parser.error(f"{given.keep} exists already; the stream would go on from the state in it")
    spark = local_session(name="backtest then deploy")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.keep or temporary)
        events = spark.read.parquet(given.events) if given.events else made_up(spark, given.count)
        history = with_silence(events).cache()
        expected = backtest(history, folder)
        found = deploy(history, folder, given.files)
    report(expected, found)
    spark.stop()


def made_up(spark: SparkSession, count: int) -> DataFrame:
    """Return events of twenty users, one every few seconds, the same ones in every run."""
    dice = random.Random(1)
    moment, rows = START, []
    for number in range(count):
        moment += dt.timedelta(seconds=dice.randint(1, 20))
        rows.append((number, moment, dice.choice(KINDS), f"user{dice.randrange(20)}", 1000.0 * dice.random()))
    return spark.createDataFrame(rows, COLUMNS)


def with_silence(events: DataFrame) -> DataFrame:
    """Return the events and one long after them, with which the watermark passes all of them."""
    last = events.agg(
        (F.max("id") + 1).alias("id"),
        (F.max("ts") + F.expr(f"INTERVAL {SILENCE}")).alias("ts"),
        F.lit("SupportCall").alias("type"),
        F.lit("nobody").alias("user"),
        F.lit(None).cast("double").alias("amount"),
    )
    return events.select(*last.columns).unionByName(last)


def backtest(history: DataFrame, folder: Path) -> list[Row]:
    """Find the matches of history; keep the plan and the statistics it was chosen with."""
    detection = weft.prepare(history, QUERIES, time="ts", type="type", id="id")
    weft.save_statistics(detection.statistics, str(folder / "statistics.json"))
    weft.save_plan(detection.plan, str(folder / "plan.json"))
    return detection.matches.select("query", "match_id").collect()


def deploy(history: DataFrame, folder: Path, n_files: int) -> list[Row]:
    """Let the events arrive as files, oldest first, and find their matches as a stream."""
    incoming, state = str(folder / "incoming"), str(folder / "state")
    for rows in slices(history, n_files):
        rows.coalesce(1).write.mode("append").parquet(incoming)
    events = history.sparkSession.readStream.schema(history.schema).option("maxFilesPerTrigger", 1)
    matches = weft.detect(
        events.parquet(incoming),
        QUERIES,
        time="ts",
        type="type",
        id="id",
        watermark=WATERMARK,
        streaming=weft.Streaming(checkpoint=state),
        planning=weft.Planning(
            plan=weft.load_plan(str(folder / "plan.json")), statistics=str(folder / "statistics.json")
        ),
    )
    found: list[Row] = []

    def collect(batch: DataFrame, _: int) -> None:
        found.extend(batch.select("query", "match_id").collect())

    running = (
        matches.writeStream.foreachBatch(collect)
        .option("checkpointLocation", state)
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return found


def slices(history: DataFrame, count: int) -> Iterator[DataFrame]:
    """Yield the events of equal spans of time, one after the other."""
    time = F.unix_micros("ts")
    first, last = history.agg(F.min(time), F.max(time)).collect()[0]
    span = (last - first) // count + 1
    for number in range(count):
        yield history.where(F.floor((time - first) / span) == number)


def report(expected: list[Row], found: list[Row]) -> None:
    """Print the counts side by side, and whether the matches are the same."""
    batch, stream = (Counter(row["query"] for row in rows) for rows in (expected, found))
    print(f"{'query':<16}{'batch':>8}{'stream':>8}")
    for name in sorted(batch | stream):
        print(f"{name:<16}{batch[name]:>8,}{stream[name]:>8,}")
    is_equal = sorted(row["match_id"] for row in expected) == sorted(row["match_id"] for row in found)
    print("equal: every match of one is a match of the other" if is_equal else "NOT equal")


if __name__ == "__main__":
    main()
