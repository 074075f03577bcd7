"""The exceptions Weft raises; each says what was found, what was expected, where, and what to do."""

import difflib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

MAX_SHOWN = 200  # characters of a line of source text in a message
MAX_NAMED = 5  # queries that a message names
MAX_COMPARED = 5  # similar names that are looked at more closely
SHORT_NAME = 4  # letters of a name of which the first is hardly mistyped
SHORTEST_PART = 3  # letters that a name has in common with one it is short for
FEWER_MATCHES = (
    "STRATEGY NEXT takes the next that fits in place of every choice, AFTER MATCH SKIP PAST LAST one of the "
    "matches that overlap"
)
SMALLER_SEARCH = "shorten WITHIN, or add an equality such as [key] or a selective condition"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a query text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a query: a sentence, the place, and what to do about it."""

    message: str
    span: Span | None = None
    hint: str | None = None
    query: str | None = None
    first: Span | None = None  # where that stands which it repeats


class WeftError(Exception):
    """Anything Weft refuses to do; `str()` of it is written for a person."""


@dataclass(frozen=True, slots=True)
class QueryText:
    r"""The text of queries, put together of one or more files; `starts` are the offsets of their beginnings.

    >>> QueryText.join([("a.weft", "QUERY a"), ("b.weft", "QUERY b")])
    QueryText(text='QUERY a\nQUERY b', origins=('a.weft', 'b.weft'), starts=(0, 8))
    """

    text: str
    origins: tuple[str, ...]
    starts: tuple[int, ...] = (0,)

    @staticmethod
    def join(files: Iterable[tuple[str, str]]) -> "QueryText":
        """Put files together, each given by its origin and its text, with a line end between them."""
        origins, texts = [], []
        for origin, text in files:
            origins.append(origin)
            texts.append(text)
        ends = accumulate(len(text) + 1 for text in texts)
        return QueryText("\n".join(texts), tuple(origins), (0, *ends)[: len(texts)])

    def number_of(self, offset: int) -> int:
        """Return the number of the file in which a place of the text lies."""
        return bisect_right(self.starts, offset) - 1

    def line_at(self, offset: int) -> tuple[str, int, int]:
        """Return the line of its file in which a place lies, and its number there; lines count from 1."""
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        line = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        return line, self.text.count("\n", self.starts[self.number_of(offset)], offset) + 1, start

    def place_of(self, span: Span) -> str:
        """Return where something begins: its file, the line and the column there."""
        start = min(span.start, len(self.text))
        _, number, line_start = self.line_at(start)
        return f"{self.origins[self.number_of(start)]}:{number}:{start - line_start + 1}"


class QueryError(WeftError):
    """One or more problems in queries, reported together with file, line, column and caret.

    >>> print(QueryError([Problem("unknown type", Span(4, 5))], "SEQ(X)", "q.weft"))
    q.weft:1:5: unknown type
      SEQ(X)
          ^
    """

    def __init__(
        self, problems: Iterable[Problem], source: str | QueryText = "", origin: str = "<query>"
    ) -> None:
        self.problems = tuple(problems)
        self.source = source if isinstance(source, QueryText) else QueryText(source, (origin,))
        self.origin = origin
        super().__init__("\n".join(map(self._render, self.problems)))

    def __reduce__(self) -> tuple[type["QueryError"], tuple[object, ...]]:
        return QueryError, (self.problems, self.source, self.origin)

    def _render(self, problem: Problem) -> str:
        prefix = f"query {problem.query}: " if problem.query else ""
        hint = f"\n  hint: {problem.hint}" if problem.hint else ""
        if problem.first is not None and self.source.text:
            hint = f"\n  the first is at {self.source.place_of(problem.first)}{hint}"
        if problem.span is None or not self.source.text:
            return f"{self.origin}: {prefix}{problem.message}{hint}"
        start = min(problem.span.start, len(self.source.text))
        line, _, line_start = self.source.line_at(start)
        column = start - line_start
        place = f"{self.source.place_of(problem.span)}: "
        if len(line) > MAX_SHOWN:  # of a long line, show what is around the place
            cut = max(0, min(column - MAX_SHOWN // 2, len(line) - MAX_SHOWN))
            line, column = line[cut : cut + MAX_SHOWN], column - cut
        width = max(1, min(problem.span.end - start, len(line) - column))
        lead = "".join("\t" if character == "\t" else " " for character in line[:column])
        return f"{place}{prefix}{problem.message}\n  {line}\n  {lead}{'^' * width}{hint}"


class DataError(WeftError):
    """The events cannot be used as given: a missing column, a wrong type, an unreadable file."""


def absent_path(path: str | Path, of: str) -> DataError:
    """Return the error of a path at which there is nothing, with what may be meant.

    >>> print(absent_path("/absent/events.csv", "events"))
    /absent/events.csv: there is no such file or directory of events
      hint: there is no directory /absent
    """
    folder = Path(path).absolute().parent
    try:
        near = near_name(Path(path).name, sorted(file.name for file in folder.iterdir()))
        remedy = f"it was looked for in {folder}" if near is None else f"did you mean {folder / near}?"
    except (OSError, ValueError):
        remedy = f"there is no directory {folder}"
    return DataError(f"{path}: there is no such file or directory of {of}\n  hint: {remedy}")


class PlacementError(WeftError):
    """A plan that places queries on sites would miss matches or repeat them; names the vertex."""


class BudgetError(WeftError):
    """Queries exceeded their budget; `reason` says how, where, and what to do.

    >>> print(BudgetError("more than 5 partial matches", ["p", "q"]))
    queries p, q, which share a part: more than 5 partial matches
    """

    def __init__(self, reason: str, queries: Iterable[str] = ()) -> None:
        self.reason, self.queries = reason, tuple(sorted(queries))
        super().__init__(f"{self._named()}: {reason}" if self.queries else reason)

    def _named(self) -> str:
        further = len(self.queries) - MAX_NAMED
        shown = ", ".join(self.queries[:MAX_NAMED]) + (f" and {further} more" if further > 0 else "")
        return f"queries {shown}, which share a part" if len(self.queries) > 1 else f"query {shown}"


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is probably meant by `name`, ignoring case, or None.

    It differs by a typing mistake, or the one is short for the other; of short names less may differ.

    >>> near_name("Prise", ["price", "volume"]), near_name("amt", ["amount"]), near_name("kind", ["id"])
    ('price', 'amount', None)
    """
    by_folded = {candidate.casefold(): candidate for candidate in sorted(known, reverse=True)}
    folded = name.casefold()
    close = difflib.get_close_matches(folded, by_folded, n=MAX_COMPARED, cutoff=0.6)
    near = next((other for other in close if _is_near(folded, other)), None)
    return by_folded[near] if near is not None else None


def _is_near(name: str, other: str) -> bool:
    """Return whether two names differ by few mistakes, or one begins with the other or is short for it."""
    shorter, longer = sorted((name, other), key=len)
    if len(shorter) >= SHORTEST_PART and (longer.startswith(shorter) or _abbreviates(shorter, longer)):
        return True
    if len(longer) <= SHORT_NAME and name[:1] != other[:1]:
        return name == other
    return _n_mistakes(name, other) <= max(1, len(longer) // 3)


def _abbreviates(short: str, long: str) -> bool:
    """Return whether the letters of a name stand in another in this order, from the first one on."""
    letters = iter(long)
    return short[:1] == long[:1] and all(letter in letters for letter in short)


def _n_mistakes(name: str, other: str) -> int:
    """Return how many letters must be dropped, added, changed or swapped with the next to get the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(name, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            steps = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and name[i - 2] == wanted:
                steps = min(steps, last[j - 2] + 1)
            row.append(steps)
    return row[-1]
