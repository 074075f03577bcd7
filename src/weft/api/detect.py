"""The public calls: queries and events in, a frame of results or a detection out."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from weft.api.compilation import warn_of_compilation
from weft.api.detection import Detection
from weft.api.events import Events, is_stream, open_host, stream_detection
from weft.api.one_place import BatchDetection
from weft.api.options import Columns, Sites, Streaming
from weft.api.refusals import check_option
from weft.api.sites import SiteBatchDetection
from weft.api.workload import Workload
from weft.errors import WeftError
from weft.hosts.host import Frame
from weft.hosts.meaning import EventRoles
from weft.language.policy_words import default_policy
from weft.language.read import Queries, read_queries
from weft.optimizer.planning import Planning
from weft.runtime.budget import Budget, OnBudget
from weft.schema import Schema
from weft.statistics.file import load_statistics
from weft.statistics.model import Statistics

if TYPE_CHECKING:
    from pyspark.sql import Observation


def detect(
    events: Events,
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
    notices: bool = True,
) -> Frame:
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
    notices
        Whether to warn (`weft.NoticeWarning`) of what a person should know: a type that no event has, a query
        that is likely to explode, kernels that have to be compiled first, and the like. `Detection.notices`
        has them in any case.
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
        notices=notices,
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
    return outcomes.trends if trends else outcomes.matches


def prepare(
    events: Events,
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
    notices: bool = True,
) -> Detection:
    """Check queries against events, of a batch or a stream, and return the detection.

    Takes the arguments of `detect`; `origin` names the queries' source in error messages.
    """
    if on_budget not in get_args(OnBudget):
        raise WeftError(f"on_budget is {on_budget!r}; expected 'stop' or 'error'")
    if partitions is not None and partitions < 1:
        raise WeftError(f"partitions is {partitions}; it must be at least 1")
    for name, given, kind, example in (
        ("columns", columns, Columns, 'weft.Columns(order_by="number")'),
        ("planning", planning, Planning, 'weft.Planning(plan="mcep")'),
        ("streaming", streaming, Streaming, 'weft.Streaming(checkpoint="state/")'),
        ("sites", sites, Sites, 'weft.Sites(column="plant")'),
        ("budget", budget, Budget, "weft.Budget(partial_matches=100_000)"),
    ):
        check_option(name, given, kind, example)
    warn_of_compilation(warns=notices)
    meaning = columns or Columns()
    default = default_policy(strategy, skip, suppress)
    tie_break = meaning.order_by is not None
    roles = EventRoles(
        time=time,
        type=type,
        id=id,
        order_by=meaning.order_by,
        site=None if sites is None else sites.column,
        types=meaning.types,
    )
    host = open_host(events, roles, meaning)
    schema = host.source.schema
    planning = planning or Planning()
    workload = Workload(
        host,
        read_queries(queries, schema, origin=origin, tie_break=tie_break, default=default),
        planning,
        budget or Budget(),
        partitions,
        _statistics(planning.statistics, schema),
        streaming or Streaming(),
        sites,
        on_budget,
        notices,
    )
    if is_stream(events):
        return stream_detection(workload, events, time, watermark, sites)
    for name, value in (("streaming", streaming), ("watermark", watermark)):
        if value is not None:
            raise WeftError(f"`{name}` is for streams, but `events` is a batch: leave it out")
    if sites is None:
        return BatchDetection(workload)
    if sites.network is not None:
        raise WeftError("`network` is for streams: that of a batch is counted; leave it out of `sites`")
    return SiteBatchDetection(workload, sites)


def _statistics(given: Statistics | str | Path | None, schema: Schema) -> Statistics | None:
    return load_statistics(given, schema) if isinstance(given, str | Path) else given
