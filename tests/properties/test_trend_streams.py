"""Oracle tests of trend queries on a shard of a stream: the reference's results, however the events come."""

import random
from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.random_trends import bursts, events, queries, related_queries
from tests.helpers.streams import Stream, counted, cut, deliveries, program_of
from tests.helpers.trend_streams import LAYOUT, in_milliseconds, table_of, trends_of, with_window

from weft.errors import QueryError
from weft.normalize.template import template_of
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.runtime.trends.executor import TrendPlan

SHARING: tuple[Sharing, ...] = ("dynamic", "static", "none")


def named(drawn: list[Query]) -> list[Query]:
    return [with_window(replace(query, name=f"q{number}")) for number, query in enumerate(drawn)]


def templates_or_skip(asked: list[Query]) -> tuple[Template, ...]:
    try:
        return tuple(map(template_of, asked))
    except QueryError:
        assume(False)
        raise


def run_stream(templates: tuple[Template, ...], given_events: list[ReferenceEvent], seed: int) -> Stream:
    """Run trend queries as a stream; everything about the delivery is drawn from the seed."""
    dice = random.Random(seed)
    delay = dice.choice([0, 1_000, 3_000])
    table = table_of(given_events)
    works = [program_of(TrendPlan(templates, sharing), LAYOUT, delay=delay) for sharing in SHARING]
    stream = Stream(dice.choice(works), dice, n_workers=dice.randint(1, 3))
    for rows in cut(deliveries(given_events, dice, delay), dice, dice.randint(1, 8)):
        if dice.random() < 0.2:
            stream.program = dice.choice(works)
        stream.deliver(table.take(pa.array(rows, pa.int64())))
    stream.finish()
    return stream


@given(
    st.one_of(
        st.tuples(st.lists(queries(), min_size=1, max_size=3), events()),
        st.tuples(related_queries(), bursts()),
    ),
    st.integers(0, 1_000_000),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_stream_gives_the_reference_results(
    case: tuple[list[Query], list[ReferenceEvent]], seed: int
) -> None:
    """In pieces, out of order, twice, with retries and restarts: every window and group once."""
    asked, given_events = named(case[0]), in_milliseconds(case[1])
    stream = run_stream(templates_or_skip(asked), given_events, seed)
    found = trends_of(stream)
    for query in asked:
        assert found.get(query.name, {}) == find_trend_results(query, given_events)
    assert counted(stream) == {name: len(own) for name, own in found.items()}
    assert stream.late == 0
    assert stream.wake is None
    assert not stream.store.segments
