"""The stateful operator of a level of a placed stream."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from weft.hosts.spark.placed_stream_task import ROLE, PlacedTask
from weft.hosts.spark.processor import JournalProcessor, Stepping
from weft.hosts.spark.stream_task import PACK

if TYPE_CHECKING:
    import pandas as pd


class LevelOperator(JournalProcessor):
    """Runs all sites at one level."""

    def __init__(self, task: PlacedTask, level: int) -> None:
        self.task = task
        self.level = level

    def packs_of(self, frame: "pd.DataFrame") -> Iterable[tuple[str, bytes]]:
        """Return what came, with the role of each."""
        return zip(frame[ROLE], frame[PACK], strict=True)

    def steps(self, *state: Any) -> Stepping:
        """Return what runs the steps of sites."""
        steps = import_module("weft.hosts.spark.placed_stream_steps").PlacedSteps
        return cast("Stepping", steps(self.task, self.level, *state))
