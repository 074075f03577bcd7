"""Read query text from a file, or from all `*.weft` and `*.ccl` files of a directory, as one text."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from weft.errors import DataError, Problem, QueryError, Span, WeftError

_ENDINGS = (".weft", ".ccl")


@dataclass(frozen=True, slots=True)
class QueryText:
    """The text of one or more files, put together; `starts` are the offsets at which each begins."""

    text: str
    origins: tuple[str, ...]
    starts: tuple[int, ...]

    @property
    def origin(self) -> str:
        return self.origins[0] if len(self.origins) == 1 else str(Path(self.origins[0]).parent)

    @contextmanager
    def errors_in_own_file(self) -> Iterator[None]:
        """Let an error in the whole text show each place in the file it stands in."""
        try:
            yield
        except QueryError as error:
            if len(self.origins) == 1 or error.source != self.text:
                raise
            message = "\n".join(str(self._in_own_file(problem)) for problem in error.problems)
            raise WeftError(message) from None

    def _in_own_file(self, problem: Problem) -> QueryError:
        if problem.span is None:
            return QueryError([problem], "", self.origin)
        file = bisect_right(self.starts, problem.span.start) - 1
        start = self.starts[file]
        end = self.starts[file + 1] - 1 if file + 1 < len(self.starts) else len(self.text)
        span = Span(problem.span.start - start, problem.span.end - start)
        return QueryError([replace(problem, span=span)], self.text[start:end], self.origins[file])


def read_queries(path: str) -> QueryText:
    """Return the text of a file of queries, or of the files of a directory in order of name."""
    target = Path(path)
    if not target.exists():
        raise DataError(f"{path}: there is no such file or directory")
    files = [target]
    if target.is_dir():
        files = sorted(file for ending in _ENDINGS for file in target.glob(f"*{ending}"))
    if not files:
        raise DataError(f"{path}: the directory holds no *.weft and no *.ccl files")
    return join_texts({str(file): _text_of(file) for file in files})


def join_texts(texts: dict[str, str]) -> QueryText:
    r"""Put the texts of several files together, a line end between them.

    >>> join_texts({"a.weft": "QUERY a", "b.weft": "QUERY b"})
    QueryText(text='QUERY a\nQUERY b', origins=('a.weft', 'b.weft'), starts=(0, 8))
    """
    starts, offset = [], 0
    for text in texts.values():
        starts.append(offset)
        offset += len(text) + 1
    return QueryText("\n".join(texts.values()), tuple(texts), tuple(starts))


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: this is not a text file in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
