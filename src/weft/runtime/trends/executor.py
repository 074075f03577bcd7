"""Run trend queries on one shard of a stream: a window gives its results once, when it closes.

What is kept is the events that a window still open may have. Nothing is worked out before a window
closes, and then for the windows that close and no others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.codec import storable
from weft.errors import BudgetError
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import RAISING, Budget, Stopped
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.merge import merge_events
from weft.runtime.matches.execute import Skipped
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.stages.shard_executor import Activity, Arrivals, FoundTrends, Holdings, found_trends
from weft.runtime.state.journal import BEGINNING, MILLISECOND
from weft.runtime.state.segments import arrivals_of
from weft.runtime.trends.aggregate import aggregate_workload
from weft.runtime.trends.shared import Counters


@dataclass(frozen=True, slots=True)
class SlidingWindows:
    """The windows [k * slide, k * slide + length) for all integers k.

    >>> hours = SlidingWindows(length=60, slide=20)
    >>> hours.first_open(100), hours.last_closed(100), hours.first_with(np.array([30, 95]), 3)
    (3, 2, 3)
    """

    length: int
    slide: int

    def first_open(self, frontier: int) -> int:
        """Return the first window that ends after a time."""
        return (frontier - self.length) // self.slide + 1

    def last_closed(self, frontier: int) -> int:
        """Return the last window that has ended at a time."""
        return self.first_open(frontier) - 1

    def start(self, window: int) -> int:
        return window * self.slide

    def end(self, window: int) -> int:
        return window * self.slide + self.length

    def first_with(self, times: Array, window: int) -> int | None:
        """Return the first window, from a given one on, that has one of the sorted times."""
        while True:
            place = int(np.searchsorted(times, self.start(window), side="left"))
            if place == times.size:
                return None
            time = int(times[place])
            window = max(window, self.first_open(time))
            if self.start(window) <= time:
                return window


@storable
@dataclass(frozen=True)
class TrendPlan:
    """Trend queries that run on the same shards, how they share work, and whether long numbers stay exact."""

    templates: tuple[Template, ...]
    sharing: Sharing = "dynamic"
    exact: bool = False

    def without(self, queries: frozenset[str]) -> "TrendPlan":
        """Return the plan without some queries."""
        return replace(self, templates=tuple(own for own in self.templates if own.query not in queries))

    @cached_property
    def spans(self) -> tuple[SlidingWindows, ...]:
        """The windows of each template."""
        return tuple(map(span_of, self.templates))


def span_of(template: Template) -> SlidingWindows:
    """Return the windows of a template."""
    if template.length is None or template.slide is None:
        raise ValueError(f"{template.query}: without WITHIN, a window on a stream would never close")
    if template.quiet is not None:
        raise ValueError(f"{template.query}: a stream does not remember which results SUPPRESS kept")
    return SlidingWindows(template.length, template.slide)


class TrendExecutor:
    """Holds the events of the windows that are open, for one shard.

    The results do not depend on how the events were cut into steps, nor on the order in which they came,
    as long as no event is earlier than a frontier announced before.
    """

    needs_every_event = False
    stopped: Stopped | None = None
    skipped: Skipped | None = None

    def __init__(self, plan: TrendPlan, budget: Budget | None = None) -> None:
        self.plan = plan
        self._budget = budget or Budget()
        self._since: Mapping[str, int] = {}
        self._events: Events | None = None
        self._frontier = BEGINNING
        self._counters = Counters()

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept."""
        return () if self._events is None else (self._events,)

    @property
    def holdings(self) -> Holdings:
        """How many events are kept for each query: those of its types in windows that are open."""
        events = self._events
        if events is None:
            return Holdings()
        counts: dict[int, dict[str, int]] = {}
        held = {}
        for template, span in zip(self.plan.templates, self.plan.spans, strict=True):
            start = span.start(span.first_open(self._frontier))
            first = int(np.searchsorted(events.times, start, side="left"))
            if first not in counts:
                counts[first] = _counts_of_types(events, first)
            types = {item.type for item in template.items}
            held[template.query] = sum(counts[first].get(name, 0) for name in types)
        return Holdings(events=held)

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""
        self._events = None if self._events is None else change(self._events)

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        """Begin a step; each query sees the events that came since a step."""
        self._budget, self._since = budget, since

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        """Take events of steps that are over; the windows that have closed with these gave their results."""
        self._take(arrivals.events)
        self._forget(frontier)

    def step(self, arrivals: Arrivals, frontier: int = END_OF_TIME) -> Iterator[FoundTrends]:
        """Take new events and yield the results of the windows that close: no later events are before."""
        self._take(arrivals.events)
        self._counters = Counters()
        if frontier == END_OF_TIME and self._frontier == BEGINNING and not any(self._since.values()):
            yield from self._aggregate_all(arrivals.events)
            return
        yield from self._close_windows(frontier)
        self._forget(frontier)
        self._check_held()

    @property
    def activity(self) -> Activity:
        return Activity(sharing=self._counters)

    def wakes_at(self, frontier: int) -> int | None:
        """Return when the first window with events closes, or else when the events kept are of no use."""
        if self._events is None or not self._events.n_events:
            return None
        times = self._events.times
        ends = []
        for span in set(self.plan.spans):
            window = span.first_with(times, span.first_open(frontier))
            if window is not None:
                ends.append(span.end(window))
        moment = min(ends, default=int(times[-1]) + 1)
        return max(1, -(-moment // MILLISECOND))

    def _take(self, events: Events) -> None:
        self._events = events if self._events is None else merge_events(self._events, events)[0]

    def _close_windows(self, frontier: int) -> Iterator[FoundTrends]:
        """Yield the results of the windows that end after the last frontier and not after the new one."""
        events = self._events
        if events is None or not events.n_events:
            return
        closing: dict[int, list[tuple[Template, SlidingWindows, tuple[int, int]]]] = {}
        for template, span in zip(self.plan.templates, self.plan.spans, strict=True):
            first = max(span.first_open(self._frontier), span.first_open(int(events.times[0])))
            last = min(span.last_closed(frontier), int(events.times[-1]) // span.slide)
            if first <= last:
                since = self._since.get(template.query, 0)
                closing.setdefault(since, []).append((template, span, (first, last)))
        for since, members in closing.items():
            start = min(span.start(windows[0]) for _, span, windows in members)
            end = max(span.end(windows[1]) for _, span, windows in members)
            part = events.take(slice(*map(int, np.searchsorted(events.times, [start, end], side="left"))))
            if since:
                part = part.take(np.flatnonzero(arrivals_of(part) >= since))
            templates, _, chosen = zip(*members, strict=True)
            yield from self._aggregate(templates, part, chosen)

    def _aggregate_all(self, events: Events) -> Iterator[FoundTrends]:
        """Return the results of all windows; where queries are stopped, those of the others."""
        while True:
            try:
                return self._aggregate(self.plan.templates, events, None)
            except BudgetError as error:
                if self.stopped is None:
                    raise
                self.stopped.add(error)
                self.plan = self.plan.without(frozenset(error.queries))

    def _aggregate(
        self, templates: Sequence[Template], events: Events, chosen: Sequence[tuple[int, int]] | None
    ) -> Iterator[FoundTrends]:
        results, counters = aggregate_workload(
            templates, events, self.plan.sharing, chosen, exact=self.plan.exact
        )
        self._counters += counters
        found = (found_trends(rows, events) for rows in results)
        return (own for own in found if own.n_rows)

    def _forget(self, frontier: int) -> None:
        """Move on to a frontier, and drop the events that no open window has."""
        self._frontier = max(self._frontier, frontier)
        if self._events is None:
            return
        starts = [span.start(span.first_open(self._frontier)) for span in self.plan.spans]
        oldest = min([self._frontier, *starts])
        n_dropped = int(np.searchsorted(self._events.times, min(oldest, END_OF_TIME), side="left"))
        if n_dropped:
            self._events = self._events.take(slice(n_dropped, None))

    def _check_held(self) -> None:
        for name, n_events in self.holdings.events.items():
            if n_events > self._budget.held:
                raise BudgetError(
                    f"more than {self._budget.held:,} events held for windows that are open\n"
                    f"  hint: shorten WITHIN, divide the events by GROUP BY{RAISING.format('held')}",
                    [name],
                )


def _counts_of_types(events: Events, first: int) -> dict[str, int]:
    """Return how many events of each type there are from a row on."""
    codes = events.type_codes[first:].astype(np.int64)
    sizes = np.bincount(codes[codes >= 0], minlength=len(events.type_names))
    counts = dict(zip(events.type_names, map(int, sizes), strict=True))
    return counts | {name: int(flag[first:].sum()) for name, flag in events.flags.items()}
