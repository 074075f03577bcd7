"""Follow a stream that runs, until it ends or a signal asks to stop it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql.streaming.query import StreamingQuery

from weft.hosts.spark.failures import SPARK_FAILURES
from weft.io.stream_sinks import BatchWriter


class Stop:
    """Remembers the first signal that asks to stop; a second one is no longer held back."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.status = 0

    def __call__(self, number: int, frame: object) -> None:  # noqa: ARG002
        self.status = 128 + number
        self.asked.set()
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yield what remembers the signals that come meanwhile."""
    stop = Stop()
    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def follow(query: StreamingQuery, writer: BatchWriter, stop: Stop) -> int:
    """Wait for the end of a stream, or stop it when that is asked for; return the exit status."""
    while query.isActive:
        if stop.asked.wait(0.1):
            query.stop()
            return stop.status
    failure = query.exception()
    if failure is not None:
        raise writer.failure if isinstance(writer.failure, SPARK_FAILURES) else failure
    return 0
