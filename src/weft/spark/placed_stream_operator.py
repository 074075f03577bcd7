"""The stateful operator of a level of a placed stream: where Spark keeps the state of sites."""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from weft.spark.placed_stream_task import ROLE, PlacedTask
from weft.spark.stream_task import PACK

if TYPE_CHECKING:
    import pandas as pd

    from weft.spark.placed_stream_steps import PlacedSteps


class LevelOperator(StatefulProcessor):
    """Runs all sites at one level. The state of a site: a journal, and segments by their numbers."""

    def __init__(self, task: PlacedTask, level: int) -> None:
        self.task = task
        self.level = level

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._journal = handle.getValueState("journal", "text string")
        self._segments = handle.getMapState("segments", "number long", "content binary")

    def handleInputRows(
        self, key: Any, rows: Iterator["pd.DataFrame"], timerValues: TimerValues
    ) -> Iterator["pd.DataFrame"]:
        """Take what came to a site."""
        packs = [pair for frame in rows for pair in zip(frame[ROLE], frame[PACK], strict=True)]
        return self.steps().take(key[0], packs, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator["pd.DataFrame"]:
        """Let time pass at a site to which nothing came."""
        return self.steps().take(key[0], [], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Do nothing: the state is Spark's."""

    def steps(self) -> "PlacedSteps":
        """Return what runs the steps, imported with the first of them."""
        made = import_module("weft.spark.placed_stream_steps").PlacedSteps
        state = self._handle, self._journal, self._segments
        return cast("PlacedSteps", made(self.task, self.level, *state))
