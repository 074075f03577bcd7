"""Read query text: parse and bind, all mistakes of both kinds reported together."""

from weft.errors import QueryError
from weft.language.binder import bind
from weft.language.findings import raise_together
from weft.language.parser import parse_sound
from weft.pattern.nodes import Query
from weft.schema import Schema


def read(
    text: str, schema: Schema | None, *, origin: str = "<query>", tie_break: bool = False
) -> tuple[Query, ...]:
    """Return the bound queries of a text; one query's mistake in syntax hides no other's wrong name.

    >>> [query.name for query in read("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 min", None)]
    ['q']
    """
    queries, problems = parse_sound(text)
    try:
        bound = bind(queries, schema, source=text, origin=origin, tie_break=tie_break)
    except QueryError as error:
        problems += error.problems
    raise_together(problems, text, origin)
    return bound
