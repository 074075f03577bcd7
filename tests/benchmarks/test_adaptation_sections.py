"""The sections on adaptation compare what they say, on streams that are too short to time."""

import adaptation_contests
import adaptation_distance
import adaptation_patterns
import adaptation_runs
import adaptation_shuffle
import adaptation_steady
import adaptation_streams
import numpy as np
import pytest
from adaptation_observed import streams_of
from adaptation_workloads import check_found, cut, run_shared
from contest import Arena
from estimates import estimated_statistics

import adaptation
from weft.adaptation.decisions import Invariants, Static, Unconditional
from weft.adaptation.settings import Adaptation
from weft.language.read import read_queries
from weft.optimizer.planning import Planning
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches
from weft.statistics.model import ItemKey, Statistics


@pytest.fixture
def small(monkeypatch) -> None:
    monkeypatch.setattr(adaptation_contests, "EVENTS_PER_WINDOW", 60)
    monkeypatch.setattr(adaptation_steady, "STEADY", adaptation_steady.STEADY[:1])
    for module in (adaptation_distance, adaptation_steady):
        monkeypatch.setattr(module, "ALGORITHMS", ("greedy",))
        monkeypatch.setattr(module, "SIZES", (3,))
    for module in (adaptation, adaptation_distance):
        monkeypatch.setattr(module, "SIZES", (3,))
        monkeypatch.setattr(module, "ALGORITHMS", ("greedy",))
    monkeypatch.setattr(adaptation, "SETS", ("sequence", "kleene"))


@pytest.mark.parametrize("drift", adaptation_streams.DRIFTS, ids=lambda drift: drift.name)
def test_events_come_at_the_rates_and_with_the_widths_of_their_levels(drift) -> None:
    factors = drift.factors(60, 4)
    levels = adaptation_streams.Levels(30.0 * factors[:, 0], np.minimum(0.05 * factors[:, 1], 1.0), 10.0)
    events = adaptation_streams.drawn_events(levels)
    counts = np.bincount(events.type_codes, minlength=4)
    np.testing.assert_allclose(counts, 10.0 * levels.rates.sum(axis=0), rtol=0.1)
    widths = events.columns["high"].values - events.columns["low"].values
    epochs = np.minimum(events.times // 10_000_000, 59)
    share = np.isclose(widths, levels.widths[epochs, events.type_codes]).mean()
    assert share > 0.99, "but for those that a microsecond moved into the next epoch"
    assert (np.diff(events.times) > 0).all()


def test_the_skewed_stream_changes_seldom_and_much_the_even_one_always_and_little() -> None:
    skewed, even = (np.log(drift.factors(61, 6)) for drift in adaptation_streams.DRIFTS)
    changes = np.abs(np.diff(skewed, axis=0)).max(axis=(1, 2))
    assert np.count_nonzero(changes) == 15
    assert changes[changes > 0].min() > np.log(3)
    steps = np.abs(np.diff(even, axis=0))
    assert (steps.max(axis=(1, 2)) > 0).all()
    assert steps.max() < np.log(2)


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        ("sequence", "greedy"),
        ("negation", "ZStream"),
        ("conjunction", "ZStream"),
        ("kleene", "greedy"),
        ("composite", "ZStream"),
    ],
)
def test_whatever_decides_finds_the_matches_of_the_reference(kind, algorithm, monkeypatch) -> None:
    monkeypatch.setattr(adaptation_contests, "EVENTS_PER_WINDOW", 24)
    monkeypatch.setattr(adaptation_patterns, "MATCHES", 4.0)
    point = adaptation_contests.Point(adaptation_streams.EVEN, kind, 3, n_windows=6)
    contest = point.contest(algorithm)
    functions = {"static": Static, "always": Unconditional, "invariants": lambda: Invariants(contest.model)}
    runs = {name: adaptation_runs.run_adaptive(contest, decide) for name, decide in functions.items()}
    events = [
        ReferenceEvent(
            row,
            frozenset({batch.type_names[batch.type_codes[place]]}),
            int(batch.times[place]),
            attributes={name: float(column.values[place]) for name, column in batch.columns.items()},
        )
        for row, (batch, place) in enumerate(
            (batch, place) for batch in contest.batches for place in range(batch.n_events)
        )
    ]
    (query,) = read_queries(contest.text, adaptation_streams.SCHEMA)
    expected = len(find_matches(query, events))
    assert expected > 0
    assert {name: run.n_matches for name, run in runs.items()} == dict.fromkeys(functions, expected)
    assert runs["static"].n_checks == runs["static"].n_planned == 0
    assert runs["always"].n_checks == runs["always"].n_planned == len(contest.batches) - 1
    assert 0 < runs["always"].overhead < 1


def test_a_run_that_finds_other_matches_is_an_error(monkeypatch, small) -> None:
    contest = adaptation_contests.Point(adaptation_streams.EVEN, "sequence", 3, 3).contest("greedy")
    numbers = iter(range(9))

    def run(*_: object) -> adaptation_runs.AdaptiveRun:
        return adaptation_runs.AdaptiveRun(n_matches=next(numbers), seconds=1.0)

    monkeypatch.setattr(adaptation, "run_adaptive", run)
    with pytest.raises(RuntimeError, match="disagree"):
        adaptation.race(contest, {"a": Static, "b": Static}, 1)


