"""Notes beside a checkpoint: small texts by which the next start of a stream knows the first."""

from dataclasses import dataclass
from typing import Literal

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class CheckpointNotes:
    """The directory `weft` of a checkpoint; where there is no checkpoint, nothing is kept."""

    spark: SparkSession
    checkpoint: str | None

    def read(self, name: str) -> list[tuple[str, str]]:
        """Return the texts kept under a name, each with its place."""
        path = self._path(name)
        if path is None:
            return []
        try:
            rows = self.spark.read.text(path, wholetext=True).collect()
        except AnalysisException:  # nothing there: the stream has not run yet
            return []
        return [(row["value"], path) for row in rows]

    def write(self, name: str, text: str, mode: Literal["append", "overwrite"] = "append") -> None:
        """Keep a text under a name, with those that are there or in their place."""
        path = self._path(name)
        if path is not None:
            frame = self.spark.createDataFrame([(text,)], "value string")
            frame.coalesce(1).write.mode(mode).text(path)

    def _path(self, name: str) -> str | None:
        return None if self.checkpoint is None else f"{self.checkpoint.rstrip('/')}/weft/{name}"
