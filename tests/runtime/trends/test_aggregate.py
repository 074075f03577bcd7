"""Trend queries on a shard: what random small streams do not show."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from weft.errors import BudgetError
from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.plan.template import Template
from weft.runtime.columns.events import Column, Events, StringPool
from weft.runtime.trends.aggregate import aggregate_set, aggregate_workload
from weft.runtime.trends.numbers import Rounded
from weft.runtime.trends.rows import TrendRows
from weft.schema import LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "type": STRING, "x": LONG, "g": LONG}, time="ts")
SECOND = 1_000_000


def template(text: str) -> Template:
    (query,) = read_queries(text, SCHEMA)
    return template_of(query, SCHEMA)


def stream(kinds: str, x: np.ndarray | None = None, gap: int = SECOND) -> Events:
    """Return events of one-letter types, a second apart."""
    n_events = len(kinds)
    values = np.zeros(n_events, np.int64) if x is None else x
    return Events(
        times=np.arange(n_events, dtype=np.int64) * gap,
        type_codes=np.array(["ABC".index(kind) for kind in kinds], np.int64),
        type_names=("A", "B", "C"),
        columns={"x": Column(LONG, values), "g": Column(LONG, np.zeros(n_events, np.int64))},
        ids=pa.array(range(n_events)),
        strings=StringPool(pa.array([], pa.string())),
    )


def aggregate(text: str, events: Events) -> TrendRows:
    """Return the results of a query that runs by itself."""
    (rows,), _ = aggregate_set([template(text)], events)
    return rows


def count(text: str, events: Events) -> int:
    (number,) = aggregate(text, events).numbers(0)
    return number


def test_a_count_of_thousands_of_bits_is_exact_in_every_mode() -> None:
    events = stream("A" + "B" * 5000)
    queries = [template(f"QUERY q{n} PATTERN SEQ(A a, B+ b[]) RETURN COUNT(*), SUM(b.x)") for n in range(2)]
    for mode in ("dynamic", "static", "none"):
        rows, _ = aggregate_workload(queries, events, mode, exact=True)  # type: ignore[arg-type]
        assert [one.numbers(0) for one in rows] == [[2**5000 - 1]] * 2


@pytest.mark.parametrize("mode", ["dynamic", "static", "none"])
def test_rounded_numbers_are_near_exact_ones(mode: str) -> None:
    dice = np.random.default_rng(5)
    events = stream("".join(dice.choice(list("ABBBBBBC"), 4000)), dice.integers(-99, 99, 4000))
    shown = "RETURN COUNT(*), COUNT(b), SUM(b.x), MIN(b.x)"
    texts = [
        f"QUERY q1 PATTERN SEQ(A a, B+ b[], C c) {shown}",
        f"QUERY q2 PATTERN SEQ(A a, NOT C c, B+ b[]) WHERE b.x > 0 WITHIN 20 minutes SLIDE 5 minutes {shown}",
        f"QUERY q3 PATTERN AND(A+ a[], B+ b[]) {shown}",
        f"QUERY q4 PATTERN (SEQ(A a, B+ b[]))+ WITHIN 30 minutes {shown}",
    ]
    queries = [template(text) for text in texts]
    rounded_rows, _ = aggregate_workload(queries, events, mode)  # type: ignore[arg-type]
    exact_rows, _ = aggregate_workload(queries, events, mode, exact=True)  # type: ignore[arg-type]
    n_rounded = 0
    for found, exact in zip(rounded_rows, exact_rows, strict=True):
        assert found.windows.tolist() == exact.windows.tolist()
        assert found.best.tolist() == exact.best.tolist()
        for place in range(found.width):
            for own, expected in zip(found.numbers(place), exact.numbers(place), strict=True):
                assert isinstance(expected, int)
                if isinstance(own, int):
                    assert own == expected
                else:
                    value = Fraction(own.mantissa) * Fraction(2) ** own.exponent
                    assert expected >= 10**38
                    assert abs(value / expected - 1) < Fraction(4000, 2**50)
                    n_rounded += 1
    assert n_rounded > 20


@pytest.mark.parametrize(
    ("operator", "expected"), [("<", 2**12 - 1), ("<=", 2**12 - 1), (">", 12), (">=", 12), ("!=", 2**12 - 1)]
)
def test_a_comparison_of_neighbors_on_rising_values(operator: str, expected: int) -> None:
    events = stream("B" * 12, np.arange(12))
    query = f"PATTERN B+ b[] WHERE b[i-1].x {operator} b[i].x RETURN COUNT(*)"
    assert count(query, events) == expected


def test_the_index_and_the_scan_agree_on_a_long_window() -> None:
    values = np.random.default_rng(3).integers(-50, 50, 700)
    events = stream("B" * 700, values)
    query = template(
        "PATTERN B+ b[] WHERE b[i-1].x < b[i].x WITHIN 5 minutes RETURN COUNT(*), SUM(b.x), MAX(b.x)"
    )
    by_index, by_scan = (
        aggregate_set([query], events, way, exact=True)[0][0]  # type: ignore[arg-type]
        for way in ("none", "pairwise")
    )
    assert by_index.n_rows == 3
    assert [by_index.numbers(place) for place in range(by_index.width)] == [
        by_scan.numbers(place) for place in range(by_scan.width)
    ]
    assert by_index.best.tolist() == by_scan.best.tolist()


def test_windows_without_events_have_no_results() -> None:
    events = stream("BB", gap=3600 * SECOND)
    found = aggregate("PATTERN B+ b[] WITHIN 10 seconds SLIDE 5 seconds RETURN COUNT(*)", events)
    assert (found.windows.tolist(), found.numbers(0)) == ([-1, 0, 719, 720], [1, 1, 1, 1])


def test_a_slide_longer_than_the_window_leaves_gaps() -> None:
    found = aggregate("PATTERN B+ b[] WITHIN 2 seconds SLIDE 5 seconds RETURN COUNT(*)", stream("B" * 12))
    assert (found.windows.tolist(), found.numbers(0)) == ([0, 1, 2], [3, 3, 3])


def test_long_bursts_are_cut_and_still_shared() -> None:
    events = stream("A" + "B" * 1000 + "C" + "B" * 10)
    queries = [template(f"QUERY q{n} PATTERN SEQ(A a, B+ b[]) RETURN COUNT(*)") for n in range(2)]
    rows, counters = aggregate_workload(queries, events, exact=True)
    assert [one.numbers(0) for one in rows] == [[2**1010 - 1]] * 2
    assert counters.bursts == counters.shared_graphlets == 4


def test_classes_that_do_not_share_with_all_share_with_each_other() -> None:
    """Two queries take low values and two high ones: the burst is two graphlets, of two classes each."""
    events = stream("A" + "B" * 200 + "C", np.arange(202))
    texts = [
        f"QUERY q{n} PATTERN SEQ(A a, B+ b[]) WHERE b.x {'>' if n % 2 else '<='} 100 AND b.x != {-1 - n} "
        "RETURN COUNT(*)"
        for n in range(4)
    ]
    rows, counters = aggregate_workload([template(text) for text in texts], events, exact=True)
    assert [one.numbers(0) for one in rows] == [[2**100 - 1]] * 4
    assert counters.bursts == 1
    assert counters.graphlets == counters.shared_graphlets == 2
    assert counters.event_snapshots == 0


def test_any_number_of_classes_share() -> None:
    """Of 150 queries, every two take the same values: sets of at most 64 classes, each with its bursts."""
    events = stream("A" + "B" * 100 + "C", np.arange(102))
    texts = [f"QUERY q{n} PATTERN SEQ(A a, B+ b[]) WHERE b.x > {n // 2} RETURN COUNT(*)" for n in range(150)]
    rows, counters = aggregate_workload([template(text) for text in texts], events, exact=True)
    assert [one.numbers(0) for one in rows] == [[2 ** (100 - n // 2) - 1] for n in range(150)]
    assert counters.bursts == 2
    assert counters.other_events == 2  # each set takes the A by itself


def test_a_window_that_would_not_fit_into_memory_is_refused() -> None:
    query = "QUERY big PATTERN B+ b[] WHERE b[i-1].x < b[i].x RETURN COUNT(*)"
    events = stream("B" * 200_000, np.arange(200_000))
    with pytest.raises(BudgetError, match="query big: a window of 200,000 events") as caught:
        aggregate_set([template(query)], events, exact=True)
    assert caught.value.queries == ("big",)
    (rounded,) = aggregate(query, events).numbers(0)
    assert rounded == Rounded(0.5, 200_001)


def test_a_query_of_many_items() -> None:
    predicates = " AND ".join(f"v{n}.x != {n + 100}" for n in range(12))
    parts = ", ".join(f"{'ABC'[n % 3]} v{n}" for n in range(12))
    query = template(f"QUERY q PATTERN SEQ({parts}, B+ b[]) WHERE {predicates} RETURN COUNT(*)")
    assert len(query.items) == 13
    events = stream("ABC" * 4 + "BBB")
    for mode in ("dynamic", "none"):
        (rows,), _ = aggregate_workload([query], events, mode)  # type: ignore[arg-type]
        assert rows.numbers(0) == [7]
