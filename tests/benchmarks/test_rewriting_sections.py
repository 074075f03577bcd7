"""The sections on MOTTO's experiments compare what they say, on streams that are too short to time."""

import rewriting
import rewriting_sensitivity
from contest import fastest_ratio
from rewriting_streams import SCENARIOS, STOCKS
from rewriting_workloads import mixed_workload


def test_all_plans_find_the_same_and_the_union_is_compared_with_the_best(results) -> None:
    arena = rewriting.arena_of(STOCKS, mixed_workload(STOCKS, 0.5, 20), 2_000)
    assert arena.events.num_rows == 2_000
    point = rewriting.measure_point(arena, dict.fromkeys(rewriting.METHODS, 0.1), 1, str, "")
    assert point.n_queries == 20
    assert point.throughput("trivial") == 1
    others = [method for method in rewriting.METHODS if method != rewriting.UNION]
    best = max(fastest_ratio(point.runs["auto"], point.runs[method]) for method in others)
    assert point.best_other == best
    rows = rewriting.point_rows({"stream": "stocks"}, point)
    assert [row["strategy"] for row in rows] == list(rewriting.METHODS)
    assert rows[0]["cost of trivial / this"] == 1


def test_targets_of_figure_13(results, monkeypatch) -> None:
    monkeypatch.setattr(rewriting, "METHODS", ("trivial", "auto"))
    monkeypatch.setattr(rewriting, "RATIOS", (0.0, 1.0))
    monkeypatch.setattr(
        rewriting, "mixed_workload", lambda scenario, ratio: mixed_workload(scenario, ratio, 12)
    )
    measures = rewriting.measure_rewriting(1_000, 0.1, 1, str)
    targets = [one.target for one in measures if one.target]
    assert targets == ["≤ 1.02", "≥ 1.001", "≤ 1.02"] * len(SCENARIOS)
    assert (results / "rewriting.csv").exists()


def test_figure_14_has_a_table_for_each_of_its_parts(results, monkeypatch) -> None:
    monkeypatch.setattr(rewriting_sensitivity, "METHODS", ("trivial", "auto"))
    monkeypatch.setattr(rewriting_sensitivity, "COUNTS", (10,))
    monkeypatch.setattr(rewriting_sensitivity, "N_QUERIES", 12)
    monkeypatch.setattr(rewriting_sensitivity, "NESTING", (2, 4))
    monkeypatch.setattr(rewriting_sensitivity, "WINDOWS", {"4:1": (12, 3)})
    monkeypatch.setattr(rewriting_sensitivity, "EXACT_COUNT", 12)
    measures = rewriting_sensitivity.measure_sensitivity(1_000, 0.1, 20, 1, str)
    assert [one.what for one in measures if one.target] == ["12 queries: planning, exact"]
    gains = [one.what for one in measures if "auto / trivial" in one.what]
    assert gains == [
        "10 queries: auto / trivial",
        "4:1 windows: auto / trivial",
        "2 levels: auto / trivial",
        "4 levels: auto / trivial",
    ]
    assert {path.name for path in results.glob("*.csv")} == {
        "rewriting-queries.csv",
        "rewriting-windows.csv",
        "rewriting-nesting.csv",
        "rewriting-planning.csv",
    }
