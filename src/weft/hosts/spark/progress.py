"""How far Spark is with its running jobs."""

from pyspark.sql import SparkSession

from weft.hosts.progress import Progress, ProgressSource, no_progress
from weft.hosts.spark.local import is_connect


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
