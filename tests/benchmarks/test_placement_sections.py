"""The section on placement compares what it says, on networks that are too small to learn from."""

import numpy as np
import placement_cluster
import placement_figures
import pyarrow as pa
import pytest
from placement_networks import Model, random_problem

from weft.placement.pipeline import place


def test_networks_are_what_the_model_says() -> None:
    problem = random_problem(Model(n_queries=40), seed=1)
    sizes = [query.n_items for query in problem.queries]
    assert len(problem.network.sites) == 20
    assert {*sizes} == {4, 5, 6, 7, 8}
    emitted = sum(problem.network.emitters(kind).bit_count() for kind in problem.network.rates)
    assert emitted / (20 * 15) == pytest.approx(0.5, abs=0.1)
    assert all(problem.network.emitters(kind) for kind in problem.network.rates)
    pairs = [query.projection(0b11) for query in problem.queries]
    assert all(0.01 <= pair.factor <= 0.4 for pair in pairs)  # an AND finds twice as many
    same, other = random_problem(Model(), seed=2), random_problem(Model(), seed=3)
    again = random_problem(Model(), seed=2)
    texts = [[query.root.text for query in one.queries] for one in (same, again, other)]
    assert texts[0] == texts[1] != texts[2]


def test_rates_are_drawn_with_a_skew() -> None:
    assert random_problem(Model(), seed=1).network.rates["T0"].max() == 1154
    drawn = [random_problem(Model(skew=1.5), seed).network.rates["T0"].max() for seed in range(20)]
    assert len({*drawn}) > 3


def test_figures_have_their_targets_and_tables(results, monkeypatch) -> None:
    tiny = Model(n_sites=4, rates=(50, 9, 1, 3, 2), n_queries=2, n_items=3)
    monkeypatch.setattr(placement_figures, "MODEL", tiny)
    monkeypatch.setattr(placement_figures, "LARGE", tiny)
    monkeypatch.setattr(placement_figures, "MODELS", (tiny, tiny))
    monkeypatch.setattr(placement_figures, "SIZES", (3,))
    monkeypatch.setattr(placement_figures, "RATIOS", (0.2, 1.0))
    monkeypatch.setattr(placement_figures, "SKEWS", (1.1,))
    monkeypatch.setattr(placement_figures, "N_SKEWED", 2)
    monkeypatch.setattr(placement_figures, "SELECTIVITIES", (0.01,))
    monkeypatch.setattr(placement_figures, "COUNTS", (2,))
    monkeypatch.setattr(placement_figures, "LARGEST", (50,))
    measures = placement_figures.measure_placement(1, 0.05, str)
    targets = {one.what: one.target for one in measures if one.target}
    assert targets == {
        "event-node ratio 0.2: transmission ratio, median, best": "≤ 0.01",
        "event-node ratio 1: transmission ratio, median, best": "≤ 0.1",
        "skew 1.1, 2 networks: single sink / best, most": "≥ 1000",
        "skew 1.1, 2 networks: single sink / best, median of the 1 where it may be 1,000": "≥ 1000",
        "2 queries of 3 items on 4 sites: slowest construction, best": "≤ 10 s",
        "50 sites: rows drawn from rows predicted, in standard errors": "≤ 4",
    }
    named = ("ratio", "sites", "skew", "selectivity")
    tables = [f"placement-{name}{end}.csv" for name in named for end in ("", "-large")]
    tables += [f"placement-{name}.csv" for name in ("ratio-drawn", "most-skewed", "queries", "simulated")]
    assert {path.name for path in results.glob("*.csv")} == {*tables}


def test_ids_of_the_cluster_agree_as_often_as_the_paper_has_it() -> None:
    events = placement_cluster.with_ids(pa.table({"ts": range(40_000), "node": [0] * 40_000}))
    for name in ("user", "job"):
        values = events[name].to_numpy()
        assert len({*values.tolist()}) == 20
        assert np.mean(values[:20_000] == values[20_000:]) == pytest.approx(0.05, abs=0.01)
    assert np.mean(events["user"].to_numpy() == events["job"].to_numpy()) == pytest.approx(0.05, abs=0.01)


def test_the_cluster_is_skipped_without_its_events(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(placement_cluster, "EVENTS", tmp_path / "missing.parquet")
    said: list[str] = []
    assert placement_cluster.measure_cluster(1.0, said.append) == []
    assert said[0].startswith("skipped")


def test_targets_of_table_3() -> None:
    sent = {
        placement: placement_cluster.Sent(ratio, 100.0, rows, 8 * rows, 7, 1.0)
        for placement, ratio, rows in (("muse", 0.004, 9), ("single-sink", 0.95, 950), ("central", 1.0, 1000))
    }
    streamed = {"muse": placement_cluster.Streamed((10.0, 30.0, 20.0), (3.0, 1.0, 2.0), 7)}
    measures = placement_cluster._measures("SEQ", sent, streamed)
    assert [(one.value, one.target) for one in measures[:2]] == [(0.004, "≤ 0.01"), (0.009, "≤ 0.01")]
    assert [one.value for one in measures[-3:]] == [20.0, 2.0, 3.0]
    shares = [row["measured, % of central"] for row in placement_cluster._sent_rows("SEQ", sent)]
    assert shares == pytest.approx([0.9, 95, 100])
    fewer = {"muse": placement_cluster.Streamed((10.0,), (1.0,), 6)}
    with pytest.raises(AssertionError, match="different matches"):
        placement_cluster._measures("SEQ", sent, fewer)
    sent["muse"] = placement_cluster.Sent(0.004, 100.0, 9, 72, 6, 1.0)
    with pytest.raises(AssertionError, match="different matches"):
        placement_cluster._measures("SEQ", sent, streamed)


def test_the_best_is_no_worse_than_a_single_sink_without_time_to_search() -> None:
    problem = random_problem(Model(n_queries=20), seed=1)
    costs = {
        algorithm: place(problem.network, problem.queries, algorithm, seconds=0.01).cost
        for algorithm in ("best", "single-sink")
    }
    assert costs["best"] <= costs["single-sink"]


def test_streams_of_the_cluster_are_a_table_and_two_panels_for_each_workload() -> None:
    streamed = {
        "muse": placement_cluster.Streamed((10.0, 30.0, 20.0), (3.0, 1.0, 2.0), 7),
        "central": placement_cluster.Streamed((40.0, 40.0, 40.0), (1.0, 1.0, 5.0), 7),
    }
    rows = placement_cluster._streamed_rows("SEQ", streamed)
    assert [row["median"] for row in rows] == [20.0, 2.0, 40.0, 1.0]
    throughput, latency = placement_cluster._panels("SEQ", rows)
    assert throughput.lines == {"muse": [10.0, 15.0, 20.0, 25.0, 30.0], "central": [40.0] * 5}
    assert latency.lines["central"] == [1.0, 1.0, 1.0, 3.0, 5.0]
    assert latency.ticks == ("least", "quarter", "median", "three quarters", "most")
