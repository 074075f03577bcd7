"""The workloads of many patterns are what they promise: proportions, statistics, expected numbers."""

import doctest
import math
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pattern_shapes
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import stock_model
import stocks
import traffic
from stock_model import Comparison, StockPattern, expected_matches, expected_rows_pattern_order

from weft.language.read import read_queries
from weft.optimizer.pipeline import optimize
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Query, Sequence, TimeWindow
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.tree import find


@pytest.mark.parametrize("module", [pattern_shapes, stock_model, stocks, traffic])
def test_examples_in_docstrings(module) -> None:
    assert doctest.testmod(module).failed == 0


def roles(query: Query) -> list[str]:
    kinds = {Event: "event", Negation: "negation", Kleene: "list"}
    return [kinds[type(operand)] for operand in query.pattern.operands]


def check_proportions(queries: tuple[Query, ...], sizes: tuple[int, ...]) -> None:
    n = len(queries)
    assert Counter(type(query.pattern) for query in queries) == {Sequence: n // 2, Conjunction: n // 2}
    counts = Counter(len(roles(query)) for query in queries)
    assert set(counts) == set(sizes)
    assert max(counts.values()) - min(counts.values()) <= 1
    special = Counter(role for query in queries for role in roles(query) if role != "event")
    assert special == {"negation": n // 10, "list": n // 10}
    for query in queries:
        types = [event.type for event in find(query.pattern, Event)]
        assert len(types) == len(set(types)) == len(roles(query))
        if isinstance(query.pattern, Sequence):
            assert "negation" not in (roles(query)[0], roles(query)[-1])


@pytest.mark.parametrize(("n_patterns", "density"), [(10, None), (100, None), (100, 0.2), (1000, None)])
def test_stock_queries_bind_and_have_the_promised_proportions(n_patterns, density) -> None:
    queries = read_queries(stocks.stock_queries(n_patterns, 5, 0.25, density=density), stocks.SCHEMA)
    check_proportions(queries, (4, 5, 6))
    assert {query.window for query in queries} == {TimeWindow(250_000)}
    for query in queries:
        assert len(query.where) == roles(query).count("event") // 2
    assert sum(len(query.where) for query in queries) / n_patterns == pytest.approx(2.2, abs=0.05)
    assert len({(query.pattern, query.where) for query in queries}) == n_patterns


def test_exact_sizes_and_different_windows() -> None:
    queries = read_queries(
        stocks.stock_queries(60, 4, 0.1, size_spread=0, window_factors=(1, 2, 4)), stocks.SCHEMA
    )
    check_proportions(queries, (4,))
    windows = Counter(query.window for query in queries)
    assert windows == {TimeWindow(100_000): 20, TimeWindow(200_000): 20, TimeWindow(400_000): 20}


def test_the_same_seed_gives_the_same_workload_and_another_seed_another() -> None:
    texts = {stocks.stock_queries(20, 5, 0.2, seed=seed) for seed in (1, 1, 2)}
    assert len(texts) == 2


def test_two_stocks_are_mostly_compared_in_one_way() -> None:
    patterns = stocks.stock_patterns(1000, 5, 0.2, density=0.2)
    by_pair: dict[frozenset, Counter] = {}
    for one in (
        one for pattern in patterns for one in pattern.comparisons[1:]
    ):  # the first has no exceptions
        by_pair.setdefault(frozenset((one.left, one.right)), Counter())[one] += 1
    often = [ways for ways in by_pair.values() if ways.total() >= 5]
    assert len(often) > 20
    usual = sum(max(ways.values()) for ways in often) / sum(ways.total() for ways in often)
    assert 0.85 < usual < 0.99


def test_density_is_met_by_drawing_from_fewer_types() -> None:
    loose, dense = (stocks.stock_patterns(100, 5, 0.2, density=density) for density in (0.05, 0.25))
    assert stocks.graph_density(loose) == pytest.approx(0.05, abs=0.02)
    assert stocks.graph_density(dense) == pytest.approx(0.25, abs=0.05)
    n_types = [len({stock for one in patterns for stock in one.stocks}) for patterns in (loose, dense)]
    assert n_types[0] > n_types[1]


def test_graph_density_counts_pairs_in_the_same_order_with_the_same_comparison() -> None:
    a, b, c, d = stocks.market(4)
    less = (Comparison(a, "<", b),)
    three = ("event",) * 3
    first = StockPattern("p", "SEQ", (a, b, c), three, less, 0.1)
    assert stocks.graph_density([first, StockPattern("q", "SEQ", (a, b, d), three, less, 0.1)]) == 1
    for other in (
        StockPattern("q", "SEQ", (b, a, d), three, less, 0.1),
        StockPattern("q", "AND", (a, b, d), three, less, 0.1),
        StockPattern("q", "SEQ", (a, b, d), three, (less[0].reversed,), 0.1),
    ):
        assert stocks.graph_density([first, other]) == 0


def test_the_stream_has_the_stated_statistics() -> None:
    events = stocks.stock_events(300).to_pandas()
    assert events["ts"].is_monotonic_increasing
    assert events["ts"].is_unique
    moves = events.groupby("type")["price"].diff().dropna()
    assert np.allclose(moves, events["diff"][moves.index], atol=1e-9)
    counts = events["type"].value_counts()
    rates, shares = stocks.stock_rates(), stocks.stock_selectivities()
    assert (max(rates.values()), min(rates.values())) == (pytest.approx(47), pytest.approx(2))
    for name, rate in rates.items():
        assert counts[name] == pytest.approx(300 * rate, abs=5 * (300 * rate) ** 0.5)
    diffs = {name: group["diff"].to_numpy()[:1000] for name, group in events.groupby("type")}
    for one in (one for pattern in stocks.stock_patterns(30, 5, 0.2) for one in pattern.comparisons):
        left, right = diffs[one.left.name][:, None], diffs[one.right.name][None, :]
        found = float((left < right if one.operator == "<" else left > right).mean())
        assert found == pytest.approx(shares[one.left.name, one.right.name, one.operator], abs=0.05)


def test_selectivities_are_spread_as_in_the_paper() -> None:
    used = [one.selectivity for pattern in stocks.stock_patterns(1000, 5, 0.2) for one in pattern.comparisons]
    assert min(used) == pytest.approx(0.003, abs=0.0005)
    assert max(used) == pytest.approx(0.92, abs=0.01)
    assert min(stocks.stock_selectivities().values()) >= 0.003


def n_matches(pattern: StockPattern, events: pa.Table) -> int:
    names = tuple(stock.name for stock in pattern.stocks)
    layout = Layout(
        time="ts",
        type="type",
        id="id",
        content=None,
        tie=None,
        attributes={"diff": ("diff", stocks.SCHEMA.attributes["diff"])},
        type_names=names,
    )
    wanted = events.filter(pa.compute.is_in(events["type"], pa.array(names)))
    plan = optimize(read_queries(pattern.text, stocks.SCHEMA), stocks.SCHEMA)
    return sum(found.table.n_rows for found in Executor(Program(plan)).run(ingest(wanted, layout)))


@pytest.fixture(scope="module")
def an_hour() -> pa.Table:
    """So long a stream that the number of matches deviates by some 3 percent."""
    return stocks.stock_events(3600, n_types=4)


@pytest.mark.parametrize("operator", ["SEQ", "AND"])
@pytest.mark.parametrize("special", ["event", "negation", "list"])
def test_as_many_matches_as_expected(operator, special, an_hour) -> None:
    x, a, b, c = sorted(stocks.market(4), key=lambda stock: stock.rate)
    given = ("event", special, "event", "event")
    pattern = StockPattern("p", operator, (a, x, b, c), given, (Comparison(a, "<", c),), 0.2)
    assert n_matches(pattern, an_hour) == pytest.approx(3600 * expected_matches(pattern), rel=0.1)


def test_a_workload_is_heavy_in_pattern_order_and_light_in_a_better_one() -> None:
    window = stocks.window_for(20, 100, 5)
    patterns = stocks.stock_patterns(100, 5, window)
    per_second = sum(stocks.stock_rates().values())
    built = sum(sum(expected_rows_pattern_order(pattern)) for pattern in patterns) / per_second
    fewest = sum(map(stock_model.expected_rows_best_order, patterns)) / per_second
    assert 10 < built <= 20
    assert sum(map(expected_matches, patterns)) / per_second < fewest < built / 20


def test_without_a_limit_matches_take_most_of_the_work() -> None:
    patterns = stocks.stock_patterns(100, 5, 0.4, most_matches=math.inf)
    fewest = sum(map(stock_model.expected_rows_best_order, patterns))
    assert fewest / 2 < sum(map(expected_matches, patterns)) < fewest


@pytest.fixture(scope="module")
def observations() -> pa.Table:
    """A day of twenty sensors of different size, like those of the real file."""
    source = np.random.default_rng(1)
    n_times, n_sensors = 288, 20
    vehicles = source.poisson(np.tile(np.linspace(5, 12, n_sensors), n_times))
    speeds = np.maximum(0, source.normal(60, 12, vehicles.size)).astype(np.int64)
    start = datetime(2014, 8, 18, tzinfo=UTC)
    times = [start + timedelta(minutes=5 * slot) for slot in range(n_times) for _ in range(n_sensors)]
    types = [f"S{100 + number}" for number in range(n_sensors)] * n_times
    columns = [times, types, range(len(times)), vehicles, speeds]
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, traffic.COLUMNS.types, strict=True)],
        schema=traffic.COLUMNS,
    )


