"""The windows, groups and aggregates of chosen results of a trend query."""

import numpy as np
import pyarrow as pa

from weft.plan.template import TrendColumn
from weft.runtime.columns.events import Array, Column, Events
from weft.runtime.matches.emit import TIMESTAMP, to_arrow
from weft.runtime.trends.deviations import as_deviations
from weft.runtime.trends.distinct import distinct_counts
from weft.runtime.trends.measures import Extreme, Lane, Part
from weft.runtime.trends.numbers import (
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

POSITIVE_BITS = 0x7FFFFFFFFFFFFFFF


class SelectedRows:
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
            case None | "min" | "max":
                return Shown(to_arrow(self.values(column), self.events.strings))
            case "count" | "distinct":
                return as_decimals(self.counts(column), np.ones(self.rows.size, np.bool_))
            case "sum" if type_of_column(column).kind != "double":
                return as_decimals(*self.totals(column), type_of_column(column).scale)
            case "stddev":
                return self._deviations(column)
        return self._doubles(column)

    def values(self, column: TrendColumn) -> Column:
        """Return a column of values that events have: of the group, or extremes."""
        return self._group(column) if column.function is None else self._extreme(column)

    def _group(self, column: TrendColumn) -> Column:
        values = self.events.columns[_name_of(column)].take(self.results.examples[self.rows])
        if values.type.kind == "double":  # one zero stands for both
            values = Column(values.type, values.values + 0.0, values.valid)
        return values

    def counts(self, column: TrendColumn) -> Integers:
        """Return the numbers of trends, of events in them, or of their values."""
        if column.function == "distinct":
            known, name = self.results.distinct, _name_of(column)
            if name not in known:
                known[name] = distinct_counts(self.results, self.events, name)
            return Integers(known[name][self.rows])
        if column.variable is None:
            return self._numbers(0)
        return self._lane(column, "one" if column.name is None else "valid")

    def totals(self, column: TrendColumn) -> tuple[Integers, Array]:
        """Return sums, and where there are values; of doubles, their numbers over the common exponent."""
        totals = difference(self._lane(column, "positive"), self._lane(column, "negative"))
        return totals, ~self._lane(column, "valid").is_zero

    def _doubles(self, column: TrendColumn) -> Shown:
        """Return sums of doubles, or averages; NULL where there is no value."""
        kind, counts = type_of_column(column), self._lane(column, "valid")
        totals, is_known = self.totals(column)
        exponent = self.results.exponents[_name_of(column)] if kind.kind == "double" else 0
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

    def _deviations(self, column: TrendColumn) -> Shown:
        kind, (totals, _) = type_of_column(column), self.totals(column)
        exponent = self.results.exponents[_name_of(column)] if kind.kind == "double" else 0
        counts, squares = self._lane(column, "valid"), self._lane(column, "square")
        is_number = np.isfinite(self._special(column))
        return as_deviations(counts, totals, squares, exponent, kind.scale, is_number)

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

    def _extreme(self, column: TrendColumn) -> Column:
        is_largest = column.function == "max"
        extreme = Extreme(column.variable or "", _name_of(column), is_largest)
        place = self.results.measures.extremes.index(extreme)
        best, has = self.results.best[self.rows, place], self.results.has[self.rows, place]
        values = np.where(has, ~best if is_largest else best, 0)
        kind = type_of_column(column)
        if kind.kind == "double":
            values = _doubles_of(values)
        return Column(kind, values, has)


def _doubles_of(bits: Array) -> Array:
    """Return the doubles that `ordered_bits` has mapped."""
    return np.where(bits >= 0, bits, bits ^ POSITIVE_BITS).astype(np.int64).view(np.float64)


def type_of_column(column: TrendColumn) -> Type:
    """Return the type of the attribute that a column aggregates or shows."""
    if column.type is None:
        raise ValueError(f"the type of the column {column.column} is not known")
    return column.type


def _name_of(column: TrendColumn) -> str:
    if column.name is None:
        raise ValueError(f"the column {column.column} has no attribute")
    return column.name
