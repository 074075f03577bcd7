"""Matches as Arrow: one row per match, with its identity, times, events and RETURN columns."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.expressions import Expression, Literal, Suppressed
from weft.kernels.matches.identity import hash_bindings, sort_bindings, write_hex, write_names
from weft.plan.nodes import Branch, TimeoutBranch, column_types
from weft.runtime.columns.evaluate import Scope, evaluate
from weft.runtime.columns.events import Array, Column, StringPool, hash_values
from weft.runtime.columns.ingest import fixed_strings
from weft.runtime.matches.execute import Found
from weft.runtime.matches.table import Lists, flatten_events
from weft.schema import EMITTED_DIGITS, Type

TIMESTAMP = pa.timestamp("us", "UTC")
SECOND_SEED = 0x5DEECE66D
ROWS_PER_BATCH = 65_536
MOST_BYTES = (1 << 31) - 1  # that the strings of an Arrow array may have together


def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type of a value type."""
    if kind.kind == "decimal":
        return pa.decimal128(EMITTED_DIGITS, kind.scale)
    return {
        "long": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "timestamp": TIMESTAMP,
        "date": pa.date32(),
        "duration": pa.duration("us"),
    }[kind.kind]


def match_schema(id_type: pa.DataType, returned: Mapping[str, Type]) -> pa.Schema:
    """Return the schema of emitted matches; `returned` are the RETURN columns of all queries."""
    event = pa.struct([("variable", pa.string()), ("type", pa.string()), ("ts", TIMESTAMP), ("id", id_type)])
    fields = [
        ("query", pa.string()),
        ("match_id", pa.string()),
        ("start", TIMESTAMP),
        ("end", TIMESTAMP),
        ("events", pa.list_(event)),
    ]
    return pa.schema(fields + [(name, arrow_type(kind)) for name, kind in returned.items()])


