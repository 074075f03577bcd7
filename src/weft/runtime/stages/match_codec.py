"""Matches on their way from site to site: one Arrow value for a match, with the events that it binds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrays import as_own
from weft.plan.sites import SITE
from weft.runtime.columns.events import Array, Column, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.columns.merge import TIE
from weft.runtime.matches.emit import arrow_type, to_arrow
from weft.runtime.matches.execute import Found
from weft.runtime.matches.table import flatten_events
from weft.runtime.state.segments import flag_columns
from weft.schema import LONG, Type

PLACE, ORIGIN, TIME, TYPE, ID = "place", "origin", "time", "type", "id"  # of an event in a match
TIE_VALUE, FLAGS, VALUE = "tie", "flags", "value"
MATCHES = "matches"  # the column of a table of matches
OVERHEAD_BYTES = 12  # of an event besides its time, id and attributes: its place, origin and type


@dataclass(frozen=True)
class MatchCodec:
    """How events travel, given the layout that a site's own events have and the type of their ids."""

    layout: Layout
    id_type: pa.DataType

    @property
    def event_type(self) -> pa.StructType:
        """The type of an event in a match."""
        fields = [(PLACE, pa.int32()), (ORIGIN, pa.int32()), (TIME, pa.int64())]
        if self.layout.type is not None:
            fields.append((TYPE, pa.int32()))
        fields.append((ID, self.id_type))
        if self.layout.tie_type is not None:
            fields.append((TIE_VALUE, arrow_type(self.layout.tie_type)))
        fields += [(f"{FLAGS}{number}", pa.int64()) for number in range(len(self.layout.flags))]
        fields += [(source, arrow_type(kind)) for _, source, kind in self.travelling]
        return pa.struct(fields)

    @property
    def travelling(self) -> list[tuple[str, str, Type]]:
        """The attributes other than the time, with their field in an event and their type."""
        given = self.layout.attributes.items()
        own = [(name, kind) for name, (source, kind) in sorted(given) if source != self.layout.time]
        return [(name, f"{VALUE}{number}", kind) for number, (name, kind) in enumerate(own)]

    @property
    def received_layout(self) -> Layout:
        """The layout of events that came in matches."""
        sources = {name: (source, kind) for name, source, kind in self.travelling}
        given = self.layout.attributes.items()
        return replace(
            self.layout,
            time=TIME,
            type=None if self.layout.type is None else TYPE,
            id=ID,
            content=None,
            tie=None if self.layout.tie is None else TIE_VALUE,
            attributes={name: sources.get(name, (TIME, kind)) for name, (_, kind) in given}
            | {SITE: (ORIGIN, LONG)},
            flags=tuple(f"{FLAGS}{number}" for number in range(len(self.layout.flags))),
            keeps_tie=True,
        )

    def own(self, table: pa.Table, site: int) -> Events:
        """Return the events that arose at a site."""
        events = ingest(table, replace(self.layout, keeps_tie=True))
        origins = Column(LONG, np.full(events.n_events, site, np.int64))
        return replace(events, columns={**events.columns, SITE: origins})

    def write(self, matches: Found, columns: Sequence[int], attributes: Sequence[Sequence[str]]) -> pa.Array:
        """Return matches as lists of events, in the given order of columns, with some attributes of each."""
        events = matches.events
        offsets, numbers, rows = flatten_events(matches.table, columns)
        place_of = np.zeros(max(columns) + 1, np.int32)
        place_of[list(columns)] = np.arange(len(columns))
        places = place_of[numbers]
        arrays = {
            PLACE: pa.array(places),
            ORIGIN: pa.array(events.columns[SITE].values[rows].astype(np.int32)),
            TIME: pa.array(events.times[rows]),
            TYPE: pa.array(events.type_codes[rows].astype(np.int32)),
            ID: events.ids.take(pa.array(rows)),
        }
        if TIE in events.columns:
            arrays[TIE_VALUE] = to_arrow(events.columns[TIE].take(rows), events.strings)
        flags = {name: flag[rows] for name, flag in events.flags.items()}
        arrays |= flag_columns(self.received_layout, flags, rows.size)
        for name, source, _ in self.travelling:
            travels = np.array([name in own for own in attributes], np.bool_)[places]
            column = events.columns[name].take(rows)
            shown = replace(column, valid=column.validity & travels)
            arrays[source] = to_arrow(shown, events.strings)
        kind = self.event_type
        struct = pa.StructArray.from_arrays(
            [arrays[field.name].cast(field.type) for field in kind], fields=list(kind)
        )
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct, type=pa.list_(kind))

    def read(self, matches: pa.Array) -> tuple[Events, "Bindings"]:
        """Return the events of matches, each once, and which of them every match binds."""
        flat = matches.flatten()
        columns = {field.name: flat.field(number) for number, field in enumerate(flat.type)}
        if self.layout.type is not None:
            names = pa.array(self.layout.type_names, pa.string())
            codes = columns[TYPE].to_numpy(zero_copy_only=False)
            indices = pa.array(codes, pa.int32(), mask=codes < 0)
            columns[TYPE] = pa.DictionaryArray.from_arrays(indices, names)
        offsets = np.zeros(len(matches) + 1, np.int64)
        np.cumsum(matches.value_lengths().to_numpy(zero_copy_only=False), out=offsets[1:])
        places = as_own(columns.pop(PLACE).to_numpy(zero_copy_only=False))
        times = np.asarray(columns[TIME].to_numpy(zero_copy_only=False))
        bindings = Bindings(offsets, places, times, columns[ID])
        return ingest(pa.table(columns), self.received_layout), bindings


@dataclass(frozen=True)
class Bindings:
    """What matches bind: offsets of the matches; for every event its place, and its time and id."""

    offsets: Array
    places: Array
    times: Array
    ids: pa.Array

    def rows_in(self, events: Events) -> Array:
        """Return the rows that the bound events have among events; those not there get rows beyond them."""
        n_known = events.n_events
        codes = pa.concat_arrays([events.ids, self.ids]).dictionary_encode().indices.to_numpy()
        times = np.concatenate([events.times, self.times])
        order = np.lexsort((codes, times))  # stable: of equal ones, those known come first
        starts = np.ones(order.size, np.bool_)
        starts[1:] = (np.diff(times[order]) != 0) | (np.diff(codes[order]) != 0)
        leaders = order[np.flatnonzero(starts)]
        rows = np.empty(order.size, np.int64)
        rows[order] = leaders[np.cumsum(starts) - 1]
        return rows[n_known:]


def last_times(matches: pa.Array) -> pa.Array:
    """Return the time of the last event of each match."""
    times = matches.flatten().field(TIME).to_numpy(zero_copy_only=False)
    starts = np.zeros(len(matches), np.int64)
    np.cumsum(matches.value_lengths().to_numpy(zero_copy_only=False)[:-1], out=starts[1:])
    return pa.array(np.maximum.reduceat(times, starts) if len(matches) else times)


def value_bytes(matches: pa.Array) -> int:
    """Return the bytes of the values in matches: numbers by their width, texts by their length, NULLs none.

    >>> value_bytes(pa.array([[{"x": 1, "name": "ann"}, {"x": 2, "name": None}]]))
    19
    """
    events = matches.flatten()
    return sum(_size(events.field(number)) for number in range(events.type.num_fields))


def _size(values: pa.Array) -> int:
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return int(pc.sum(pc.binary_length(values)).as_py() or 0)
    return int(len(values) - values.null_count) * max(1, int(values.type.bit_width) // 8)
