"""Files of events for tests, as Arrow tables: CSV with a header, JSON lines or Parquet."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, csv, json, parquet

from weft.errors import DataError
from weft.io.event_files import find_events
from weft.io.units import MICROSECONDS, TimeUnit
from weft.language.literals import parse_timestamp
from weft.testing.event_text import with_absent
from weft.testing.rule_set import RuleColumns

READERS = {"csv": csv.read_csv, "json": json.read_json, "parquet": parquet.read_table}
TIMES = pa.timestamp("us", "UTC")


def read_events(
    path: Path, columns: RuleColumns, types: Mapping[str, str], time_unit: TimeUnit = "ms"
) -> pa.Table:
    """Return the events of a file; rows without a column for the id are numbered from 1 on."""
    files = find_events(str(path))
    try:
        tables = [READERS[files.format](str(file)) for file in files.files]
        table = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: this is no {files.format} that can be read: {error}") from None
    if columns.time not in table.column_names:
        names = ", ".join(table.column_names)
        raise DataError(f"{path}: there is no column {columns.time} for the time; the columns are {names}")
    shown = {name: table[name] for name in table.column_names}
    shown[columns.time] = _times(table[columns.time], path, time_unit)
    if columns.id not in shown:
        shown = {columns.id: pa.array(range(1, table.num_rows + 1), pa.int64()), **shown}
    return pa.table(with_absent(shown, types, table.num_rows))


def _times(column: pa.ChunkedArray, path: Path, time_unit: TimeUnit) -> pa.ChunkedArray:
    """Return times of a file, which are such, ISO texts, or numbers since the epoch."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(TIMES) if kind.tz else column.cast(pa.timestamp("us")).cast(TIMES)
    if pa.types.is_integer(kind):
        return compute.multiply(column.cast(pa.int64()), MICROSECONDS[time_unit]).cast(TIMES)
    if not pa.types.is_string(kind):
        raise DataError(f"{path}: the time column is {kind}; expected times, ISO 8601 texts or whole numbers")
    moments = []
    for row, text in enumerate(column.to_pylist(), 1):
        moment = None if text is None else parse_timestamp(text)
        if text is not None and moment is None:
            raise DataError(f"{path}: row {row} has the time {text!r}; expected one in ISO 8601")
        moments.append(moment)
    return pa.chunked_array([pa.array(moments, pa.int64()).cast(TIMES)])
