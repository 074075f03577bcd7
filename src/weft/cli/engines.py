"""The engines that commands run on: this process, or Spark; each is imported when it is chosen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol

from weft.cli.console import report_errors
from weft.cli.options import EngineOptions
from weft.errors import WeftError
from weft.hosts.host import Frame
from weft.io.event_files import EventColumns, find_events

EngineName = Literal["local", "spark"]
LOCAL_BYTES = 10 << 30  # of events on this machine, beyond which Spark runs unless told otherwise


class Engine(Protocol):
    """Reads events and handles the frames of their results."""

    @property
    def name(self) -> EngineName:
        """What runs."""

    def read(self, path: str, columns: EventColumns) -> Any:
        """Return the events at a path."""

    def first_rows(self, frame: Frame, order: Sequence[str], n: int) -> list[Mapping[str, Any]]:
        """Return the first rows of a frame in an order."""

    def reasons(self, rejected: Frame, n: int) -> list[str]:
        """Return some of the reasons for which rows were rejected."""

    @property
    def write_results(self) -> Callable[..., None]:
        """What writes results to a file or a directory."""


@contextmanager
def run_engine(options: EngineOptions, path: str | None = None) -> Iterator[Engine]:
    """Yield the engine for the events at a path, and tell as messages what goes wrong meanwhile."""
    with report_errors():
        if choose_engine(options, path) == "local":
            from weft.cli.local_engine import LocalEngine

            yield LocalEngine()
            return
        from weft.cli.spark_engine import SparkEngine, plain_failures

        with plain_failures():
            yield SparkEngine.start(options.master or "local[*]")


def choose_engine(options: EngineOptions, path: str | None) -> EngineName:
    """Return the engine that is asked for; otherwise this process, unless there is much to read."""
    if options.engine == "local" and options.master is not None:
        raise WeftError(
            f"--master {options.master} is of Spark, and --engine local runs without it\n"
            "  hint: leave out one of them"
        )
    if options.engine != "auto":
        return options.engine
    if options.master is not None or path is None or "://" in path:
        return "spark"
    sizes = (file.stat().st_size for file in find_events(path).files)
    return "local" if sum(sizes) <= LOCAL_BYTES else "spark"
