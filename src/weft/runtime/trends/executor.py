"""Run trend queries on one shard of a stream: a window gives its results once, when it closes.

Events that are settled become maps of panes at once, and a window that closes is put together from these.
With conditions between neighbors, or exact numbers, nothing is worked out before a window closes, and then
for the windows that close and no others; the events are kept that a window still open may have.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

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
from weft.runtime.trends.online import OnlineTrends
from weft.runtime.trends.pane_pieces import Piece, pieces_of_rows
from weft.runtime.trends.shared import Counters, has_steps, sharing_sets


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

    needs_every_event = True  # what was settled is not worked out again from events
    stopped: Stopped | None = None
    skipped: Skipped | None = None

    def __init__(self, plan: TrendPlan, budget: Budget | None = None) -> None:
        self.plan = plan
        self._budget = budget or Budget()
        self._since: Mapping[str, int] = {}
        self._events: Events | None = None
        self._online: dict[tuple[int, ...], OnlineTrends] | None = None
        self._frontier = BEGINNING
        self._counters = Counters()

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept, and those that stand for partitions."""
        own_events = () if self._events is None else (self._events,)
        online = (self._online or {}).values()
        return (*own_events, *(own.examples for own in online if own.examples is not None))

    @property
    def holdings(self) -> Holdings:
        """What is kept for each query: events of its types that windows wait for, and bytes for its panes."""
        n_bytes = {
            template.query: own.bytes_of(place)
            for own in (self._online or {}).values()
            for place, template in enumerate(own.templates)
        }
        events = self._events
        if events is None:
            return Holdings(bytes=n_bytes)
        counts: dict[int, dict[str, int]] = {}
        held = {}
        for number, (template, span) in enumerate(zip(self.plan.templates, self.plan.spans, strict=True)):
            is_online = self._is_online(number)
            start = self._frontier if is_online else span.start(span.first_open(self._frontier))
            first = int(np.searchsorted(events.times, start, side="left"))
            if first not in counts:
                counts[first] = _counts_of_types(events, first)
            types = {item.type for item in template.items}
            held[template.query] = sum(counts[first].get(name, 0) for name in types)
        return Holdings(events=held, bytes=n_bytes)

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""
        self._events = None if self._events is None else change(self._events)
        for own in (self._online or {}).values():
            own.exchange(change)

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        """Begin a step; each query sees the events that came since a step."""
        self._budget, self._since = budget, since

    def restore(self, rows: pa.Table, owners: Mapping[str, int], frontier: int) -> None:
        """Begin where the steps before a frontier have ended, from the pieces that they have added."""
        self._frontier, self._online = frontier, self._online_sets()
        places = {
            key: (own, place)
            for own, owned in self._owned(owners)
            for key, place in own.places(owned).items()
        }
        members = {key: own.empty(place) for key, (own, place) in places.items()}
        for piece in pieces_of_rows(rows, members):
            own, place = places[piece.owner, piece.member]
            own.restore(place, piece)
        for own in self._online.values():
            own.forget(frontier)

    def pieces(self, owners: Mapping[str, int], *, is_anew: bool) -> list[Piece]:
        """Return what was added to panes since the last time, or all there is."""
        return [piece for own, owned in self._owned(owners) for piece in own.pieces(owned, is_anew=is_anew)]

    @property
    def n_members(self) -> int:
        """How many members are settled as events come."""
        return sum(len(own.members) for own in (self._online or {}).values())

    def _owned(self, owners: Mapping[str, int]) -> Iterator[tuple[OnlineTrends, list[int]]]:
        for own in (self._online or {}).values():
            yield own, [owners[template.query] for template in own.templates]

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        """Take events of steps that are over; the windows that have closed with these gave their results."""
        self._take(arrivals.events)
        self._settle(frontier)
        self._forget(frontier)

    def step(self, arrivals: Arrivals, frontier: int = END_OF_TIME) -> Iterator[FoundTrends]:
        """Take new events and yield the results of the windows that close: no later events are before."""
        self._take(arrivals.events)
        self._counters = Counters()
        if frontier == END_OF_TIME and self._frontier == BEGINNING and not any(self._since.values()):
            yield from self._aggregate_all(arrivals.events)
            return
        self._settle(frontier)
        yield from self._close_online(frontier)
        yield from self._close_windows(frontier)
        self._forget(frontier)
        self._check_held()

    @property
    def activity(self) -> Activity:
        return Activity(sharing=self._counters)

    def wakes_at(self, frontier: int) -> int | None:
        """Return when the first window with events closes, or else when the events kept are of no use."""
        times = np.empty(0, np.int64) if self._events is None else self._events.times
        ends = []
        for span in set(self.plan.spans):
            window = span.first_with(times, span.first_open(frontier))
            if window is not None:
                ends.append(span.end(window))
        for numbers, own in (self._online or {}).items():
            for place, number in enumerate(numbers):
                panes, span = own.windows(place), self.plan.spans[number]
                if panes is not None:
                    ends.append(span.end(max(panes[0], span.first_open(frontier))))
        if not ends and not times.size:
            return None
        moment = min(ends) if ends else int(times[-1]) + 1
        return max(1, -(-moment // MILLISECOND))

    def _take(self, events: Events) -> None:
        self._events = events if self._events is None else merge_events(self._events, events)[0]

    def _is_online(self, number: int) -> bool:
        """Whether panes are all that is needed of the settled events of a template."""
        template = self.plan.templates[number]
        has_distinct = any(column.function == "distinct" for column in template.measured)
        return not self.plan.exact and not has_distinct and not has_steps(template)

    def _online_sets(self) -> dict[tuple[int, ...], OnlineTrends]:
        """Return the templates that are settled together, by their numbers: they see the same events."""
        templates, sharing = self.plan.templates, self.plan.sharing
        by_start: dict[int, list[int]] = {}
        for number, template in enumerate(templates):
            if self._is_online(number):
                by_start.setdefault(self._since.get(template.query, 0), []).append(number)
        sets = []
        for numbers in by_start.values():
            together = [] if sharing == "none" else sharing_sets([templates[number] for number in numbers])
            shared = [tuple(numbers[place] for place in own) for own in together]
            alone = [(number,) for number in numbers if number not in {one for own in shared for one in own}]
            sets += [*shared, *alone]
        return {own: OnlineTrends([templates[number] for number in own], sharing) for own in sets}

    def _settle(self, frontier: int) -> None:
        """Work out what the events do that no other event comes before any more."""
        events = self._events
        if self._online is None:
            self._online = self._online_sets()
        if events is None:
            return
        cuts = np.searchsorted(events.times, [self._frontier, frontier], side="left")
        settled = events.take(slice(*map(int, cuts)))
        for numbers, own in self._online.items() if settled.n_events else ():
            since = self._since.get(self.plan.templates[numbers[0]].query, 0)
            seen = settled.take(np.flatnonzero(arrivals_of(settled) >= since)) if since else settled
            self._counters += own.settle(seen)

    def _close_online(self, frontier: int) -> Iterator[FoundTrends]:
        """Yield the results of the windows that end after the last frontier and not after the new one."""
        for numbers, own in (self._online or {}).items():
            for place, number in enumerate(numbers):
                span, panes = self.plan.spans[number], own.windows(place)
                if panes is None or own.examples is None:
                    continue
                first = max(span.first_open(self._frontier), panes[0])
                last = min(span.last_closed(frontier), panes[1])
                rows = own.close(place, (first, last)) if first <= last else None
                found = None if rows is None else found_trends(rows, own.examples)
                if found is not None and found.n_rows:
                    yield found

    def _close_windows(self, frontier: int) -> Iterator[FoundTrends]:
        """Yield the results of the windows that end after the last frontier and not after the new one."""
        events = self._events
        if events is None or not events.n_events:
            return
        closing: dict[int, list[tuple[Template, SlidingWindows, tuple[int, int]]]] = {}
        for number, (template, span) in enumerate(zip(self.plan.templates, self.plan.spans, strict=True)):
            if self._is_online(number):
                continue
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
        for own in (self._online or {}).values():
            own.forget(self._frontier)
        if self._events is None:
            return
        starts = [
            span.start(span.first_open(self._frontier))
            for number, span in enumerate(self.plan.spans)
            if not self._is_online(number)
        ]
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
