"""Files of events for tests, as Arrow tables: read as `weft run` reads them, in this process."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from weft.errors import DataError, WeftError
from weft.io.arrow_files import open_events
from weft.io.event_files import EventColumns
from weft.io.units import TimeUnit
from weft.testing.cell_values import kind_named, time_kind
from weft.testing.event_text import with_absent
from weft.testing.rule_set import RuleColumns

_OPTION = re.compile(r" \(--[\w-]+\)")  # which the command line has for a column


def read_events(
    path: Path, columns: RuleColumns, types: Mapping[str, str], *, time_unit: TimeUnit = "ms"
) -> pa.Table:
    """Return the events of a file; rows without a column for the id are numbered from 1 on.

    Numbers in the column of the time count `time_unit` since the epoch. A row without a time is refused,
    since it could not be found by any rule.
    """
    try:
        table = _table(path, columns, time_unit)
    except WeftError as error:
        raise DataError(_OPTION.sub("", str(error))) from None
    row = compute.index(compute.is_null(table[columns.time]), value=True).as_py()
    if row >= 0:
        raise DataError(
            f"{path}: event {row + 1} has no time that can be read\n"
            "  hint: write it as ISO 8601 or as a number, and see time_unit"
        )
    shown = {name: _typed(table[name], name, path, types.get(name)) for name in table.column_names}
    if columns.id not in shown:
        shown = {columns.id: pa.array(range(1, table.num_rows + 1), pa.int64()), **shown}
    return pa.table(with_absent(shown, types, table.num_rows))


def _table(path: Path, columns: RuleColumns, time_unit: TimeUnit) -> pa.Table:
    meant = EventColumns(time=columns.time, type=columns.type, order_by=columns.order_by, time_unit=time_unit)
    events = open_events(str(path), meant)
    if columns.id in events.schema.names:
        events = open_events(str(path), replace(meant, id=columns.id))
    return pa.Table.from_batches(events.batches(events.schema.names), events.schema)


def _typed(column: pa.ChunkedArray, name: str, path: Path, type: str | None) -> pa.ChunkedArray:
    kind = None if type is None else kind_named(type, time_kind(lambda _: None))
    try:
        return column if kind is None else column.cast(kind.type)
    except pa.ArrowException as error:
        raise DataError(f"{path}: the column {name} is no {type}: {error}") from None
