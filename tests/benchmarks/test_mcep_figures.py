"""The sections on figures of MCEP and MOTTO compare what they say, on streams that are too short to time."""

import csv
import doctest

import adaptation_shuffle
import mcep_datasets
import mcep_figures
import motto_figures
import pattern_density
import pattern_shapes
import plots
import public_race
import pytest
import stocks
import traffic
from mcep_datasets import Point
from mcep_figures import Axis, Effort

EFFORT = Effort(run_seconds=0.02, search_seconds=0.02, rounds=1)
AXES = [mcep_figures.PATTERNS, mcep_figures.EVENT_WINDOWS, mcep_figures.RATES]


@pytest.fixture
def small(results, monkeypatch, tmp_path):
    monkeypatch.setattr(mcep_datasets, "_stock_events", lambda: stocks.stock_events(4))
    monkeypatch.setattr(mcep_figures, "datasets", lambda: {"stocks": tiny})
    monkeypatch.setattr(mcep_figures, "why_not", lambda: "skipped")
    tiny = mcep_datasets.replace(mcep_datasets.STOCKS, events=lambda: stocks.stock_events(4))
    return results


def tiny_axis(axis: Axis) -> Axis:
    """Return an axis with its last workload alone, of few patterns."""

    def points(data):
        place, point = list(axis.points(data).items())[-1]
        return {place: mcep_figures.replace(point, count=6)}

    return mcep_figures.replace(axis, points=points)


@pytest.mark.parametrize("module", [pattern_density, pattern_shapes, motto_figures])
def test_examples_in_docstrings(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_each_figure_has_a_table_a_picture_and_a_note_on_data_that_are_missing(axis, small) -> None:
    measures = mcep_figures.measure_axis(tiny_axis(axis), EFFORT, lambda _: None)
    assert measures[-1].value == "skipped"
    assert {one.section for one in measures} == {axis.name}
    with (small / f"{axis.name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == axis.methods
    assert len({row["matches"] for row in rows}) == 1
    assert float(rows[0]["everything"]) == float(rows[0]["expected cost"]) == 1
    assert (small / f"{axis.name}.svg").exists() == plots.CAN_DRAW


def test_searches_with_more_and_more_time_are_compared_with_one_trivial_plan(small, monkeypatch) -> None:
    monkeypatch.setattr(mcep_figures, "LIMITS", (0.01, 0.02))
    monkeypatch.setattr(mcep_figures, "Point", lambda: Point(count=6, size=3))
    mcep_figures.measure_search(EFFORT, lambda _: None)
    with (small / "mcep-search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["trivial", *mcep_figures.EDGES] * 2
    assert len({row["running"] for row in rows if row["method"] == "trivial"}) == 1


def test_methods_that_find_different_matches_are_an_error() -> None:
    spent = public_race.Spent(1.0, 2.0)
    plans = {name: public_race.Outcome(spent, None, {"p": n}, [spent]) for n, name in enumerate("ab")}
    with pytest.raises(RuntimeError, match="a and b find different matches"):
        public_race.check(plans)


def test_windows_of_events_replace_those_of_time() -> None:
    text = mcep_datasets.STOCKS.workload(Point(count=4, window=200, is_counted=True)).text
    assert text.count("WITHIN 200 EVENTS") == text.count("WITHIN") == 4


def test_rates_in_a_pattern_are_alike_where_that_is_wanted() -> None:
    for pattern in stocks.stock_patterns(20, 4, 0.2, rate_difference=5.0):
        rates = [stock.rate for stock in pattern.stocks]
        assert max(rates) - min(rates) <= 5


@pytest.mark.skipif(traffic.why_not() is not None, reason="the observations are not there")
def test_density_and_rates_of_traffic() -> None:
    sensors = traffic.sensors_of(traffic.traffic_events(days=1))
    dense = traffic.traffic_patterns(30, 5, 60, sensors=sensors, density=0.3)
    assert traffic.traffic_density(dense) == pytest.approx(0.3, abs=0.1)
    for pattern in traffic.traffic_patterns(20, 5, 60, sensors=sensors, share_difference=0.1):
        shares = [sensor.share for sensor in pattern.sensors]
        assert max(shares) - min(shares) <= 0.1


def test_exact_and_annealed_plans_and_cores(results, monkeypatch) -> None:
    monkeypatch.setattr(motto_figures, "COUNTS", (10,))
    monkeypatch.setattr(motto_figures, "CORE_COUNT", 10)
    monkeypatch.setattr(motto_figures, "ANNEALING_SECONDS", 0.05)
    measures = motto_figures.measure_motto(2_000, 5.0, 0.02, 1, lambda _: None)
    costs = {one.what: one.value for one in measures if "expected cost" in one.what}
    assert costs["10 queries: exact, expected cost"] >= 1
    assert sum("two threads over one" in one.what for one in measures) == len(motto_figures.CORE_PLANS)
    assert {path.stem for path in results.glob("*.csv")} == {"motto-planning", "motto-cores"}


def test_figure_13_is_drawn_from_the_rows_of_its_table(results) -> None:
    rows = [
        {"every": every, "method": method, "events/s": 10.0 * every, "gain over static": 2.0}
        for every in adaptation_shuffle.DISTANCES
        for method in ("static", "threshold")
    ]
    said = adaptation_shuffle.plot_shuffle(rows)
    assert "adaptation-shuffle" in said
    assert (results / "adaptation-shuffle.svg").exists() == plots.CAN_DRAW
