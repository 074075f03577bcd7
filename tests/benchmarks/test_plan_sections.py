"""The sections that compare plans compare what they say: targets, fits, runs in batches, costs."""

import doctest
from collections import Counter
from dataclasses import replace

import calibrate
import contest
import measures
import node_work
import numpy as np
import optimum
import placement_cluster
import plots
import pytest
import q_error
import result_tables
import scale
import stock_statistics
import stocks
import traffic
import weave100
from measures import Measure

from weft.cost.measured import Measured
from weft.cost.partial_matches import PartialMatches
from weft.optimizer.planning import Planning
from weft.statistics.model import ItemKey


@pytest.mark.parametrize(
    "module", [calibrate, measures, node_work, optimum, q_error, result_tables, scale, stock_statistics]
)
def test_examples_in_docstrings(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("value", "bounds", "is_met", "target"),
    [
        (3.0, {}, None, ""),
        (3.0, {"at_most": 3}, True, "≤ 3 s"),
        (3.1, {"at_most": 3}, False, "≤ 3 s"),
        (3.0, {"at_least": 3}, True, "≥ 3 s"),
        (2.9, {"at_least": 3}, False, "≥ 3 s"),
        (4.0, {"at_least": 3, "at_most": 5}, True, "≥ 3 s, ≤ 5 s"),
        ("skipped", {"at_least": 3}, None, "≥ 3 s"),
    ],
)
def test_targets_from_above_and_below(value, bounds, is_met, target) -> None:
    measure = Measure("section", "what", value, "s", **bounds)
    assert measure.is_met is is_met
    assert measure.target == target


def test_a_fit_finds_the_prices_in_spite_of_noise() -> None:
    source = np.random.default_rng(1)
    amounts = source.lognormal(2.0, 1.0, (400, 4))
    prices = np.array([50.0, 3.0, 0.0, 8.0])
    totals = amounts @ prices * source.normal(1.0, 0.05, 400)
    found = calibrate.fit_nonnegative(amounts, totals, 1 / totals)
    assert found == pytest.approx(prices, rel=0.05, abs=0.5)
    assert (found >= 0).all()


def test_a_fit_refuses_negative_prices_and_is_as_good_as_any_other() -> None:
    source = np.random.default_rng(2)
    amounts, totals = source.random((30, 3)), source.random(30)
    totals -= amounts[:, 1]  # pulls the second price below zero
    found = calibrate.fit_nonnegative(amounts, totals, np.ones(30))
    assert found[1] == 0
    left = np.square(amounts @ found - totals).sum()
    for other in source.random((200, 3)):
        assert left <= np.square(amounts @ other - totals).sum()


def test_rank_correlation_looks_at_ranks_only() -> None:
    values = np.array([3.0, 1.0, 2.0, 9.0])
    assert calibrate.spearman(values, np.exp(values)) == pytest.approx(1)
    assert calibrate.spearman(values, -(values**3)) == pytest.approx(-1)


@pytest.fixture(scope="module")
def arena() -> contest.Arena:
    text = stocks.stock_queries(10, 4, 0.3, density=0.3)
    return contest.Arena(
        text, stocks.SCHEMA, stock_statistics.stock_statistics(20.0), stocks.stock_events(20)
    )


def test_all_strategies_find_the_same_matches_in_batches_of_any_length(arena) -> None:
    known = arena.statistics
    plans = {
        name: arena.plan(Planning(plan=name, statistics=known, cost="partial-matches"))
        for name in ("trivial", "reorder", "share")
    }
    plans["auto"] = arena.plan(Planning(plan="auto", statistics=known, steps=50, cost="partial-matches"))
    runs = contest.race(arena, plans, repeat=1, say=lambda _: None)
    assert sum(runs["auto"][0].matches.values()) > 0
    pieces = arena.run(plans["auto"], batch_events=500)
    contest.check_matches({"whole": runs["auto"][0], "in pieces": pieces})
    more = replace(pieces, matches=pieces.matches + Counter({"p003": 1}))
    with pytest.raises(RuntimeError, match=r"whole and other disagree on the matches of p003$"):
        contest.check_matches({"whole": pieces, "other": more})


