"""Read CSV as Arrow: the types that Spark infers, one line a row, malformed ones as Spark reads them.

A field in quotes ends with its line at the latest, as Spark has it: one quote too many spoils one line.
"""

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from weft.errors import DataError
from weft.io.arrow_texts import all_spelled_alike, narrow, read_text
from weft.io.csv_lines import has_odd_quotes, mend, split_line
from weft.io.line_blocks import line_blocks

BLANKS = "".join(map(chr, range(33)))  # a line of nothing else is no line
_SPELLED_WHOLE = "^(0|-?[1-9][0-9]*)$"  # how Spark spells a whole number


def header_of(file: Path, delimiter: str) -> list[str] | None:
    """Return the names of the columns of a file as written; None when nothing is in it."""
    for block in line_blocks(file):
        for line in block.decode("utf-8", "replace").split("\n"):
            if line.strip(BLANKS):
                return split_line(line, delimiter)
    return None


def column_names(header: Sequence[str]) -> list[str]:
    """Return names for columns: one without a name gets its number, those that share a name one each too.

    >>> column_names(["", "a", "b", "A"])
    ['_c0', 'a1', 'b', 'A3']
    """
    folded = [name.lower() for name in header]
    return [
        f"_c{place}" if not name else f"{name}{place}" if folded.count(name.lower()) > 1 else name
        for place, name in enumerate(header)
    ]


def common_header(files: Sequence[Path], delimiter: str) -> list[str]:
    """Return the names of the columns that all files have, in their order; refuse files that disagree.

    Raises
    ------
    DataError
        When a file names other columns, or in another order: columns would be mixed up in silence.
    """
    first: list[str] | None = None
    for file in files:
        header = header_of(file, delimiter)
        if header is None:
            continue
        if first is None:
            first, origin = header, file
        elif [name.lower() for name in header] != [name.lower() for name in first]:
            raise DataError(
                f"{file}: the columns are {', '.join(header)}, "
                f"but those of {origin.name} are {', '.join(first)}\n"
                "  hint: files of one directory have the same columns in the same order"
            )
    return column_names(first or [])


def infer_columns(
    files: Sequence[Path],
    names: Sequence[str],
    delimiter: str,
    *,
    texts: Collection[str | None],
    id: str | None,
) -> dict[str, pa.DataType]:
    """Return the types of columns, of those in `texts` as written; a look at every row of every file.

    The type of a column without any value is null. An identity whose values Spark would spell otherwise
    stays text: `007` and `7` are two.
    """
    kinds = {name: pa.string() if name in texts else pa.null() for name in names}
    is_alike = True
    for file in files:
        for rows in text_rows(file, names, _undecided(kinds, id if is_alike else None), delimiter):
            for name, column in zip(rows.schema.names, rows.columns, strict=True):
                kinds[name] = narrow(column, kinds[name])
                if name == id and is_alike:
                    is_alike = pc.all(pc.match_substring_regex(column, _SPELLED_WHOLE)).as_py() is not False
            if not _undecided(kinds, None):
                break
    if id in kinds and not (
        is_alike if _is_whole(kinds[id]) else _is_alike(files, names, delimiter, id, kinds[id])
    ):
        kinds[id] = pa.string()
    return kinds


def _undecided(kinds: Mapping[str, pa.DataType], id: str | None) -> list[str]:
    return [name for name, kind in kinds.items() if not pa.types.is_string(kind) or name == id]


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _is_alike(
    files: Sequence[Path], names: Sequence[str], delimiter: str, id: str, kind: pa.DataType
) -> bool:
    if pa.types.is_string(kind) or pa.types.is_null(kind):
        return True
    return all(
        all_spelled_alike(rows.column(0), kind)
        for file in files
        for rows in text_rows(file, names, [id], delimiter)
    )


def typed_rows(
    file: Path, names: Sequence[str], kinds: Mapping[str, pa.DataType], delimiter: str
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with the columns that `kinds` names, as values of these types."""
    for rows in text_rows(file, names, list(kinds), delimiter, drops_headers=False):
        columns = [read_text(column, kind) for column, kind in zip(rows.columns, kinds.values(), strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(list(kinds.items())))


def text_rows(
    file: Path, names: Sequence[str], wanted: Sequence[str], delimiter: str, *, drops_headers: bool = True
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file as text, with some of its columns.

    Its first line is no row. Spark infers no type from lines that repeat it, but reads them as rows.
    """
    if not wanted:
        wanted = names[:1]
    is_first, header = True, b""
    for block in line_blocks(file):
        if is_first:
            start = len(block) - len(block.lstrip(BLANKS.encode()))
            start = block.rfind(b"\n", 0, start) + 1
            end = block.find(b"\n", start) + 1
            header, block = block[start:end], block[end:]
            is_first = not header
        if drops_headers and header in block:
            block = (b"\n" + block).replace(b"\n" + header, b"\n")[1:]
        if block:
            yield from _parse(block, names, wanted, delimiter)


def _parse(
    block: bytes, names: Sequence[str], wanted: Sequence[str], delimiter: str
) -> Iterator[pa.RecordBatch]:
    try:
        str(block, "utf-8")
    except UnicodeDecodeError:
        block = block.decode("utf-8", "replace").encode()
    is_odd = len(names) == 1 or has_odd_quotes(block, delimiter)  # a blank line would be a row of one field
    rows = None if is_odd else _read_strictly(block, names, wanted, delimiter)
    if rows is None:
        rows = _read_strictly(mend(block, len(names), delimiter), names, wanted, delimiter)
    if rows is not None:
        yield from rows.combine_chunks().to_batches()


def _read_strictly(
    block: bytes, names: Sequence[str], wanted: Sequence[str], delimiter: str
) -> pa.Table | None:
    """Read lines that have a field for each name; None when some have not."""
    odd: list[int] = []

    def refuse(row: pa.csv.InvalidRow) -> str:
        odd.append(row.actual_columns)
        return "error"

    places = [str(place) for place in range(len(names))]  # names may be any text
    inside = [places[names.index(name)] for name in wanted]
    try:
        rows = pa.csv.read_csv(
            io.BytesIO(block),
            read_options=pa.csv.ReadOptions(
                column_names=places, use_threads=False, block_size=len(block) + 1
            ),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=refuse),
            convert_options=pa.csv.ConvertOptions(
                include_columns=inside,
                column_types=dict.fromkeys(inside, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if odd:
            return None
        if "Empty CSV" in str(error):
            return pa.table({name: pa.array([], pa.string()) for name in wanted})
        raise
    return rows.rename_columns(list(wanted))
