"""HAVING and columns calculated from aggregates: the engine in every mode, against the reference."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.random_thresholds import single_queries, with_quiet_times, with_thresholds
from tests.helpers.random_trends import (
    bursts,
    engine_events,
    events,
    expected_results,
    queries,
    related_queries,
    results_of,
    with_results,
)
from tests.helpers.streams import counted
from tests.helpers.tally import Count
from tests.helpers.trend_streams import in_milliseconds, trends_of
from tests.properties.test_trend_streams import named, run_stream, templates_or_skip

from weft.pattern.nodes import Query
from weft.pattern.policies import ALL_MATCHES
from weft.plan.trend_sets import Sharing
from weft.reference.events import ReferenceEvent
from weft.runtime.trends.aggregate import aggregate_workload

Workload = tuple[list[Query], list[ReferenceEvent]]

WORKLOADS = st.one_of(
    with_results(st.lists(queries(), min_size=1, max_size=3), events()),
    with_results(related_queries(), bursts()),
).flatmap(lambda case: st.tuples(with_thresholds(case[0]), st.just(case[1])))


@pytest.mark.parametrize("sharing", ["dynamic", "static", "none"])
def test_a_workload(sharing: Sharing, count: Count) -> None:
    seen: Counter[str] = Counter()

    @given(WORKLOADS)
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    def run(case: Workload) -> None:
        drawn, stream = case
        templates = templates_or_skip(drawn)
        given_events = engine_events(stream)
        rows, _ = aggregate_workload(templates, given_events, sharing)
        for query, found in zip(drawn, rows, strict=True):
            expected = expected_results(query, stream)
            assert results_of(found, given_events) == expected
            seen.update(passed=len(expected), rejected=found.n_rows - len(expected))
            numbers = [value for own in expected.values() for value in own.values()]
            seen["beyond"] += sum(isinstance(value, str) and "e" in value for value in numbers)

    run()
    count(**{f"results_{name}": number for name, number in seen.items()})
    assert min(seen["passed"], seen["rejected"]) > 20
    assert seen["beyond"] > 0


SINGLE = with_results(
    st.lists(single_queries(), min_size=1, max_size=3), st.one_of(events(most=14), bursts())
)


@pytest.mark.parametrize("sharing", ["dynamic", "static", "none"])
def test_single_events(sharing: Sharing, count: Count) -> None:
    """How many values differ, and by how much, in windows that overlap, touch, or leave gaps."""
    n_results: list[int] = []

    @given(SINGLE)
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    def run(case: Workload) -> None:
        drawn, stream = case
        given_events = engine_events(stream)
        rows, _ = aggregate_workload(templates_or_skip(drawn), given_events, sharing)
        for query, found in zip(drawn, rows, strict=True):
            expected = expected_results(query, stream)
            assert results_of(found, given_events) == expected
            n_results.append(len(expected))

    run()
    count(results_of_single_events=sum(n_results))
    assert sum(n_results) > 150


PLAIN = st.one_of(
    with_results(st.lists(queries(), min_size=2, max_size=4), st.one_of(events(most=14), bursts())),
    with_results(related_queries(), bursts()),
)
QUIET = st.one_of(WORKLOADS, SINGLE, PLAIN, PLAIN).flatmap(
    lambda case: st.tuples(with_quiet_times(case[0]), st.just(case[1]))
)


@pytest.mark.parametrize("sharing", ["dynamic", "none"])
def test_quiet_times(sharing: Sharing, count: Count) -> None:
    seen: Counter[str] = Counter()

    @given(QUIET)
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    def run(case: Workload) -> None:
        drawn, stream = case
        given_events = engine_events(stream)
        rows, _ = aggregate_workload(templates_or_skip(drawn), given_events, sharing)
        for query, found in zip(drawn, rows, strict=True):
            expected = expected_results(query, stream)
            assert results_of(found, given_events) == expected
            passed = len(expected_results(replace(query, policy=ALL_MATCHES), stream))
            seen.update(kept=len(expected), suppressed=passed - len(expected))

    run()
    count(**{f"results_{name}": number for name, number in seen.items()})
    assert min(seen["kept"], seen["suppressed"]) > 20


@given(st.one_of(WORKLOADS, SINGLE), st.integers(0, 1_000_000))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_stream_gives_the_reference_results(case: Workload, seed: int) -> None:
    """Results that HAVING refuses are neither given nor counted."""
    asked, given_events = named(case[0]), in_milliseconds(case[1])
    assume(asked)
    stream = run_stream(templates_or_skip(asked), given_events, seed)
    found = trends_of(stream)
    for query in asked:
        assert found.get(query.name, {}) == expected_results(query, given_events)
    assert counted(stream) == {name: len(own) for name, own in found.items() if own}
    assert not stream.store.segments
