"""Find in the source text what the nodes of a query do not say the place of."""

from weft.errors import Span
from weft.language.lexer import tokenize
from weft.pattern.nodes import Query

_PARTS = {
    "PARTITION": ("NAME", "COMMA"),
    "GROUP": ("NAME", "COMMA", "DOT"),
    "SLIDE": ("NUMBER", "UNIT", "MINUS"),
}


def key_span(source: str, query: Query, clause: str, name: str) -> Span | None:
    """Return where PARTITION BY or GROUP BY names an attribute, or the span of the query.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a PARTITION BY site"
    >>> key_span(text, parse(text)[0], "PARTITION", "site")
    Span(start=25, end=29)
    """
    found = [span for kind, value, span in _parts(source, query, clause) if (kind, value) == ("NAME", name)]
    return found[-1] if found else query.span


def slide_span(source: str, query: Query) -> Span | None:
    """Return where SLIDE says how long, or the span of the query.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a WITHIN 1 hour SLIDE 5 minutes"
    >>> slide_span(text, parse(text)[0])
    Span(start=32, end=41)
    """
    spans = [span for _, _, span in _parts(source, query, "SLIDE")]
    return Span(spans[0].start, spans[-1].end) if spans else query.span


def _parts(source: str, query: Query, clause: str) -> list[tuple[str, str, Span]]:
    """Return the kind, text and place of each part of a clause."""
    if query.span is None:
        return []
    start = query.span.start
    found: list[tuple[str, str, Span]] = []
    in_clause = False
    for token in tokenize(source[start : query.span.end]):
        if token.type == clause:
            in_clause = True
        elif in_clause and token.type in _PARTS[clause]:
            place = Span(start + (token.start_pos or 0), start + (token.end_pos or 0))
            found.append((token.type, token.value, place))
        else:
            in_clause = False
    return found
