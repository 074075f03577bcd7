"""How often to watch a stream: so that it takes a small share of the run, whatever the stream and queries.

A step that is not watched counts its events by type, and nothing else. The time of a run is not measured
but reckoned, from the number of events and the work of the plan, so that a step that is repeated decides
the same. The work is what the cost model expects, or what was counted if that is more: a plan that drift
has made slow is looked at sooner.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.runtime.columns.events import Array, Events

PER_EVENT = 1000.0  # nanoseconds that Spark takes to bring an event to a shard, at least
PER_LOOK, PER_QUESTION = 1e6, 5e5  # nanoseconds to watch a step, and for each selectivity that is asked for


def cost_of(events: Events, cost_per_second: float, work: float) -> float:
    """Return the nanoseconds that a step takes.

    The plan is expected to cost so many for a second of the stream; `work` are those that the rows it built
    and examined stand for.

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


@dataclass
class Unwatched:
    """The steps since the last that was watched: when, how many events of each type, and what they cost."""

    counts: dict[str, int] = field(default_factory=dict)
    n_events: int = 0
    since: int = 0
    until: int = 0
    cost: float = 0.0

    def add(self, events: Events, types: Iterable[str], cost: float) -> None:
        """Count the events of a step that cost so many nanoseconds.

        >>> import pyarrow as pa
        >>> from weft.runtime.columns.events import StringPool
        >>> times, codes, nothing = np.array([0, 10**6]), np.array([0, 1]), StringPool(pa.array([], "string"))
        >>> unwatched = Unwatched()
        >>> unwatched.add(Events(times, codes, ("A", "B"), {}, pa.array([1, 2]), nothing), ["A"], 5e6)
        >>> unwatched.counts, unwatched.n_events, unwatched.cost
        ({'A': 1}, 2, 5000000.0)
        """
        if not events.n_events:
            return
        first, last = int(events.times[0]), int(events.times[-1])
        self.since, self.until = (
            (min(self.since, first), max(self.until, last)) if self.n_events else (first, last)
        )
        for name in types:
            self.counts[name] = self.counts.get(name, 0) + int(events.rows_of_type(name).size)
        self.n_events += events.n_events
        self.cost += cost

    def is_due(self, latest: float, share: float, n_questions: int) -> bool:
        """Say whether watching takes no more than a share of the time since it was done last.

        That time includes the latest step, which is not counted yet.

        >>> Unwatched(cost=1e9).is_due(1e9, 0.01, 30), Unwatched(cost=1e9).is_due(1e9, 0.01, 40)
        (True, False)
        """
        return share * (self.cost + latest) >= PER_LOOK + PER_QUESTION * n_questions

    def spread(self, tick: int, most: int) -> tuple[Array, Array, Mapping[str, Array]]:
        """Return the latest ticks and an end, the events of each tick, and those by type: evenly spread."""
        first, last = self.since // tick, self.until // tick
        ticks = np.arange(max(first, last - most + 1), last + 2)
        each = np.full(ticks.size - 1, 1.0 / (last - first + 1))
        return ticks, self.n_events * each, {name: count * each for name, count in self.counts.items()}

    def to_json(self) -> list[Any]:
        """Return all of it as values of JSON."""
        return [self.counts, self.n_events, self.since, self.until, self.cost]
