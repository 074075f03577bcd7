"""Queries that are likely to explode, by what the statistics let expect; said before they run."""

from collections.abc import Sequence

from weft.normalize.cautions import Caution, list_cautions
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import context_of
from weft.optimizer.shape_of import shape_of
from weft.pattern.nodes import Query
from weft.schema import Schema
from weft.statistics.model import Statistics

MANY_MATCHES = 100.0  # of one event
COUNTLESS = 1e9


def cautions_of(
    queries: Sequence[Query], schema: Schema | None, statistics: Statistics, most: int
) -> tuple[Caution, ...]:
    """Return what to say of some queries, at most one thing of each.

    Where nothing is known of the events, only the patterns are looked at. A query is stopped that builds
    more than `most` partial matches for one event.

    >>> from weft.language.parser import parse
    >>> from weft.statistics.model import ItemKey
    >>> busy = Statistics(rates={ItemKey("A"): 20.0, ItemKey("B"): 20.0})
    >>> queries = parse("PATTERN SEQ(A a, B b, A c) WITHIN 1 minute")
    >>> [caution.reason for caution in cautions_of(queries, None, busy, 100_000)]
    ['360,000 matches are expected for one event, more than the budget of 100,000']
    """
    cautions = list_cautions(queries)
    if statistics.rates:
        for query in queries:
            if not query.is_trend:
                per_event = expected_matches(query, schema, statistics)
                if per_event > MANY_MATCHES:
                    cautions[query.name] = Caution(query.name, _reason(per_event, most))
    return tuple(cautions[query.name] for query in queries if query.name in cautions)


def expected_matches(query: Query, schema: Schema | None, statistics: Statistics) -> float:
    """Return how many matches of a query are expected for one event of the input."""
    shapes = [shape_of(form, statistics, context_of(schema)) for form in normalize(query)]
    rate = sum(shape.rows_per_second(shape.everything, shape.window) for shape in shapes)
    return rate / statistics.events_per_second


def _reason(per_event: float, most: int) -> str:
    shown = "more than a billion" if per_event > COUNTLESS else f"{per_event:,.0f}"
    expected = f"{shown} matches are expected for one event"
    return expected if per_event <= most else f"{expected}, more than the budget of {most:,}"
