"""What survives between the batches of a shard, and what one step of a node sees."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.plan.extents import is_instant
from weft.plan.nodes import Extent, Node
from weft.runtime.budget import Meter
from weft.runtime.columns.events import Array, Clock, Events
from weft.runtime.matches.table import Table, concatenate_tables

UNBOUNDED = 1 << 62  # a length beyond any difference of clocks
END_OF_TIME = (1 << 63) - 1
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Delta:
    """The rows of a node: those held from earlier batches, and those this batch added."""

    old: Table
    new: Table

    @cached_property
    def all(self) -> Table:
        return concatenate_tables([self.old, self.new])

    @cached_property
    def are_new(self) -> Array:
        """Which of all rows are new."""
        flags = np.repeat([False, True], [self.old.n_rows, self.new.n_rows])
        last = np.concatenate([self.old.last, self.new.last])
        return flags[np.argsort(last, kind="stable")]


@dataclass
class Step:
    """One batch on its way through the plan."""

    events: Events
    is_new: Array
    frontier: int
    meter: Meter
    clocks: dict[tuple[str, ...] | None, Clock] = field(default_factory=dict)
    gathered: dict[tuple[int, int], tuple[Array, Array, Array]] = field(default_factory=dict)
    evaluated: dict[tuple[Hashable, int], tuple[Table, Any]] = field(default_factory=dict)

    def clock(self, extent: Extent | None) -> Clock:
        """Return the clock of an extent; extents of any length share it."""
        key = None if extent is None or extent.clock == "time" else extent.partition_by
        if key not in self.clocks:
            self.clocks[key] = self.events.clock(extent, self.frontier)
        return self.clocks[key]

    def is_past(self, rows: Array, reach: Extent | None) -> Array:
        """Return which event rows lie more than `reach` before all events to come."""
        if self.frontier == END_OF_TIME:
            return np.ones(rows.size, np.bool_)
        if reach is None:
            return np.zeros(rows.size, np.bool_)
        if is_instant(reach):
            return np.asarray(self.events.times[rows] < self.frontier)
        clock = self.clock(reach)
        now = clock.now[rows] if isinstance(clock.now, np.ndarray) else clock.now
        return np.asarray(clock.values[rows] + reach.length < now)

    def at(self, values: Array, rows: Array) -> Array:
        """Return values[rows], once per step for the same two arrays."""
        key = (id(values), id(rows))
        if key not in self.gathered:  # holding both arrays keeps their ids from being used again
            self.gathered[key] = (values, rows, values[rows])
        return self.gathered[key][2]

    def clocks_of(self, table: Table, extent: Extent | None) -> Array:
        """Return the clocks of the first and the last event of each row, as two columns."""
        values = self.clock(extent).values
        return np.stack([values[table.first], values[table.last]], axis=1)

    def check(self, status: int, node: Node, table: Table, rows: Array) -> None:
        """Raise unless a kernel finished; the last of `rows` is the table's row it had reached."""
        if status in (OVERFLOW, EXHAUSTED):
            meter = self.meter
            refuse = meter.overflow if status == OVERFLOW else meter.exhaustion
            raise refuse(node, self._group_of(table, int(rows[-1])))

    def _group_of(self, table: Table, row: int) -> str:
        at = np.datetime64(int(self.events.times[table.last[row]]), "us")
        event_id = self.events.ids[int(table.first[row])]
        return f"the group of events up to {at} UTC that begins with event {event_id}"


def length_of(extent: Extent | None) -> int:
    """Return the length of an extent for the kernels."""
    return UNBOUNDED if extent is None else extent.length


@dataclass
class NodeState:
    """What a node keeps: the rows its readers may still need, and rows that await a decision."""

    held: Table
    pending: Table


States = dict[Node, NodeState]
