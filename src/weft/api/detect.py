"""The public calls: queries and a DataFrame of events in, a DataFrame of results or a detection out."""

import warnings
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from weft.api.detection import Detection, Workload
from weft.api.one_place import BatchDetection, StreamDetection
from weft.api.options import Columns, Sites, Streaming
from weft.api.sites import SiteBatchDetection, SiteStreamDetection
from weft.errors import CautionWarning, DataError, WeftError
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.local import use_this_python
from weft.hosts.spark.schemas import event_schema, require_column, value_type
from weft.hosts.spark.stream import Lateness
from weft.language.literals import parse_duration
from weft.language.policy_words import default_policy
from weft.language.read import Queries, read_queries
from weft.optimizer.planning import Planning
from weft.runtime.budget import Budget, OnBudget
from weft.schema import TIMESTAMP
from weft.statistics.file import load_statistics
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

SPARK_DELAY = "spark.watermarkDelayMs"  # where Spark says that a column has a watermark


def detect(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    strategy: str | None = None,
    skip: str | None = None,
    suppress: str | timedelta | None = None,
    watermark: str | None = None,
    columns: Columns | None = None,
    planning: Planning | None = None,
    streaming: Streaming | None = None,
    sites: Sites | None = None,
    budget: Budget | None = None,
    on_budget: OnBudget = "stop",
    partitions: int | None = None,
    observation: "Observation | None" = None,
) -> "DataFrame":
    """Return the matches of all queries, one row per match; of a stream, a stream of matches.

    Columns: `query`, `match_id`, `start`, `end`, `events` (array of struct variable, type, ts, id, in
    time order) and the RETURN columns of the queries, NULL in the rows of other queries. Of trend queries,
    return one row per query, window and group, as `Detection.trends` has them. Where there are queries of
    both kinds, use `prepare`.

    A query that exceeds its budget is stopped by itself: what it finds in that shard is incomplete, and all
    others are complete. The frame is lazy, so this can only be known after an action on it. The log of the
    worker has a warning; `observation` is told in the same run; `prepare(...).run()` returns it. Say
    `on_budget="error"` where an incomplete result is of no use.

    Parameters
    ----------
    events
        Any DataFrame; the columns that no query mentions are not read.
    queries
        Query text, the path of a file or directory of `.weft` and `.ccl` files, Query objects, builders
        (`weft.query`), or any of these in a list.
    time, type, id
        The columns that hold an event's time, its type and its identity; without an id, the content of the
        row is its identity.
    strategy, skip, suppress
        Which matches count in queries for matches that do not say: STRATEGY ("any", "next", "strict"), AFTER
        MATCH SKIP ("none", "to next", "past last") and SUPPRESS (a length of time, such as "1 hour").
    watermark
        Of a stream: how late events may come, for example "10 seconds". Later ones are not matched, but
        counted. Not needed where the time column has a watermark.
    columns
        Further columns: the order among events of equal time, and derived types.
    planning
        How queries are ordered and shared, the statistics to do so, and how long to search.
    streaming
        Of a stream: its checkpoint, and when to plan anew.
    sites
        The column of the site at which an event arose, and where queries are then evaluated.
    budget
        How much a query may cost before it is stopped.
    on_budget
        What happens to a query that exceeds its budget: "stop", by itself, while the others go on, or
        "error", which ends it all with a `weft.BudgetError` (around an action on the frame,
        `weft.plain_failures()` makes it one). On a stream with sites, it always ends with the error.
    partitions
        The number of shards; chosen from the size of the data by default. That of a stream is fixed when
        it first starts, by default Spark's number of shuffle partitions.
    observation
        Of a batch: a `pyspark.sql.Observation`. After the first action on the frame, `observation.get` has
        under "stopped" a row for each query and shard that was stopped: query, shard and reason.
    """
    detection = prepare(
        events,
        queries,
        time=time,
        type=type,
        id=id,
        strategy=strategy,
        skip=skip,
        suppress=suppress,
        watermark=watermark,
        columns=columns,
        planning=planning,
        streaming=streaming,
        sites=sites,
        budget=budget,
        on_budget=on_budget,
        partitions=partitions,
    )
    matches, trends = len(detection.match_queries), len(detection.trend_queries)
    if matches and trends:
        counted = (
            f"{matches} {'query' if matches == 1 else 'queries'} for matches and "
            f"{trends} trend {'query' if trends == 1 else 'queries'}"
        )
        raise WeftError(
            f"{counted} have no columns in common, so they have no common result\n"
            "  hint: use weft.prepare(...): .matches and .trends are the two results, .outcomes is both"
        )
    outcomes = detection if observation is None else detection.observed(observation)
    results = outcomes.trends if trends else outcomes.matches
    for caution in detection.cautions:
        warnings.warn(str(caution), CautionWarning, stacklevel=2)
    return results


