"""Arrow tables to sorted event columns."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrays import as_own
from weft.kernels.matches.identity import write_hex
from weft.runtime.columns.events import Array, Column, Events, StringPool
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.runtime.columns.merge import (
    CONTENT_DIGITS,
    TIE,
    append_numbers,
    count_repeats,
    tie_places,
    without_rows,
)
from weft.schema import Type


def ingest(table: pa.Table, layout: Layout) -> Events:
    """Return the events of a table, sorted, duplicates by id removed."""
    table = table.combine_chunks()
    times = _numbers(table[layout.time])
    tie = () if layout.tie is None or layout.tie_type is None else ((layout.tie, layout.tie_type),)
    pool, codes = _pool_strings(table, [*layout.attributes.values(), *tie])
    columns = {
        name: _column(table, source, kind, codes) for name, (source, kind) in layout.attributes.items()
    }
    order = _tie(table, layout, codes)
    if order is not None and layout.keeps_tie:
        columns[TIE] = order
    events = Events(
        times=times,
        type_codes=_type_codes(table, layout),
        type_names=layout.type_names,
        columns=columns,
        ids=_ids(table, layout, times),
        strings=pool,
        ties=None if order is None else tie_places(order, pool),
        flags=_flags(table, layout),
    )
    events = _sort_events(events)
    return events if layout.id is None else _without_duplicates(events)


def attribute_columns(table: pa.Table, kinds: Mapping[str, Type]) -> tuple[dict[str, Column], StringPool]:
    """Return columns of a table, which have their own names, and the pool of their strings."""
    pool, codes = _pool_strings(table, [(name, kind) for name, kind in kinds.items()])
    return {name: _column(table, name, kind, codes) for name, kind in kinds.items()}, pool


def _sort_events(events: Events) -> Events:
    times, ties = events.times, events.ties
    if ties is None:
        if times.size < 2 or bool(np.all(times[1:] >= times[:-1])):
            return events
        return events.take(np.argsort(times, kind="stable"))
    return events.take(np.lexsort((ties, times)))


def _without_duplicates(events: Events) -> Events:
    """Drop repeated deliveries: events with the id and the time of another."""
    same_time = np.zeros(events.n_events, np.bool_)
    same_time[1:] = events.times[1:] == events.times[:-1]
    tied = np.flatnonzero(same_time | np.append(same_time[1:], False))
    if not tied.size:
        return events
    encoded = events.ids.take(pa.array(tied)).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    repeats = count_repeats(events.times[tied], codes)
    return without_rows(events, tied[(repeats > 0) & (codes >= 0)])


def divide_at(table: pa.Table | None, time: str, limit: int) -> tuple[pa.Table | None, pa.Table | None]:
    """Return the rows that came in time, and those before the limit."""
    if table is None:
        return None, None
    is_late = table[time].to_numpy() < limit
    if not is_late.any():
        return table, None
    return table.filter(pa.array(~is_late)), table.filter(pa.array(is_late))


def _numbers(column: pa.ChunkedArray) -> Array:
    """Return a column without NULLs as int64."""
    array = _one_chunk(column)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64())
    return _own_values(array, np.int64)


def _own_values(array: pa.Array, dtype: type) -> Array:
    """Return values that are the engine's own: what Arrow lends may not be written to."""
    values: Array = as_own(array.to_numpy(zero_copy_only=False).astype(dtype, copy=False))
    return values


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    chunks = column.chunks
    return (
        chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
    )


def _pool_strings(table: pa.Table, typed: Iterable[tuple[str, Type]]) -> tuple[StringPool, dict[str, Column]]:
    """Encode all string columns among some, given with their types, into one pool."""
    sources = list(dict.fromkeys(source for source, kind in typed if kind.kind == "string"))
    if not sources:
        return StringPool(pa.array([], pa.string())), {}
    every = pa.chunked_array([_one_chunk(table[source]).cast(pa.string()) for source in sources])
    encoded = pa.concat_arrays([every.combine_chunks()]).dictionary_encode()
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    codes: dict[str, Column] = {}
    for number, source in enumerate(sources):
        part = slice(number * table.num_rows, (number + 1) * table.num_rows)
        codes[source] = Column(Type("string"), indices[part], _validity(_one_chunk(table[source])))
    return StringPool(encoded.dictionary), codes


