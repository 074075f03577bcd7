"""Events as a small table in text, and the Arrow table they make."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pyarrow as pa

from weft.errors import DataError, Problem, QueryError, Span, WeftError, near_name
from weft.io.units import TimeUnit
from weft.language.findings import Findings
from weft.testing.cell_values import KIND_NAMES, ColumnKind, kind_named, kind_of, time_kind
from weft.testing.moments import DAY, parse_moment, start_of
from weft.testing.text_table import Cell, TextTable, read_table


def events(
    text: str,
    *,
    time: str = "ts",
    type: str = "type",
    id: str = "id",
    types: Mapping[str, str] | None = None,
    day: str = DAY,
    time_unit: TimeUnit | None = None,
    origin: str = "<events>",
) -> pa.Table:
    '''Return the events of a small table in text: a line with the names of columns, then a row per event.

    Cells lie between `|`, as in Markdown, or between two blanks or more; between single ones, too, where
    that gives a row as many cells as the header has. A cell may be in quotes; one that is empty, `-` or NULL
    is NULL. Lines that begin with # are comments. Without a column for the id, events have the numbers of
    their rows, from 1 on.

    Parameters
    ----------
    text
        The table.
    time, type, id
        The columns that hold an event's time, its type and its identity. A time is that of a clock
        (`09:00`, `09:00:30.5`), one in ISO 8601, or an offset from the start of the day: `+5m`, `90s`,
        `1 hour`, `0`.
    types
        The types of columns: long, double, boolean, string, timestamp, date or decimal(18,2). A header may
        say so, too: `amount:double`. The others are told by their cells.
    day
        The day of clock times and offsets.
    time_unit
        What numbers without a unit count in the time column: "s", "ms", "us" or "ns".
    origin
        What errors call the text.

    >>> events("""
    ...     ts     type   user  amount
    ...     09:00  Login  ann   -
    ...     09:05  Pay    ann   12.5
    ... """).to_pylist()[1]["amount"]
    12.5
    '''
    findings = Findings()
    start = start_of(day)
    if start is None:
        raise WeftError(f"day is {day!r}; expected a date such as '{DAY}'")
    times = time_kind(partial(parse_moment, start=start, time_unit=time_unit))
    written = read_table(text, findings)
    known = {type: "string", **(types or {})}
    table = None if written is None else _Columns(written, times, findings).table(time, id, known)
    if table is None or findings.problems:
        raise refusal(findings.problems, text, origin)
    return table


def refusal(problems: Iterable[Problem], text: str, origin: str) -> DataError:
    """Return the error that reports problems together, each with its place in a text.

    >>> print(refusal([Problem("this is no time", Span(4, 8))], "ts  soon", "a.yaml"))
    a.yaml:1:5: this is no time
      ts  soon
          ^^^^
    """
    ordered = sorted(problems, key=lambda problem: problem.span.start if problem.span else -1)
    return DataError(str(QueryError(ordered, text, origin)))


class _Columns:
    """The columns of a table on their way from text to values."""

    def __init__(self, written: TextTable, times: ColumnKind, findings: Findings) -> None:
        self.written = written
        self.times = times
        self.findings = findings

    def table(self, time: str, id: str, types: Mapping[str, str]) -> pa.Table | None:
        """Return all columns as they are typed, or None after noting what is wrong."""
        columns: dict[str, pa.Array] = {}
        for place, head in enumerate(self.written.header):
            name, said = _name_and_type(head)
            kind_name = said or types.get(name)
            cells = [row[place] for row in self.written.rows]
            kind = self.times if name == time else self._kind(kind_name, head, cells)
            columns[name] = self._values(kind, cells)
        if time not in columns:
            self._complain_of_time(time, list(columns))
            return None
        if self.findings.problems:
            return None
        n_rows = len(self.written.rows)
        if id not in columns:
            columns = {id: pa.array(range(1, n_rows + 1), pa.int64()), **columns}
        return pa.table(with_absent(columns, types, n_rows))

    def _kind(self, name: str | None, head: Cell, cells: Sequence[Cell]) -> ColumnKind:
        if name is None:
            return kind_of(cells)
        kind = kind_named(name, self.times)
        if kind is None:
            self.findings.complain(f"unknown type {name}", head.span, _types_hint(name))
        return kind or kind_of(cells)

    def _values(self, kind: ColumnKind, cells: Sequence[Cell]) -> pa.Array:
        values = []
        for cell in cells:
            value = None if cell.is_null else kind.read(cell.text)
            if value is None and not cell.is_null:
                self.findings.complain(f"{cell.text!r} does not fit; {kind.expected}", cell.span)
            values.append(value)
        return pa.array(values, kind.type)

    def _complain_of_time(self, time: str, names: list[str]) -> None:
        near = near_name(time, names)
        hint = f"did you mean {near}?" if near else f"the columns are {', '.join(names)}"
        first, last = self.written.header[0], self.written.header[-1]
        self.findings.complain(
            f"there is no column {time} for the time", Span(first.span.start, last.span.end), hint
        )


def with_absent(
    columns: Mapping[str, pa.Array], types: Mapping[str, str], n_rows: int
) -> dict[str, pa.Array]:
    """Return columns together with those that have a type and are not among them: NULL in every row.

    >>> list(with_absent({}, {"amount": "double"}, 2)["amount"])
    [<pyarrow.DoubleScalar: None>, <pyarrow.DoubleScalar: None>]
    """
    kinds = {name: kind_named(kind, time_kind(lambda _: None)) for name, kind in types.items()}
    for name, kind in kinds.items():
        if kind is None:
            raise WeftError(
                f"types has {name}: unknown type {types[name]}\n  hint: {_types_hint(types[name])}"
            )
    absent = {
        name: pa.nulls(n_rows, kind.type) for name, kind in kinds.items() if kind and name not in columns
    }
    return {**columns, **absent}


def _name_and_type(head: Cell) -> tuple[str, str | None]:
    name, colon, kind = head.text.rpartition(":")
    return (head.text, None) if head.is_quoted or not colon or not name else (name.strip(), kind.strip())


def _types_hint(name: str) -> str:
    near = near_name(name, KIND_NAMES)
    return f"did you mean {near}?" if near else f"the types are {', '.join(KIND_NAMES)}"
