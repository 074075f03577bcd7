"""Trend queries in every mode of the engine give what enumerating the trends gives."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.random_trends import (
    bursts,
    engine_events,
    events,
    queries,
    related_queries,
    results_of,
    with_results,
)
from tests.helpers.tally import Count

from weft.errors import QueryError
from weft.kernels.trends.compose import PaneMaps, compose_windows
from weft.normalize.template import template_of
from weft.pattern.nodes import Query, TimeWindow
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.reference.events import ReferenceEvent
from weft.reference.trends import TrendResults, find_trend_results
from weft.runtime.trends import maps
from weft.runtime.trends.aggregate import aggregate_set, aggregate_workload
from weft.runtime.trends.shared import sharing_sets

Workload = tuple[list[Query], list[ReferenceEvent]]


def check_cases(
    check: Callable[[list[Query], list[ReferenceEvent]], list[TrendResults]],
    cases: st.SearchStrategy[Workload],
    count: Count,
    *,
    n_cases: int,
) -> None:
    """Check random cases, of which most have results; `check` returns those of each query."""
    n_results: list[int] = []

    @settings(max_examples=n_cases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(cases)
    def run(case: Workload) -> None:
        n_results.extend(map(len, check(*case)))

    run()
    count(trend_queries=len(n_results), with_trends=sum(map(bool, n_results)), trend_results=sum(n_results))
    assert sum(map(bool, n_results)) >= 0.5 * len(n_results)


def template_or_skip(query: Query) -> Template:
    try:
        return template_of(query)
    except QueryError:
        assume(False)
        raise


@pytest.mark.parametrize("way", ["none", "pairwise"])
def test_a_query_by_itself(way: str, count: Count) -> None:
    def check(drawn: list[Query], stream: list[ReferenceEvent]) -> list[TrendResults]:
        (query,) = drawn
        given_events = engine_events(stream)
        (rows,), _ = aggregate_set([template_or_skip(query)], given_events, way)  # type: ignore[arg-type]
        expected = find_trend_results(query, stream)
        assert results_of(rows, given_events) == expected
        return [expected]

    cases = with_results(st.lists(queries(), min_size=1, max_size=1), events())
    check_cases(check, cases, count, n_cases=50)


@pytest.mark.parametrize("sharing", ["dynamic", "static"])
def test_queries_that_share(sharing: Sharing, count: Count) -> None:
    def check(drawn: list[Query], stream: list[ReferenceEvent]) -> list[TrendResults]:
        templates = [template_or_skip(query) for query in drawn]
        given_events = engine_events(stream)
        expected = [find_trend_results(query, stream) for query in drawn]
        for own in sharing_sets(templates):
            rows, _ = aggregate_set([templates[number] for number in own], given_events, sharing)
            for number, found in zip(own, rows, strict=True):
                assert results_of(found, given_events) == expected[number]
        return expected

    check_cases(check, with_results(related_queries(), bursts()), count, n_cases=25)


def check_workload(sharing: Sharing, drawn: list[Query], stream: list[ReferenceEvent]) -> list[TrendResults]:
    """Run all queries together; return the reference's results."""
    templates = [template_or_skip(query) for query in drawn]
    given_events = engine_events(stream)
    rows, _ = aggregate_workload(templates, given_events, sharing)
    expected = [find_trend_results(query, stream) for query in drawn]
    assert [results_of(found, given_events) for found in rows] == expected
    return expected


@pytest.mark.parametrize("sharing", ["dynamic", "static", "none"])
def test_a_workload(sharing: Sharing, count: Count) -> None:
    cases = with_results(st.lists(queries(), min_size=1, max_size=4), events())
    check_cases(lambda *case: check_workload(sharing, *case), cases, count, n_cases=30)


@st.composite
def tied_events(draw: st.DrawFn) -> list[ReferenceEvent]:
    """Events in order, many of one time, with an order among those."""
    tied = [replace(event, time=event.time // 2, tie=draw(st.integers(0, 2))) for event in draw(events())]
    return sorted(tied, key=lambda event: (event.time, event.tie))


@pytest.mark.parametrize("sharing", ["dynamic", "none"])
def test_events_of_one_time_with_an_order(sharing: Sharing, count: Count) -> None:
    def check(drawn: list[Query], stream: list[ReferenceEvent]) -> list[TrendResults]:
        ties = np.array([event.tie for event in stream], np.int64)
        given_events = replace(engine_events(stream), ties=ties)
        rows, _ = aggregate_workload(list(map(template_or_skip, drawn)), given_events, sharing)
        expected = [find_trend_results(query, stream, tie_break=True) for query in drawn]
        assert [results_of(found, given_events) for found in rows] == expected
        return expected

    workloads = st.one_of(st.lists(queries(), min_size=1, max_size=2), related_queries())
    check_cases(check, with_results(workloads, tied_events(), tie_break=True), count, n_cases=25)


@st.composite
def many_windows(draw: st.DrawFn, workload: Workload) -> Workload:
    """The queries with windows that overlap so much that they are put together from panes."""
    drawn, stream = workload
    slow = draw(st.integers(1, 4))
    overlapping = [
        replace(query, window=TimeWindow(draw(st.integers(12, 40))), slide=draw(st.integers(1, 3)))
        for query in drawn
    ]
    return overlapping, [replace(event, time=event.time * slow) for event in stream]


@pytest.mark.parametrize("sharing", ["dynamic", "none"])
def test_windows_put_together_from_panes(
    sharing: Sharing, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[int] = []

    def noted(panes: PaneMaps, *rest: object) -> object:
        composed.append(panes.panes.size)
        return compose_windows(panes, *rest)

    monkeypatch.setattr(maps, "compose_windows", noted)
    lone = with_results(st.lists(queries(), min_size=1, max_size=2), events())
    cases = st.one_of(lone, with_results(related_queries(), bursts())).flatmap(many_windows)
    check_cases(lambda *case: check_workload(sharing, *case), cases, count, n_cases=40)
    assert sum(n_panes > 3 for n_panes in composed) > 20
