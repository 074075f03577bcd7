"""Arrow types to the types Weft computes with, and the few forms in which columns are handled."""

import pyarrow as pa
from pyarrow import types as at

from weft.hosts.meaning import NOT_A_VALUE
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    LONG,
    MAX_DECIMAL_DIGITS,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)


def value_type(kind: pa.DataType) -> Type | None:
    """Return the value type of an Arrow type, or None when Weft does not compute with it.

    >>> value_type(pa.int8()), value_type(pa.large_string()), value_type(pa.binary())
    (Type(kind='long', scale=0), Type(kind='string', scale=0), None)
    """
    kind = plain_type(kind)
    if at.is_integer(kind) and not at.is_uint64(kind):
        return LONG
    if at.is_decimal(kind):
        return decimal(kind.scale) if kind.precision <= MAX_DECIMAL_DIGITS else None
    simple = (
        (at.is_floating, DOUBLE),
        (at.is_boolean, BOOLEAN),
        (at.is_string, STRING),
        (at.is_timestamp, TIMESTAMP),
        (at.is_date, DATE),
        (at.is_duration, DURATION),
    )
    return next((own for is_of, own in simple if is_of(kind)), None)


def column_kinds(schema: pa.Schema) -> dict[str, Type | str]:
    """Return the type of each column, or why Weft cannot compute with it."""
    return {field.name: value_type(field.type) or _why_unusable(field.type) for field in schema}


def _why_unusable(kind: pa.DataType) -> str:
    if at.is_uint64(kind):
        return "uint64 may be too large for a long; cast it to int64"
    if not at.is_decimal(kind):
        return f"{kind}{NOT_A_VALUE}"
    return (
        f"{kind} has more than {MAX_DECIMAL_DIGITS} digits; "
        f"cast it to decimal({MAX_DECIMAL_DIGITS},{min(kind.scale, 6)}) or double"
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the same values, whether they are encoded, large or views.

    >>> plain_type(pa.dictionary(pa.int32(), pa.large_string()))
    DataType(string)
    """
    if at.is_dictionary(kind):
        return plain_type(kind.value_type)
    if at.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if at.is_large_string(kind) or at.is_string_view(kind):
        return pa.string()
    return kind
