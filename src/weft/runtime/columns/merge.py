"""Put events together that came at different times: one pool of strings, one order, every event once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.runtime.columns.events import Array, Column, Events, StringPool, comparable

LEAST_POOL = 4_096  # strings below which a pool is left alone
CONTENT_DIGITS = 16  # of the hash of an event without an id
TIE = "\0tie"  # the column of an order among events of equal time, where that has to outlive a batch


def merge_events(old: Events, new: Events) -> tuple[Events, Array | None, Array]:
    """Return the union of two sorted sets of events, and where the rows of each went.

    The map of the old rows is None when they kept their places.
    """
    if old.strings is not new.strings and old.n_events and new.n_events:
        raise ValueError("events that are merged share one pool of strings")
    both = _with_ties(_concatenate_events(old, new))
    n_old, n_new = old.n_events, new.n_events
    if n_old == 0 or n_new == 0 or _are_in_order(both, n_old):
        return both, None, np.arange(n_old, n_old + n_new)
    keys = (both.times,) if both.ties is None else (both.ties, both.times)
    order = np.lexsort(keys)
    places = np.empty(order.size, np.int64)
    places[order] = np.arange(order.size)
    return both.take(order), places[:n_old], places[n_old:]


def _are_in_order(both: Events, n_old: int) -> bool:
    last, first = both.times[n_old - 1], both.times[n_old]
    if last != first or both.ties is None:
        return bool(last <= first)
    return bool(both.ties[n_old - 1] <= both.ties[n_old])


def _with_ties(events: Events) -> Events:
    """Return the events with ties that compare all of them, where the tie values are at hand."""
    column = events.columns.get(TIE)
    return events if column is None else replace(events, ties=tie_places(column, events.strings))


def tie_places(column: Column, strings: StringPool) -> Array:
    """Return the places of tie-break values in their order, NULL first."""
    _, places = np.unique(comparable(column, strings, ordered=True), return_inverse=True)
    return np.asarray(np.where(column.validity, places.reshape(-1) + 1, 0))


def _concatenate_events(old: Events, new: Events) -> Events:
    if old.n_events == 0:
        return new
    if new.n_events == 0:
        return old
    return replace(
        new,
        times=np.concatenate([old.times, new.times]),
        type_codes=np.concatenate([old.type_codes, new.type_codes]),
        columns={
            name: _concatenate_columns(old.columns[name], column) for name, column in new.columns.items()
        },
        ids=pa.concat_arrays([old.ids, new.ids]),
        ties=None if old.ties is None or new.ties is None else np.concatenate([old.ties, new.ties]),
        flags={name: np.concatenate([old.flags[name], flag]) for name, flag in new.flags.items()},
    )


def _concatenate_columns(old: Column, new: Column) -> Column:
    values = np.concatenate([old.values, new.values])
    if old.valid is None and new.valid is None:
        return Column(new.type, values)
    return Column(new.type, values, np.concatenate([old.validity, new.validity]))


def extend_pool(pool: StringPool, other: StringPool) -> tuple[StringPool, Array]:
    """Return a pool with the strings of both, those of the first in place, and the codes of the second.

    >>> union, codes = extend_pool(StringPool(pa.array(["a", "b"])), StringPool(pa.array(["c", "a"])))
    >>> union.values.to_pylist(), codes.tolist()
    (['a', 'b', 'c'], [2, 0])
    """
    places = pc.index_in(other.values, value_set=pool.values)
    missing = np.flatnonzero(np.asarray(places.is_null().to_numpy(zero_copy_only=False)))
    codes = places.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if not missing.size:
        return pool, codes
    codes[missing] = len(pool.values) + np.arange(missing.size)
    fresh = other.values.take(pa.array(missing))
    return StringPool(pa.concat_arrays([pool.values, fresh])), codes


def recode_strings(events: Events, pool: StringPool, codes: Array) -> Events:
    """Return events whose strings are codes of another pool."""
    if pool is events.strings:
        return events

    def of(column: Column) -> Column:
        if column.type.kind != "string" or not codes.size:
            return column
        return replace(column, values=codes[column.values])

    columns = {name: of(column) for name, column in events.columns.items()}
    return replace(events, columns=columns, strings=pool)


def compact_pool(parts: Sequence[Events]) -> tuple[StringPool, Array]:
    """Return a pool for events with one pool, and the new codes of its strings.

    It is another pool only where there are many more strings than values that refer to them.
    """
    pool = parts[0].strings
    columns = [column for part in parts for column in part.columns.values() if column.type.kind == "string"]
    n_values = sum(column.values.size for column in columns)
    codes = np.arange(len(pool.values))
    if codes.size <= LEAST_POOL or codes.size <= 2 * n_values:
        return pool, codes
    used = np.unique(np.concatenate([codes[:0], *(column.values for column in columns)]))
    codes[used] = np.arange(used.size)
    return StringPool(pool.values.take(pa.array(used))), codes


class Holder(Protocol):
    """Keeps events from one step to the next."""

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept."""

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""


