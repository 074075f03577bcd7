"""Write the matches and trends of a stream, one file per batch, so that each is in exactly one file.

A batch has a number, and its file is named after it. Spark writes it aside; the finished file takes its
name at once. When a batch is repeated after a crash, its file replaces the one that may be there: so
whoever reads plain files sees each match once.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.errors import DataError
from weft.hosts.results import TrendNames
from weft.hosts.spark.outcomes import Outcomes
from weft.io.spark.sinks import JSON_OPTIONS, match_lines, timeout_lines, trend_lines
from weft.io.targets import FOREIGN_SUFFIXES, LINE_SUFFIXES, MatchFormat

SUFFIXES: Mapping[MatchFormat, str] = {"json": ".jsonl", "parquet": ".parquet"}
MARKER = "_weft_stream"  # in a directory of batches: whose they are


@dataclass(frozen=True)
class BatchDirectory:
    """A directory with a file per batch.

    >>> BatchDirectory(Path("out"), "json").file_of(7).name
    'batch-000007.jsonl'
    """

    path: Path
    format: MatchFormat

    def file_of(self, batch: int) -> Path:
        return self.path / f"batch-{batch:06d}{SUFFIXES[self.format]}"

    def claim(self, checkpoint: str) -> None:
        """Refuse a directory that another stream, or something else, has written; otherwise make it ours."""
        self._refuse_foreign(checkpoint)
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / MARKER).write_text(_absolute(checkpoint), encoding="utf-8")
        for leftover in self.path.glob(".batch-*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)

    def check(self, checkpoint: str) -> None:
        """Refuse a directory that cannot be written, or that would destroy what is not ours."""
        if self.path.suffix in (*FOREIGN_SUFFIXES, *LINE_SUFFIXES, ".parquet"):
            raise DataError(f"{self.path}: a stream writes a directory with a file per batch; name it so")
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path}: this is a file; a stream writes a directory with a file per batch")
        self._refuse_foreign(checkpoint)

    def write(self, rows: DataFrame, batch: int) -> None:
        """Write the rows of a batch in the place of those that may be there."""
        aside = self.path / f".batch-{batch:06d}.tmp"
        shutil.rmtree(aside, ignore_errors=True)
        if self.format == "json":
            rows.write.text(str(aside))
        else:
            rows.write.parquet(str(aside))
        (part,) = aside.glob("part-*")
        part.replace(self.file_of(batch))
        shutil.rmtree(aside)

    def clear(self, batch: int) -> None:
        """Remove what an earlier try at a batch has written: now it has nothing."""
        self.file_of(batch).unlink(missing_ok=True)

    def _refuse_foreign(self, checkpoint: str) -> None:
        if not self.path.is_dir():
            return
        visible = [file.name for file in self.path.iterdir() if not file.name.startswith((".", "_"))]
        suffix = SUFFIXES[self.format]
        if any(not (name.startswith("batch-") and name.endswith(suffix)) for name in visible):
            raise DataError(f"{self.path}: the directory holds other files; name a new or an empty one")
        marker = self.path / MARKER
        owner = marker.read_text(encoding="utf-8") if marker.exists() else None
        is_ours = owner == _absolute(checkpoint) and _has_run(checkpoint)
        if visible and not is_ours:
            whose = f"of the stream with the checkpoint {owner}" if owner else "of another stream"
            raise DataError(
                f"{self.path}: the directory holds batches {whose}; its files would be overwritten\n"
                f"  hint: name a new or an empty one, or the checkpoint with which the stream can go on"
            )


@dataclass
class BatchWriter:
    """What is done with each batch of outcomes: matches to one directory, late rows to another.

    Timeouts and the results of trend queries go to directories of their own, or as JSON to that of the
    matches. `returned`
    and `trend_names` say for each query which columns hold its values. `failure` is what ended the last
    batch, in the words of its own: Spark tells only that a batch failed.
    """

    matches: BatchDirectory | None
    late: BatchDirectory | None
    returned: Mapping[str, Mapping[str, str]]
    trends: BatchDirectory | None = None
    timeouts: BatchDirectory | None = None
    trend_names: Mapping[str, TrendNames] = field(default_factory=dict)
    failure: Exception | None = None

    @property
    def directories(self) -> list[BatchDirectory]:
        """Where this writes to, late rows first; results of several kinds may go to the same place."""
        results = dict.fromkeys(filter(None, (self.matches, self.timeouts, self.trends)))
        return [*([] if self.late is None else [self.late]), *results]

    def __call__(self, outcomes: DataFrame, batch: int) -> None:
        try:
            self._write(outcomes, batch)
        except Exception as error:
            self.failure = error
            raise

    def _write(self, outcomes: DataFrame, batch: int) -> None:
        # Kept, because the shards may take their step only once; counted first, because that uses all cores.
        outcomes.persist(StorageLevel.MEMORY_AND_DISK)
        written: dict[BatchDirectory, list[DataFrame]] = {directory: [] for directory in self.directories}
        try:
            for directory, rows, lines_of in self._kinds(Outcomes(outcomes)):
                if rows.count():
                    rows = rows.coalesce(1)
                    written[directory].append(lines_of(rows) if directory.format == "json" else rows)
            for directory, frames in written.items():
                if frames:
                    directory.write(reduce(DataFrame.unionAll, frames).coalesce(1), batch)
                else:
                    directory.clear(batch)
        finally:
            outcomes.unpersist()

    def _kinds(
        self, outcomes: Outcomes
    ) -> Iterator[tuple[BatchDirectory, DataFrame, Callable[[DataFrame], DataFrame]]]:
        """Yield the rows of each kind that is written, with their directory and their form as JSON lines."""
        if self.matches is not None:
            yield self.matches, outcomes.matches, lambda rows: match_lines(rows, self.returned)
        if self.timeouts is not None:
            yield self.timeouts, outcomes.timeouts, lambda rows: timeout_lines(rows, self.returned)
        if self.trends is not None:
            yield self.trends, outcomes.trends, lambda rows: trend_lines(rows, self.trend_names)
        if self.late is not None:
            yield self.late, outcomes.late.coalesce(1).sortWithinPartitions("ts"), _late_lines


def _late_lines(rows: DataFrame) -> DataFrame:
    return rows.select(F.to_json(F.struct("ts", "type", "id"), JSON_OPTIONS).alias("line"))


def _absolute(checkpoint: str) -> str:
    return checkpoint if "://" in checkpoint else str(Path(checkpoint).absolute())


def _has_run(checkpoint: str) -> bool:
    """Whether a stream has started with a checkpoint; one that is not on this machine is believed to."""
    return "://" in checkpoint or (Path(checkpoint) / "metadata").exists()