def test_figures_6_to_9_have_tables_and_targets(results, small) -> None:
    measures = adaptation.measure_adaptation(4, 1, str, streams_of("skewed"))
    targets = [one.target for one in measures if one.section == "adaptation, skewed, greedy" and one.target]
    assert targets == ["≥ 1.3", "≥ 1.3", "≥ 1.3", "≤ 1 %"]
    assert (results / "adaptation.csv").exists()
    assert (results / "adaptation_scan.csv").exists()
    lines = (results / "adaptation.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * len(adaptation.METHODS)


def test_distances_are_compared_with_the_best_of_a_scan(results, small) -> None:
    measures = adaptation_distance.measure_distance(4, 1, str, streams_of("skewed"))
    assert [one.target for one in measures] == ["", "≥ 0.9"]
    assert all(0 < float(one.value) < 10 for one in measures)


def test_a_stream_that_does_not_drift_is_run_with_and_without_invariants(results, small) -> None:
    (measure,) = adaptation_steady.measure_steady(4, 1, str)
    assert 0 < float(measure.value) < 100
    assert "skewed,greedy,3" in (results / "adaptation_steady.csv").read_text()


TEXT = """
QUERY p PATTERN SEQ(T00 a, T01 b, T02 c) WHERE b.low <= a.given AND a.given < b.high WITHIN 10 seconds
QUERY q PATTERN SEQ(T00 a, T01 b, T03 d) WHERE b.low <= a.given AND a.given < b.high WITHIN 10 seconds
"""


def test_a_shared_plan_that_follows_finds_the_same_where_rates_are_exchanged() -> None:
    rates = adaptation_shuffle.exchanged(np.geomspace(0.5, 3.0, 6), 30, np.random.default_rng(1))
    levels = adaptation_streams.Levels(rates, np.full_like(rates, 0.3), 10.0)
    events = adaptation_streams.drawn_events(levels)
    rates = {ItemKey(name): 1.0 for name in adaptation_streams.type_names(6)}
    arena = Arena(TEXT, adaptation_streams.SCHEMA, Statistics(rates), events=None)
    optimized = arena.plan(Planning(plan="reorder", statistics=arena.statistics, cost="partial-matches"))
    batches = cut(events, 200)
    assert sum(batch.n_events for batch in batches) == events.n_events
    static = run_shared(arena, optimized, batches, None)
    adapted = run_shared(
        arena,
        optimized,
        batches,
        Adaptation("unconditional", least_gain=0.0, steps=20, planning=0.0, watching=1.0),
    )
    assert static.matches == adapted.matches
    assert sum(static.matches.values()) > 100
    assert static.n_changes == 0
    assert adapted.adapting_seconds > 0
    stopped = run_shared(arena, optimized, batches, None, most_seconds=0.0)
    assert stopped.n_events == 200
    assert len(stopped.found) == 1
    check_found("as far as all came", {"static": static, "stopped": stopped})
    stopped.found[0]["p"] += 1
    with pytest.raises(RuntimeError, match="stopped finds other matches than static"):
        check_found("as far as all came", {"static": static, "stopped": stopped})


def test_what_is_known_of_a_reshuffled_stream_holds_in_the_beginning() -> None:
    dice = np.random.default_rng(1)
    rates, widths = adaptation_shuffle.drawn_levels(dice)
    patterns = adaptation_shuffle.drawn_patterns(dice, widths)
    arena = adaptation_shuffle.arena_of(patterns, rates, widths)
    levels = adaptation_streams.Levels(rates[None], widths[None], 20.0)
    found = estimated_statistics(arena.queries, adaptation_streams.drawn_events(levels))
    for item, rate in arena.statistics.rates.items():
        assert found.rate(item) == pytest.approx(rate, rel=0.1, abs=4 * (rate / 20.0) ** 0.5)
    wide = {group: share for group, share in arena.statistics.selectivities.items() if share > 0.005}
    assert len(wide) > 20
    off = [abs(found.selectivity(group) / share - 1.0) for group, share in wide.items()]
    assert float(np.median(off)) < 0.3, "found on a sample of pairs"


def test_reshuffled_rates_are_measured_for_every_distance(results, monkeypatch) -> None:
    monkeypatch.setattr(adaptation_shuffle, "N_PATTERNS", 3)
    monkeypatch.setattr(adaptation_shuffle, "EVENTS_PER_SECOND", 200.0)
    monkeypatch.setattr(adaptation_shuffle, "EXPECTED", (0.0, 1.0))
    monkeypatch.setattr(adaptation_shuffle, "PLAN_STEPS", 20)
    measures = adaptation_shuffle.measure_shuffle(20.0, 0.1, str)
    assert len(measures) == 9
    assert all(float(one.value) > 0 for one in measures)
    assert [one.at_least for one in measures] == [None, 10.0, None] * 3
    assert "1000,invariants" in (results / "adaptation_shuffle.csv").read_text()
