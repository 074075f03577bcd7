"""Small texts kept beside a checkpoint: what the next start has to know of the first."""

from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class BesideCheckpoint:
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

    def add(self, name: str, text: str) -> None:
        """Keep one more text under a name; what is there stays."""
        path = self._path(name)
        if path is not None:
            frame = self.spark.createDataFrame([(text,)], "value string")
            frame.coalesce(1).write.mode("append").text(path)

    def _path(self, name: str) -> str | None:
        return None if self.checkpoint is None else f"{self.checkpoint.rstrip('/')}/weft/{name}"
