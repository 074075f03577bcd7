"""Find in the source text what the nodes of a query do not say the place of."""

from weft.errors import Span
from weft.language.lexer import tokenize
from weft.pattern.nodes import Query


def partition_span(source: str, query: Query, name: str) -> Span | None:
    """Return where PARTITION BY names an attribute, or the span of the query when that is not found.

    >>> from weft.language.parser import parse
    >>> text = "PATTERN A a PARTITION BY site"
    >>> partition_span(text, parse(text)[0], "site")
    Span(start=25, end=29)
    """
    if query.span is None:
        return None
    start = query.span.start
    in_clause = False
    for token in tokenize(source[start : query.span.end]):
        if token.type == "PARTITION":
            in_clause = True
        elif in_clause and token.type == "NAME" and token.value == name:
            return Span(start + (token.start_pos or 0), start + (token.end_pos or 0))
        elif token.type not in ("NAME", "COMMA"):
            in_clause = False
    return query.span
