"""The stateful operator of a stage: where Spark keeps the state of shards, and when it calls them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from weft.runtime.stages.task import StageTask

if TYPE_CHECKING:
    import pandas as pd


class StageOperator(StatefulProcessor):
    """Runs the shards of a stage; their state is a journal, and segments by their numbers."""

    def __init__(self, task: StageTask, stage: int = 0) -> None:
        self.task = task
        self.stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        journal = handle.getValueState("journal", "text string")
        self._state = handle, journal, handle.getMapState("segments", "number long", "content binary")

    def handleInputRows(
        self, key: Any, rows: Iterator["pd.DataFrame"], timerValues: TimerValues
    ) -> Iterator["pd.DataFrame"]:
        """Take what came to a shard."""
        return self._step(key[0], list(rows), timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator["pd.DataFrame"]:
        """Let time pass in a shard to which nothing came."""
        return self._step(key[0], [], timerValues)

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    def _step(
        self, shard: str, frames: Sequence["pd.DataFrame"], timers: TimerValues
    ) -> Iterator["pd.DataFrame"]:
        # Imported with the first step: Spark asks for the state in a process that needs none of it.
        from weft.hosts.spark.steps import take_step

        watermark = timers.getCurrentWatermarkInMs()
        return take_step(self.task, self.stage, shard, frames, watermark, self._state)