@pytest.mark.parametrize("n_patterns", [10, 100, 1000])
def test_traffic_queries_bind_and_have_the_promised_proportions(n_patterns, observations) -> None:
    queries = read_queries(traffic.traffic_queries(n_patterns, 5, 30, events=observations), traffic.SCHEMA)
    check_proportions(queries, (4, 5, 6))
    assert {query.window for query in queries} == {TimeWindow(30 * 60 * 1_000_000)}
    for query in queries:
        between = [part for part in query.where if part.operator in ("<", ">")]
        assert len({part.operator for part in between}) == 1
        steps = Counter((part.left.variable, part.right.variable) for part in between)
        assert len(steps) == (3 if len(roles(query)) == 6 else 2)
        assert set(steps.values()) == {2}


def test_shares_of_sensors_differ_as_the_rates_in_the_paper(observations) -> None:
    shares = sorted(sensor.share for sensor in traffic.sensors_of(observations))
    assert shares[-1] == 1
    assert shares[0] == pytest.approx(2 / 47, rel=0.3)
    patterns = traffic.traffic_patterns(50, 5, 30, sensors=traffic.sensors_of(observations))
    assert max(map(traffic.busy_matches, patterns)) <= traffic.MOST_MATCHES


def test_a_window_too_short_for_a_sequence_is_refused(observations) -> None:
    with pytest.raises(ValueError, match="25 minutes or more, found 20"):
        traffic.traffic_queries(10, 5, 20, events=observations)


