"""Lines of CSV that no strict reader takes: split as Spark splits them, and written as they should be."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.io.line_blocks import block_of, lines_of

MAX_REPEATED = 1_000  # how often a part of a pattern may occur, for Arrow


def split_line(line: str, delimiter: str = ",") -> list[str]:
    """Return the fields of a line; what is in quotes ends with the line at the latest.

    A field with more after its closing quote stands for itself, quotes and all.

    >>> split_line('1,"a, b",c"d'), split_line('2,"open,3'), split_line('3,"x"y,4')
    (['1', 'a, b', 'c"d'], ['2', 'open,3'], ['3', '"x"y', '4'])
    """
    comma = re.escape(delimiter)
    quoted = re.compile(rf'"((?:[^"]|"")*)(?:"[ \t]*(?={comma}|$)|$)')
    spoiled = re.compile(rf'"((?:[^"]|"")*)("[^{comma}]*)')
    plain = re.compile(rf"[^{comma}]*")
    fields, place = [], 0
    while place <= len(line):
        if (found := quoted.match(line, place)) is not None:
            is_lone = found.end() == place + 1  # nothing but the quote
            fields.append('"' if is_lone else found[1].replace('""', '"'))
        elif (found := spoiled.match(line, place)) is not None:
            fields.append('"' + found[1].replace('""', '"') + found[2])
        elif (found := plain.match(line, place)) is not None:
            fields.append(found[0])
        place = found.end() + 1 if found is not None else len(line) + 1
    return fields


def join_fields(fields: list[str], delimiter: str = ",") -> str:
    """Return fields as a line that any reader takes.

    >>> join_fields(["1", "a, b", ""])
    '1,"a, b",'
    """
    return delimiter.join(
        '"' + own.replace('"', '""') + '"' if '"' in own or delimiter in own else own for own in fields
    )


def has_odd_quotes(block: bytes, delimiter: str) -> bool:
    """Return whether a block has quotes that do not enclose whole fields of one line."""
    if b'"' not in block or (b'""' not in block and _are_paired(np.frombuffer(block, np.uint8), delimiter)):
        return False
    lines = lines_of(block)
    quoted = lines.filter(pc.match_substring(lines, '"'))
    return not pc.all(pc.match_substring_regex(quoted, _line_pattern(delimiter, ""))).as_py()


def _are_paired(content: np.ndarray[Any, np.dtype[np.uint8]], delimiter: str) -> bool:
    """Return whether quotes without any inside begin and end fields in turn, on one line each."""
    places = np.flatnonzero(content == ord('"'))
    opening, closing = places[0::2], places[1::2]
    if len(opening) != len(closing):
        return False
    is_edge = (content == ord(delimiter)) | (content == ord("\n"))
    ends = np.flatnonzero(content == ord("\n"))  # the last byte is one
    is_start = is_edge[opening - 1] | (opening == 0)
    is_one_line = np.searchsorted(ends, opening) == np.searchsorted(ends, closing)
    return bool(is_start.all() and is_edge[closing + 1].all() and is_one_line.all())


def mend(block: bytes, n_fields: int, delimiter: str) -> bytes:
    r"""Return a block whose lines all have as many fields: what is too much is cut, what is missing is empty.

    Lines of white space vanish.

    >>> mend(b'1,2\n1,2,3\n\n1,"2\n', 2, ",")
    b'1,2\n1,2\n1,2\n'
    """
    lines = lines_of(block)
    lines = lines.filter(pc.match_substring_regex(lines, r"[^\x00-\x20]"))
    has_quotes = pc.match_substring(lines, '"')
    fits = pc.equal(pc.count_substring(lines, delimiter), n_fields - 1)
    if n_fields <= MAX_REPEATED:
        quoted_fit = pc.match_substring_regex(lines, _line_pattern(delimiter, f"{{{n_fields - 1}}}"))
        is_good = pc.if_else(has_quotes, quoted_fit, fits)
    else:
        is_good = pc.and_not(fits, has_quotes)
    bad_rows = np.flatnonzero(~is_good.to_numpy(zero_copy_only=False))
    if not bad_rows.size:
        return block_of(lines)
    mended = []
    for line in lines.take(pa.array(bad_rows)).to_pylist():  # the malformed alone
        fields = split_line(line, delimiter)[:n_fields]
        mended.append(join_fields(fields + [""] * (n_fields - len(fields)), delimiter))
    return block_of(pc.replace_with_mask(lines, pc.invert(is_good), pa.array(mended, pa.large_string())))


def _line_pattern(delimiter: str, repeated: str) -> str:
    """Return the pattern of a line whose quotes enclose whole fields, with some number of delimiters."""
    comma = re.escape(delimiter)
    field = rf'(?:"(?:[^"]|"")*"|[^"{comma}][^{comma}]*|)'
    return rf"^{field}(?:{comma}{field}){repeated or '*'}$"
