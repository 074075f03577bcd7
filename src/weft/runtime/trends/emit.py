"""Results of trend queries as Arrow: one row per query, window and group."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.plan.template import TrendColumn
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.emit import ROWS_PER_BATCH, TIMESTAMP, arrow_type
from weft.runtime.trends.numbers import MOST_DIGITS, Shown
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.selected_rows import SelectedRows, type_of_column
from weft.runtime.trends.thresholds import CalculatedRows

WINDOW_START, WINDOW_END, BEYOND = "window_start", "window_end", "beyond"
LIMBS_PER_ROW = 256  # a row with more of them counts as several, so that batches have bounds in bytes


def result_type(column: TrendColumn) -> pa.DataType:
    """Return the type of a column of results.

    >>> from weft.schema import LONG
    >>> result_type(TrendColumn("total", "sum", "t", "price", LONG))
    Decimal128Type(decimal128(38, 0))
    """
    if column.function in ("count", "distinct"):
        return pa.decimal128(MOST_DIGITS, 0)
    if column.function in ("avg", "stddev"):
        return pa.float64()
    kind = type_of_column(column)
    if column.function == "sum" and kind.kind != "double":
        return pa.decimal128(MOST_DIGITS, kind.scale)
    return arrow_type(kind)


def trend_schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return the schema of emitted results; `columns` are those of the groups and aggregates of all queries.

    A value that does not fit its column is NULL there, and in `beyond` by the name of the column.
    """
    fields = [("query", pa.string()), (WINDOW_START, TIMESTAMP), (WINDOW_END, TIMESTAMP)]
    return pa.schema([*fields, *columns.items(), (BEYOND, pa.map_(pa.string(), pa.string()))])


def emit_trends_in_parts(
    results: TrendRows, events: Events, rows: Array, names: Sequence[str], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield chosen results as `emit_trends` returns them, in batches of a bounded size in bytes."""
    offsets = results.kept.offsets
    sizes = offsets[(rows + 1) * results.width] - offsets[rows * results.width]
    weights = np.cumsum(1 + sizes // LIMBS_PER_ROW)
    cuts = np.flatnonzero(np.diff(weights // ROWS_PER_BATCH)) + 1
    for part in np.split(rows, cuts):
        if part.size:
            yield emit_trends(results, events, part, names, schema)


def emit_trends(
    results: TrendRows, events: Events, rows: Array, names: Sequence[str], schema: pa.Schema
) -> pa.RecordBatch:
    """Return chosen results of one query as a record batch; `names` are those of the template's columns."""
    selected = SelectedRows(results, events, rows)
    calculated = CalculatedRows(selected)
    shown = {
        name: selected.column(column) if column.expression is None else calculated.shown(column.expression)
        for name, column in zip(names, results.template.columns, strict=True)
    }
    starts, ends = selected.windows()
    given = {
        "query": pa.array([results.template.query] * rows.size, pa.string()),
        WINDOW_START: starts,
        WINDOW_END: ends,
        BEYOND: _beyond(shown, schema.field(BEYOND).type, rows.size),
        **{name: column.values for name, column in shown.items()},
    }
    arrays = [
        given[field.name].cast(field.type) if field.name in given else pa.nulls(rows.size, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _beyond(shown: Mapping[str, Shown], kind: pa.DataType, n_rows: int) -> pa.Array:
    """Return for each row the values that do not fit their columns; NULL where all do."""
    entries: dict[int, list[tuple[str, str]]] = {}
    for name, column in shown.items():
        for row, digits in column.beyond.items():
            entries.setdefault(row, []).append((name, digits))
    if not entries:
        return pa.nulls(n_rows, kind)
    return pa.array([entries.get(row) for row in range(n_rows)], kind)
