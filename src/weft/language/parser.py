"""Parse query text into unbound queries, reporting every mistake of the text at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, cast

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer, LexerState

from weft.errors import Problem
from weft.language.assemble import Draft, assemble_query
from weft.language.expression_rules import Rules
from weft.language.findings import MAX_PROBLEMS, raise_together
from weft.language.lexer import tokenize
from weft.language.nesting import MAX_NESTING, is_nested_too_deeply
from weft.language.notes import span_of
from weft.language.syntax_errors import unexpected_end, unexpected_token
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
_CLAUSE_NAMES = {"PARTITION": "PARTITION BY", "GROUP": "GROUP BY"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause keyword, the tokens after it, and the token that ends the clause."""

    keyword: Token
    tokens: list[Token]
    following: Token | None

    @property
    def name(self) -> str:
        return _CLAUSE_NAMES.get(self.keyword.type, self.keyword.type)


def parse(text: str, origin: str = "<query>") -> tuple[Query, ...]:
    """Return the queries of a text, unbound: attributes have no types yet.

    Raises QueryError with all the mistakes of the text; one query's mistake hides no other's.

    >>> [query.name for query in parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 min")]
    ['q']
    """
    queries, problems = parse_sound(text)
    raise_together(problems, text, origin)
    return tuple(queries)


def parse_sound(text: str) -> tuple[list[Query], list[Problem]]:
    """Return the queries of a text that are free of mistakes in syntax, and the mistakes of the others."""
    queries, problems = _parse_tokens(tokenize(text))
    if problems and "\n" in text:
        # A missing quote turns a text inside out: see whether a quoted text swallowed a query.
        doubted = list(tokenize(text, doubt_long_texts=True))
        if any(token.type == "BAD" for token in doubted):
            queries, problems = _parse_tokens(doubted)
    return queries, problems


def _parse_tokens(tokens: Iterable[Token]) -> tuple[list[Query], list[Problem]]:
    queries: list[Query] = []
    problems: list[Problem] = []
    is_first = True
    for section, following in _sections(tokens):
        query = _parse_section(section, following, problems, alone=is_first and following is None)
        is_first = False
        if query is not None:
            queries.append(query)
        if len(problems) > MAX_PROBLEMS:
            break
    if is_first:
        problems.append(Problem("the text holds no query", None, "write QUERY name PATTERN SEQ(A a, B b)"))
    return queries, problems


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
    draft = Draft()
    clauses = _clauses(section, following)
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


def _clauses(section: list[Token], following: Token | None) -> list[Clause]:
    starts = [place for place, token in enumerate(section) if token.type in _START_OF_CLAUSE]
    found = []
    for start, end in pairwise([*starts, len(section)]):
        after = section[end] if end < len(section) else following
        found.append(Clause(section[start], section[start + 1 : end], after))
    return found


def _parse_clause(clause: Clause, draft: Draft) -> None:
    keyword = clause.keyword
    if keyword.type in draft.clauses:
        hint = "start each query with QUERY and a name" if keyword.type == "PATTERN" else None
        message = f"{clause.name} is given twice"
        draft.problems.append(Problem(message, span_of(keyword, keyword), hint))
        return
    draft.clauses[keyword.type] = None
    lark, rules = _parser()
    rules.start_clause()
    try:
        value: Any = lark.parse(clause.tokens, start=_START_OF_CLAUSE[keyword.type])
    except UnexpectedToken as error:
        draft.problems.append(_syntax_problem(clause, error))
        draft.problems += rules.problems
        del draft.clauses[keyword.type]
        return
    if len(clause.tokens) > MAX_NESTING and _is_too_deep(value):
        message = f"{clause.name} nests more than {MAX_NESTING} levels deep"
        draft.problems.append(Problem(message, span_of(clause.tokens[0], clause.tokens[-1])))
        return
    draft.add_clause(keyword.type, value, rules)


def _is_too_deep(value: Any) -> bool:
    if isinstance(value, list):  # of RETURN columns
        return any(is_nested_too_deeply(column.expression) for column in value)
    return hasattr(value, "span") and is_nested_too_deeply(value)


def _syntax_problem(clause: Clause, error: UnexpectedToken) -> Problem:
    expected: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    for place, token in enumerate(clause.tokens):
        if token is error.token:
            return unexpected_token(clause.name, clause.tokens, place, expected)
    after = clause.tokens[-1] if clause.tokens else clause.keyword
    return unexpected_end(clause.name, after, expected, clause.following)


class _ReadyTokens(Lexer):
    """Hands over tokens that were made beforehand."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:  # noqa: ARG002
        return iter(cast(list[Token], lexer_state.text))


@cache
def _parser() -> tuple[Lark, Rules]:
    rules = Rules()
    grammar = files("weft.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    lark = Lark(
        grammar,
        parser="lalr",
        lexer=_ReadyTokens,
        start=list(_START_OF_CLAUSE.values()),
        transformer=rules,
        maybe_placeholders=False,
    )
    return lark, rules
