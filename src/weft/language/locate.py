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
    "STRATEGY": ("ANY", "NEXT", "STRICT"),
    "AFTER": ("NONE", "TO", "NEXT", "PAST", "LAST"),
    "PREFER": ("LONGEST",),
    "SUPPRESS": ("NUMBER", "UNIT", "MINUS", "PER", "NAME", "COMMA", "DOT"),
    "TIMEOUTS": (),
}


def clause_span(source: str, query: Query, clause: str, name: str | None = None) -> Span | None:
    """Return where a clause names an attribute, or all that it says, or the span of the query.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a WITHIN 1 hour SLIDE 5 minutes GROUP BY site, area"
    >>> query = parse(text)[0]
    >>> clause_span(text, query, "SLIDE"), clause_span(text, query, "GROUP", "area")
    (Span(start=32, end=41), Span(start=57, end=61))
    """
    parts = _parts_of(source, query, clause)[1:]
    if name is not None:
        parts = [part for part in parts if (part.type, part.value) == ("NAME", name)][-1:]
    return span_of(parts[0], parts[-1]) if parts else query.span


def whole_clause_span(source: str, query: Query, clause: str) -> Span | None:
    """Return where a clause stands, with its keyword, or the span of the query.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a WITHIN 1 hour TIMEOUTS"
    >>> whole_clause_span(text, parse(text)[0], "TIMEOUTS")
    Span(start=26, end=34)
    """
    parts = _parts_of(source, query, clause)
    return span_of(parts[0], parts[-1]) if parts else query.span


def _parts_of(source: str, query: Query, clause: str) -> list[Token]:
    """Return the keyword of a clause and the tokens after it; nothing where there is no text."""
    parts: list[Token] = []
    if query.span is not None:
        for token in tokenize(source[: query.span.end], query.span.start):
            if token.type == clause or (parts and token.type in _PARTS[clause]):
                parts.append(token)
            elif parts:
                break
    return parts
