"""Spark's DataFrames as events: a batch or a stream, and the detection on a stream."""

from pyspark.sql import DataFrame

from weft.api.detection import Detection
from weft.api.options import Sites
from weft.api.streams import SiteStreamDetection, StreamDetection
from weft.api.workload import Workload
from weft.errors import WeftError
from weft.hosts.meaning import EventRoles, refuse_duplicates
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.host import SparkHost
from weft.hosts.spark.local import use_this_python
from weft.hosts.spark.stream import Lateness
from weft.language.literals import parse_duration

CASE_SENSITIVE = "spark.sql.caseSensitive"
SPARK_DELAY = "spark.watermarkDelayMs"  # where Spark says that a column has a watermark


def spark_host(events: DataFrame, roles: EventRoles) -> SparkHost:
    """Return Spark as the host of a frame, whose columns have the roles as far as these are there and fit."""
    session = events.sparkSession
    use_this_python(session)
    refuse_duplicates(events.columns, ignores_case=session.conf.get(CASE_SENSITIVE) != "true")
    return SparkHost(EventFrame.open(events, roles))


def stream_detection(
    workload: Workload, events: DataFrame, time: str, watermark: str | None, sites: Sites | None
) -> Detection:
    """Return the detection of a workload on a stream."""
    lateness = _lateness(events, time, watermark)
    if sites is None:
        return StreamDetection(workload, lateness)
    return SiteStreamDetection(workload, sites, lateness)


def _lateness(events: DataFrame, time: str, watermark: str | None) -> Lateness:
    """Return how late events may come, as said or as the events themselves have it."""
    present = [field for field in events.schema.fields if SPARK_DELAY in field.metadata]
    if watermark is None:
        if not present:
            raise WeftError(
                "a stream needs a watermark: how late events may come\n"
                '  hint: give watermark="10 seconds", or events.withWatermark(...)'
            )
        if present[0].name != time:
            raise WeftError(f"the events have a watermark on {present[0].name!r}, but their time is {time!r}")
        return Lateness(1000 * int(present[0].metadata[SPARK_DELAY]), is_given=True)
    if present:
        raise WeftError(
            f"the events have a watermark already, on {present[0].name!r}; leave out watermark={watermark!r}"
        )
    delay = parse_duration(watermark)
    if delay is None or delay < 0:
        raise WeftError(
            f"watermark is {watermark!r}; expected a duration such as '10 seconds' or '5 minutes'"
        )
    return Lateness(-(-delay // 1000) * 1000)  # Spark counts milliseconds
