"""What is known of the events of a test, to tell of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from weft.language.literals import format_timestamp
from weft.testing.moments import microseconds_since_epoch, offset_text
from weft.testing.rule_results import BoundEvent
from weft.testing.rule_set import RuleColumns


@dataclass(frozen=True, slots=True)
class KnownEvents:
    """The types of events and their times, by id, and the first of these; nothing of a frame of Spark."""

    types: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    start: int | None = None

    @classmethod
    def of(cls, events: Any, columns: RuleColumns) -> "KnownEvents":
        r"""Return what a table tells of its events.

        >>> from weft.testing import events
        >>> KnownEvents.of(events("ts type\n0 A\n+5m B"), RuleColumns()).line("2")
        ('2', '+0:05:00', 'B', '')
        """
        wanted = [columns.id, columns.type, columns.time]
        if not isinstance(events, pa.Table) or not set(wanted) <= set(events.column_names):
            return cls()
        types: dict[str, str] = {}
        times: dict[str, int] = {}
        for own, kind, time in zip(*(events[name].to_pylist() for name in wanted), strict=True):
            moment = microseconds_since_epoch(time)
            if own is not None and moment is not None and str(own) not in times:
                types[str(own)], times[str(own)] = str(kind), moment
        return cls(types, times, min(times.values(), default=None))

    def line(self, id: str, bound: BoundEvent | None = None) -> tuple[str, ...]:
        """Return what is told of an event: its id, time since the first one, type and variable."""
        kind = self.types.get(id, bound.type if bound else "")
        time = self.times.get(id, bound.time if bound else None)
        variable = bound.variable if bound and bound.variable != kind else ""
        return id, self._when(time), kind, variable

    def _when(self, time: int | None) -> str:
        if time is None:
            return ""
        return format_timestamp(time) if self.start is None else offset_text(time - self.start)
