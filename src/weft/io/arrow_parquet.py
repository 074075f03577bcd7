"""Read Parquet as Arrow, with the types that Spark gives its columns."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.errors import DataError
from weft.io.time_texts import UTC_TIME
from weft.io.type_names import type_name

BATCH_ROWS = 1 << 16


def nanosecond_columns(file: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file that hold timestamps in nanoseconds.

    Those of 96 bits, which Spark writes, have nanoseconds too, but Spark reads them as timestamps.
    """
    with _opened(file) as content:
        stored = content.schema
    physical = {
        stored.column(number).path: stored.column(number).physical_type for number in range(len(stored))
    }
    return tuple(
        field.name
        for field in stored.to_arrow_schema()
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns" and physical[field.name] != "INT96"
    )


def parquet_columns(file: Path) -> dict[str, pa.DataType]:
    """Return the columns of a file and their types, as Spark reads them: of those that it knows."""
    with _opened(file) as content:
        stored = content.schema.to_arrow_schema()
    return {field.name: _top_type(field.type, field.name, file) for field in stored}


def parquet_rows(
    file: Path, wanted: Sequence[str], kinds: Mapping[str, pa.DataType], coded: Collection[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with some columns, as values of their types; NULLs for what it has not.

    Upper and lower case are the same in names, as they are for Spark. Texts that are `coded` stay as the
    dictionary and the codes of the file.
    """
    with _opened(file, coded) as content:
        there = {name.lower(): name for name in content.schema_arrow.names}
        own = {name: there[name.lower()] for name in wanted if name.lower() in there}
        for batch in content.iter_batches(batch_size=BATCH_ROWS, columns=list(own.values())):
            columns = [
                _converted(batch.column(own[name]), kinds[name], name, file, is_coded=name in coded)
                if name in own
                else pa.nulls(batch.num_rows, kinds[name])
                for name in wanted
            ]
            yield pa.RecordBatch.from_arrays(columns, names=list(wanted))


def _opened(file: Path, coded: Collection[str] = ()) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file, coerce_int96_timestamp_unit="us", read_dictionary=list(coded))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file}: this is no readable Parquet file: {error}") from None


def _top_type(kind: pa.DataType, name: str, file: Path) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":  # read as numbers by Spark, then turned into times
        return UTC_TIME
    known = plain_type(kind)
    if known is None:
        raise DataError(
            f"{file}: the column `{name}` is of type {type_name(kind)}, which events cannot have\n"
            "  hint: leave the column out, or write it as numbers or text"
        )
    return known


def plain_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of Arrow that Spark has for a type of Parquet, or None when it has none.

    >>> plain_type(pa.uint8()), plain_type(pa.list_(pa.large_string())), plain_type(pa.float16())
    (DataType(int16), ListType(list<element: string>), None)
    """
    tests = {
        pa.types.is_null: pa.int32(),
        pa.types.is_uint8: pa.int16(),
        pa.types.is_uint16: pa.int32(),
        pa.types.is_uint32: pa.int64(),
        pa.types.is_uint64: pa.decimal128(20, 0),
        pa.types.is_date: pa.date32(),
        pa.types.is_duration: pa.int64(),
    }
    for test, plain in tests.items():
        if test(kind):
            return plain
    if any(
        test(kind)
        for test in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64)
    ):
        return kind
    if pa.types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        return pa.string()
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            return pa.int64()
        return UTC_TIME if kind.tz is not None else pa.timestamp("us")
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return _nested_type(kind) if pa.types.is_nested(kind) else _bytes_type(kind)


def _bytes_type(kind: pa.DataType) -> pa.DataType | None:
    is_bytes = (
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    )
    return pa.binary() if is_bytes and not pa.types.is_float16(kind) else None


def _nested_type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_map(kind):
        key, value = plain_type(kind.key_type), plain_type(kind.item_type)
        return None if key is None or value is None else pa.map_(key, value)
    if pa.types.is_struct(kind):
        fields = [
            (kind.field(place).name, plain_type(kind.field(place).type)) for place in range(kind.num_fields)
        ]
        return None if any(own is None for _, own in fields) else pa.struct(fields)
    element = plain_type(kind.value_type)
    return None if element is None else pa.list_(pa.field("element", element))


def _converted(
    values: pa.Array, kind: pa.DataType, name: str, file: Path, *, is_coded: bool = False
) -> pa.Array:
    """Return the values of a column as another type that holds them."""
    if values.type == kind or (is_coded and values.type == pa.dictionary(pa.int32(), kind)):
        return values
    try:
        if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
            values = pc.floor_temporal(values, unit="microsecond")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if pa.types.is_timestamp(kind) and not pa.types.is_timestamp(values.type):
            raise pa.ArrowInvalid("no times")
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"{file}: the column `{name}` is of type {type_name(values.type)}, "
            f"but {type_name(kind)} in the first file of the directory\n"
            "  hint: write all files of a directory with the same types"
        ) from None
