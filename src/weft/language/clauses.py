"""Parse the clauses of a query one by one, each by the rule of a grammar that its keyword stands for."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, cast

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer, LexerState

from weft.errors import Problem
from weft.language.assemble import CONDITIONS, QueryDraft
from weft.language.findings import Notes, span_of
from weft.language.nesting import MAX_NESTING, is_nested_too_deeply
from weft.language.syntax_errors import unexpected_end, unexpected_token

_CLAUSE_NAMES = {"PARTITION": "PARTITION BY", "GROUP": "GROUP BY", "AFTER": "AFTER MATCH SKIP"}


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language of queries: the rule of each clause, the class that builds its values, the grammars.

    `keywords` are those that a misspelling may mean, when they are not those of our own language.
    """

    clauses: Mapping[str, str]
    rules: type[Notes]
    grammars: tuple[str, ...]
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClauseTokens:
    """A clause keyword, the tokens after it, and the token that ends the clause."""

    keyword: Token
    tokens: list[Token]
    following: Token | None

    @property
    def name(self) -> str:
        return _CLAUSE_NAMES.get(self.keyword.type, self.keyword.type)


def cut_clauses(
    tokens: list[Token], keywords: Collection[str], following: Token | None = None
) -> list[ClauseTokens]:
    """Cut tokens before each keyword of a clause; `following` is the token after all of them."""
    starts = [place for place, token in enumerate(tokens) if token.type in keywords]
    return [
        ClauseTokens(tokens[start], tokens[start + 1 : end], tokens[end] if end < len(tokens) else following)
        for start, end in pairwise([*starts, len(tokens)])
    ]


def parse_clause(clause: ClauseTokens, language: Language, draft: QueryDraft) -> None:
    """Add the value of a clause to a draft, None if it nests too deeply, and what is wrong with it."""
    keyword = clause.keyword
    if keyword.type in draft.clauses:
        hint = "start each query with QUERY and a name" if keyword.type == "PATTERN" else None
        draft.complain(f"{clause.name} is given twice", span_of(keyword, keyword), hint)
        return
    lark, notes = _parser_of(language)
    notes.start_clause()
    try:
        value = lark.parse(clause.tokens, start=language.clauses[keyword.type])
    except UnexpectedToken as error:
        draft.problems += [_problem_of_syntax(clause, error, language), *notes.problems]
        return
    if len(clause.tokens) > MAX_NESTING and any(map(is_nested_too_deeply, _nesting_parts(keyword, value))):
        message = f"{clause.name} nests more than {MAX_NESTING} levels deep"
        draft.complain(message, span_of(clause.tokens[0], clause.tokens[-1]))
        draft.clauses[keyword.type] = None
        return
    draft.add_clause(keyword.type, value, notes)


def _problem_of_syntax(clause: ClauseTokens, error: UnexpectedToken, language: Language) -> Problem:
    expected: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    for place, token in enumerate(clause.tokens):
        if token is error.token:
            return unexpected_token(clause.name, clause.tokens, place, expected, language.keywords)
    after = clause.tokens[-1] if clause.tokens else clause.keyword
    return unexpected_end(clause.name, after, expected, clause.following)


def _nesting_parts(keyword: Token, value: Any) -> list[Any]:
    """Return the patterns and expressions of a clause; names, lengths and sources do not nest."""
    if keyword.type in ("PATTERN", "HAVING", *CONDITIONS):
        return [value]
    if keyword.type == "MATCHING":
        return [value.pattern]
    return [column.expression for column in value] if keyword.type in ("RETURN", "SELECT") else []


class _ReadyTokens(Lexer):
    """Hands over tokens that were made beforehand."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:  # noqa: ARG002
        return iter(cast(list[Token], lexer_state.text))


@cache
def _parser_of(language: Language) -> tuple[Lark, Notes]:
    """Return the parser of a language, and the rules that build its values."""
    rules = language.rules()
    folder = files("weft.language")
    lark = Lark(
        "\n".join(folder.joinpath(grammar).read_text(encoding="utf-8") for grammar in language.grammars),
        parser="lalr",
        lexer=_ReadyTokens,
        start=list(dict.fromkeys(language.clauses.values())),
        transformer=rules,
        maybe_placeholders=False,
    )
    return lark, rules
