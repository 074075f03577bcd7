"""The facade: queries and a DataFrame of events in, a DataFrame of matches out."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from weft.adaptation.settings import Adaptation, Decider
from weft.api.detection import Detection
from weft.api.placed_detection import PlacedDetection
from weft.api.placed_stream_detection import PlacedStreamDetection
from weft.api.stream_detection import StreamDetection
from weft.api.workload import Workload
from weft.errors import DataError, WeftError
from weft.explain.plans import explain
from weft.hosts.spark.batch import Input
from weft.hosts.spark.local import use_this_python
from weft.hosts.spark.schemas import event_schema, require_column, value_type
from weft.hosts.spark.stream import Lateness
from weft.language.literals import parse_duration
from weft.language.read import Queries, read_queries
from weft.optimizer.pipeline import SECONDS, Strategy
from weft.optimizer.planning import Planning
from weft.optimizer.stored_plan import StoredPlan
from weft.placement.network import Network
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget
from weft.schema import TIMESTAMP
from weft.statistics.file import load_statistics
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Detection", "StreamDetection", "detect", "explain", "prepare"]

SPARK_DELAY = "spark.watermarkDelayMs"  # where Spark says that a column has a watermark

SHARING = get_args(Sharing)
Placement = Literal["muse", "single-sink", "central"]
PLACEMENTS = get_args(Placement)


def detect(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    partitions: int | None = None,
    budget: Budget | None = None,
    plan: Strategy | StoredPlan = "auto",
    statistics: Statistics | str | Path | None = None,
    search_seconds: float = SECONDS,
    sharing: Sharing = "dynamic",
    watermark: str | None = None,
    checkpoint: str | None = None,
    adapt: Adaptation | Decider = "off",
    site: str | None = None,
    placement: Placement | None = None,
    network: Network | None = None,
) -> "DataFrame":
    """Return the matches of all queries, one row per match; of a stream, a stream of matches.

    Columns: `query`, `match_id`, `start`, `end`, `events` (array of struct variable, type, ts, id, in
    time order) and the RETURN columns of the queries, NULL in the rows of other queries.

    Of trend queries, return one row per query, window and group, as `Detection.trends` has them. Where there
    are queries of both kinds, use `prepare`, or `prepare_stream` for a stream.

    Parameters
    ----------
    events
        Any DataFrame; the columns that no query mentions are not read.
    queries
        Query text, the path of a file or directory of `.weft` and `.ccl` files, Query objects, builders
        (`weft.query`), or any of these in a list.
    time, type, id, order_by
        The columns that hold an event's time, its type, its identity (without one, the content of the
        row is its identity) and the order among events of equal time.
    types
        Event types derived from other columns, as SQL conditions: `{"BigTrade": "volume > 10000"}`.
    partitions
        The number of shards; chosen from the size of the data by default. That of a stream is fixed when
        it first starts, by default Spark's number of shuffle partitions.
    budget
        How much a query may cost before it is stopped: with an error in batch, by itself on a stream.
    plan
        How queries are ordered and shared: "auto" searches for the best plan, "reorder" orders each query
        and shares nothing, "share" shares what can be shared, "trivial" does neither. "mcep" and "motto"
        are the two methods that "auto" unites, "mst" and "lcse" simpler ones to compare with. Or a plan
        stored earlier (`weft.load_plan`), to which queries that it does not know are added.
    statistics
        Rates and selectivities, or the file that holds them; estimated from a sample by default. A stream
        has none to look at: without statistics, stated defaults are used.
    search_seconds
        How long to search for a plan at most.
    sharing
        How trend queries that repeat the same type share work: "dynamic" decides for every burst of events,
        "static" always shares, "none" runs each query by itself. The results are the same.
    watermark
        For streams: how late events may come, for example "10 seconds". Later ones are not matched, but
        counted. Not needed where the time column has a watermark.
    checkpoint
        For streams: the checkpoint location of the query that will be started. Weft remembers there which
        queries share shards, so that they find their state again when the workload has changed.
    adapt
        For streams: when to plan anew while the rates and selectivities drift. "off", the default, is never;
        "invariants" does so when a condition under which the plan was the best is violated, "threshold" when
        a statistic has changed by half, "unconditional" with every batch; or a `weft.Adaptation`. Only plans
        that were searched for (plan="auto" or "mcep") are adapted. The matches are the same.
    site, placement, network
        The column that holds the site at which an event arose, and where the queries are then evaluated:
        "muse", the default, at sites that send each other least, "single-sink" at one site, "central" outside
        of the network, where all events are sent. Of a stream, `network` tells the sites and the rates there.
    """
    options: dict[str, Any] = {
        "time": time,
        "type": type,
        "id": id,
        "order_by": order_by,
        "types": types,
        "partitions": partitions,
        "budget": budget,
        "plan": plan,
        "statistics": statistics,
        "search_seconds": search_seconds,
        "sharing": sharing,
    }
    detection: Workload
    if events.isStreaming:
        detection = prepare_stream(
            events,
            queries,
            watermark=watermark,
            checkpoint=checkpoint,
            adapt=adapt,
            site=site,
            placement=placement,
            network=network,
            **options,
        )
    else:
        if network is not None:
            raise WeftError("network is for streams: that of events which are all there is counted")
        detection = prepare(events, queries, site=site, placement=placement, **options)
    if detection.trend_queries and detection.match_queries:
        found = " and ".join(
            f"{len(own)} {kind if len(own) == 1 else plural}"
            for own, kind, plural in (
                (detection.match_queries, "query for matches", "queries for matches"),
                (detection.trend_queries, "trend query", "trend queries"),
            )
        )
        hint = (
            "use weft.prepare_stream(...), whose .matches and .trends are the two results, and .outcomes both"
            if events.isStreaming
            else "use weft.prepare(...), whose .matches and .trends are the two results"
        )
        raise WeftError(f"{found} have no columns in common, so they have no common result\n  hint: {hint}")
    return detection.trends if detection.trend_queries else detection.matches


def prepare(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    partitions: int | None = None,
    budget: Budget | None = None,
    plan: Strategy | StoredPlan = "auto",
    statistics: Statistics | str | Path | None = None,
    search_seconds: float = SECONDS,
    planning: Planning | None = None,
    sharing: Sharing = "dynamic",
    site: str | None = None,
    placement: Placement | None = None,
    origin: str = "<query>",
) -> "Detection":
    """Check queries against events and return the detection, which also explains and counts.

    Takes the arguments of `detect`; `origin` names the queries' source in error messages.
    """
    if events.isStreaming:
        raise WeftError("these events are a stream: use weft.prepare_stream")
    chosen = _placement(events, site, placement)
    source = _input(events, time=time, type=type, id=id, order_by=order_by, types=types, site=site)
    bound = read_queries(queries, source.schema, origin=origin, tie_break=order_by is not None)
    _check_partitions(partitions)
    planning = planning or Planning(plan=plan, search_seconds=search_seconds)
    known = _statistics(statistics, source)
    _check_sharing(sharing)
    given = budget or Budget()
    if chosen is not None:
        return PlacedDetection(source, bound, partitions, given, planning, known, chosen)
    return Detection(source, bound, partitions, given, planning, known, sharing)


def prepare_stream(
    events: "DataFrame",
    queries: Queries,
    *,
    time: str,
    type: str | None = None,
    id: str | None = None,
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    partitions: int | None = None,
    budget: Budget | None = None,
    plan: Strategy | StoredPlan = "auto",
    statistics: Statistics | str | Path | None = None,
    search_seconds: float = SECONDS,
    planning: Planning | None = None,
    sharing: Sharing = "dynamic",
    watermark: str | None = None,
    checkpoint: str | None = None,
    adapt: Adaptation | Decider = "off",
    site: str | None = None,
    placement: Placement | None = None,
    network: Network | None = None,
    origin: str = "<query>",
) -> StreamDetection:
    """Check queries against a stream and return the detection, which also has late rows and reports.

    Takes the arguments of `detect`; `origin` names the queries' source in error messages.
    """
    if not events.isStreaming:
        raise WeftError("these events are all there: use weft.prepare")
    chosen = _placement(events, site, placement)
    source = _input(events, time=time, type=type, id=id, order_by=order_by, types=types, site=site)
    bound = read_queries(queries, source.schema, origin=origin, tie_break=order_by is not None)
    _check_partitions(partitions)
    planning = planning or Planning(plan=plan, search_seconds=search_seconds)
    known = _statistics(statistics, source)
    lateness = _lateness(events, time, watermark)
    _check_sharing(sharing)
    adaptation = adapt if isinstance(adapt, Adaptation) else Adaptation(decide=adapt)
    given = budget or Budget()
    if site is None and network is not None:
        raise WeftError("network needs site, the column of the site at which an event arose")
    if site is not None and chosen is not None:
        if adaptation.decide != "off":
            raise WeftError(
                f"adapt is {adaptation.decide!r}, but a placement is kept: leave out adapt or site"
            )
        if network is None:
            raise WeftError(
                "a stream has no events to look at before it starts: its sites are not known\n"
                "  hint: give network=weft.Network(sites, rates), or that of weft.prepare for its past"
            )
        return PlacedStreamDetection(
            source, bound, given, planning, known, lateness, checkpoint, site, chosen, network
        )
    return StreamDetection(
        source, bound, partitions, given, planning, known, lateness, checkpoint, sharing, adaptation
    )


def _check_partitions(partitions: int | None) -> None:
    if partitions is not None and partitions < 1:
        raise WeftError(f"partitions is {partitions}; it must be at least 1")


def _check_sharing(sharing: str) -> None:
    if sharing not in SHARING:
        raise WeftError(f"sharing is {sharing!r}; expected {', '.join(map(repr, SHARING))}")


def _placement(events: "DataFrame", site: str | None, placement: Placement | None) -> Placement | None:
    """Return where to evaluate the queries: at sites, if events have them."""
    if placement is not None and placement not in PLACEMENTS:
        raise WeftError(f"placement is {placement!r}; expected {', '.join(map(repr, PLACEMENTS))}")
    if site is None:
        if placement is not None:
            raise WeftError("placement needs site, the column of the site at which an event arose")
        return None
    require_column(events.schema, site, "the site")
    return placement or "muse"


def _statistics(given: Statistics | str | Path | None, source: Input) -> Statistics | None:
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


def _input(
    events: "DataFrame",
    *,
    time: str,
    type: str | None,
    id: str | None,
    order_by: str | None,
    types: Mapping[str, str] | None,
    site: str | None = None,
) -> Input:
    use_this_python(events.sparkSession)
    frame = events.schema
    time_type = require_column(frame, time, "the event time")
    if value_type(time_type) != TIMESTAMP:
        raise DataError(
            f"the time column {time!r} is {time_type.simpleString()}, expected timestamp; "
            f"convert it, for example with to_timestamp or timestamp_millis"
        )
    if type is None and types is None:
        raise DataError("neither a type column (type=) nor derived types (types=) are given")
    for name, role in ((type, "the event type"), (id, "the event id"), (order_by, "the order")):
        if name is not None:
            require_column(frame, name, role)
    schema = event_schema(frame, time=time, has_type_column=type is not None, types=types)
    if order_by is not None and order_by not in schema.attributes:
        raise DataError(f"cannot order by {order_by!r}: {schema.unusable[order_by]}")
    return Input(events, schema, time, type, id, order_by, dict(types or {}), site)
