"""Events as the reference matcher sees them: a row with types, a time and attributes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from weft.reference.values import Value, compare


@dataclass(frozen=True, slots=True)
class ReferenceEvent:
    """One event; `row` is its identity, `id` the value of the caller's id column, if there is one.

    An attribute that is not in `attributes` is NULL. `tie` is the value of the tie-break column.
    """

    row: int
    types: frozenset[str]
    time: int
    id: int | str | None = None
    attributes: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    tie: Value = None

    @property
    def identity(self) -> int | str:
        """The id, or the row where there is none."""
        return self.row if self.id is None else self.id

    def value(self, attribute: str) -> Value:
        """Return an attribute; `time` is the event time unless a column has that name."""
        if attribute == "time" and attribute not in self.attributes:
            return self.time
        return self.attributes.get(attribute)


Bindings: TypeAlias = Mapping[str, tuple[ReferenceEvent, ...]]


def deduplicate(events: Iterable[ReferenceEvent]) -> tuple[ReferenceEvent, ...]:
    """Keep one event per id and time, the one with the smallest row; events without an id are all kept.

    >>> delivered = [ReferenceEvent(row, frozenset("A"), 5, id=id) for row, id in enumerate([7, 8, 7])]
    >>> [event.row for event in deduplicate(delivered)]
    [0, 1]
    """
    kept: list[ReferenceEvent] = []
    seen: set[tuple[int | str, int]] = set()
    for event in sorted(events, key=lambda event: event.row):
        if event.id is None or (event.id, event.time) not in seen:
            kept.append(event)
        if event.id is not None:
            seen.add((event.id, event.time))
    return tuple(kept)


def is_before(left: ReferenceEvent, right: ReferenceEvent, *, tie_break: bool) -> bool:
    """Say whether `left` precedes `right`: strictly, by time and then, if asked for, by tie-break value.

    >>> early, late = (ReferenceEvent(row, frozenset("A"), 5, tie=tie) for row, tie in enumerate([None, 1]))
    >>> is_before(early, late, tie_break=False), is_before(early, late, tie_break=True)
    (False, True)
    """
    if left.time != right.time or not tie_break:
        return left.time < right.time
    if left.tie is None or right.tie is None:  # NULL sorts first
        return left.tie is None and right.tie is not None
    return compare(left.tie, right.tie) < 0


def agree(left: ReferenceEvent, right: ReferenceEvent, attributes: Iterable[str]) -> bool:
    """Say whether two events have equal values of every attribute; NULL agrees with nothing."""
    return all(_equal(left.value(name), right.value(name)) for name in attributes)


def _equal(left: Value, right: Value) -> bool:
    return left is not None and right is not None and compare(left, right) == 0


def positions(
    events: Sequence[ReferenceEvent], partition_by: Sequence[str], *, tie_break: bool
) -> dict[int, int]:
    """Return row -> position: how many events, of its own partition, are strictly before the event.

    >>> stream = [ReferenceEvent(row, frozenset("A"), time) for row, time in enumerate([10, 20, 20, 30])]
    >>> positions(stream, (), tie_break=False)
    {0: 0, 1: 1, 2: 1, 3: 3}
    """
    return {
        event.row: sum(
            is_before(other, event, tie_break=tie_break) and agree(other, event, partition_by)
            for other in events
        )
        for event in events
    }
