"""A small table as text: a header and rows, of cells with their places."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.errors import Span
from weft.language.findings import Findings

_PIPE, _WIDE, _NARROW = re.compile(r"\s*\|"), re.compile(r"[ ]{2,}|[ ]*\t\s*"), re.compile(r"\s+")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|\'((?:[^\']|\'\')*)\'')
_RULER = re.compile(r":?-{2,}:?")
_NULLS = ("", "-", "null")


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell, without its quotes, and where."""

    text: str
    span: Span
    is_quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether nothing stands there, or what says so."""
        return not self.is_quoted and self.text.lower() in _NULLS


@dataclass(frozen=True, slots=True)
class TextTable:
    """A header, and rows that have a cell for each of its columns."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


def read_table(text: str, findings: Findings) -> TextTable | None:
    r"""Return a table as it is written; what is wrong with it becomes findings.

    Cells lie between `|` if the header has one. Otherwise its names lie between blanks, and the cells of a
    row between two blanks or more, or a tab; or between single ones, if that gives a cell for each name.
    Lines that begin with # are comments, and the ruler below the header of Markdown is none of the rows.

    >>> table = read_table("ts     type   user\n09:00  Login  ann", Findings())
    >>> [cell.text for cell in table.rows[0]]
    ['09:00', 'Login', 'ann']
    """
    lines = list(_lines(text))
    if not lines:
        findings.complain(
            "there are no events", None, "write a line with the names of columns, then a row per event"
        )
        return None
    (start, line), *rest = lines
    separators = (_PIPE,) if "|" in line else (_WIDE, _NARROW)
    header = tuple(_cells(line, start, separators[-1], findings))
    if rest and separators == (_PIPE,) and _is_ruler(rest[0][1]):
        rest = rest[1:]
    names: set[str] = set()
    for cell in header:
        if cell.is_null or cell.text in names:
            what = "a column has no name" if cell.is_null else f"two columns are named {cell.text}"
            findings.complain(what, cell.span, "give each column a name of its own")
        names.add(cell.text)
    rows = tuple(_row(line, start, separators, len(header), findings) for start, line in rest)
    return None if findings.problems else TextTable(header, rows)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are no comments, each with the place where it begins."""
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            yield start, line.rstrip()
        start += len(line)


def _is_ruler(line: str) -> bool:
    return all(_RULER.fullmatch(part.strip()) for part in line.strip().strip("|").split("|"))


def _row(
    line: str, start: int, separators: Sequence[re.Pattern[str]], n_columns: int, findings: Findings
) -> tuple[Cell, ...]:
    """Return the cells of a row by the first separator that gives as many as there are columns."""
    attempts = []
    for separator in separators:
        own = Findings()
        row = tuple(_cells(line, start, separator, own))
        if len(row) == n_columns and not own.problems:
            return row
        attempts.append((own, row))
    own, row = next((attempt for attempt in attempts if attempt[0].problems), attempts[0])
    findings.problems += own.problems
    if not own.problems:
        between = "|" if separators[0] is _PIPE else "two blanks"
        cells = f"{len(row)} {'cell' if len(row) == 1 else 'cells'}"
        hint = f"put {between} between cells, and write - for NULL"
        span = Span(row[0].span.start, row[-1].span.end)
        findings.complain(f"this row has {cells}, the header has {n_columns}", span, hint)
    return row


def _cells(line: str, start: int, separator: re.Pattern[str], findings: Findings) -> Iterator[Cell]:
    """Yield the cells of a line that begins at a place of the text."""
    place, end = len(line) - len(line.lstrip()), len(line)
    if separator is _PIPE:
        place += line[place] == "|"
        end -= line.endswith("|") and end - 1 > place
    while place <= end:
        while place < end and line[place] in " \t":
            place += 1
        quoted = _QUOTED.match(line, place, end)
        if quoted is None:
            stop = separator.search(line, place, end)
            until = end if stop is None else stop.start()
            text = line[place:until]
        else:
            stop = separator.match(line, quoted.end(), end)
            until = quoted.end()
            mark = quoted[0][0]
            text = quoted[0][1:-1].replace(mark * 2, mark)
            if stop is None and line[until:end].strip():
                rest = Span(start + until, start + end)
                findings.complain("text follows a closing quote", rest, f"write {mark} twice inside quotes")
                return
        yield Cell(
            text.strip() if quoted is None else text, Span(start + place, start + until), quoted is not None
        )
        if stop is None:
            return
        place = stop.end()
