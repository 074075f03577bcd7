"""Read events from CSV, JSON lines or Parquet without Spark: the rows and types that Spark would give.

Files are read in batches, again for each reading, and only as far as their columns are asked for. What an
event is, where malformed lines are rows of NULLs, is as `weft.io.spark.sources` has it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from weft.errors import DataError
from weft.hosts.local.arrow_events import ArrowEvents
from weft.io.arrow_csv import common_header, infer_columns, typed_rows
from weft.io.arrow_json import infer_json, json_rows
from weft.io.arrow_parquet import parquet_columns, parquet_rows
from weft.io.arrow_times import event_times, time_type
from weft.io.event_files import (
    EventColumns,
    EventFiles,
    delimiter_of,
    find_events,
    no_times,
    require_any_column,
    require_delimiter,
    require_object_lines,
)
from weft.io.partitions import PartitionColumns, partition_columns
from weft.io.type_names import type_name
from weft.io.units import microseconds_in
from weft.io.value_texts import text_of

ReadFile: TypeAlias = Callable[[Path, Sequence[str], Collection[str]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class FileContents:
    """The columns that stand in files, and how some of them are read from one file."""

    kinds: Mapping[str, pa.DataType]
    read: ReadFile
    without_values: frozenset[str] = frozenset()


def open_events(path: str, columns: EventColumns, *, delimiter: str = ",") -> ArrowEvents:
    """Return the events at `path`; the time is a timestamp, NULL where it cannot be read.

    Numbers are counted from the epoch; text is ISO 8601, with or without an offset. A type is always text.
    A line that cannot be read is a row of NULLs: the engine rejects and counts it. The columns of CSV stand
    apart by `delimiter`. The types of CSV and JSON are found by a look at all rows.

    Raises
    ------
    DataError
        When there is nothing to read, formats are mixed, or a named column is missing or no time.
    """
    source = find_events(path)
    if not source.files:
        raise DataError(
            f"{path}: files elsewhere than on this machine are read by Spark alone\n  hint: run on Spark"
        )
    partitions = _partitions(source, columns)
    contents = _contents(source, columns, delimiter_of(delimiter), partitions)
    kinds = {**contents.kinds, **partitions.kinds}
    _require_distinct(list(kinds), path)
    columns.require(list(kinds), path)
    kinds = _meant_types(kinds, columns, path)

    def read(names: Sequence[str], coded: Collection[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([(name, kinds[name]) for name in names])
        own = [name for name in names if name not in partitions.kinds] or list(contents.kinds)[:1]
        for file in source.files:
            told = partitions.values.get(file, {})
            for rows in contents.read(file, own, coded):
                yield _as_meant(rows, told, columns, schema)

    schema = pa.schema(list(kinds.items()))
    n_bytes = sum(file.stat().st_size for file in source.files)
    return ArrowEvents(schema, n_bytes, read, contents.without_values)


def _partitions(source: EventFiles, columns: EventColumns) -> PartitionColumns:
    if source.format != "csv":
        return partition_columns(source)
    return partition_columns(source, texts={columns.time, columns.type}, id=columns.id)


def _contents(
    source: EventFiles, columns: EventColumns, delimiter: str, partitions: PartitionColumns
) -> FileContents:
    if source.format == "csv":
        return _csv_contents(source, columns, delimiter, partitions)
    if source.format == "json":
        require_object_lines(source)
        inferred = infer_json(source.files)
        require_any_column(list(inferred), source.path)
        return FileContents(inferred, lambda file, names, _: json_rows(file, names, inferred))
    kinds = parquet_columns(source.files[0])
    own = {name: kind for name, kind in kinds.items() if name not in partitions.kinds}
    return FileContents(kinds, lambda file, names, coded: parquet_rows(file, names, own, coded))


def _csv_contents(
    source: EventFiles, columns: EventColumns, delimiter: str, partitions: PartitionColumns
) -> FileContents:
    names = common_header(source.files, delimiter)
    require_any_column(names, source.path)
    require_delimiter(names, source.path, delimiter)
    texts = {columns.time, columns.type}
    columns.require([*names, *partitions.kinds], source.path)
    kinds = infer_columns(source.files, names, delimiter, texts=texts, id=columns.id)
    without_values = frozenset(name for name, kind in kinds.items() if pa.types.is_null(kind))
    kinds.update(dict.fromkeys(without_values, pa.string()))

    def read(file: Path, wanted: Sequence[str], _: Collection[str]) -> Iterator[pa.RecordBatch]:
        return typed_rows(file, names, {name: kinds[name] for name in wanted}, delimiter)

    return FileContents(kinds, read, without_values)


def _require_distinct(names: Sequence[str], path: str) -> None:
    """Refuse columns whose names differ in case alone: they are the same to Spark."""
    first: dict[str, str] = {}
    for name in names:
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise DataError(
                f"{path}: the columns `{other}` and `{name}` differ in upper and lower case alone\n"
                "  hint: rename one of them"
            )


def _meant_types(
    kinds: Mapping[str, pa.DataType], columns: EventColumns, path: str
) -> dict[str, pa.DataType]:
    """Return the types of columns when times are timestamps and types are text."""
    microseconds_in(columns.time_unit)
    time = time_type(kinds[columns.time])
    if time is None:
        raise no_times(path, columns.time, type_name(kinds[columns.time]))
    meant = {**kinds, columns.time: time}
    return meant if columns.type is None else {**meant, columns.type: pa.string()}


def _as_meant(
    rows: pa.RecordBatch, told: Mapping[str, pa.Scalar], columns: EventColumns, schema: pa.Schema
) -> pa.RecordBatch:
    """Return rows with what the directory tells, their times as timestamps and their types as text."""
    arrays = []
    for name in schema.names:
        values = pa.repeat(told[name], rows.num_rows) if name in told else rows.column(name)
        if name == columns.time:
            values = event_times(values, columns.time_unit)
        elif name == columns.type and not pa.types.is_dictionary(values.type):
            values = text_of(values)
        arrays.append(values)
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)
