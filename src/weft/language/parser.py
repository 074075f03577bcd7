"""Parse query text into unbound queries, reporting every mistake of the text at once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lark import Token

from weft.errors import Problem
from weft.language.assemble import QueryDraft, assemble_query
from weft.language.ccl.statement import check_sources, parse_statement
from weft.language.clauses import Language, cut_clauses, parse_clause
from weft.language.expression_rules import Rules
from weft.language.findings import MAX_PROBLEMS, raise_together, span_of
from weft.language.foreign_words import label_to_quote
from weft.language.statements import Statements, statements
from weft.language.syntax_errors import unexpected_token
from weft.pattern.nodes import Query

DEFAULT_NAME = "query"

_CLAUSES = (
    *("QUERY", "PATTERN", "WHERE", "WITHIN", "SLIDE", "PARTITION", "GROUP", "HAVING", "RETURN"),
    *("STRATEGY", "AFTER", "PREFER", "SUPPRESS", "TIMEOUTS"),
)
LANGUAGE = Language({keyword: f"{keyword.lower()}_clause" for keyword in _CLAUSES}, Rules, ("grammar.lark",))
_DECISIVE = ("SLIDE", "GROUP", "HAVING", "AFTER", "SUPPRESS")  # what other clauses mean depends on these


def parse(text: str, origin: str = "<query>") -> tuple[Query, ...]:
    """Return the queries of a text, unbound: attributes have no types yet.

    Raises QueryError with all the mistakes of the text; one query's mistake hides no other's.

    >>> [query.name for query in parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 min")]
    ['q']
    """
    queries, problems = parse_sound(text)
    raise_together(problems, text, origin)
    return tuple(queries)


def parse_sound(text: str, starts: Sequence[int] = (0,)) -> tuple[list[Query], list[Problem]]:
    """Return the queries of a text that are free of mistakes in syntax, and the mistakes of the others.

    The text may be that of several files, which begin at `starts`; no query goes over the end of its file.
    """
    queries, problems, _ = _parse_text(text, starts, doubt_long_texts=False)
    if problems and "\n" in text:
        # A missing quote turns a text inside out: see whether a quoted text swallowed a query.
        doubted = _parse_text(text, starts, doubt_long_texts=True)
        if doubted[2]:
            queries, problems, _ = doubted
    return queries, problems


def _parse_text(
    text: str, starts: Sequence[int], *, doubt_long_texts: bool
) -> tuple[list[Query], list[Problem], bool]:
    """Return the queries, the problems, and whether there are characters of no language."""
    queries: list[Query] = []
    problems: list[Problem] = []
    parts = [
        part
        for start, next_start in pairwise([*starts, len(text) + 1])
        for part in statements(text[: next_start - 1], start, doubt_long_texts=doubt_long_texts)
    ]
    of_ccl: list[Query | None] = []
    for part in parts:
        if part.is_ccl:
            of_ccl.append(parse_statement(part, f"ccl_{len(of_ccl) + 1}", problems))
            queries += [query for query in of_ccl[-1:] if query is not None]
        else:
            queries += _parse_queries(part, problems, alone=len(parts) == 1)
        if len(problems) > MAX_PROBLEMS:
            break
    if not parts:
        hint = "write QUERY name PATTERN SEQ(A a, B b)"
        problems.append(Problem("the text holds no query", None, hint))
    problems += check_sources([query for query in of_ccl if query is not None])
    has_bad = any(token.type == "BAD" for part in parts for token in part.tokens)
    return queries, problems, has_bad


def _parse_queries(part: Statements, problems: list[Problem], *, alone: bool) -> Iterator[Query]:
    """Yield the queries of our own language that stand together; each begins with QUERY, or the part does."""
    tokens = part.tokens
    starts = [place for place, token in enumerate(tokens) if place == 0 or token.type == "QUERY"]
    for start, end in pairwise([*starts, len(tokens)]):
        following = tokens[end] if end < len(tokens) else part.following
        is_only = alone and start == 0 and following is None
        query = _parse_query(tokens[start:end], following, problems, alone=is_only)
        if query is not None:
            yield query
        if len(problems) > MAX_PROBLEMS:
            return


def _parse_query(
    tokens: list[Token], following: Token | None, problems: list[Problem], *, alone: bool
) -> Query | None:
    draft = QueryDraft()
    clauses = cut_clauses(tokens, LANGUAGE.clauses, following)
    first = clauses[0].keyword if clauses else tokens[0]
    if first is not tokens[0] or not clauses:
        problem = unexpected_token("the text", tokens, 0, {"QUERY", "PATTERN"})
        label = label_to_quote(tokens, following)
        draft.problems.append(problem if label is None else replace(problem, hint=label))
    elif first.type != "QUERY" and not alone:
        hint = "start each query of a file with QUERY and a name"
        draft.complain("this query has no name", span_of(first, first), hint)
    for clause in clauses:
        parse_clause(clause, LANGUAGE, draft)
    written = {clause.keyword.type for clause in clauses}
    if clauses and "PATTERN" not in written:
        hint = "add one, for example PATTERN SEQ(A a, B b)"
        draft.complain("this query has no PATTERN", span_of(first, first), hint)
    name = draft.clauses.get("QUERY")
    query = assemble_query(
        draft, DEFAULT_NAME if name is None else name.value, span_of(tokens[0], tokens[-1])
    )
    problems += (replace(problem, query=name and name.value) for problem in draft.problems)
    if any(keyword in written and draft.clauses.get(keyword) is None for keyword in _DECISIVE):
        return None  # it would be judged by what is not meant
    return query
