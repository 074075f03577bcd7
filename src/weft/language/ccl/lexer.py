"""Turn one statement of CCL into the terminals of its grammar."""

import re

from lark import Token

from weft.language.lexer import (
    COMMENT,
    OPERATOR_WORDS,
    SYMBOLS,
    read_constant,
    starts_labeled_query,
    starts_named_query,
    token_pattern,
)

CLAUSES = ("CREATE", "SELECT", "FROM", "MATCHING", "ON", "WHERE")
HEADER_WORDS = ("OUTPUT", "LOCAL", "STREAM", "WINDOW", "PRIMARY", "KEY", "DEDUCED")
KEYWORDS = frozenset(CLAUSES) | OPERATOR_WORDS

_TOKEN = token_pattern(rf"(?P<skip>\s+|//[^\n]*|{COMMENT})", symbols=r"&&|\|\||[=<>+\-*/%?!()\[\]{},.&|:;]")
_TIME_LITERAL = re.compile(r"\s*'")
_UNFINISHED = frozenset({"FROM", "COMMA", "AMPERSAND", "PIPE", "BANG", "COLON"})  # an event comes next


def read_statement(text: str, start: int, *, doubt_long_texts: bool = False) -> tuple[list[Token], int]:
    """Return the terminals of the statement at a place, and where the text goes on.

    A statement ends with a semicolon, or before a line that starts another, of either language.

    >>> tokens, end = read_statement("SELECT * FROM A MATCHING [1 sec: A]; SELECT", 0)
    >>> [token.type for token in tokens][4:], end
    (['MATCHING', 'LBRACK', 'NUMBER', 'UNIT', 'COLON', 'NAME', 'RBRACK'], 36)
    """
    tokens: list[Token] = []
    previous = ""
    is_header = text[start : start + 6].upper() == "CREATE"
    position = start
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # `bad` takes any character
        group, value = match.lastgroup, match.group()
        place, position = match.span()
        if group == "skip":
            continue
        if value == ";":
            return tokens, position
        is_word = group == "word" or group == "call"
        if tokens and is_word and _starts_statement(text, tokens[-1], place, is_header=is_header):
            return tokens, place
        if group == "symbol":
            kind = SYMBOLS[value]
        elif is_word:
            known = _kind_of_word(value, previous, text, position, is_header=is_header)
            kind = known or ("CALL" if group == "call" else "NAME")
            is_header = is_header and kind != "SELECT"
        else:
            kind, value, length = read_constant(match, doubt_long_texts=doubt_long_texts)
            position = place + length
        tokens.append(Token(kind, value, place, None, None, None, None, position))
        previous = kind
    return tokens, position


def _starts_statement(text: str, previous: Token, place: int, *, is_header: bool) -> bool:
    """Return whether a word that is first on its line starts another statement."""
    if "\n" not in text[previous.end_pos : place] or previous.type == "DOT":
        return False
    word = text[place : place + 6].upper()
    if word in ("CREATE", "SELECT"):
        is_whole = not text[place + 6 : place + 7].isidentifier()
        return is_whole and not (is_header and word == "SELECT") and previous.type != "AS"
    if starts_labeled_query(text, place):
        return True
    return previous.type not in _UNFINISHED and starts_named_query(text, place, KEYWORDS)


def _kind_of_word(word: str, previous: str, text: str, end: int, *, is_header: bool) -> str | None:
    """Return the kind of a word that context or the list of keywords decides, None for others."""
    upper = word.upper()
    if is_header:
        return upper if upper in KEYWORDS or upper in HEADER_WORDS else None
    if previous in ("DOT", "AS"):
        return None
    if upper in KEYWORDS:
        return upper
    if upper in ("TIMESTAMP", "DATE") and _TIME_LITERAL.match(text, end):
        return upper
    return "UNIT" if previous == "NUMBER" else None
