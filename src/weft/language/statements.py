"""Cut a text into its statements: queries of our own language, and SELECT statements of CCL."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import Token

from weft.language.ccl.lexer import read_statement
from weft.language.lexer import COMMENT, tokenize

_CCL_STATEMENT = re.compile(r"(?:CREATE|SELECT)\b(?!\s*[,).:\]=])", re.IGNORECASE)
_LEADING = re.compile(rf"(?:\s+|//[^\n]*|{COMMENT})*+", re.DOTALL)
_GAP = re.compile(rf"(?:\s+|;|//[^\n]*|{COMMENT})*+", re.DOTALL)

# What cannot end a query of our own language; a word after it is a name, whatever the word.
_UNFINISHED = frozenset(
    {
        *("QUERY", "PATTERN", "WHERE", "WITHIN", "SLIDE", "PARTITION", "GROUP", "HAVING", "RETURN"),
        *("STRATEGY", "AFTER", "TO", "PAST", "PREFER", "SUPPRESS", "PER"),
        *("SEQ", "AND", "OR", "SOME", "NOT", "AS", "IS", "IN", "BETWEEN", "LIKE", "COMPARE"),
        *("BANG", "MINUS", "DIVIDE", "COMMA", "DOT", "LPAR", "LBRACK", "LBRACE"),
    }
)


@dataclass(frozen=True, slots=True)
class Statements:
    """One statement of CCL, or all queries of our own language up to the next, with what follows."""

    tokens: list[Token]
    is_ccl: bool
    following: Token | None = None


def statements(text: str, start: int = 0, *, doubt_long_texts: bool = False) -> Iterator[Statements]:
    """Yield the statements of a text from `start` on; one of our own language alone is yielded as one.

    >>> text = '''QUERY q PATTERN SEQ(A a, B b)
    ... SELECT * FROM A, B MATCHING [1 second: A & B];'''
    >>> [(part.tokens[0].value, part.is_ccl) for part in statements(text)]
    [('QUERY', False), ('SELECT', True)]
    """
    position = start + int(text.startswith("\ufeff", start))
    is_first = True
    while position < len(text):
        start = _end_of(_GAP, text, position)
        if is_first and not _CCL_STATEMENT.match(text, start):
            start = _end_of(_LEADING, text, position)
        if start == len(text):
            return
        if _CCL_STATEMENT.match(text, start):
            tokens, position = read_statement(text, start, doubt_long_texts=doubt_long_texts)
            yield Statements(tokens, is_ccl=True)
        else:
            part = _own_queries(text, start, doubt_long_texts=doubt_long_texts)
            position = len(text) if part.following is None else part.following.start_pos or 0
            if part.tokens:
                yield part
        is_first = False


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()


def _own_queries(text: str, start: int, *, doubt_long_texts: bool) -> Statements:
    """Return the tokens of our own language up to a statement of CCL that starts a line."""
    tokens: list[Token] = []
    for token in tokenize(text, start, doubt_long_texts=doubt_long_texts):
        if tokens and _starts_ccl(text, token, tokens[-1]):
            return Statements(tokens, is_ccl=False, following=token)
        tokens.append(token)
    return Statements(tokens, is_ccl=False)


def _starts_ccl(text: str, token: Token, previous: Token) -> bool:
    """Return whether a statement of CCL starts at a token that is first on its line, or after semicolons."""
    start = token.start_pos or 0
    if "\n" not in text[previous.end_pos : start]:
        return False
    if token.value == ";":
        return _CCL_STATEMENT.match(text, _end_of(_GAP, text, start)) is not None
    if previous.type in _UNFINISHED or token.value.upper() not in ("CREATE", "SELECT"):
        return False
    return _CCL_STATEMENT.match(text, start) is not None
