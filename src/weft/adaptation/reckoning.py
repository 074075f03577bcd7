"""The time of a run, reckoned from the number of events and the work of the plan, not measured.

So a step that is repeated decides the same.
"""

from weft.cost.measured import Measured
from weft.runtime.budget import Meter
from weft.runtime.columns.events import Events

PER_EVENT = 1000.0  # nanoseconds that Spark takes to bring an event to a shard, at least


def work_of(meter: Meter, prices: Measured) -> float:
    """Return the nanoseconds that the rows built and examined in a step stand for."""
    built, examined = (sum(own.values()) for own in (meter.built, meter.examined))
    return prices.row_out * built + prices.candidate * examined


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
