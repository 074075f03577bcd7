"""Read JSON lines as Arrow: the types that Spark infers, a malformed line as a row of NULLs.

Arrow reads whole blocks. Where it cannot, a block is halved until the lines in question are alone, and
these are read one by one.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from weft.io.json_rows import (
    CORRUPT,
    JsonValue,
    MalformedLineError,
    column_of_rows,
    is_empty,
    parse_line,
    type_of_rows,
)
from weft.io.json_types import common_fields, has_type, observed_type, settled_type
from weft.io.line_blocks import block_of, line_blocks, lines_of

FEW_LINES = 64
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_INVALID = "\0"  # begins a line that was no UTF-8, and no JSON


def infer_json(files: Sequence[Path]) -> dict[str, pa.DataType]:
    """Return the columns of files in order of their names, with their types; a look at all lines.

    There is a column `_corrupt_record` for the text of malformed lines where there are such.
    """
    kinds: dict[str, pa.DataType] = {}
    is_corrupt = False
    for file in files:
        for block in line_blocks(file):
            for rows in _pieces(block, None):
                if isinstance(rows, pa.Table):
                    seen = {
                        name: observed_type(column.combine_chunks())
                        for name, column in zip(rows.schema.names, rows.columns, strict=True)
                    }
                    own = {name: kind for name, kind in seen.items() if name}
                else:
                    is_corrupt = is_corrupt or any(isinstance(row, str) and not is_empty(row) for row in rows)
                    whole = type_of_rows([row for row in rows if isinstance(row, JsonValue)])
                    own = {
                        whole.field(place).name: whole.field(place).type for place in range(whole.num_fields)
                    }
                kinds = common_fields(kinds, own)
    if is_corrupt:
        kinds = common_fields(kinds, {CORRUPT: pa.string()})
    settled = {name: settled_type(kind) for name, kind in kinds.items()}
    return {name: kind for name, kind in settled.items() if kind is not None}


def json_rows(
    file: Path, wanted: Sequence[str], kinds: Mapping[str, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with some columns, as values of their types."""
    schema = pa.schema([(name, kinds[name]) for name in wanted])
    for block in line_blocks(file):
        tables = [
            rows if isinstance(rows, pa.Table) else _table_of(rows, schema) for rows in _pieces(block, schema)
        ]
        if tables:
            yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _table_of(rows: Sequence[JsonValue | str], schema: pa.Schema) -> pa.Table:
    """Return rows that were read one by one, each an object or the text of a malformed line."""
    columns = []
    for field in schema:
        objects = [row if isinstance(row, JsonValue) else None for row in rows]
        if field.name == CORRUPT:
            texts = [row.removeprefix(_INVALID) if isinstance(row, str) else None for row in rows]
            columns.append(pa.array(texts, pa.string()))
        else:
            columns.append(column_of_rows(objects, field.name, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _pieces(block: bytes, schema: pa.Schema | None) -> Iterator[pa.Table | list[JsonValue | str]]:
    """Yield the rows of a block in pieces: as tables with the columns of the schema, or one by one."""
    text = _valid_text(block)
    rows = _read_at_once(text, schema)
    if rows is not None:
        yield rows
        return
    lines = lines_of(text)
    stack = [lines.filter(pc.match_substring_regex(lines, r"[^ \t\r\n]"))]
    while stack:
        lines = stack.pop()
        trimmed = pc.utf8_trim(lines, " \t\r\n")
        rows = _read_at_once(block_of(trimmed), schema) if len(lines) else None
        if rows is not None:
            yield rows
        elif len(lines) <= FEW_LINES:
            yield [row for line in lines.to_pylist() for row in _rows_of(line)]
        else:
            stack += [lines[len(lines) // 2 :], lines[: len(lines) // 2]]


def _rows_of(line: str) -> list[JsonValue | str]:
    try:
        return list(parse_line(line))
    except MalformedLineError:
        return [line]


def _valid_text(block: bytes) -> bytes:
    """Return a block that is UTF-8; lines that are not are marked."""
    try:
        str(block, "utf-8")
    except UnicodeDecodeError:
        lines = (_marked(line) for line in block.removesuffix(b"\n").split(b"\n"))
        return b"\n".join(lines) + b"\n"
    return block


def _marked(line: bytes) -> bytes:
    text = line.decode("utf-8", "replace").encode()
    return line if text == line else _INVALID.encode() + text


def _read_at_once(block: bytes, schema: pa.Schema | None) -> pa.Table | None:
    """Read a block by Arrow; None where that is not possible, or would not be what Spark reads."""
    n_lines = block.count(b"\n")
    if not block.startswith(b"{") or block.count(b"\n{") != n_lines - 1 or block.count(b"}\n") != n_lines:
        return None  # an object on each line, all of it there
    plain = pa.schema([]) if schema is None else pa.schema([own for own in schema if own.name != CORRUPT])
    if any(has_type(own.type, "decimal") for own in plain):
        return None
    try:
        rows = pa.json.read_json(
            io.BytesIO(block),
            read_options=pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pa.json.ParseOptions(
                explicit_schema=plain, unexpected_field_behavior="infer" if schema is None else "ignore"
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if rows.num_rows != n_lines:
        return None
    if schema is None:
        may_be_long = any(has_type(kind, "double") for kind in rows.schema.types)
        return None if may_be_long and _LONG_NUMBER.search(block) else rows
    if len(plain) < len(schema):
        rows = rows.append_column(CORRUPT, pa.nulls(n_lines, pa.string()))
    return rows.select(schema.names).cast(schema)