def _validity(array: pa.Array) -> Array | None:
    return None if array.null_count == 0 else _own_values(array.is_valid(), np.bool_)


def _column(table: pa.Table, source: str, kind: Type, codes: Mapping[str, Column]) -> Column:
    if kind.kind == "string":
        return codes[source]
    array = _one_chunk(table[source])
    valid = _validity(array)
    if kind.kind == "decimal":
        return Column(kind, _unscaled_integers(array, kind), valid)
    if kind.kind in ("timestamp", "duration") and not pa.types.is_integer(array.type):
        unit = pa.timestamp("us", array.type.tz) if kind.kind == "timestamp" else pa.duration("us")
        array = array.cast(unit).view(pa.int64())
    if kind.kind == "date":
        array = array.cast(pa.date32()).view(pa.int32())
    if valid is not None:
        array = pc.fill_null(array, pa.scalar(False if kind.kind == "boolean" else 0, array.type))
    dtype = {"double": np.float64, "boolean": np.bool_}.get(kind.kind, np.int64)
    return Column(kind, _own_values(array, dtype), valid)


def _unscaled_integers(array: pa.Array, kind: Type) -> Array:
    """Read decimals of at most 18 digits as their unscaled integers."""
    array = array.cast(pa.decimal128(38, kind.scale))
    words = np.frombuffer(array.buffers()[1], np.int64) if len(array) else np.empty(0, np.int64)
    low = words[2 * array.offset : 2 * (array.offset + len(array)) : 2].copy()
    valid = _validity(array)
    if valid is not None:
        low[~valid] = 0
    return low


def _type_codes(table: pa.Table, layout: Layout) -> Array:
    dtype = np.int16 if len(layout.type_names) < (1 << 15) else np.int32
    if layout.type is None:
        return np.full(table.num_rows, -1, dtype)
    names = pa.array(layout.type_names, pa.string())
    types = _one_chunk(table[layout.type])
    if not pa.types.is_dictionary(types.type):
        return _codes(types, names).astype(dtype)
    by_index = np.append(_codes(types.dictionary, names), -1).astype(dtype)  # NULL is the last
    return np.asarray(by_index[types.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _codes(values: pa.Array, names: pa.Array) -> Array:
    """Return the place of each value among the names, -1 for others."""
    places = pc.index_in(values, value_set=names).fill_null(-1)
    return np.asarray(places.to_numpy(zero_copy_only=False))


def _flags(table: pa.Table, layout: Layout) -> dict[str, Array]:
    flags: dict[str, Array] = {}
    for number, name in enumerate(layout.derived_types):
        bits = _numbers(table[layout.flags[number // FLAGS_PER_COLUMN]])
        flags[name] = (bits >> (number % FLAGS_PER_COLUMN)) & 1 == 1
    return flags


def _tie(table: pa.Table, layout: Layout, codes: Mapping[str, Column]) -> Column | None:
    """Return the values of the tie-break."""
    if layout.tie is None or layout.tie_type is None:
        return None
    return _column(table, layout.tie, layout.tie_type, codes)


def _ids(table: pa.Table, layout: Layout, times: Array) -> pa.Array:
    """Return the id of each event; without an id column, its content hash and a running number."""
    if layout.id is not None:
        return _one_chunk(table[layout.id])
    if layout.content is None:
        return pa.array(np.arange(table.num_rows))
    content = _numbers(table[layout.content])
    texts = fixed_strings(write_hex(content.view(np.uint64).reshape(-1, 1)), CONTENT_DIGITS, times.size)
    repeats = count_repeats(times, content)
    return append_numbers(texts, repeats) if repeats.any() else texts


def fixed_strings(data: Array, width: int, n_strings: int) -> pa.StringArray:
    """Return ASCII bytes as strings of equal width."""
    offsets = np.arange(n_strings + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(n_strings, pa.py_buffer(offsets), pa.py_buffer(data))
