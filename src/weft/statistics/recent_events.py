"""A bounded sample of the latest events, spread over time, which later batches find their partners in.

The time that a window reaches back is cut into slots. Of each slot, a few events are kept for every
role: what can stand at a place of a tuple. Each stands for a share of the events of its slot and role.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from weft.runtime.columns.events import Array, Column, Events, StringPool
from weft.runtime.columns.merge import TIE, extended, merge_events, recoded
from weft.schema import Type
from weft.statistics.sampling import NO_ROWS, WeightedRows

SLOTS = 8  # into which the window is cut


@dataclass(frozen=True)
class RecentSample:
    """Sampled events, for each role the rows that can play it, and which of them no tuple had yet."""

    events: Events
    roles: Sequence[WeightedRows]
    is_new: Array


def excerpt(events: Events, rows: Array, names: Collection[str]) -> Events:
    """Return some events with some columns, and no strings but theirs, whatever pool they came from."""
    columns = {
        name: column.take(rows) for name, column in events.columns.items() if name in names or name == TIE
    }
    used = [column.values for column in columns.values() if column.type.kind == "string"]
    pool = events.strings
    if used:
        codes = np.unique(np.concatenate(used))
        codes = codes[codes < len(pool.values)]
        pool = StringPool(pool.values.take(pa.array(codes)))
        columns = {
            name: replace(column, values=np.searchsorted(codes, column.values))
            if column.type.kind == "string"
            else column
            for name, column in columns.items()
        }
    return Events(
        times=events.times[rows],
        type_codes=np.zeros(rows.size, np.int16),
        type_names=(),
        columns=columns,
        ids=pa.array(np.zeros(rows.size, np.int64)),
        strings=pool if used else StringPool(pa.array([], pa.string())),
        ties=None if events.ties is None else events.ties[rows],
    )


def merge_samples(old: RecentSample | None, new: RecentSample) -> RecentSample:
    """Return earlier and new events together.

    Earlier ones whose columns are not those of the new ones are given up.
    """
    if old is None or _columns(old.events) != _columns(new.events):
        return new
    if not new.events.n_events:
        return old
    pool, codes = extended(old.events.strings, new.events.strings)
    known, added = replace(old.events, strings=pool), recoded(new.events, pool, codes)
    both, moved, places = merge_events(known, added)
    if moved is None:
        moved = np.arange(known.n_events)
    is_new = np.empty(both.n_events, np.bool_)
    is_new[moved], is_new[places] = old.is_new, new.is_new
    roles = [
        _in_order(np.concatenate([moved[a.rows], places[b.rows]]), np.concatenate([a.weights, b.weights]))
        for a, b in zip(old.roles, new.roles, strict=True)
    ]
    return RecentSample(both, roles, is_new)


def _in_order(rows: Array, weights: Array) -> WeightedRows:
    order = np.argsort(rows, kind="stable")
    return WeightedRows(rows[order], weights[order])


def _columns(events: Events) -> dict[str, Type]:
    return {name: column.type for name, column in events.columns.items()}


def thin(
    sample: RecentSample, now: int, window: int, per_slot: int, generator: np.random.Generator
) -> RecentSample | None:
    """Return the events of the window that ends now, at most `per_slot` of each slot and role."""
    length = max(window // SLOTS, 1)
    times = sample.events.times
    roles = [
        _thin_role(role, times, now - window, length, per_slot, generator) if role.rows.size else NO_ROWS
        for role in sample.roles
    ]
    used = np.unique(np.concatenate([np.empty(0, np.int64), *(role.rows for role in roles)]))
    if not used.size:
        return None
    kept = excerpt(sample.events, used, sample.events.columns)
    roles = [replace(role, rows=np.searchsorted(used, role.rows)) for role in roles]
    return RecentSample(kept, roles, sample.is_new[used])


def _thin_role(
    role: WeightedRows, times: Array, since: int, length: int, per_slot: int, generator: np.random.Generator
) -> WeightedRows:
    own = times[role.rows]
    start = int(np.searchsorted(own, since, side="left"))
    slots = own[start:] // length
    firsts = np.flatnonzero(np.diff(slots, prepend=slots[:1] - 1))
    counts = np.diff(firsts, append=slots.size)
    if not counts.size or counts.max() <= per_slot:
        return role.take(np.arange(start, role.rows.size))
    places, weights = _resample_slots(role.weights[start:], firsts, counts, per_slot, generator)
    return WeightedRows(role.rows[start + places], weights)


def _resample_slots(
    weights: Array, firsts: Array, counts: Array, per_slot: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return at most `per_slot` places of every slot, as `resample` does for one."""
    is_full = counts > per_slot
    ends = np.append(0.0, np.cumsum(weights))
    starts, totals = ends[firsts[is_full]], np.diff(ends[np.append(firsts, weights.size)])[is_full]
    shares = (np.arange(per_slot) + generator.random((totals.size, 1))) / per_slot
    drawn = np.searchsorted(ends[1:], (starts[:, None] + shares * totals[:, None]).ravel(), side="right")
    lasts = (firsts + counts - 1)[is_full]
    drawn = np.clip(drawn, np.repeat(firsts[is_full], per_slot), np.repeat(lasts, per_slot))
    amounts = np.where(np.repeat(is_full, counts), 0.0, weights)
    np.add.at(amounts, drawn, np.repeat(totals / per_slot, per_slot))
    places = np.flatnonzero(amounts)
    return places, amounts[places]


