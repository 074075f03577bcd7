"""Spark as the engine of the command line."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from weft.cli.console import report_errors
from weft.cli.engines import EngineName
from weft.cli.report import show_progress
from weft.hosts.progress import no_progress
from weft.hosts.spark.failures import plain_failures
from weft.hosts.spark.local import local_session
from weft.io.event_files import EventColumns
from weft.io.spark import sinks
from weft.io.spark.sources import read_events
from weft.kernels.compilation import expect_compilation
from weft.kernels.matches.identity import hash_bindings


@dataclass(frozen=True)
class SparkEngine:
    """Runs on Spark, on this machine or a cluster."""

    spark: SparkSession
    name: ClassVar[EngineName] = "spark"

    @staticmethod
    def start(master: str) -> "SparkEngine":
        """Start a session, or take the one that runs."""
        return SparkEngine(start_spark(master))

    def read(self, path: str, columns: EventColumns) -> DataFrame:
        return read_events(self.spark, path, columns, delimiter=columns.delimiter)

    def first_rows(self, frame: DataFrame, order: Sequence[str], n: int) -> list[Mapping[str, Any]]:
        return [row.asDict(recursive=True) for row in frame.orderBy(*order).limit(n).collect()]

    def reasons(self, rejected: DataFrame, n: int) -> list[str]:
        return sorted(row["reason"] for row in rejected.select("reason").distinct().limit(n).collect())

    @property
    def write_results(self) -> Callable[..., None]:
        return sinks.write_results


def start_spark(master: str) -> SparkSession:
    """Start a session, or take the one that runs."""
    with show_progress("Starting Spark", no_progress):
        session = local_session(master)
    if master.startswith("local"):  # workers of this machine keep their kernels where this process looks
        expect_compilation(hash_bindings)
    # Spark's own handler talks to the JVM while another call is under way, which fails noisily.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return session


@contextmanager
def report_failures() -> Iterator[None]:
    """Turn what goes wrong, in Weft or in Spark, into a message on standard error and an exit status."""
    with report_errors(), plain_failures():
        yield


__all__ = ["SparkEngine", "plain_failures", "report_failures", "start_spark"]
