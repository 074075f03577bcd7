"""Trend queries in every mode of the engine give what enumerating the trends gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.random_trends import bursts, engine_events, events, queries, related_queries, results_of

from weft.errors import QueryError
from weft.normalize.template import template_of
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.runtime.trends.aggregate import aggregate_set, aggregate_workload
from weft.runtime.trends.shared import sharing_sets
from weft.testing.events import ReferenceEvent
from weft.testing.trends import find_trend_results

thorough = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def template_or_skip(query: Query) -> Template:
    try:
        return template_of(query)
    except QueryError:
        assume(False)
        raise


@thorough
@given(queries(), events())
@pytest.mark.parametrize("way", ["none", "pairwise"])
def test_a_query_by_itself(way: str, query: Query, stream: list[ReferenceEvent]) -> None:
    template = template_or_skip(query)
    given_events = engine_events(stream)
    (rows,), _ = aggregate_set([template], given_events, way)  # type: ignore[arg-type]
    assert results_of(rows, given_events) == find_trend_results(query, stream)


@thorough
@given(related_queries(), bursts())
@pytest.mark.parametrize("sharing", ["dynamic", "static"])
def test_queries_that_share(sharing: str, drawn: list[Query], stream: list[ReferenceEvent]) -> None:
    templates = [template_or_skip(query) for query in drawn]
    given_events = engine_events(stream)
    for own in sharing_sets(templates):
        rows, _ = aggregate_set([templates[number] for number in own], given_events, sharing)  # type: ignore[arg-type]
        for number, found in zip(own, rows, strict=True):
            assert results_of(found, given_events) == find_trend_results(drawn[number], stream)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(queries(), min_size=1, max_size=4), events())
@pytest.mark.parametrize("sharing", ["dynamic", "static", "none"])
def test_a_workload(sharing: str, drawn: list[Query], stream: list[ReferenceEvent]) -> None:
    templates = [template_or_skip(query) for query in drawn]
    given_events = engine_events(stream)
    rows, _ = aggregate_workload(templates, given_events, sharing)  # type: ignore[arg-type]
    for query, found in zip(drawn, rows, strict=True):
        assert results_of(found, given_events) == find_trend_results(query, stream)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(st.lists(queries(), min_size=1, max_size=2), related_queries()),
    events(),
    st.lists(st.integers(0, 2), min_size=9, max_size=9),
)
@pytest.mark.parametrize("sharing", ["dynamic", "none"])
def test_events_of_one_time_with_an_order(
    sharing: str, drawn: list[Query], stream: list[ReferenceEvent], ties: list[int]
) -> None:
    tied = [replace(event, time=event.time // 2, tie=tie) for event, tie in zip(stream, ties, strict=False)]
    ordered = sorted(tied, key=lambda event: (event.time, event.tie))
    given_events = replace(engine_events(ordered), ties=np.array([event.tie for event in ordered], np.int64))
    templates = [template_or_skip(query) for query in drawn]
    rows, _ = aggregate_workload(templates, given_events, sharing)  # type: ignore[arg-type]
    for query, found in zip(drawn, rows, strict=True):
        assert results_of(found, given_events) == find_trend_results(query, tied, tie_break=True)
