"""Parse one clause of a query, the tokens after its keyword, with the rules of a grammar."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, TypeVar, cast

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer, LexerState

from weft.errors import Problem
from weft.language.findings import Notes, span_of
from weft.language.nesting import MAX_NESTING, is_nested_too_deeply
from weft.language.syntax_errors import unexpected_end, unexpected_token

Rules = TypeVar("Rules", bound=Notes)

_CLAUSE_NAMES = {"PARTITION": "PARTITION BY", "GROUP": "GROUP BY"}


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


class ClauseError(Exception):
    """A clause that the grammar does not allow; nothing is known of its value."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def parse_clause(clause: ClauseTokens, lark: Lark, start: str, keywords: Sequence[str] = ()) -> Any:
    """Return the value of a clause, or raise ClauseError; `keywords` are those a misspelling may mean."""
    try:
        return lark.parse(clause.tokens, start=start)
    except UnexpectedToken as error:
        expected: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
        for place, token in enumerate(clause.tokens):
            if token is error.token:
                raise ClauseError(
                    unexpected_token(clause.name, clause.tokens, place, expected, keywords)
                ) from None
        after = clause.tokens[-1] if clause.tokens else clause.keyword
        raise ClauseError(unexpected_end(clause.name, after, expected, clause.following)) from None


def problem_of_depth(clause: ClauseTokens, value: Any) -> Problem | None:
    """Return the problem of a clause that nests too deeply."""
    if len(clause.tokens) <= MAX_NESTING:
        return None
    if not any(map(is_nested_too_deeply, _nesting_parts(clause.keyword.type, value))):
        return None
    message = f"{clause.name} nests more than {MAX_NESTING} levels deep"
    return Problem(message, span_of(clause.tokens[0], clause.tokens[-1]))


def _nesting_parts(keyword: str, value: Any) -> list[Any]:
    """Return the patterns and expressions of a clause; names, lengths and sources do not nest."""
    match keyword:
        case "PATTERN" | "WHERE" | "ON":
            return [value]
        case "MATCHING":
            return [value.pattern]
        case "RETURN" | "SELECT":
            return [column.expression for column in value]
    return []


class _ReadyTokens(Lexer):
    """Hands over tokens that were made beforehand."""

    __future_interface__ = 2

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:  # noqa: ARG002
        return iter(cast(list[Token], lexer_state.text))


@cache
def parser_of(rules: type[Rules], starts: tuple[str, ...], *grammars: str) -> tuple[Lark, Rules]:
    """Return the parser of the grammars put together, and the rules that build its values."""
    made = rules()
    folder = files("weft.language")
    lark = Lark(
        "\n".join(folder.joinpath(grammar).read_text(encoding="utf-8") for grammar in grammars),
        parser="lalr",
        lexer=_ReadyTokens,
        start=list(starts),
        transformer=made,
        maybe_placeholders=False,
    )
    return lark, made
