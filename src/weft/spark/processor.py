"""The stateful operator: where Spark keeps the state of shards, and when it calls them."""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from weft.spark.stream_task import PACK, StreamTask

if TYPE_CHECKING:
    import pandas as pd

    from weft.spark.steps import Steps


class ShardProcessor(StatefulProcessor):
    """Runs the shards of a stream. Their state: a journal, and segments by their numbers."""

    def __init__(self, task: StreamTask) -> None:
        self.task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._journal = handle.getValueState("journal", "text string")
        self._segments = handle.getMapState("segments", "number long", "content binary")

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator["pd.DataFrame"],
        timerValues: TimerValues,
    ) -> Iterator["pd.DataFrame"]:
        """Take the packs of a shard."""
        packs = [pack for frame in rows for pack in frame[PACK]]
        return self.steps().take(key[0], packs, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator["pd.DataFrame"]:
        """Let time pass in a shard that got no events."""
        return self.steps().take(key[0], [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    def steps(self) -> "Steps":
        """Return what runs the steps, imported with the first of them."""
        made = import_module("weft.spark.steps").Steps
        return cast("Steps", made(self.task, self._handle, self._journal, self._segments))