def in_pool_of(holder: Holder, new: Events) -> Events:
    """Give new events and those that are kept one pool of strings, without many that nobody has."""
    if not holder.known:
        return new
    pool, codes = compact_pool(holder.known)
    holder.exchange(lambda events: recode_strings(events, pool, codes))
    union, codes = extend_pool(pool, new.strings)
    holder.exchange(lambda events: replace(events, strings=union))
    return recode_strings(new, union, codes)


def drop_delivered(new: Events, known: Sequence[Events]) -> Events:
    """Return the new events without those that have the time and the id of a known one."""
    rows, repeats = _repeats_among(new, known)
    return without_rows(new, rows[repeats > 0])


def without_rows(events: Events, dropped: Array) -> Events:
    """Return the events but for some rows; the same object when none is dropped."""
    if not dropped.size:
        return events
    return events.take(np.delete(np.arange(events.n_events), dropped))


def count_repeats(times: Array, codes: Array) -> Array:
    """Return for each row how many rows before it have its time and its code.

    >>> count_repeats(np.array([1, 1, 2, 1]), np.array([7, 7, 7, 7])).tolist()
    [0, 1, 0, 2]
    """
    order = np.lexsort((codes, times))
    is_same = np.zeros(order.size, np.bool_)
    is_same[1:] = (np.diff(times[order]) == 0) & (np.diff(codes[order]) == 0)
    places = np.arange(order.size)
    repeats = np.empty(order.size, np.int64)
    repeats[order] = places - np.maximum.accumulate(np.where(is_same, 0, places))
    return repeats


def renumber_repeats(new: Events, known: Sequence[Events]) -> Events:
    """Return the new events, those with the content and the time of a known one under further numbers.

    Without an id, an event is identified by its content; equal ones are told apart by a running number.
    """
    rows, repeats = _repeats_among(new, known, is_content=True)
    if not rows.size:
        return new
    contents = pc.utf8_slice_codeunits(new.ids.take(pa.array(rows)), 0, CONTENT_DIGITS)
    texts = append_numbers(contents, repeats)
    selected = np.zeros(new.n_events, np.bool_)
    selected[rows] = True
    return replace(new, ids=pc.replace_with_mask(new.ids, pa.array(selected), texts))


def append_numbers(contents: pa.Array, numbers: Array) -> pa.Array:
    """Return content hashes followed by a running number, which is left out where it is zero."""
    texts = pc.binary_join_element_wise(contents, pa.array(numbers).cast(pa.string()), "-")
    return pc.if_else(pa.array(numbers > 0), texts, contents)


def _repeats_among(new: Events, known: Sequence[Events], *, is_content: bool = False) -> tuple[Array, Array]:
    """Return the new rows at the time of a known event, and how many events before each have its id."""
    none = np.empty(0, np.int64)
    parts = [part for part in known if part.n_events]
    if not parts or not new.n_events:
        return none, none
    latest = max(int(part.times[-1]) for part in parts)
    n_early = int(np.searchsorted(new.times, latest, side="right"))
    rows = np.flatnonzero(np.isin(new.times[:n_early], np.concatenate([part.times for part in parts])))
    if not rows.size:
        return rows, none
    moments = np.unique(new.times[rows])
    old_rows = [np.flatnonzero(np.isin(part.times, moments)) for part in parts]
    ids = [part.ids.take(pa.array(at)) for part, at in zip(parts, old_rows, strict=True) if at.size]
    ids.append(new.ids.take(pa.array(rows)))
    together = pa.concat_arrays(ids)
    if is_content:
        together = pc.utf8_slice_codeunits(together, 0, CONTENT_DIGITS)
    codes = together.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    times = np.concatenate(
        [*(part.times[at] for part, at in zip(parts, old_rows, strict=True)), new.times[rows]]
    )
    return rows, count_repeats(times, codes)[-rows.size :]
