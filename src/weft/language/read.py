"""Read queries, however they are given: parse and bind, all mistakes of both kinds reported together."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from weft.errors import DataError, Problem, QueryError, QueryText, WeftError, absent_path
from weft.language.binder import bind, same_name
from weft.language.builder import QueryBuilder, Variable, as_query
from weft.language.findings import raise_together
from weft.language.parser import parse_sound
from weft.language.terms import Term
from weft.pattern.nodes import Pattern, Query
from weft.pattern.policies import ALL_MATCHES, Policy
from weft.schema import Schema

ENDINGS = (".weft", ".ccl")
MAX_REPEATED = 60  # characters of what was given that a message repeats
_PATH = re.compile(r"(?=.*[./\\])[\w./\\:~-]+")  # no query is written like this
_TAKEN = (
    "give query text, the path of a file or directory, a Query, a builder (weft.query), or a list of these"
)

QueryGiven: TypeAlias = str | Path | Query | QueryBuilder
Queries: TypeAlias = QueryGiven | Iterable[QueryGiven]


class _File(NamedTuple):
    place: int  # of what was given, among all that was
    origin: str
    text: str


def read_queries(
    queries: Queries,
    schema: Schema | None,
    *,
    origin: str = "<query>",
    tie_break: bool = False,
    default: Policy = ALL_MATCHES,
    times: Collection[str] = (),
) -> tuple[Query, ...]:
    """Return queries checked against a schema, in the order in which they are given.

    A text that names a file or directory, a line that ends in `.weft` or `.ccl`, or a word with dots or
    slashes is a path; any other is query text, for which errors name `origin`. Of a directory, all files with
    these endings are read, in order of name. One query's mistake in syntax hides no other's wrong name.
    `default` is which matches count in queries that do not say. Where there is no schema, `times` are
    the names of the event time, if they are known.

    >>> from weft.language.builder import event, query, seq
    >>> built = query("p").pattern(seq(event("A"), event("B")))
    >>> [query.name for query in read_queries([built, "QUERY q PATTERN SEQ(A a, C c)"], None)]
    ['p', 'q']
    """
    given = _parts_of(queries)
    files = [file for place, part in enumerate(given) for file in _files(place, part, origin, len(given))]
    built = {place: part for place, part in enumerate(given) if isinstance(part, Query | QueryBuilder)}
    source = QueryText.join((file.origin, file.text) for file in files)
    if all(isinstance(part, str) and not part.strip() for part in given):
        raise WeftError(f"no query was given\n  hint: {_TAKEN}")
    has_text = bool(source.text.strip()) or not built
    written, problems = parse_sound(source.text, source.starts) if has_text else ([], [])
    bound = _bind(written, schema, source.text, problems, default, tie_break=tie_break, times=times)
    places = [files[source.number_of(query.span.start)].place for query in bound if query.span is not None]
    of_objects: list[Problem] = []
    objects = _bind(list(built.values()), schema, "", of_objects, default, tie_break=tie_break, times=times)
    problems += (
        replace(problem, span=None, first=None) for problem in of_objects
    )  # their text is not at hand
    spans = {query.name: query.span for query in written}
    problems += (
        same_name(query.name, first=spans[query.name]) for query in built.values() if query.name in spans
    )
    raise_together(problems, source, origin if built else _origin(source, origin))
    in_order = sorted(zip((*places, *built), (*bound, *objects), strict=True), key=lambda pair: pair[0])
    return tuple(query for _, query in in_order)


def with_defaults(queries: Sequence[Query | QueryBuilder], default: Policy) -> tuple[Query, ...]:
    """Return queries in which a policy fills in what those for matches do not say; trend queries stay.

    >>> from weft.language.parser import parse
    >>> text = "QUERY a PATTERN A STRATEGY ANY QUERY b PATTERN B QUERY c PATTERN C RETURN COUNT(*)"
    >>> [query.policy.strategy for query in with_defaults(parse(text), Policy("next"))]
    ['any', 'next', None]
    """
    return tuple(
        query if query.is_trend else replace(query, policy=query.policy.or_else(default))
        for query in map(as_query, queries)
    )


def _bind(
    queries: Sequence[Query | QueryBuilder],
    schema: Schema | None,
    text: str,
    problems: list[Problem],
    default: Policy,
    *,
    tie_break: bool,
    times: Collection[str],
) -> tuple[Query, ...]:
    """Return bound queries, or none after adding what is wrong with them to the problems."""
    try:
        return bind(with_defaults(queries, default), schema, source=text, tie_break=tie_break, times=times)
    except QueryError as error:
        problems += error.problems
        return ()


def _files(place: int, given: object, origin: str, n_given: int) -> Iterator[_File]:
    """Yield the texts of what is given, unless it is a query already."""
    if isinstance(given, str) and not _is_path(given):
        yield _File(place, origin if n_given == 1 else f"queries[{place}]", given)
    elif isinstance(given, str | Path):
        yield from (_File(place, str(file), text_of_file(file)) for file in query_files(Path(given)))
    elif not isinstance(given, Query | QueryBuilder):
        raise WeftError(f"`queries` holds {_shown(given)}, which is no query\n  hint: {_remedy(given)}")


def _parts_of(queries: object) -> list[object]:
    """Return what is given as queries, one by one."""
    if isinstance(queries, QueryGiven):
        return [queries]
    if isinstance(queries, Iterable) and not isinstance(queries, bytes | Mapping):
        return list(queries)
    raise WeftError(f"`queries` is {_shown(queries)}, which is no query\n  hint: {_remedy(queries)}")


def _remedy(given: object) -> str:
    """Return what to give instead of something that is no query."""
    if isinstance(given, Variable | Pattern):
        return 'put the pattern in a query: weft.query("name").pattern(...)'
    if isinstance(given, Term):
        return 'put the condition in a query: weft.query("name").pattern(...).where(...)'
    if isinstance(given, Mapping):
        return "give the values of the mapping in a list; each query has its name inside"
    if isinstance(given, bytes):
        return "give the text: decode the bytes"
    return _TAKEN


def _shown(given: object) -> str:
    """Return what was given, in few words."""
    kind = type(given)
    text = repr(given) if kind.__module__ == "builtins" else ""  # of others nobody knows how long it is
    return text if 0 < len(text) <= MAX_REPEATED else f"a {kind.__module__}.{kind.__qualname__}"


def _is_path(text: str) -> bool:
    if (text.endswith(ENDINGS) and "\n" not in text) or _PATH.fullmatch(text.strip()):
        return True
    try:
        return bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with characters that none has
        return False


def query_files(path: Path) -> list[Path]:
    """Return a file of queries, or those of a directory in order of name."""
    if not path.exists():
        raise absent_path(path, "queries")
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in ENDINGS)
    if not files:
        raise DataError(f"{path}: the directory holds no *.weft and no *.ccl files")
    return files


def text_of_file(path: str | Path) -> str:
    """Return the text of a file in UTF-8; what is wrong with it is said."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is not a text file in UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None


def _origin(source: QueryText, origin: str) -> str:
    """Return where a problem is that has no place: in the file, in the directory of all, or as given."""
    if len(source.origins) == 1:
        return source.origins[0]
    folders = {Path(name).parent for name in source.origins if name.endswith(ENDINGS)}
    return str(folders.pop()) if len(folders) == 1 else origin
