"""Parse query text into unbound queries, reporting every mistake of the text at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from lark import Token

from weft.errors import Problem
from weft.language.assemble import QueryDraft, assemble_query
from weft.language.ccl.statement import check_sources, parse_statement
from weft.language.clauses import (
    ClauseError,
    ClauseTokens,
    cut_clauses,
    parse_clause,
    parser_of,
    problem_of_depth,
)
from weft.language.expression_rules import Rules
from weft.language.findings import MAX_PROBLEMS, raise_together, span_of
from weft.language.statements import statements
from weft.language.syntax_errors import unexpected_token
from weft.pattern.nodes import Query

DEFAULT_NAME = "query"

_START_OF_CLAUSE = {
    "QUERY": "query_clause",
    "PATTERN": "pattern_clause",
    "WHERE": "where_clause",
    "WITHIN": "within_clause",
    "SLIDE": "slide_clause",
    "PARTITION": "partition_clause",
    "GROUP": "group_clause",
    "RETURN": "return_clause",
}
_TREND_CLAUSES = ("SLIDE", "GROUP")


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
            queries += _parse_tokens(part.tokens, part.following, problems, alone=len(parts) == 1)
        if len(problems) > MAX_PROBLEMS:
            break
    if not parts:
        hint = "write QUERY name PATTERN SEQ(A a, B b)"
        problems.append(Problem("the text holds no query", None, hint))
    problems += check_sources([query for query in of_ccl if query is not None])
    has_bad = any(token.type == "BAD" for part in parts for token in part.tokens)
    return queries, problems, has_bad


def _parse_tokens(
    tokens: Iterable[Token], following: Token | None, problems: list[Problem], *, alone: bool
) -> list[Query]:
    queries: list[Query] = []
    is_first = True
    for section, next_section in _sections(tokens):
        after = next_section or following
        query = _parse_section(section, after, problems, alone=alone and is_first and after is None)
        is_first = False
        if query is not None:
            queries.append(query)
        if len(problems) > MAX_PROBLEMS:
            break
    return queries


def _sections(tokens: Iterable[Token]) -> Iterator[tuple[list[Token], Token | None]]:
    """Cut the tokens before every QUERY keyword; yield each part with the token that follows it."""
    section: list[Token] = []
    for token in tokens:
        if token.type == "QUERY" and section:
            yield section, token
            section = []
        section.append(token)
    if section:
        yield section, None


def _parse_section(
    section: list[Token], following: Token | None, problems: list[Problem], *, alone: bool
) -> Query | None:
    draft = QueryDraft()
    clauses = cut_clauses(section, _START_OF_CLAUSE, following)
    first = clauses[0].keyword if clauses else section[0]
    if first is not section[0] or not clauses:
        draft.problems.append(unexpected_token("the text", section, 0, {"QUERY", "PATTERN"}))
    elif first.type != "QUERY" and not alone:
        hint = "start each query of a file with QUERY and a name"
        draft.problems.append(Problem("this query has no name", span_of(first, first), hint))
    for clause in clauses:
        _parse_clause(clause, draft)
    if clauses and not any(clause.keyword.type == "PATTERN" for clause in clauses):
        hint = "add one, for example PATTERN SEQ(A a, B b)"
        draft.problems.append(Problem("this query has no PATTERN", span_of(first, first), hint))
    name = draft.clauses.get("QUERY")
    query = assemble_query(
        draft, DEFAULT_NAME if name is None else name.value, span_of(section[0], section[-1])
    )
    problems += (replace(problem, query=name and name.value) for problem in draft.problems)
    written = {clause.keyword.type for clause in clauses}
    if any(keyword in written and draft.clauses.get(keyword) is None for keyword in _TREND_CLAUSES):
        return None  # without the clause it would be another kind of query
    return query


def _parse_clause(clause: ClauseTokens, draft: QueryDraft) -> None:
    keyword = clause.keyword
    if keyword.type in draft.clauses:
        hint = "start each query with QUERY and a name" if keyword.type == "PATTERN" else None
        message = f"{clause.name} is given twice"
        draft.problems.append(Problem(message, span_of(keyword, keyword), hint))
        return
    draft.clauses[keyword.type] = None
    lark, rules = parser_of(Rules, tuple(_START_OF_CLAUSE.values()), "grammar.lark")
    rules.start_clause()
    try:
        value = parse_clause(clause, lark, _START_OF_CLAUSE[keyword.type])
    except ClauseError as mistake:
        draft.problems += [mistake.problem, *rules.problems]
        del draft.clauses[keyword.type]
        return
    too_deep = problem_of_depth(clause, value)
    if too_deep is not None:
        draft.problems.append(too_deep)
        return
    draft.add_clause(keyword.type, value, rules)