def test_missing_observations_are_told(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(traffic, "OBSERVATIONS", tmp_path / "none.parquet")
    assert "no none.parquet in the directory that WEFT_BENCH_DATA names" in (traffic.why_not() or "")


def test_the_busiest_sensors_of_a_day(observations, tmp_path) -> None:
    """Of a file like the real one: times without a zone, sensors as numbers, some rows twice, two days."""
    times = observations["ts"].cast(pa.timestamp("us"))
    sensors = pc.cast(pc.utf8_slice_codeunits(observations["type"], 1), pa.int64())
    columns = {name: observations[name] for name in ("vehicles", "avg_speed")}
    day = pa.table({"ts": times, "sensor": sensors, **columns})
    next_day = day.set_column(0, "ts", pc.add(times, pa.scalar(timedelta(days=1), pa.duration("us"))))
    file = tmp_path / "observations.parquet"
    pq.write_table(pa.concat_tables([next_day, day, day.slice(0, 50)]), file)

    events = traffic.traffic_events(
        days=1, first_day=datetime(2014, 8, 18, tzinfo=UTC), n_sensors=12, observations=file
    )
    totals = Counter()
    for sensor, vehicles in zip(
        observations["type"].to_pylist(), columns["vehicles"].to_pylist(), strict=True
    ):
        totals[sensor] += vehicles
    busiest = {sensor for sensor, _ in totals.most_common(12)}
    kept = observations.filter(pc.is_in(observations["type"], pa.array(sorted(busiest))))
    assert events.schema == traffic.COLUMNS
    assert events.drop_columns("id").equals(kept.drop_columns("id"))
    assert events["id"].to_pylist() == list(range(288 * 12))
    read_queries(traffic.traffic_queries(20, 5, 30, events=events), traffic.SCHEMA)