@pytest.mark.parametrize("strategy", ["trivial", "share"])
@pytest.mark.parametrize("model", [PartialMatches(), Measured()])
def test_the_cost_of_a_choice_is_that_of_its_plan(strategy, model, arena) -> None:
    optimized = arena.plan(Planning(plan=strategy, statistics=arena.statistics, cost=model))
    assert arena.cost(optimized.stored, model) == pytest.approx(optimized.cost)


def test_joins_alone_leave_out_the_single_events(arena) -> None:
    choice = arena.plan(Planning(plan="trivial", statistics=arena.statistics, cost="partial-matches")).stored
    joins = arena.cost(choice, weave100.JoinsAlone())
    assert 0 < joins < arena.cost(choice, PartialMatches())


def test_nodes_do_about_what_is_expected(arena) -> None:
    optimized = arena.plan(Planning(plan="trivial", statistics=arena.statistics, cost="partial-matches"))
    run = arena.run(optimized)
    expected = node_work.expected_work(optimized, arena.seconds).values()
    actual = node_work.actual_work(optimized.plan, run.meter, n_batches=1).values()
    for name in ("row_in", "row_out"):
        sums = [sum(getattr(work, name) for work in works) for works in (actual, expected)]
        assert sums[0] == pytest.approx(sums[1], rel=0.3)


def test_statistics_of_stocks_are_those_of_the_stream() -> None:
    known = stock_statistics.stock_statistics(60.0)
    assert known.rate(ItemKey("STOCK07")) == stocks.stock_rates()["STOCK07"]
    assert sorted(known.selectivities.values())[0] == pytest.approx(0.003, abs=0.0005)
    n_types = len(stocks.stock_rates())
    assert len(known.selectivities) == n_types * (n_types - 1)  # a < b is b > a


def test_no_search_is_better_than_the_optimum_or_worse_than_its_start() -> None:
    outcome = optimum.outcome_of(optimum.small_workload(3), optimum.searches())
    for name in outcome.costs:
        assert 1 <= outcome.ratio(name) <= outcome.ratio(optimum.START) + 1e-9


def test_small_workloads_have_all_that_was_promised() -> None:
    small = [optimum.small_workload(seed) for seed in range(40)]
    assert {len(one.queries) for one in small} == set(optimum.N_PATTERNS)
    text = "".join(repr(query.pattern) for one in small for query in one.queries)
    for kind in ("Sequence", "Conjunction", "Negation", "Kleene"):
        assert f"{kind}(" in text
    shares = [share for one in small for share in one.statistics.selectivities.values()]
    assert 0.003 <= min(shares) < 0.01
    assert 0.5 < max(shares) <= 0.92


def test_without_matplotlib_there_is_a_note_and_no_picture(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    monkeypatch.setattr(plots, "CAN_DRAW", False)
    assert "matplotlib is missing" in plots.plot_gains("x", "patterns", {"in cost": {"RE": [(10, 2.0)]}})
    assert not list(tmp_path.iterdir())


def test_q_errors_are_small_and_data_that_are_missing_are_told(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(q_error, "N_BANK_EVENTS", 30_000)
    monkeypatch.setattr(traffic, "OBSERVATIONS", tmp_path / "missing.parquet")
    monkeypatch.setattr(placement_cluster, "EVENTS", tmp_path / "missing.parquet")
    found = {(one.section, one.what): one.value for one in q_error.measure_q_error(1.0, lambda text: None)}
    assert str(found["q_error, traffic", "the observations"]).startswith("skipped")
    assert str(found["q_error, cluster", "the events"]).startswith("skipped")
    bank = {what: value for (section, what), value in found.items() if section == "q_error, bank"}
    assert bank["joins"] > 15
    assert bank["by a whole look: of nine in ten, at most"] < q_error.MOST
    assert bank["by an earlier run: median"] < 1.05
    assert bank["by rates and selectivities: of nine in ten, at most"] > q_error.MOST