def to_json(sample: RecentSample | None) -> Any:
    """Return a sample as values of JSON: texts for strings, null for NULL."""
    if sample is None:
        return None
    events = sample.events
    times = [int(time) for time in events.times]
    return {
        "times": [after - before for before, after in zip([0, *times], times, strict=False)],
        "ties": None if events.ties is None else events.ties.tolist(),
        "columns": {
            name: [column.type.kind, column.type.scale, _plain(column, events.strings)]
            for name, column in events.columns.items()
        },
        "new": np.flatnonzero(sample.is_new).tolist(),
        "roles": [[role.rows.tolist(), role.weights.tolist()] for role in sample.roles],
    }


def from_json(state: Any, roles: Sequence[int | None]) -> RecentSample | None:
    """Return the sample that `to_json` wrote; `roles` are the numbers that today's roles had there."""
    if state is None:
        return None
    times = np.cumsum(np.array(state["times"], np.int64))
    texts: dict[str, int] = {}
    columns = {
        name: _column(Type(kind, scale), values, texts)
        for name, (kind, scale, values) in state["columns"].items()
    }
    events = Events(
        times=times,
        type_codes=np.zeros(times.size, np.int16),
        type_names=(),
        columns=columns,
        ids=pa.array(np.zeros(times.size, np.int64)),
        strings=StringPool(pa.array(list(texts), pa.string())),
        ties=None if state["ties"] is None else np.array(state["ties"], np.int64),
    )
    stored = [WeightedRows(np.array(rows, np.int64), np.array(w, np.float64)) for rows, w in state["roles"]]
    is_new = np.zeros(times.size, np.bool_)
    is_new[np.array(state["new"], np.int64)] = True
    return RecentSample(events, [NO_ROWS if number is None else stored[number] for number in roles], is_new)


def _plain(column: Column, strings: StringPool) -> list[Any]:
    values: list[Any] = column.values.tolist()
    if column.type.kind == "string":
        texts = strings.values.to_pylist()
        values = [texts[code] if code < len(texts) else None for code in values]
    elif column.type.kind == "double":
        values = [value if math.isfinite(value) else repr(value) for value in values]
    return [
        value if is_valid else None for value, is_valid in zip(values, column.validity.tolist(), strict=True)
    ]


def _column(kind: Type, values: Sequence[Any], texts: dict[str, int]) -> Column:
    """Return a column of plain values; strings become codes of `texts`, which grow."""
    valid = np.array([value is not None for value in values], np.bool_)
    if kind.kind == "string":
        codes = [0 if value is None else texts.setdefault(value, len(texts)) for value in values]
        return Column(kind, np.array(codes, np.int64), None if valid.all() else valid)
    dtype = {"double": np.float64, "boolean": np.bool_}.get(kind.kind, np.int64)
    plain = [0 if value is None else value for value in values]
    numbers = [float(value) for value in plain] if kind.kind == "double" else plain
    return Column(kind, np.array(numbers, dtype), None if valid.all() else valid)
