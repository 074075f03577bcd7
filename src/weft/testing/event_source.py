"""Files of events for tests, as Arrow tables: CSV with a header, JSON lines or Parquet."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import compute, csv, json, parquet

from weft.errors import DataError, near_name
from weft.io.event_files import find_events
from weft.io.units import MICROSECONDS, TimeUnit
from weft.testing.cell_values import kind_named, time_kind
from weft.testing.event_text import with_absent
from weft.testing.moments import DAY, EXPECTED, parse_moment, start_of
from weft.testing.rule_set import RuleColumns

MICROSECOND, MOMENT = pa.timestamp("us"), pa.timestamp("us", "UTC")
NULLS = csv.ConvertOptions(null_values=["", "NULL", "null"], strings_can_be_null=True)


def read_events(
    path: Path,
    columns: RuleColumns,
    types: Mapping[str, str],
    *,
    day: str = DAY,
    time_unit: TimeUnit = "ms",
) -> pa.Table:
    """Return the events of a file; rows without a column for the id are numbered from 1 on.

    Numbers in the column of the time count `time_unit` since the epoch; clock times are those of a day.
    """
    table = _table(path)
    names = table.column_names
    if columns.time not in names:
        near = near_name(columns.time, names)
        hint = f"did you mean {near}?" if near else f"the columns are {', '.join(names)}"
        raise DataError(f"{path}: there is no column {columns.time} for the time\n  hint: {hint}")
    shown = {name: _typed(table[name], types[name], path) if name in types else table[name] for name in names}
    shown[columns.time] = _times(table[columns.time], path, start_of(day) or 0, time_unit)
    if columns.id not in shown:
        shown = {columns.id: pa.array(range(1, table.num_rows + 1), pa.int64()), **shown}
    return pa.table(with_absent(shown, types, table.num_rows))


def _table(path: Path) -> pa.Table:
    files = find_events(str(path))
    readers = {
        "csv": lambda file: csv.read_csv(file, convert_options=NULLS),
        "json": json.read_json,
        "parquet": parquet.read_table,
    }
    try:
        tables = [readers[files.format](str(file)) for file in files.files]
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: this is no {files.format} that can be read: {error}") from None


def _typed(column: pa.ChunkedArray, type: str, path: Path) -> pa.ChunkedArray:
    kind = kind_named(type, time_kind(lambda _: None))
    try:
        return column if kind is None else column.cast(kind.type)
    except pa.ArrowException as error:
        raise DataError(f"{path}: a column is no {type}: {error}") from None


def _times(column: pa.ChunkedArray, path: Path, start: int, time_unit: TimeUnit) -> pa.ChunkedArray:
    """Return times of a file as such: they may be texts, numbers or clock times, too."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(MOMENT) if kind.tz else column.cast(MICROSECOND).cast(MOMENT)
    if pa.types.is_time(kind):
        since_midnight = column.cast(pa.time64("us")).cast(pa.int64())
        return compute.add(since_midnight, start).cast(MICROSECOND).cast(MOMENT)
    if pa.types.is_integer(kind):
        microseconds = compute.multiply(column.cast(pa.int64()), MICROSECONDS[time_unit])
        return microseconds.cast(MICROSECOND).cast(MOMENT)
    if not pa.types.is_string(kind):
        raise DataError(f"{path}: the time column is {kind}; expected times, texts or whole numbers")
    moments = []
    for row, text in enumerate(column.to_pylist(), 1):
        moment = None if text is None else parse_moment(text, start)
        if text is not None and moment is None:
            raise DataError(f"{path}: row {row} has the time {text!r}; {EXPECTED}")
        moments.append(moment)
    return pa.chunked_array([pa.array(moments, pa.int64()).cast(MICROSECOND).cast(MOMENT)])
