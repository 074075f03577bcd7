"""What one query and one stream fix: order, keys, windows, and the events a variable may have."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.expressions import Aggregate, Attribute, Expression, variables_of
from weft.pattern.nodes import CountWindow, Event, Query, TimeWindow
from weft.reference.evaluate import holds
from weft.reference.events import ReferenceEvent, agree, deduplicate, is_before, positions
from weft.tree import find


@dataclass(frozen=True, slots=True)
class Stream:
    """The events that a query may bind or that may negate, with the query's conditions on them."""

    query: Query
    events: Sequence[ReferenceEvent]
    tie_break: bool
    clock: Mapping[int, int]  # of each row: its time, or its position if the window counts events
    reach: float  # how far apart the clocks of two events in one window may be
    keys: tuple[str, ...]
    conjuncts: tuple[Expression, ...]
    candidates: Mapping[Event, Sequence[ReferenceEvent]]

    def is_before(self, left: ReferenceEvent, right: ReferenceEvent) -> bool:
        """Say whether `left` strictly precedes `right`."""
        return is_before(left, right, tie_break=self.tie_break)

    def fit_together(self, left: ReferenceEvent, right: ReferenceEvent) -> bool:
        """Say whether a match may bind both: they are two events, within the window, with equal keys.

        The first and the last event of a match are two of its events, so the match is within the
        window when every two of its events are.
        """
        is_within = abs(self.clock[left.row] - self.clock[right.row]) <= self.reach
        return left.row != right.row and is_within and agree(left, right, self.keys)

    def is_from_window_before(self, event: ReferenceEvent, bound: Sequence[ReferenceEvent]) -> bool:
        """Say whether the event is not earlier than the window that ends with the last bound event."""
        return self.clock[event.row] >= max(self.clock[other.row] for other in bound) - self.reach

    def is_up_to_window_after(self, event: ReferenceEvent, bound: Sequence[ReferenceEvent]) -> bool:
        """Say whether the event is not later than the window that begins with the first bound event."""
        return self.clock[event.row] <= min(self.clock[other.row] for other in bound) + self.reach

    def is_from_first(self, event: ReferenceEvent, bound: Sequence[ReferenceEvent]) -> bool:
        """Say whether the event is not earlier than the first bound event, ties included."""
        return self.clock[event.row] >= min(self.clock[other.row] for other in bound)


def prepare(query: Query, events: Sequence[ReferenceEvent], *, tie_break: bool) -> Stream:
    """Return the stream of a query: duplicates collapsed, positions counted, candidates found.

    Every event counts for positions; one with a NULL key can then neither be bound nor negate.
    """
    distinct = deduplicate(events)
    usable = [event for event in distinct if agree(event, event, query.keys)]
    clock, reach = {event.row: event.time for event in distinct}, math.inf
    match query.window:
        case TimeWindow(length=length):
            reach = length
        case CountWindow(length=length):
            clock, reach = positions(distinct, query.partition_by, tie_break=tie_break), length - 1
    return Stream(
        query=query,
        events=usable,
        tie_break=tie_break,
        clock=clock,
        reach=reach,
        keys=query.keys,
        conjuncts=query.conditions,
        candidates={item: _candidates(item, usable, query.conditions) for item in find(query.pattern, Event)},
    )


def _candidates(
    item: Event, events: Sequence[ReferenceEvent], conjuncts: Sequence[Expression]
) -> tuple[ReferenceEvent, ...]:
    """Return the events of the item's type that satisfy the predicates on its variable alone."""
    alone = [conjunct for conjunct in conjuncts if _is_on_one_event(conjunct, item.variable)]
    return tuple(
        event
        for event in events
        if item.type in event.types and all(holds(each, {item.variable: (event,)}) for each in alone)
    )


def _is_on_one_event(conjunct: Expression, variable: str) -> bool:
    """Say whether a predicate speaks of one event of the variable at a time, and of nothing else."""
    places = {attribute.place for attribute in find(conjunct, Attribute)}
    is_of_list = any(find(conjunct, Aggregate))
    return variables_of(conjunct) == {variable} and places <= {"each", "current"} and not is_of_list
