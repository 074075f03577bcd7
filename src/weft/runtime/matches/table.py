"""Tables of partial matches: columns of event rows or of lists of them, sorted by the last event.

A row of a match that lacks an event has -1 there, ABSENT.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np

from weft.runtime.columns.events import Array

ABSENT = -1  # the row of no event


@dataclass(frozen=True, slots=True)
class Lists:
    """One list of event rows per match: `lengths[i]` of `rows`, from `starts[i]` on.

    Lists may have rows in common, so many long lists need not take much room.
    """

    starts: Array
    lengths: Array
    rows: Array

    @property
    def n_elements(self) -> int:
        """The number of elements of all lists together."""
        return int(self.lengths.sum())

    @property
    def owners(self) -> Array:
        """The match of each element, those of one list after those of another."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    @property
    def elements(self) -> Array:
        """The rows of all lists, those of one after those of another."""
        if self.n_elements == self.rows.size and bool(np.all(self.starts == self.offsets[:-1])):
            return self.rows
        return self.rows[ranges(self.starts, self.lengths)]

    @property
    def offsets(self) -> Array:
        """Where each list begins and ends among all elements."""
        return offsets_of(self.lengths)

    def take(self, selected: Array) -> "Lists":
        return Lists(self.starts[selected], self.lengths[selected], self.rows)

    def compact(self) -> "Lists":
        """Return the same lists without rows that none of them has, unless they have many in common."""
        if self.n_elements > self.rows.size:
            return self
        return lists_of(self.offsets, self.elements)


def lists_of(offsets: Array, rows: Array) -> Lists:
    """Return lists that lie one after the other: rows[offsets[i]:offsets[i + 1]].

    >>> lists = lists_of(np.array([0, 2, 3]), np.array([7, 8, 9]))
    >>> lists.take(np.array([1, 0])).elements.tolist()
    [9, 7, 8]
    """
    return Lists(offsets[:-1], np.diff(offsets), rows)


MatchColumn: TypeAlias = Array | Lists


@dataclass(frozen=True, slots=True)
class Table:
    """Partial matches; `first` and `last` are the rows of their earliest and latest event."""

    columns: tuple[MatchColumn, ...]
    first: Array
    last: Array

    @property
    def n_rows(self) -> int:
        return int(self.first.size)

    def take(self, selected: Array) -> "Table":
        """Return the selected rows; an array that serves as column and as first or last still does."""
        taken: dict[int, MatchColumn] = {}

        def of(column: MatchColumn) -> MatchColumn:
            if id(column) not in taken:
                taken[id(column)] = column.take(selected) if isinstance(column, Lists) else column[selected]
            return taken[id(column)]

        columns = tuple(of(column) for column in self.columns)
        return Table(columns, cast(Array, of(self.first)), cast(Array, of(self.last)))

    def sorted(self) -> "Table":
        """Return the table sorted by the last event; the same object when it already is."""
        if self.n_rows < 2 or bool(np.all(self.last[1:] >= self.last[:-1])):
            return self
        return self.take(np.argsort(self.last, kind="stable"))

    def moved(self, places: Array) -> "Table":
        """Return the table after its events moved to other rows; order among events is kept."""
        return self._with_rows(lambda rows: places[rows])

    def shifted(self, dropped: int) -> "Table":
        """Return the table after the first `dropped` events are gone."""
        return self._with_rows(lambda rows: rows - dropped)

    def _with_rows(self, change: Callable[[Array], Array]) -> "Table":
        def of(column: MatchColumn) -> MatchColumn:
            if not isinstance(column, Lists):
                return np.where(column < 0, ABSENT, change(column)) if has_absent(column) else change(column)
            lists = column.compact()
            return Lists(lists.starts, lists.lengths, np.maximum(change(lists.rows), 0))  # some have no list

        columns = tuple(map(of, self.columns))
        return Table(columns, change(self.first), change(self.last))


def events_table(rows: Array) -> Table:
    """Return single events as a table of one column."""
    return Table((rows,), rows, rows)


def empty_table(is_list: Sequence[bool]) -> Table:
    """Return a table without rows."""
    none = np.empty(0, np.int64)
    columns = tuple(Lists(none, none, none) if flag else none for flag in is_list)
    return Table(columns, none, none)