def emit_in_parts(matches: Found, names: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield matches as `emit` returns them, in batches of a bounded size."""
    for start in range(0, matches.n_rows, ROWS_PER_BATCH):
        rows = np.arange(start, min(start + ROWS_PER_BATCH, matches.n_rows))
        yield emit(matches if rows.size == matches.n_rows else matches.take(rows), names, schema)


def emit(matches: Found, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    """Return matches as a record batch; `names` are the columns of the query's RETURN values."""
    output = matches.output
    branch = matches.source
    events, table = matches.events, matches.table
    bound = _Bound(matches, branch)
    returned = {
        name: _evaluate_return(expression, matches)
        for name, expression in zip(names, branch.returns, strict=True)
    }
    arrays = [
        _repeat_names([output.query], table.n_rows),
        bound.match_ids(output.query),
        _moments(events.times[table.first]),
        _moments(events.times[table.last]),
        bound.events(schema.field("events").type),
    ]
    for field in list(schema)[len(arrays) :]:
        value = returned.get(field.name)
        arrays.append(pa.nulls(table.n_rows, field.type) if value is None else value.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def match_ids(matches: Found) -> pa.Array:
    """Return the ids of matches."""
    return _Bound(matches, matches.source).match_ids(matches.query)


class _Bound:
    """The events bound by each match: column numbers and event rows, flat, match by match.

    Those of a match are in the order of the variables' names.
    """

    def __init__(self, matches: Found, branch: Branch | TimeoutBranch) -> None:
        self.matches = matches
        self.variables = branch.variables
        self.types = column_types(branch.node)
        table = matches.table
        order = sorted(range(len(self.variables)), key=lambda number: self.variables[number])
        self.offsets, self.numbers, self.rows = flatten_events(table, order)
        has_lists = any(isinstance(column, Lists) for column in table.columns)
        self.is_plain = not has_lists and self.rows.size == table.n_rows * len(order)

    def match_ids(self, query: str) -> pa.Array:
        """Hash the query name and the (variable, event id) pairs, variables in order of their names."""
        variables = hash_values(pa.array(self.variables, pa.string()))
        seed = int(hash_values(pa.array([query]))[0]) >> 1  # fits int64
        seeds = np.array([seed, seed ^ SECOND_SEED])
        ids = self.matches.events.id_hashes
        lanes = hash_bindings(self.offsets, variables, self.numbers, ids, self.rows, seeds)
        return fixed_strings(write_hex(lanes), 32, self.offsets.size - 1)

    def events(self, kind: pa.DataType) -> pa.Array:
        """Return the bound events of each match in time order, ties by variable."""
        events = self.matches.events
        numbers, rows = sort_bindings(self.offsets, self.numbers, self.rows, events.ranks)
        struct = pa.StructArray.from_arrays(
            [
                *self._names_of([self.variables, self.types], numbers),
                _moments(events.times[rows]),
                _take_values(events.ids, rows).cast(kind.value_type.field("id").type),
            ],
            fields=list(kind.value_type),
        )
        return pa.ListArray.from_arrays(pa.array(self.offsets.astype(np.int32)), struct, type=kind)

    def _names_of(self, lists: Sequence[Sequence[str]], numbers: Array) -> list[pa.Array]:
        """Return the names with the given numbers; most patterns have one order in all their matches."""
        n_columns = len(self.variables)
        first = numbers[:n_columns]
        if self.is_plain and (numbers.reshape(-1, n_columns) == first).all():
            return [
                _repeat_names([names[number] for number in first], numbers.size // n_columns)
                for names in lists
            ]
        return [_take_names(names, numbers) for names in lists]


def _take_names(names: Sequence[str], numbers: Array) -> pa.Array:
    """Return the names with the given numbers."""
    written = [name.encode() for name in names]
    if numbers.size * max(map(len, written)) > MOST_BYTES:
        return pa.array(names, pa.string()).take(pa.array(numbers))  # says so where it is too much
    offsets = np.cumsum([0, *map(len, written)])
    ends, text = write_names(numbers, offsets, np.frombuffer(b"".join(written), np.uint8))
    return pa.StringArray.from_buffers(numbers.size, pa.py_buffer(ends), pa.py_buffer(text))


def _take_values(values: pa.Array, rows: Array) -> pa.Array:
    """Return some of the values; numbers without NULLs go through NumPy, which is faster."""
    if pa.types.is_integer(values.type) and values.null_count == 0:
        return pa.array(values.to_numpy()[rows])
    return values.take(pa.array(rows))


def _moments(times: Array) -> pa.Array:
    return pa.array(times).view(TIMESTAMP)


def _evaluate_return(expression: Expression, matches: Found) -> pa.Array:
    """Evaluate a RETURN expression; a text that is a constant need not be in the pool."""
    if isinstance(expression, Suppressed):
        unknown = np.zeros(matches.n_rows, np.int64)
        return pa.array(unknown if matches.swallowed is None else matches.swallowed)
    if isinstance(expression, Literal) and isinstance(expression.value, str):
        return _repeat_names([expression.value], matches.n_rows)
    return to_arrow(evaluate(expression, Scope(matches.events, matches.table)), matches.events.strings)


def to_arrow(column: Column, strings: StringPool) -> pa.Array:
    """Return a column of values as an Arrow array."""
    missing = None if column.valid is None else ~column.valid
    kind = column.type.kind
    if kind == "string":
        codes = pa.array(column.values, pa.int64(), mask=missing)
        if len(strings.values) == 0:
            return pa.nulls(len(codes), pa.string())
        return strings.values.take(codes)
    if kind == "decimal":
        unscaled = pa.array(column.values, mask=missing).cast(pa.decimal128(38, 0))
        return _rescale(unscaled, column.type.scale)
    if kind in ("timestamp", "duration"):
        return pa.array(column.values, mask=missing).cast(arrow_type(column.type))
    if kind == "date":
        return pa.array(column.values.astype(np.int32), mask=missing).cast(pa.date32())
    return pa.array(column.values, mask=missing)


def _rescale(unscaled: pa.Array, scale: int) -> pa.Array:
    """Read the same unscaled integers with digits after the point."""
    kind = pa.decimal128(38, scale)
    return pa.Array.from_buffers(
        kind, len(unscaled), unscaled.buffers(), unscaled.null_count, unscaled.offset
    ).cast(pa.decimal128(EMITTED_DIGITS, scale))


def _repeat_names(names: Sequence[str], times: int) -> pa.Array:
    """Return the names one after the other, all of them again and again."""
    written = [name.encode() for name in names]
    ends = np.cumsum([len(name) for name in written])
    if int(ends[-1]) * times > MOST_BYTES:
        return _take_names(names, np.tile(np.arange(len(names)), times))
    offsets = np.zeros(times * len(names) + 1, np.int32)
    offsets[1:] = (np.arange(times)[:, None] * ends[-1] + ends).reshape(-1)
    text = np.tile(np.frombuffer(b"".join(written), np.uint8), times)
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(text))
