"""What may be given as events, and the host that each kind of them lies at."""

from pathlib import Path
from typing import Any, TypeAlias

from weft.api.detection import Detection
from weft.api.options import Columns, Sites
from weft.api.unusable_events import refuse_events
from weft.api.workload import Workload
from weft.hosts.host import Host
from weft.hosts.local.arrow_events import ArrowEvents
from weft.hosts.meaning import EventRoles

Events: TypeAlias = Any  # a DataFrame of Spark, anything with Arrow's PyCapsule interface, or a path of files
CAPSULES = ("__arrow_c_stream__", "__arrow_c_array__")


def is_spark(events: Events) -> bool:
    """Whether events are a DataFrame of Spark, of whatever kind."""
    return any(kind.__module__.startswith("pyspark.sql.") for kind in type(events).__mro__)


def is_stream(events: Events) -> bool:
    """Whether events are still to come."""
    return is_spark(events) and bool(events.isStreaming)


def open_host(events: Events, roles: EventRoles, columns: Columns) -> Host[Any]:
    """Return the host of events whose columns have the roles."""
    if is_spark(events):
        from weft.api.spark_events import spark_host

        return spark_host(events, roles)
    if not _is_local(events):
        refuse_events(events)
    from weft.api.local_events import local_host

    return local_host(events, roles, columns)


def _is_local(events: Events) -> bool:
    """Whether events are files that are there, or rows in Arrow."""
    if not isinstance(events, str | Path):
        return isinstance(events, ArrowEvents) or any(hasattr(events, name) for name in CAPSULES)
    try:
        return "://" in str(events) or Path(events).exists()
    except (OSError, ValueError):  # too long for a name, or with characters that none has
        return False


def stream_detection(
    workload: Workload, events: Events, time: str, watermark: str | None, sites: Sites | None
) -> Detection:
    """Return the detection of a workload on a stream."""
    from weft.api.spark_events import stream_detection

    return stream_detection(workload, events, time, watermark, sites)
