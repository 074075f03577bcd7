"""The workloads of MOTTO's experiments share what they promise to share, and the streams have their rates."""

import doctest
from collections import Counter, defaultdict

import numpy as np
import pytest
import rewriting_patterns
import rewriting_streams
import rewriting_workloads
from rewriting_patterns import Operation, is_subsequence, is_substring
from rewriting_streams import DATA_CENTER, SCENARIOS, SCHEMA, STOCKS, scenario_events, scenario_statistics
from rewriting_workloads import (
    N_QUERIES,
    WINDOW,
    SharingQuery,
    counts_by_type,
    mixed_workload,
    sharing_queries,
    with_windows,
    workload_text,
)

from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.pattern.nodes import Some
from weft.statistics.model import ItemKey
from weft.tree import find

RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
BOTH = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.mark.parametrize("module", [rewriting_patterns, rewriting_streams, rewriting_workloads])
def test_examples_in_docstrings(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def families(queries) -> list[list[SharingQuery]]:
    found = defaultdict(list)
    for query in queries:
        found[query.family].append(query)
    return list(found.values())


def check_family(family: list[SharingQuery]) -> None:
    first, *others = family
    own = first.pattern.types
    assert others
    for other in others:
        types = other.pattern.types
        match first.sharing:
            case 1 | 5:
                assert types[: len(own)] == own
            case 2:
                assert types[-len(own) :] == own
            case 3:
                assert is_subsequence(own, types)
                assert not is_substring(own, types)
            case 4:
                pairs = set(zip(own, own[1:], strict=False)) & set(zip(types, types[1:], strict=False))
                assert pairs
                assert not set(own) <= set(types)
                assert not set(types) <= set(own)
            case 6:
                assert types == own
                assert other.pattern.operator != first.pattern.operator
            case 7:
                assert other.pattern.innermost == first.pattern.innermost
                assert other.pattern != first.pattern
        assert (other.window != first.window) == (first.sharing == 5)
        if first.sharing != 6:
            assert other.pattern.operator == first.pattern.operator


@BOTH
@pytest.mark.parametrize("ratio", RATIOS)
def test_types_of_sharing_have_their_shares_and_hold(scenario, ratio) -> None:
    queries = mixed_workload(scenario, ratio)
    assert len({query.meaning for query in queries}) == N_QUERIES
    counts = Counter(query.sharing for query in queries)
    basic = [counts[sharing] for sharing in (1, 2, 3, 4)]
    others = [counts[sharing] for sharing in (5, 6, 7)]
    assert sum(basic) == ratio * N_QUERIES
    assert max(basic) - min(basic) <= 1
    assert max(others) - min(others) <= 1
    for family in families(queries):
        check_family(family)
    for query in queries:
        has_some = any(one.pattern.operator == "SOME" for one in families(queries)[query.family])
        n_types = len(query.pattern.types)
        fewest, most = (2, 3) if has_some else (scenario.fewest_operands, scenario.most_operands)
        assert fewest <= n_types <= most
        assert len(set(query.pattern.types)) == n_types
        assert query.pattern.levels == (2 if query.sharing == 7 else 1)
        assert query.window == WINDOW or query.sharing == 5


@BOTH
def test_workloads_parse_and_bind_and_normalize(scenario) -> None:
    queries = mixed_workload(scenario, 0.25)
    assert {"SEQ", "AND", "SOME"} == {query.pattern.operator for query in queries}
    bound = read_queries(workload_text(queries), SCHEMA)
    assert len(bound) == len({query.name for query in bound}) == N_QUERIES
    assert sum(1 for query in bound for _ in find(query, Some)) in (1, 2)
    forms = [normalize(query) for query in bound]
    assert all(forms)


def test_a_workload_depends_on_its_seed_alone() -> None:
    first = mixed_workload(STOCKS, 0.5)
    assert first == mixed_workload(STOCKS, 0.5)
    assert first != mixed_workload(STOCKS, 0.5, seed=2)


@pytest.mark.parametrize("nesting", [2, 4, 6, 8])
def test_operators_take_turns_from_level_to_level(nesting) -> None:
    queries = sharing_queries(STOCKS, {7: 20}, nesting=nesting)
    for family in families(queries):
        check_family(family)
    for query in queries:
        assert query.pattern.levels == nesting
        level: Operation | None = query.pattern
        while level:
            (inner,) = [one for one in level.operands if isinstance(one, Operation)] or [None]
            assert inner is None or {inner.operator, level.operator} == {"SEQ", "AND"}
            level = inner


def test_windows_of_sources_and_of_the_others() -> None:
    queries = sharing_queries(STOCKS, counts_by_type(40, 1.0), window=12)
    assert {query.window for query in queries} == {12}
    changed = with_windows(queries, 12, 3)
    assert [query.pattern for query in changed] == [query.pattern for query in queries]
    for first, *others in families(changed):
        assert first.window == 12
        assert {other.window for other in others} == {3}


def test_a_query_without_a_partner_is_refused() -> None:
    with pytest.raises(ValueError, match="type 1 has 1 query, expected two or more"):
        mixed_workload(STOCKS, 0.5, n_queries=6)


@BOTH
def test_streams_have_the_stated_rates(scenario) -> None:
    n_events = 100_000
    events = scenario_events(scenario, n_events)
    known = scenario_statistics(scenario, n_events)
    times = events["ts"].cast("int64").to_numpy()
    assert events.num_rows == n_events
    assert (np.diff(times) > 0).all()
    assert (times[-1] - times[0]) / 1e6 == pytest.approx(known.duration, rel=0.01)
    for one in events["type"].value_counts().to_pylist():
        assert one["counts"] == pytest.approx(
            known.rate(ItemKey(one["values"])) * known.duration, rel=0.15, abs=30
        )


@pytest.mark.parametrize(("scenario", "least", "most"), [(STOCKS, 0.9, 1.1), (DATA_CENTER, 9.0, 40.0)])
def test_only_the_data_center_has_bursts(scenario, least, most) -> None:
    """The variance of the number of events in ten seconds, over their mean: one in a Poisson stream."""
    times = scenario_events(scenario, 100_000)["ts"].cast("int64").to_numpy()
    counts = np.bincount((times - times[0]) // 10_000_000)[:-1]
    assert least < counts.var() / counts.mean() < most