def concatenate_tables(tables: Sequence[Table]) -> Table:
    """Return the rows of tables with the same columns, one after the other, sorted by the last event."""
    filled = [table for table in tables if table.n_rows] or [tables[0]]
    if len(filled) == 1:
        return filled[0]
    columns = tuple(
        _concatenate_columns([table.columns[number] for table in filled])
        for number in range(len(filled[0].columns))
    )
    return Table(
        columns,
        np.concatenate([table.first for table in filled]),
        np.concatenate([table.last for table in filled]),
    ).sorted()


def _concatenate_columns(parts: Sequence[MatchColumn]) -> MatchColumn:
    lists = [part.compact() for part in parts if isinstance(part, Lists)]
    if not lists:
        return np.concatenate(parts)  # type: ignore[arg-type]
    shifts = np.cumsum([0, *(part.rows.size for part in lists[:-1])])
    return Lists(
        np.concatenate([part.starts + shift for part, shift in zip(lists, shifts, strict=True)]),
        np.concatenate([part.lengths for part in lists]),
        np.concatenate([part.rows for part in lists]),
    )


def flatten_events(table: Table, columns: Sequence[int]) -> tuple[Array, Array, Array]:
    """Return the events of all matches, those of one after those of another, columns in the given order.

    They are offsets of the matches, and for every event the number of its column and its row.

    >>> rows = np.array([7, 8])
    >>> [part.tolist() for part in flatten_events(Table((rows, rows + 2), rows, rows + 2), [1, 0])]
    [[0, 2, 4], [1, 0, 1, 0], [9, 7, 10, 8]]
    """
    chosen = [table.columns[number] for number in columns]
    numbers = np.array(columns, np.int32)
    if not any(isinstance(column, Lists) for column in chosen):
        rows = np.stack(cast(list[Array], chosen), 1)
        every = np.tile(numbers, table.n_rows)
        if has_absent(rows):
            is_there = rows >= 0
            return offsets_of(is_there.sum(axis=1)), every[is_there.reshape(-1)], rows[is_there]
        return np.arange(table.n_rows + 1) * len(chosen), every, rows.reshape(-1)
    lists = [as_lists(column) for column in chosen]
    by_match = np.argsort(np.concatenate([own.owners for own in lists]), kind="stable")
    every = np.repeat(numbers, [own.n_elements for own in lists])[by_match]
    offsets = offsets_of(np.sum([own.lengths for own in lists], axis=0))
    return offsets, every, np.concatenate([own.elements for own in lists])[by_match]


def as_lists(column: MatchColumn) -> Lists:
    """Return a column as lists; a single event is a list of one, and an absent one an empty list."""
    if isinstance(column, Lists):
        return column
    return Lists(np.arange(column.size), (column >= 0).astype(np.int64), column)


def has_absent(rows: Array) -> bool:
    """Return whether a column of single events lacks some."""
    return bool(rows.size and rows.min() < 0)


def first_rows(column: MatchColumn) -> Array:
    """Return the earliest event of each row of a column."""
    return column.rows[column.starts] if isinstance(column, Lists) else column


def last_rows(column: MatchColumn) -> Array:
    """Return the latest event of each row of a column."""
    return column.rows[column.starts + column.lengths - 1] if isinstance(column, Lists) else column


def append_rows(lists: Lists, rows: Array) -> Lists:
    """Return each list with one row more at its end.

    >>> append_rows(lists_of(np.array([0, 2, 3]), np.array([7, 8, 9])), np.array([1, 2])).elements.tolist()
    [7, 8, 1, 9, 2]
    """
    offsets = offsets_of(lists.lengths + 1)
    return lists_of(offsets, np.insert(lists.elements, lists.offsets[1:], rows))


def neighbors(lists: Lists) -> tuple[Array, Array, Array]:
    """Return each two events that follow each other in a list: the match, the earlier row and the later one.

    >>> [part.tolist() for part in neighbors(lists_of(np.array([0, 3, 4]), np.array([5, 7, 9, 5])))]
    [[0, 0], [5, 7], [7, 9]]
    """
    owners, elements = lists.owners, lists.elements
    pairs = np.flatnonzero(owners[1:] == owners[:-1])
    return owners[pairs], elements[pairs], elements[pairs + 1]


def offsets_of(lengths: Array) -> Array:
    """Return where stretches of given lengths begin, one after the other, and where the last one ends."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ranges(starts: Array, lengths: Array) -> Array:
    """Return start, start + 1, ... for each start, `length` numbers each, in one array.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    total = int(lengths.sum())
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(total) + np.repeat(starts - ends + lengths, lengths))
