"""Columns of Arrow as the engine takes them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.hosts.local.schemas import plain_type
from weft.schema import Type

TO_MICROSECONDS = {"s": 1_000_000, "ms": 1_000}


def plain(column: pa.Array) -> pa.Array:
    """Return the values of a column that may be encoded, large or of views."""
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)


def texts_of(column: pa.Array) -> pa.Array:
    """Return the values of a column as text."""
    return plain(column).cast(pa.string())


def is_coded(column: pa.Array) -> bool:
    """Return whether a column has codes and a dictionary of texts, none of which is NULL."""
    kind = column.type
    return (
        pa.types.is_dictionary(kind) and kind.value_type == pa.string() and not column.dictionary.null_count
    )


def places_in(column: pa.Array, known: pa.StringArray) -> pa.Int32Array:
    """Return where the texts of a column are among some that are known; NULL for others.

    >>> column = pa.array(["b", "c", "b"]).dictionary_encode()
    >>> places_in(column, pa.array(["a", "b"])).to_pylist()
    [1, None, 1]
    """
    if is_coded(column):
        return pc.index_in(column.dictionary, value_set=known).take(column.indices)
    return pc.index_in(texts_of(column), value_set=known)


def microseconds(column: pa.Array) -> pa.Array:
    """Return times as microseconds since the epoch, without a zone those in UTC, finer ones rounded down."""
    column = plain(column)
    unit = column.type.unit
    counts = column.view(pa.int64())
    if unit == "us":
        return counts
    if unit != "ns":
        return pc.multiply_checked(counts, TO_MICROSECONDS[unit])
    values = np.floor_divide(counts.fill_null(0).to_numpy(zero_copy_only=False), 1000)
    return pa.array(values, mask=None if not counts.null_count else ~np.asarray(counts.is_valid()))


def wire_column(column: pa.Array, kind: Type) -> pa.Array:
    """Return an attribute as the engine takes it."""
    column = plain(column)
    match kind.kind:
        case "timestamp":
            return microseconds(column)
        case "long":
            return column.cast(pa.int64())
        case "double":
            return column.cast(pa.float64())
        case "date":
            return column.cast(pa.date32())
        case "duration":
            return column.cast(pa.duration("us"), safe=False)
    return column
