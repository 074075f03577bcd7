"""The events that trend queries take or negate, in order of partition."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from weft.kernels.trends.panes import panes_at
from weft.plan.template import EdgePredicate, Template, TrendItem
from weft.runtime.columns.evaluate import Scope, evaluate, holds_everywhere
from weft.runtime.columns.events import Array, Column, Events, comparable
from weft.runtime.matches.table import Table, offsets_of


class Selection:
    """The events of some templates that have the same keys and groups, by partition and in it by time.

    Bit i of takes[t] says that an event is one of item i of template t. Partition p has the events
    starts[p]:starts[p + 1]; `groups` numbers the groups of the partitions.
    """

    def __init__(self, templates: Sequence[Template], events: Events) -> None:
        self.templates = templates
        self.events = events
        keys, group_by = templates[0].keys, templates[0].group_by
        rows_of = {item: rows_of_item(item, events) for template in templates for item in template.items}
        is_taken = np.zeros(events.n_events, np.bool_)
        for own in rows_of.values():
            is_taken[own] = True
        rows = np.flatnonzero(is_taken)
        for key in keys:
            rows = rows[events.columns[key].validity[rows]]
        partitions = events.number_groups(keys, rows)
        order = np.argsort(partitions, kind="stable")
        self.rows = rows[order]
        self.takes = self._takes(rows_of)
        sizes = np.bincount(partitions) if rows.size else np.empty(0, np.int64)
        self.starts = offsets_of(sizes)
        self.examples = self.rows[self.starts[:-1]]  # an event of each partition
        self.groups = events.number_groups(group_by, self.examples)

    def _takes(self, rows_of: Mapping[TrendItem, Array]) -> Array:
        n_items = max(len(template.items) for template in self.templates)
        word = np.uint8 if n_items <= 8 else np.uint64  # of two kinds only: kernels are made for each
        takes = np.zeros((len(self.templates), self.n_rows), word)
        places = np.full(self.events.n_events, -1, np.int64)
        places[self.rows] = np.arange(self.n_rows)
        for number, template in enumerate(self.templates):
            for bit, item in enumerate(template.items):
                own = places[rows_of[item]]
                takes[number, own[own >= 0]] |= word(1 << bit)
        return takes

    @property
    def n_rows(self) -> int:
        return int(self.rows.size)

    def n_windows(self, length: int, slide: int) -> int:
        """Return how many windows of all partitions have an event; with slide 0 a partition is a window."""
        if slide == 0:
            return self.starts.size - 1
        return count_windows(self.times, self._is_first, (length, slide))

    def n_panes(self, length: int, slide: int) -> int:
        """Return how many panes of all partitions have an event."""
        panes = panes_at(self.times, length, slide)
        is_new = np.ones(self.n_rows, np.bool_)
        is_new[1:] = panes[1:] != panes[:-1]
        return int((is_new | self._is_first).sum())

    @cached_property
    def _is_first(self) -> Array:
        is_first = np.zeros(self.n_rows, np.bool_)
        is_first[self.starts[:-1]] = True
        return is_first

    @cached_property
    def times(self) -> Array:
        return self.events.times[self.rows]

    @cached_property
    def ranks(self) -> Array:
        return self.events.ranks[self.rows]

    def column(self, name: str) -> Column:
        """Return an attribute of the selected events."""
        return self.events.columns[name].take(self.rows)

    def sides_of(self, steps: Sequence[EdgePredicate]) -> tuple[Array, Array, Array, Array]:
        """Return the left sides of steps for every event, where they are not NULL, and so the right sides."""
        values = np.zeros((2, len(steps), self.n_rows), np.int64)
        valid = np.ones((2, len(steps), self.n_rows), np.bool_)
        table = Table((self.rows, self.rows), self.rows, self.rows)
        for number, step in enumerate(steps):
            for side, expression in enumerate((step.left, step.right)):
                column = evaluate(expression, Scope(self.events, table))
                values[side, number] = comparable(column, self.events.strings, ordered=True)
                valid[side, number] = column.validity
        return values[0], valid[0], values[1], valid[1]


def rows_of_item(item: TrendItem, events: Events) -> Array:
    """Return the rows of the events that an item stands for."""
    rows = events.rows_of_type(item.type)
    for predicate in item.predicates:
        rows = rows[holds_everywhere(predicate, events, Table((rows,), rows, rows))]
    return rows


def count_windows(
    times: Array, is_first: Array, span: tuple[int, int], windows: tuple[int, int] | None = None
) -> int:
    """Return how many windows hold one of the times, in order, of some partition; of those given, if any."""
    length, slide = span
    firsts, lasts = (times - length) // slide + 1, times // slide
    if windows is not None:
        firsts, lasts = np.maximum(firsts, windows[0]), np.minimum(lasts, windows[1])
    new = firsts.copy()
    new[1:] = np.maximum(firsts[1:], lasts[:-1] + 1)  # those that no event before it is in
    new[is_first] = firsts[is_first]
    return int(np.maximum(lasts - new + 1, 0).sum())
