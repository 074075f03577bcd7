"""How often to watch a stream: so that it takes a small share of the run, whatever the stream and queries.

A step that is not watched counts its events by type, and nothing else. The time of a run is not measured
but reckoned, from the number of events and the work of the plan, so that a step that is repeated decides
the same. The work is what the cost model expects, or what was counted if that is more: a plan that drift
has made slow is looked at sooner.
"""

from weft.runtime.columns.events import Events
from weft.statistics.sliding_counts import UnwatchedSteps

PER_EVENT = 1000.0  # nanoseconds that Spark takes to bring an event to a shard, at least
PER_LOOK, PER_QUESTION = 1e6, 5e5  # nanoseconds to watch a step, and for each selectivity that is asked for


def cost_of(events: Events, cost_per_second: float, work: float) -> float:
    """Return the nanoseconds that a step takes.

    The plan is expected to cost so many for a second of the stream; `work` are those that the rows it built
    and examined stand for.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from weft.runtime.columns.events import StringPool
    >>> times, codes, nothing = np.array([0, 10**6]), np.array([0, 1]), StringPool(pa.array([], "string"))
    >>> events = Events(times, codes, ("A", "B"), {}, pa.array([1, 2]), nothing)
    >>> cost_of(events, 5e6, 0.0), cost_of(events, 5e6, 9e6)
    (5002000.0, 9002000.0)
    """
    if not events.n_events:
        return 0.0
    seconds = int(events.times[-1] - events.times[0]) / 1e6
    return PER_EVENT * events.n_events + max(cost_per_second * seconds, work)


def is_due(unwatched: UnwatchedSteps, latest: float, share: float, n_questions: int) -> bool:
    """Say whether watching takes no more than a share of the time since it was done last.

    That time includes the latest step, which is not counted yet.

    >>> [is_due(UnwatchedSteps(cost=1e9), 1e9, 0.01, n_questions) for n_questions in (30, 40)]
    [True, False]
    """
    return share * (unwatched.cost + latest) >= PER_LOOK + PER_QUESTION * n_questions
