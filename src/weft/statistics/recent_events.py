"""A bounded sample of the latest events, spread over time, which later batches find their partners in.

The time that a window reaches back is cut into slots. Of each slot, a few events are kept for every
role: what can stand at a place of a tuple. Each stands for a share of the events of its slot and role.
"""

import base64
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.columns.merge import TIE, compact_pool, extend_pool, merge_events, recode_strings
from weft.runtime.matches.emit import to_arrow
from weft.runtime.state.segments import table_from_bytes, table_to_bytes
from weft.schema import Type
from weft.statistics.sampling import NO_ROWS, WeightedRows, resample

SLOTS = 8  # into which the window is cut
TIME = "\0time"  # the column of times, which no attribute is called


@dataclass(frozen=True)
class RecentSample:
    """Sampled events, for each role the rows that can play it, and which of them no tuple had yet."""

    events: Events
    roles: Sequence[WeightedRows]
    is_new: Array


def excerpt(events: Events, rows: Array, names: Collection[str]) -> Events:
    """Return some events with some columns, and a pool with hardly more strings than theirs."""
    sample = Events(
        times=events.times[rows],
        type_codes=np.full(rows.size, -1, np.int16),
        type_names=(),
        columns={
            name: column.take(rows) for name, column in events.columns.items() if name in names or name == TIE
        },
        ids=pa.array(np.zeros(rows.size, np.int64)),
        strings=events.strings,
        ties=None if events.ties is None else events.ties[rows],
    )
    return recode_strings(sample, *compact_pool([sample]))


def merge_samples(old: RecentSample | None, new: RecentSample) -> RecentSample:
    """Return earlier and new events together.

    Earlier ones whose columns are not those of the new ones are given up.
    """
    if old is None or _columns(old.events) != _columns(new.events):
        return new
    if not new.events.n_events:
        return old
    pool, codes = extend_pool(old.events.strings, new.events.strings)
    known, added = replace(old.events, strings=pool), recode_strings(new.events, pool, codes)
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
    length, times = max(window // SLOTS, 1), sample.events.times
    recent = [role.take(times[role.rows] >= now - window) for role in sample.roles]
    roles = [resample(role, times[role.rows] // length, per_slot, generator) for role in recent]
    used = np.unique(np.concatenate([np.empty(0, np.int64), *(role.rows for role in roles)]))
    if not used.size:
        return None
    kept = excerpt(sample.events, used, sample.events.columns)
    roles = [replace(role, rows=np.searchsorted(used, role.rows)) for role in roles]
    return RecentSample(kept, roles, sample.is_new[used])


def to_json(sample: RecentSample | None) -> Any:
    """Return a sample as values of JSON: its events as an Arrow stream."""
    if sample is None:
        return None
    events = sample.events
    columns = {name: to_arrow(column, events.strings) for name, column in events.columns.items()}
    content = table_to_bytes(pa.table({TIME: pa.array(events.times), **columns}))
    return {
        "events": base64.b64encode(content).decode(),
        "types": {name: [column.type.kind, column.type.scale] for name, column in events.columns.items()},
        "new": np.flatnonzero(sample.is_new).tolist(),
        "roles": [[role.rows.tolist(), role.weights.tolist()] for role in sample.roles],
    }


def from_json(state: Any, roles: Sequence[int | None]) -> RecentSample | None:
    """Return the sample that `to_json` wrote; `roles` are the numbers that today's roles had there."""
    if state is None:
        return None
    attributes = {name: (name, Type(*kind)) for name, kind in state["types"].items()}
    tie, tie_type = attributes.pop(TIE, (None, None))
    layout = Layout(TIME, None, None, None, tie, attributes, (), tie_type=tie_type, keeps_tie=True)
    events = ingest(table_from_bytes(base64.b64decode(state["events"])), layout)
    stored = [WeightedRows(np.array(rows, np.int64), np.array(w, np.float64)) for rows, w in state["roles"]]
    is_new = np.isin(np.arange(events.n_events), state["new"])
    return RecentSample(events, [NO_ROWS if number is None else stored[number] for number in roles], is_new)
