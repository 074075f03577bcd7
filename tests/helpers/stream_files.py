"""Streams from files, a micro-batch each: events that scatter, which of them are late, and what came out."""

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession
from tests.helpers.frames import events_frame, with_plain_times

SECOND = 1_000_000
COLUMNS = "at double, kind string, n long, user long"
BATCH = "micro_batch"


@dataclass
class Files:
    """A folder that a stream reads file by file: each file is a micro-batch."""

    folder: Path
    n_files: int = 0

    def add(self, frame: DataFrame) -> None:
        """Write a frame, one file for each number in the column of batches."""
        place = self.folder / "written" / str(self.n_files)
        frame.repartition(1).write.partitionBy(BATCH).parquet(str(place))
        (self.folder / "events").mkdir(exist_ok=True)
        for part in sorted(place.glob(f"{BATCH}=*"), key=lambda part: int(part.name.split("=")[1])):
            (file,) = part.glob("*.parquet")
            target = self.folder / "events" / f"{self.n_files}.parquet"
            file.rename(target)
            os.utime(target, (1_000_000_000 + self.n_files,) * 2)  # Spark reads files in this order
            self.n_files += 1

    def read(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(str(self.folder / "events"))

    def stream(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.schema(self.read(spark).schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / "events"))


@dataclass
class Run:
    """What a stream gave until it had read all files: rows, and the metrics of its batches."""

    rows: list[Row] = field(default_factory=list)
    reports: list[dict[str, object]] = field(default_factory=list)
    n_rows: int = 0

    def total(self, name: str) -> int:
        return sum(int(str(report[name])) for report in self.reports)

    def names(self, key: str) -> set[str]:
        return {name for report in self.reports for name in report[key]}  # type: ignore[attr-defined]

    @property
    def match_ids(self) -> Counter[tuple[str, str]]:
        return Counter((row["query"], row["match_id"]) for row in self.rows)


def run(frame: DataFrame, checkpoint: Path) -> Run:
    """Start a stream, wait until it has read all files, and return what it gave."""
    done = Run()

    def collect(batch: DataFrame, _number: int) -> None:
        done.rows += with_plain_times(batch).collect()

    writer = frame.writeStream.foreachBatch(collect).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    for progress in query.recentProgress:
        done.n_rows += progress.numInputRows
        reports = progress.observedMetrics.get("weft", ())
        done.reports += [json.loads(text)["value"] for text in reports if text is not None]
    return done


def scattered(dice: random.Random, n_batches: int, *, users: Sequence[int | None]) -> list[list[tuple]]:
    """Return micro-batches whose times go up by five seconds each, and scatter by as many."""
    return [
        [
            (
                1000 + 5 * number + dice.randint(-9 * 64, 5 * 64) / 64,
                dice.choice("AB"),
                100 * number + row,
                dice.choice(users),
            )
            for row in range(30)
        ]
        for number in range(n_batches)
    ]


def late_by_hand(batches: list[list[tuple]], delay: int) -> list[int]:
    """Return the ids of the rows before the latest time of earlier micro-batches less the delay, in ms."""
    late, latest = [], None
    for rows in batches:
        micros = {row[2]: round(row[0] * SECOND) for row in rows}
        if latest is not None:
            late += [n for n, time in micros.items() if time < (latest // 1000) * 1000 - delay]
        latest = max([*micros.values(), *([] if latest is None else [latest])])
    return sorted(late)


def write(spark: SparkSession, files: Files, batches: list[list[tuple]]) -> None:
    rows = [(*row, number) for number, batch in enumerate(batches) for row in batch]
    files.add(events_frame(spark, rows, f"{COLUMNS}, {BATCH} int"))
