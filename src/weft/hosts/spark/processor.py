"""The stateful operators: where Spark keeps the state of shards, and when it calls them."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from weft.hosts.spark.stream_task import PACK, StreamTask

if TYPE_CHECKING:
    import pandas as pd


class Stepping(Protocol):
    """Runs the steps of a shard; a shard of a placed stream is a site."""

    def take(self, shard: str, packs: list[Any], watermark: int, /) -> Iterator["pd.DataFrame"]:
        """Run a step of a shard on what came to it."""
        ...


class JournalProcessor(StatefulProcessor):
    """Runs shards whose state is a journal, and segments by their numbers."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        journal = handle.getValueState("journal", "text string")
        self._state = handle, journal, handle.getMapState("segments", "number long", "content binary")

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator["pd.DataFrame"],
        timerValues: TimerValues,
    ) -> Iterator["pd.DataFrame"]:
        """Take what came to a shard."""
        packs = [pack for frame in rows for pack in self.packs_of(frame)]
        return self.steps(*self._state).take(key[0], packs, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator["pd.DataFrame"]:
        """Let time pass in a shard to which nothing came."""
        return self.steps(*self._state).take(key[0], [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    @abstractmethod
    def packs_of(self, frame: "pd.DataFrame") -> Iterable[Any]:
        """Return the packs of some rows, as the steps take them."""

    @abstractmethod
    def steps(self, handle: StatefulProcessorHandle, journal: Any, segments: Any) -> Stepping:
        """Return what runs the steps, imported with the first of them."""


class ShardProcessor(JournalProcessor):
    """Runs the shards of a stream."""

    def __init__(self, task: StreamTask) -> None:
        self.task = task

    def packs_of(self, frame: "pd.DataFrame") -> Iterable[bytes]:
        """Return the packs of events."""
        return cast("Iterable[bytes]", frame[PACK])

    def steps(self, *state: Any) -> Stepping:
        """Return what runs the steps of shards."""
        return cast("Stepping", import_module("weft.hosts.spark.steps").Steps(self.task, *state))
