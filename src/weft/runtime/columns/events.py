"""Event columns: values with validity, strings as codes into one pool, events sorted in time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from weft.kernels.arrays import ordered_bits
from weft.kernels.matches.identity import hash_numbers, hash_strings
from weft.pattern.normal_form import EVERY_TYPE
from weft.plan.nodes import Extent
from weft.schema import Type

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one type; `valid` is None when none of them is NULL. Strings are codes."""

    type: Type
    values: Array
    valid: Array | None = None

    def take(self, rows: Array | slice) -> "Column":
        return Column(self.type, self.values[rows], None if self.valid is None else self.valid[rows])

    @property
    def validity(self) -> Array:
        return np.ones(self.values.size, np.bool_) if self.valid is None else self.valid


class StringPool:
    """The distinct strings of a shard; a string is its index here."""

    def __init__(self, values: pa.StringArray) -> None:
        self.values = values

    @cached_property
    def texts(self) -> Array:
        return np.array(self.values.to_pylist(), dtype=object)

    @cached_property
    def order(self) -> Array:
        """Codes in ascending order of their strings (code points)."""
        return np.argsort(self.texts, kind="stable").astype(np.int64)

    @cached_property
    def ranks(self) -> Array:
        """The place of each code in that order."""
        ranks = np.empty(self.order.size, np.int64)
        ranks[self.order] = np.arange(self.order.size)
        return ranks

    def holds(self, test: Callable[[str], bool]) -> Array:
        """Apply a test to every distinct string."""
        return np.fromiter(map(test, self.texts), np.bool_, self.texts.size)


@dataclass(frozen=True)
class Clock:
    """What an extent measures: a value per event, and what the next event's value is at least."""

    values: Array
    now: Array | int
    monotone: bool


@dataclass(frozen=True)
class Events:
    """Events sorted by (time, tie). `ranks` are equal exactly for events that neither precedes.

    `type_codes` index `type_names` (-1: a type that no query names); `flags` hold derived types.
    """

    times: Array
    type_codes: Array
    type_names: tuple[str, ...]
    columns: Mapping[str, Column]
    ids: pa.Array
    strings: StringPool
    ties: Array | None = None
    flags: Mapping[str, Array] = field(default_factory=dict)

    @property
    def n_events(self) -> int:
        return int(self.times.size)

    @cached_property
    def ranks(self) -> Array:
        if self.ties is None:
            return self.times
        changes = np.ones(self.n_events, np.int64)
        changes[1:] = (np.diff(self.times) != 0) | (np.diff(self.ties) != 0)
        return np.cumsum(changes)

    @cached_property
    def id_hashes(self) -> Array:
        return hash_values(self.ids)

    def rows_of_type(self, name: str) -> Array:
        """Return the rows of one type in ascending order."""
        if name == EVERY_TYPE:
            return np.arange(self.n_events)
        if name in self.flags:
            return np.flatnonzero(self.flags[name])
        if name not in self.type_names:
            return np.empty(0, np.int64)
        order, starts = self._by_type
        code = self.type_names.index(name)
        return order[starts[code] : starts[code + 1]]

    def count_types(self, names: Iterable[str]) -> dict[str, int]:
        """Return how many events are of each type, which is less work than to look for their rows."""
        numbers = np.bincount(self.type_codes + np.int64(1), minlength=len(self.type_names) + 1)[1:].tolist()
        known = {**dict(zip(self.type_names, numbers, strict=True)), EVERY_TYPE: self.n_events}
        known |= {name: int(np.count_nonzero(flag)) for name, flag in self.flags.items()}
        return {name: known.get(name, 0) for name in names}

    @cached_property
    def _by_type(self) -> tuple[Array, Array]:
        order = np.argsort(self.type_codes, kind="stable")
        codes = np.arange(len(self.type_names) + 1, dtype=self.type_codes.dtype)
        return order, np.searchsorted(self.type_codes[order], codes)

    def take(self, rows: Array | slice) -> "Events":
        """Return the events at the given rows; a slice copies nothing."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.n_events)
            ids = self.ids.slice(start, stop - start)
        else:
            ids = self.ids.take(pa.array(rows))
        return Events(
            times=self.times[rows],
            type_codes=self.type_codes[rows],
            type_names=self.type_names,
            columns={name: column.take(rows) for name, column in self.columns.items()},
            ids=ids,
            strings=self.strings,
            ties=None if self.ties is None else self.ties[rows],
            flags={name: flag[rows] for name, flag in self.flags.items()},
        )

    def number_groups(self, keys: Sequence[str], rows: Array | slice = slice(None)) -> Array:
        """Number the distinct combinations of keys among the rows, from zero."""
        groups = np.zeros(self.times[rows].size, np.int64)
        for key in keys:
            values = comparable(self.columns[key].take(rows), self.strings)
            codes = np.unique(values, return_inverse=True)[1]
            groups = np.unique(groups * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
        return groups

    def clock(self, extent: Extent | None, frontier: int) -> Clock:
        """Return the clock of an extent; events before `frontier` have all arrived."""
        if extent is None or extent.clock == "time":
            return Clock(self.times, frontier, monotone=True)
        if not extent.partition_by:
            positions = np.searchsorted(self.ranks, self.ranks, side="left")
            n_before = int(np.searchsorted(self.times, frontier, side="left"))
            return Clock(positions, n_before, monotone=True)
        return self._partitioned_clock(extent.partition_by, frontier)

    def _partitioned_clock(self, partition_by: tuple[str, ...], frontier: int) -> Clock:
        groups = self.number_groups(partition_by)
        for name in partition_by:
            invalid = np.flatnonzero(~self.columns[name].validity)  # in no partition: each gets its own
            groups[invalid] = self.n_events + invalid
        order = np.argsort(groups, kind="stable")
        sorted_groups, sorted_ranks = groups[order], self.ranks[order]
        places = np.arange(order.size)
        new_group = np.ones(order.size, np.bool_)
        new_group[1:] = np.diff(sorted_groups) != 0
        new_rank = new_group.copy()
        new_rank[1:] |= np.diff(sorted_ranks) != 0
        group_start = np.maximum.accumulate(np.where(new_group, places, 0))
        rank_start = np.maximum.accumulate(np.where(new_rank, places, 0))
        positions = np.empty(order.size, np.int64)
        positions[order] = rank_start - group_start
        arrived = self.times < frontier
        now = np.bincount(groups, weights=arrived, minlength=1).astype(np.int64)[groups]
        return Clock(positions, now, monotone=False)


def comparable(column: Column, strings: StringPool, *, ordered: bool = False) -> Array:
    """Return int64 values that compare as the column's values do; for strings, in order only on demand."""
    if column.type.kind == "double":
        return np.asarray(ordered_bits(column.values))
    if column.type.kind == "string" and ordered:
        return strings.ranks[column.values] if strings.ranks.size else column.values
    return column.values.astype(np.int64, copy=False)


def hash_values(values: pa.Array) -> Array:
    """Hash values to 64 bits: integers by themselves, everything else by its text."""
    if pa.types.is_integer(values.type):
        numbers = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(hash_numbers(numbers))
    texts = values.cast(pa.string()).fill_null("")
    if len(texts) == 0:
        return np.empty(0, np.uint64)
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return np.asarray(hash_strings(offsets, content))
