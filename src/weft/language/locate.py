"""Find in the source text what the nodes of a query do not say the place of."""

from lark import Token

from weft.errors import Span
from weft.language.findings import span_of
from weft.language.lexer import tokenize
from weft.pattern.nodes import Query

_PARTS = {
    "PARTITION": ("NAME", "COMMA"),
    "GROUP": ("NAME", "COMMA", "DOT"),
    "SLIDE": ("NUMBER", "UNIT", "MINUS"),
}


def clause_span(source: str, query: Query, clause: str, name: str | None = None) -> Span | None:
    """Return where a clause names an attribute, or all that it says, or the span of the query.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a WITHIN 1 hour SLIDE 5 minutes GROUP BY site, area"
    >>> query = parse(text)[0]
    >>> clause_span(text, query, "SLIDE"), clause_span(text, query, "GROUP", "area")
    (Span(start=32, end=41), Span(start=57, end=61))
    """
    parts = [] if query.span is None else _parts(source[: query.span.end], query.span.start, clause)
    if name is not None:
        parts = [part for part in parts if (part.type, part.value) == ("NAME", name)][-1:]
    return span_of(parts[0], parts[-1]) if parts else query.span


def _parts(source: str, start: int, clause: str) -> list[Token]:
    """Return the tokens of a clause after its keyword."""
    parts: list[Token] = []
    in_clause = False
    for token in tokenize(source, start):
        if token.type == clause:
            in_clause = True
        elif in_clause and token.type in _PARTS[clause]:
            parts.append(token)
        else:
            in_clause = False
    return parts
