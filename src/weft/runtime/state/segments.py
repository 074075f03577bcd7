"""Events as bytes that outlive the process: Arrow, compressed, with a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.codec import REMEDY, VERSION
from weft.errors import DataError
from weft.runtime.columns.events import Array, Column, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.runtime.columns.merge import TIE
from weft.runtime.matches.emit import arrow_type, to_arrow
from weft.schema import LONG, Type

VERSION_KEY = b"weft.segment"
ARRIVAL = "\0arrival"  # the step in which an event came
TIME_COLUMN, TYPE_COLUMN, ID_COLUMN, TIE_COLUMN, ARRIVAL_COLUMN = "time", "type", "id", "tie", "arrival"


def with_arrival(events: Events, step: int) -> Events:
    """Return events that remember the step in which they came."""
    arrivals = Column(LONG, np.full(events.n_events, step, np.int64))
    return replace(events, columns={**events.columns, ARRIVAL: arrivals})


def arrivals_of(events: Events) -> Array:
    """Return the step in which each event came."""
    return events.columns[ARRIVAL].values


def to_table(events: Events) -> pa.Table:
    """Return events as they are stored: attributes under their names, with their types."""
    names = pa.array([*events.type_names, None], pa.string())
    columns = {
        TIME_COLUMN: pa.array(events.times),
        TYPE_COLUMN: names.take(pa.array(np.where(events.type_codes < 0, len(names) - 1, events.type_codes))),
        ID_COLUMN: events.ids,
    }
    for name, column in events.columns.items():
        columns[_stored_name(name)] = to_arrow(column, events.strings)
    for name, flag in events.flags.items():
        columns[f"is {name}"] = pa.array(flag)
    return pa.table(columns).replace_schema_metadata({VERSION_KEY: str(VERSION)})


def _stored_name(name: str) -> str:
    return {TIE: TIE_COLUMN, ARRIVAL: ARRIVAL_COLUMN}.get(name, f"attribute {name}")


def table_to_bytes(table: pa.Table, *, is_compressed: bool = True) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4" if is_compressed else None)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def table_from_bytes(content: bytes) -> pa.Table:
    """Return the table of an Arrow stream."""
    return pa.ipc.open_stream(content).read_all()


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    whole = column.combine_chunks()
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole


@dataclass(frozen=True)
class Reader:
    """Reads segments for a layout, which need not be the one they were written for.

    An attribute that was not stored is NULL. One that was stored with another type is refused.
    """

    layout: Layout
    id_type: pa.DataType

    def read(self, contents: Sequence[bytes]) -> Events:
        """Return the events of segments, sorted."""
        tables = [self._select_columns(_check_version(table_from_bytes(content))) for content in contents]
        return ingest(pa.concat_tables(tables), self._stored_layout)

    def nothing(self) -> Events:
        """Return no events."""
        fields = [(TIME_COLUMN, pa.int64()), (TYPE_COLUMN, pa.string()), (ID_COLUMN, self.id_type)]
        empty = pa.schema([*fields, (ARRIVAL_COLUMN, pa.int64())]).empty_table()
        return ingest(self._select_columns(empty), self._stored_layout)

    @property
    def _stored_layout(self) -> Layout:
        given = self.layout
        attributes = {name: (_stored_name(name), kind) for name, (_, kind) in given.attributes.items()}
        return replace(
            given,
            time=TIME_COLUMN,
            type=TYPE_COLUMN,
            id=ID_COLUMN,
            content=None,
            tie=None if given.tie is None else TIE_COLUMN,
            attributes={**attributes, ARRIVAL: (ARRIVAL_COLUMN, LONG)},
        )

    def _select_columns(self, table: pa.Table) -> pa.Table:
        """Return the columns of a table that the layout speaks of."""
        columns = {name: table[name] for name in (TIME_COLUMN, TYPE_COLUMN, ID_COLUMN, ARRIVAL_COLUMN)}
        for name, (_, kind) in self.layout.attributes.items():
            columns[_stored_name(name)] = _stored_column(table, _stored_name(name), kind)
        if self.layout.tie is not None and self.layout.tie_type is not None:
            columns[TIE_COLUMN] = _stored_column(table, TIE_COLUMN, self.layout.tie_type)
        derived = [name for name in self.layout.derived_types if f"is {name}" in table.column_names]
        flags = {name: table[f"is {name}"].to_numpy() for name in derived}
        return pa.table(columns | flag_columns(self.layout, flags, table.num_rows))


def flag_columns(layout: Layout, flags: Mapping[str, Array], n_rows: int) -> dict[str, pa.Array]:
    """Return which rows are of derived types as bits, in the columns that a layout has for them."""
    columns: dict[str, pa.Array] = {}
    for number, column in enumerate(layout.flags):
        bits = np.zeros(n_rows, np.int64)
        first = number * FLAGS_PER_COLUMN
        for place, name in enumerate(layout.derived_types[first : first + FLAGS_PER_COLUMN]):
            if name in flags:
                bits |= flags[name].astype(np.int64) << place
        columns[column] = pa.array(bits)
    return columns


def _check_version(table: pa.Table) -> pa.Table:
    """Return a table of this version; refuse others."""
    version = (table.schema.metadata or {}).get(VERSION_KEY)
    if version != str(VERSION).encode():
        stated = "no version" if version is None else f"version {version.decode()}"
        raise DataError(f"the state holds a segment of {stated}, expected {VERSION}; {REMEDY}")
    return table


def _stored_column(table: pa.Table, name: str, kind: Type) -> pa.ChunkedArray:
    expected = arrow_type(kind)
    if name not in table.column_names:
        return pa.chunked_array([pa.nulls(table.num_rows, expected)])
    if table[name].type != expected:
        raise DataError(
            f"the state holds {name} as {table[name].type}, the events have it as {expected}; "
            "give it its old type, or start with a new checkpoint"
        )
    return table[name]
