"""Results of trend queries as Arrow: one row per query, window and group."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.plan.template import TrendColumn
from weft.runtime.columns.events import Array, Column, Events
from weft.runtime.matches.emit import ROWS_PER_BATCH, TIMESTAMP, arrow_type, to_arrow
from weft.runtime.trends.measures import Extreme, Lane, Part
from weft.runtime.trends.numbers import (
    MOST_DIGITS,
    Integers,
    Shown,
    as_averages,
    as_decimals,
    as_doubles,
    difference,
    integers_at,
)
from weft.runtime.trends.rows import TrendRows
from weft.schema import Type

WINDOW_START, WINDOW_END, BEYOND = "window_start", "window_end", "beyond"
LIMBS_PER_ROW = 256  # a row with more of them counts as several, so that batches have bounds in bytes
POSITIVE_BITS = 0x7FFFFFFFFFFFFFFF


def result_type(column: TrendColumn) -> pa.DataType:
    """Return the type of a column of results.

    >>> from weft.schema import LONG
    >>> result_type(TrendColumn("total", "sum", "t", "price", LONG))
    Decimal128Type(decimal128(38, 0))
    """
    if column.function == "count":
        return pa.decimal128(MOST_DIGITS, 0)
    if column.function == "avg":
        return pa.float64()
    kind = _type_of(column)
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
    selected = _SelectedRows(results, events, rows)
    shown = {
        name: selected.column(column) for name, column in zip(names, results.template.columns, strict=True)
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


class _SelectedRows:
    """Chosen rows of the results of one query."""

    def __init__(self, results: TrendRows, events: Events, rows: Array) -> None:
        self.results = results
        self.events = events
        self.rows = rows

    def windows(self) -> tuple[pa.Array, pa.Array]:
        """Return where the windows start and end."""
        length, slide = self.results.template.length, self.results.template.slide
        if length is None or slide is None:
            return pa.nulls(self.rows.size, TIMESTAMP), pa.nulls(self.rows.size, TIMESTAMP)
        starts = self.results.windows[self.rows] * slide
        return pa.array(starts).view(TIMESTAMP), pa.array(starts + length).view(TIMESTAMP)

    def column(self, column: TrendColumn) -> Shown:
        """Return the values of a column."""
        match column.function:
            case None:
                return Shown(self._group(column))
            case "min" | "max":
                return Shown(self._extreme(column))
            case "count":
                return as_decimals(self._count(column), np.ones(self.rows.size, np.bool_))
        return self._total(column)

    def _group(self, column: TrendColumn) -> pa.Array:
        values = self.events.columns[_name_of(column)].take(self.results.examples[self.rows])
        if values.type.kind == "double":  # one zero stands for both
            values = Column(values.type, values.values + 0.0, values.valid)
        return to_arrow(values, self.events.strings)

    def _count(self, column: TrendColumn) -> Integers:
        if column.variable is None:
            return self._numbers(0)
        return self._lane(column, "one" if column.name is None else "valid")

    def _total(self, column: TrendColumn) -> Shown:
        """Return a sum or an average; NULL where there is no value."""
        kind, counts = _type_of(column), self._lane(column, "valid")
        totals = difference(self._lane(column, "positive"), self._lane(column, "negative"))
        exponent = self.results.exponents[_name_of(column)] if kind.kind == "double" else 0
        is_known = ~counts.is_zero
        if column.function == "sum" and kind.kind != "double":
            return as_decimals(totals, is_known, kind.scale)
        special = self._special(column)
        is_number = is_known & np.isfinite(special)
        shown = (
            as_doubles(totals, exponent, is_number)
            if column.function == "sum"
            else as_averages(totals, counts, exponent, kind.scale, is_number)
        )
        if is_number.all():
            return shown
        filled = np.where(is_number, shown.values.to_numpy(zero_copy_only=False), special)
        is_shown = is_known & (~is_number | shown.values.is_valid().to_numpy(zero_copy_only=False))
        return Shown(pa.array(filled, mask=~is_shown), shown.beyond)

    def _special(self, column: TrendColumn) -> Array:
        """Return what a sum is that has a NaN or an infinity among its values, zero for others."""
        special = np.zeros(self.rows.size)
        with np.errstate(invalid="ignore"):  # both infinities together are no number
            special[~self._lane(column, "infinite").is_zero] += np.inf
            special[~self._lane(column, "minus_infinite").is_zero] -= np.inf
        special[~self._lane(column, "nan").is_zero] = np.nan
        return special

    def _lane(self, column: TrendColumn, part: Part) -> Integers:
        """Return a lane, zeros where the query has no such lane."""
        lane = Lane(column.variable or "", column.name, part)
        if lane not in self.results.measures.lanes:
            return Integers(np.zeros(self.rows.size, np.int64))
        return self._numbers(1 + self.results.measures.lanes.index(lane))

    def _numbers(self, place: int) -> Integers:
        return integers_at(self.results.kept, self.rows * self.results.width + place)

    def _extreme(self, column: TrendColumn) -> pa.Array:
        is_largest = column.function == "max"
        extreme = Extreme(column.variable or "", _name_of(column), is_largest)
        place = self.results.measures.extremes.index(extreme)
        best, has = self.results.best[self.rows, place], self.results.has[self.rows, place]
        values = np.where(has, ~best if is_largest else best, 0)
        kind = _type_of(column)
        if kind.kind == "double":
            values = _doubles_of(values)
        return to_arrow(Column(kind, values, has), self.events.strings)


def _doubles_of(bits: Array) -> Array:
    """Return the doubles that `ordered_bits` has mapped."""
    return np.where(bits >= 0, bits, bits ^ POSITIVE_BITS).astype(np.int64).view(np.float64)


def _beyond(shown: Mapping[str, Shown], kind: pa.DataType, n_rows: int) -> pa.Array:
    """Return for each row the values that do not fit their columns; NULL where all do."""
    entries: dict[int, list[tuple[str, str]]] = {}
    for name, column in shown.items():
        for row, digits in column.beyond.items():
            entries.setdefault(row, []).append((name, digits))
    if not entries:
        return pa.nulls(n_rows, kind)
    return pa.array([entries.get(row) for row in range(n_rows)], kind)


def _type_of(column: TrendColumn) -> Type:
    if column.type is None:
        raise ValueError(f"the type of the column {column.column} is not known")
    return column.type


def _name_of(column: TrendColumn) -> str:
    if column.name is None:
        raise ValueError(f"the column {column.column} has no attribute")
    return column.name
