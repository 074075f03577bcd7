"""How far Spark is with its running jobs, and how far a search is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import SparkSession

from weft.hosts.spark.local import is_connect


@dataclass(frozen=True, slots=True)
class Progress:
    """The tasks of the running stages: how many are done, how many there are."""

    done: int
    total: int


ProgressSource: TypeAlias = Callable[[], Progress]


def no_progress() -> Progress:
    """Return the progress of work that cannot tell: nothing of nothing."""
    return Progress(0, 0)


def spark_progress(spark: SparkSession) -> ProgressSource:
    """Return what tells the progress of the stages that run; by Connect, nothing of nothing."""
    if is_connect(spark):
        return no_progress
    tracker = spark.sparkContext.statusTracker()

    def tell() -> Progress:
        stages = filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages]
        return Progress(sum(done for done, _ in tasks), sum(total for _, total in tasks))

    return tell


class SearchProgress:
    """Remembers what a search told last.

    >>> search = SearchProgress()
    >>> search.tell(0.25, 1000.0)
    >>> search.now()
    Progress(done=25, total=100)
    """

    def __init__(self) -> None:
        self._used = 0.0

    def tell(self, used: float, cost: float) -> None:  # noqa: ARG002 - the cost is not shown
        """Take the share of the search that is over."""
        self._used = used

    def now(self) -> Progress:
        """Return that share as hundredths."""
        return Progress(round(100 * self._used), 100)