def prepare(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    strategy: str | None = None,
    skip: str | None = None,
    suppress: str | timedelta | None = None,
    watermark: str | None = None,
    columns: Columns | None = None,
    planning: Planning | None = None,
    streaming: Streaming | None = None,
    sites: Sites | None = None,
    budget: Budget | None = None,
    on_budget: OnBudget = "stop",
    partitions: int | None = None,
    origin: str = "<query>",
) -> Detection:
    """Check queries against events, of a batch or a stream, and return the detection.

    Takes the arguments of `detect`; `origin` names the queries' source in error messages.
    """
    if on_budget not in get_args(OnBudget):
        raise WeftError(f"on_budget is {on_budget!r}; expected 'stop' or 'error'")
    if partitions is not None and partitions < 1:
        raise WeftError(f"partitions is {partitions}; it must be at least 1")
    meaning = columns or Columns()
    default = default_policy(strategy, skip, suppress)
    tie_break = meaning.order_by is not None
    source = _event_frame(events, time=time, type=type, id=id, columns=meaning, sites=sites)
    planning = planning or Planning()
    workload = Workload(
        source,
        read_queries(queries, source.schema, origin=origin, tie_break=tie_break, default=default),
        planning,
        budget or Budget(),
        partitions,
        _statistics(planning.statistics, source),
        streaming or Streaming(),
        sites,
        on_budget,
    )
    if events.isStreaming:
        lateness = _lateness(events, time, watermark)
        if sites is None:
            return StreamDetection(workload, lateness)
        return SiteStreamDetection(workload, sites, lateness)
    for name, value in (("streaming", streaming), ("watermark", watermark)):
        if value is not None:
            raise WeftError(f"`{name}` is for streams, but `events` is a batch DataFrame: leave it out")
    if sites is None:
        return BatchDetection(workload)
    if sites.network is not None:
        raise WeftError("`network` is for streams: that of a batch is counted; leave it out of `sites`")
    return SiteBatchDetection(workload, sites)


def _statistics(given: Statistics | str | Path | None, source: EventFrame) -> Statistics | None:
    return load_statistics(given, source.schema) if isinstance(given, str | Path) else given


def _lateness(events: "DataFrame", time: str, watermark: str | None) -> Lateness:
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


def _event_frame(
    events: "DataFrame",
    *,
    time: str,
    type: str | None,
    id: str | None,
    columns: Columns,
    sites: Sites | None,
) -> EventFrame:
    """Return the events with the meaning of their columns, as far as these are there and fit."""
    use_this_python(events.sparkSession)
    frame = events.schema
    time_type = require_column(frame, time, "the event time")
    if value_type(time_type) != TIMESTAMP:
        raise DataError(
            f"the time column {time!r} is {time_type.simpleString()}, expected timestamp; "
            f"convert it, for example with to_timestamp or timestamp_millis"
        )
    if type is None and not columns.types:
        raise DataError(
            "neither a type column (type=) nor derived types (columns=Columns(types=...)) are given"
        )
    site = None if sites is None else sites.column
    roles = (
        (type, "the event type"),
        (id, "the event id"),
        (columns.order_by, "the order"),
        (site, "the site"),
    )
    for name, role in roles:
        if name is not None:
            require_column(frame, name, role)
    schema = event_schema(frame, time=time, has_type_column=type is not None, types=columns.types or None)
    order_by = columns.order_by
    if order_by is not None and order_by not in schema.attributes:
        raise DataError(f"cannot order by {order_by!r}: {schema.unusable[order_by]}")
    return EventFrame(events, schema, time, type, id, order_by, dict(columns.types), site)
