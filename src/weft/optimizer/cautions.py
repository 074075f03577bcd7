"""Queries that are likely to explode, by what the statistics let expect; said before they run."""

from collections.abc import Sequence
from itertools import combinations
from math import inf

from weft.cost.shape import Shape
from weft.errors import FEWER_MATCHES, SMALLER_SEARCH
from weft.normalize.cautions import BOUNDED, caution, list_cautions, takes_every_choice
from weft.normalize.pipeline import normalize
from weft.notices import Notice
from weft.optimizer.pipeline import context_of
from weft.optimizer.shape_of import shape_of
from weft.pattern.nodes import Query
from weft.schema import Schema
from weft.statistics.model import Statistics

MANY_MATCHES = 100.0  # of one event
COUNTLESS = 1e9


def cautions_of(
    queries: Sequence[Query],
    schema: Schema | None,
    statistics: Statistics,
    most: int,
    most_candidates: float = inf,
) -> tuple[Notice, ...]:
    """Return what to say of some queries, at most one thing of each.

    Where nothing is known of the events, only the patterns are looked at. A query is stopped that builds
    more than `most` partial matches for one event, or looks at more than `most_candidates` pairs of events.

    >>> from weft.language.parser import parse
    >>> from weft.statistics.model import ItemKey
    >>> busy = Statistics(rates={ItemKey("A"): 20.0, ItemKey("B"): 20.0})
    >>> queries = parse("PATTERN SEQ(A a, B b, A c) WITHIN 1 minute")
    >>> [caution.reason for caution in cautions_of(queries, None, busy, 100_000)]
    ['360,000 matches are expected for one event, more than the budget of 100,000']
    """
    cautions = list_cautions(queries)
    for query in queries if statistics.rates else ():
        shapes = _shapes(query, schema, statistics)
        n_pairs = max(map(fewest_candidates, shapes), default=0.0)
        per_event = _matches_per_event(shapes, statistics) if takes_every_choice(query) else 0.0
        if per_event > MANY_MATCHES:
            has_list = query.name in cautions
            remedy = BOUNDED if has_list else f"{FEWER_MATCHES}; or {SMALLER_SEARCH}"
            cautions[query.name] = caution(query.name, _reason(per_event, most), remedy)
        elif n_pairs > most_candidates:
            reason = f"a window holds {n_pairs:,.0f} pairs of events to look at"
            limit = f"more than the budget of {most_candidates:,.0f} candidates"
            cautions[query.name] = caution(query.name, f"{reason}, {limit}", SMALLER_SEARCH)
    return tuple(cautions[query.name] for query in queries if query.name in cautions)


def expected_matches(query: Query, schema: Schema | None, statistics: Statistics) -> float:
    """Return how many matches of a query are expected for one event of the input, with STRATEGY ANY."""
    return _matches_per_event(_shapes(query, schema, statistics), statistics)


def fewest_candidates(shape: Shape) -> float:
    """Return how many pairs of events of a window any plan has to look at: those of the cheapest first join.

    >>> fewest_candidates(Shape(rates=(2.0, 3.0, 9.0), before=(0, 0b01, 0b11), window=10.0))
    300.0
    """
    pairs = combinations(range(shape.n_items), 2)
    return min((_pairs_of(shape, 1 << a, 1 << b) for a, b in pairs), default=0.0)


def _pairs_of(shape: Shape, left: int, right: int) -> float:
    mask = left | right
    n_pairs = shape.window**2 * shape.rates[left.bit_length() - 1] * shape.rates[right.bit_length() - 1]
    return n_pairs * shape.order_fraction(mask) * shape.equality_share(mask)


def _shapes(query: Query, schema: Schema | None, statistics: Statistics) -> list[Shape]:
    forms = () if query.is_trend else normalize(query)
    return [shape_of(form, statistics, context_of(schema)) for form in forms]


def _matches_per_event(shapes: Sequence[Shape], statistics: Statistics) -> float:
    rate = sum(shape.matches_per_second for shape in shapes)
    return rate / statistics.events_per_second


def _reason(per_event: float, most: int) -> str:
    shown = "more than a billion" if per_event > COUNTLESS else f"{per_event:,.0f}"
    expected = f"{shown} matches are expected for one event"
    return expected if per_event <= most else f"{expected}, more than the budget of {most:,}"
