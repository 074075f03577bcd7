"""What the modes of a detection have in common: a run over a batch or a stream, at one place or at sites."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from weft.hosts.spark.analyze import Analysis
from weft.optimizer.sharing.limits import Progress
from weft.optimizer.stored_plan import StoredPlan
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Run(Protocol):
    """One way to run a workload; frames have the columns that workers give them."""

    @property
    def outcomes(self) -> "DataFrame":
        """The outcomes of all kinds."""

    @property
    def matches(self) -> "DataFrame":
        """One row per match."""

    @property
    def trends(self) -> "DataFrame":
        """One row per result of a trend query."""

    @property
    def statistics(self) -> Statistics:
        """Rates and selectivities: those given, or those that are known otherwise."""

    @property
    def plan(self) -> StoredPlan:
        """The order in which each query is evaluated, as data that can be stored and used again."""

    def choose_plans(self, progress: Progress | None, is_cancelled: Callable[[], bool]) -> None:
        """Choose the plans unless that is done; `progress` is told how much of the search is over."""

    def sample_statistics(self) -> Statistics:
        """Take a quick look at the events, unless the statistics are known or would not be used."""

    def explain(self) -> str:
        """Return the plans as text."""

    def analyze(self, write: "Callable[..., None] | None") -> Analysis:
        """Run once and return what was done; `write` is given the results of this run."""
