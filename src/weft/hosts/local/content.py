"""Identify events that have no id by what they hold: by the hash `xxhash64` of Spark, over their columns."""

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.kernels.content_hash import hash_big_integers, hash_bytes, hash_ints, hash_longs

SEED = 42
LONG_DIGITS = 18  # a decimal of no more digits is hashed as a number of eight bytes

ContentHashes: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_Words: TypeAlias = np.ndarray[Any, Any]


def content_hashes(rows: pa.RecordBatch | pa.Table) -> ContentHashes:
    """Return the hash of each row over all columns in their order, except maps, which Spark does not hash.

    NULLs are skipped, and so are columns that hold maps inside.

    >>> content_hashes(pa.table({"type": ["A", None], "price": [1.5, 2.0]})).tolist()
    [6743934331880435328, 8973626371093010265]
    """
    hashes = np.full(rows.num_rows, SEED, np.uint64)
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if not _holds_map(field.type):
            _mix(_in_one_piece(column), hashes)
    return hashes.view(np.int64)


def _holds_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    return any(_holds_map(kind.field(place).type) for place in range(kind.num_fields))


def _in_one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _mix(values: pa.Array, hashes: _Words) -> None:
    """Mix the values of a column into the hashes of their rows, in place."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        _mix(values.dictionary_decode(), hashes)
    elif pa.types.is_struct(kind):
        _mix_structs(values, hashes)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        _mix_lists(values, hashes)
    elif pa.types.is_decimal(kind):
        _mix_decimals(values, hashes)
    elif _is_bytes(kind):
        _mix_bytes(values, hashes)
    elif not pa.types.is_null(kind):
        _mix_numbers(values, hashes)


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)


def _valid(values: pa.Array) -> _Words:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _mix_numbers(values: pa.Array, hashes: _Words) -> None:
    kind, valid = values.type, _valid(values)
    if pa.types.is_timestamp(kind) and kind.unit != "us":
        values = _in_microseconds(values)
    elif pa.types.is_unsigned_integer(kind):  # as the smallest type with a sign that holds them all
        values = values.cast(pa.int32() if kind.bit_width < 32 else pa.int64())
    elif pa.types.is_date64(kind):
        values = values.cast(pa.date32())
    elif pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and kind.bit_width < 32):
        values = values.cast(pa.int32())
    elif not (pa.types.is_primitive(kind) and kind.bit_width in (32, 64)):
        raise DataError(
            f"a value of type {kind} identifies no event\n"
            "  hint: name a column of identities, or drop this column"
        )
    whole = pa.Array.from_buffers(_plain(values.type), len(values), values.buffers(), offset=values.offset)
    plain = whole.fill_null(0).to_numpy(zero_copy_only=False)
    if plain.dtype.kind == "f":
        plain = np.where(
            np.isnan(plain), plain.dtype.type(np.nan), plain + plain.dtype.type(0)
        )  # one NaN, no -0.0
    if plain.dtype.itemsize == 4:
        hash_ints(plain.view(np.uint32), valid, hashes)
    else:
        hash_longs(plain.view(np.uint64), valid, hashes)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of numbers that a value is stored as: days and microseconds are integers."""
    if pa.types.is_floating(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _in_microseconds(values: pa.Array) -> pa.Array:
    """Return times in microseconds, those in nanoseconds rounded down."""
    return pc.floor_temporal(values, unit="microsecond").cast(pa.timestamp("us", values.type.tz))


def _mix_bytes(values: pa.Array, hashes: _Words) -> None:
    valid = _valid(values)
    if not pa.types.is_large_binary(values.type):
        values = values.cast(pa.binary()) if pa.types.is_fixed_size_binary(values.type) else values
        values = values.cast(pa.large_binary())
    _, offsets, content = values.buffers()
    starts = np.frombuffer(offsets, np.int64, len(values) + 1, 8 * values.offset)
    filled = (
        np.frombuffer(content, np.uint8) if content is not None and content.size else np.zeros(1, np.uint8)
    )
    hash_bytes(filled, starts, valid, hashes)


def _mix_decimals(values: pa.Array, hashes: _Words) -> None:
    valid = _valid(values)
    width = values.type.bit_width // 8
    if width < 8:
        values, width = values.cast(pa.decimal128(values.type.precision, values.type.scale)), 16
    content = np.frombuffer(values.buffers()[1], np.uint8, width * len(values), width * values.offset)
    words = content.reshape(len(values), width)
    if values.type.precision <= LONG_DIGITS:
        hash_longs(np.ascontiguousarray(words[:, :8]).view(np.uint64).ravel(), valid, hashes)
    else:
        hash_big_integers(words, valid, hashes)


def _mix_structs(values: pa.Array, hashes: _Words) -> None:
    for field in values.flatten():  # a NULL is one of NULLs, which are skipped
        _mix(field, hashes)


def _mix_lists(values: pa.Array, hashes: _Words) -> None:
    """Mix the first elements of all lists, then all second ones: within a row they follow in order."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    elements = values.flatten()  # of lists that are not NULL
    starts = np.cumsum(lengths) - lengths
    rows, place = np.flatnonzero(lengths), 0
    while rows.size:
        own = hashes[rows]
        _mix(elements.take(pa.array(starts[rows] + place)), own)
        hashes[rows] = own
        place += 1
        rows = rows[lengths[rows] > place]
