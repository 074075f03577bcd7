"""Results of trend queries as Arrow, against Python's own numbers."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.expressions import AggregateFunction
from weft.kernels.trends.results import Kept
from weft.plan.template import Template, TrendColumn
from weft.runtime.columns.events import Column, Events, StringPool, comparable
from weft.runtime.trends.emit import emit_trends, result_type, trend_schema
from weft.runtime.trends.measures import Extreme, Lane, Measures, Part
from weft.runtime.trends.numbers import Rounded
from weft.runtime.trends.rows import TrendRows
from weft.schema import DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal

HUGE = 3**6000 + 1  # of 9,510 bits
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EVENTS = Events(
    times=np.arange(3),
    type_codes=np.zeros(3, np.int16),
    type_names=("A",),
    columns={
        "site": Column(STRING, np.array([1, 0, 1])),
        "level": Column(DOUBLE, np.array([-0.0, math.nan, 2.5])),
    },
    ids=pa.array([1, 2, 3]),
    strings=StringPool(pa.array(["north", "zoé"])),
)


def results(
    columns: Sequence[TrendColumn],
    counts: Sequence[int | Rounded],
    lanes: Mapping[Part, Sequence[int | Rounded]] | None = None,
    *,
    extremes: Mapping[Extreme, Sequence[int | None]] | None = None,
    exponent: int = 0,
    length: int | None = None,
    slide: int | None = None,
) -> TrendRows:
    """Return what the kernels would leave: a count and lanes of `a.x` for each row."""
    n_rows = len(counts)
    rows = zip(counts, *(lanes or {}).values(), strict=True)
    content = [_limbs(number) for row in rows for number in row]
    best = np.array([[value or 0 for value in own] for own in (extremes or {}).values()], np.int64)
    has = np.array([[value is not None for value in own] for own in (extremes or {}).values()], np.bool_)
    return TrendRows(
        Template("q", (), (), (), (), length, slide, tuple(columns)),
        Measures(tuple(Lane("a", "x", part) for part in lanes or {}), tuple(extremes or {})),
        {"x": exponent},
        windows=np.arange(n_rows) - 1,
        examples=np.arange(n_rows) % 3,
        kept=kept_numbers(content),
        best=best.reshape(len(extremes or {}), n_rows).T,
        has=has.reshape(len(extremes or {}), n_rows).T,
    )


def kept_numbers(content: Sequence[np.ndarray | Rounded]) -> Kept:
    limbs = [np.empty(0, np.uint32) if isinstance(own, Rounded) else own for own in content]
    return Kept(
        np.cumsum([0, *map(len, limbs)]),
        np.concatenate([np.empty(0, np.uint32), *limbs]).astype(np.uint32),
        np.array([own.mantissa if isinstance(own, Rounded) else 0.0 for own in content]),
        np.array([own.exponent if isinstance(own, Rounded) else 0 for own in content], np.int64),
    )


def _limbs(number: int | Rounded) -> np.ndarray | Rounded:
    if isinstance(number, Rounded):
        return number
    return np.frombuffer(number.to_bytes(-(-number.bit_length() // 32) * 4, "little"), "<u4")


def emitted(found: TrendRows, chosen: Sequence[int] | None = None) -> pa.RecordBatch:
    columns = found.template.columns
    schema = trend_schema({column.column: result_type(column) for column in columns})
    names = [column.column for column in columns]
    return emit_trends(
        found,
        EVENTS,
        np.arange(found.n_rows) if chosen is None else np.array(chosen, np.int64),
        names,
        schema,
    )


def aggregate(function: str, kind: Type | None = None) -> TrendColumn:
    return TrendColumn(function, cast(AggregateFunction, function), "a", "x", kind)


TRENDS = TrendColumn("trends", "count", None, None, None)


def values_of(kind: Type, totals: Sequence[Fraction], counts: Sequence[int], exponent: int) -> list[list]:
    """Return the sums and averages that are emitted for exact totals, given in units of the last digit."""
    lanes: dict[Part, Sequence[int]] = {
        "valid": counts,
        "positive": [int(max(total, 0)) for total in totals],
        "negative": [int(max(-total, 0)) for total in totals],
    }
    columns = [aggregate("sum", kind), aggregate("avg", kind)]
    batch = emitted(results(columns, [1] * len(totals), lanes, exponent=exponent))
    return [batch["sum"].to_pylist(), batch["avg"].to_pylist()]


naturals = st.one_of(st.integers(0, 2**20), st.integers(0, 2**64), st.integers(0, 2**900))
integers = st.one_of(naturals, naturals.map(lambda number: -number))
pairs = st.lists(st.tuples(integers, naturals.map(lambda number: number + 1)), min_size=1, max_size=6)


@given(st.lists(st.one_of(naturals, st.integers(0, 2**5000)), max_size=6))
def test_a_count_is_exact_in_its_column_or_beyond(counts: list[int]) -> None:
    batch = emitted(results([TRENDS], counts))
    for value, beyond, count in zip(batch["trends"], batch["beyond"], counts, strict=True):
        if count < 10**38:
            assert (value.as_py(), beyond.as_py()) == (count, None)
        else:
            assert (value.as_py(), beyond.as_py()) == (None, [("trends", str(count))])


@given(pairs, st.sampled_from([0, 2, 18]))
def test_sums_and_averages_of_integers_and_decimals_are_exact(
    given_pairs: list[tuple[int, int]], scale: int
) -> None:
    totals, counts = [Fraction(total) for total, _ in given_pairs], [count for _, count in given_pairs]
    kind = decimal(scale) if scale else LONG
    sums, averages = values_of(kind, totals, counts, 0)
    for total, count, found, average in zip(totals, counts, sums, averages, strict=True):
        exact = total / 10**scale
        assert (found is None) == (abs(total) >= 10**38)
        assert found is None or Fraction(found) == exact
        assert average == float(exact / count)


@given(pairs, st.integers(-1074, 900))
def test_sums_and_averages_of_doubles_are_rounded_once(
    given_pairs: list[tuple[int, int]], exponent: int
) -> None:
    totals, counts = [Fraction(total) for total, _ in given_pairs], [count for _, count in given_pairs]
    counts = [
        count << max(0, 900 + exponent) for count in counts
    ]  # an average of doubles is no larger than one
    sums, averages = values_of(DOUBLE, totals, counts, exponent)
    for total, count, found, average in zip(totals, counts, sums, averages, strict=True):
        exact = total * Fraction(2) ** exponent
        assert average == float(exact / count)
        try:
            assert found == float(exact)
        except OverflowError:
            assert found is None


def test_a_sum_that_does_not_fit_shows_its_digits() -> None:
    lanes: dict[Part, Sequence[int]] = {
        "valid": [1, 1, 1],
        "positive": [0, 12345, HUGE],
        "negative": [HUGE, 0, 0],
    }
    batch = emitted(results([aggregate("sum", decimal(2))], [1, 1, 1], lanes))
    assert batch["sum"].to_pylist() == [None, Decimal("123.45"), None]
    digits = str(HUGE)
    shown = f"{digits[:-2]}.{digits[-2:]}"
    assert batch["beyond"].to_pylist() == [[("sum", f"-{shown}")], None, [("sum", shown)]]
    doubles = emitted(results([aggregate("sum", DOUBLE)], [1, 1, 1], lanes, exponent=-1))
    assert doubles["sum"].to_pylist() == [None, 6172.5, None]
    assert doubles["beyond"].to_pylist() == [[("sum", f"-{HUGE // 2}")], None, [("sum", str(HUGE // 2))]]
    small = {"valid": [1], "positive": [1 << 61]}
    (row,) = emitted(results([aggregate("sum", DOUBLE)], [1], small, exponent=970)).to_pylist()
    assert (row["sum"], row["beyond"]) == (None, [("sum", str(1 << 1031))])


def test_numbers_of_very_many_digits_are_written() -> None:
    (digits,) = emitted(results([TRENDS], [1 << 200_000]))["beyond"].to_pylist()
    assert len(digits[0][1]) == 60_206
    assert digits[0][1].startswith("9980")


def test_rounded_numbers_are_told_by_an_exponent() -> None:
    count, total = Rounded(0.75, 10_000), Rounded(0.5, 10_001)
    lanes: dict[Part, Sequence[int | Rounded]] = {"valid": [count], "positive": [total], "negative": [2**40]}
    columns = [TRENDS, aggregate("count"), aggregate("sum", decimal(2)), aggregate("avg", decimal(2))]
    (row,) = emitted(results(columns, [count], lanes)).to_pylist()
    exact = Decimal(2**10_000)
    assert [row["trends"], row["count"], row["sum"]] == [None] * 3
    assert row["avg"] == pytest.approx(1 / 0.75 / 100, rel=1e-15)
    digits = dict(row["beyond"])
    assert list(digits) == ["trends", "count", "sum"]
    for name, expected in (("trends", exact * 3 / 4), ("count", exact * 3 / 4), ("sum", exact / 100)):
        assert abs(Decimal(digits[name]) / expected - 1) < Decimal("1e-10")
        assert "e+" in digits[name]


def test_rounded_sums_of_doubles_fit_where_a_double_does() -> None:
    lanes: dict[Part, Sequence[int | Rounded]] = {
        "valid": [3, 3, 3],
        "positive": [Rounded(0.75, 1_500), Rounded(0.75, 3_000), Rounded(0.75, 900)],
        "negative": [0, 0, Rounded(0.75, 901)],
    }
    batch = emitted(results([aggregate("sum", DOUBLE)], [1] * 3, lanes, exponent=-1_000))
    assert batch["sum"].to_pylist() == [0.75 * 2.0**500, None, -0.75 * 2.0**-100]
    assert batch["beyond"][1].as_py() == [("sum", f"{Decimal(3) * Decimal(2) ** 1_998:.10e}")]


def test_nothing_to_sum_is_null_and_counts_zero() -> None:
    columns = [aggregate("count"), aggregate("sum", LONG), aggregate("avg", DOUBLE)]
    lanes: dict[Part, Sequence[int]] = {"valid": [0, 2], "positive": [0, 3]}
    rows = emitted(results(columns, [5, 5], lanes)).to_pylist()
    assert [(row["count"], row["sum"], row["avg"]) for row in rows] == [(0, None, None), (2, 3, 1.5)]


def test_sums_with_nan_and_infinity() -> None:
    lanes: dict[Part, Sequence[int]] = {
        "valid": [3, 3, 3, 3, 2, 0],
        "positive": [8, 8, 8, HUGE, 8, 0],
        "nan": [1, 0, 0, 0, 0, 0],
        "infinite": [1, HUGE, 1, 0, 0, 0],
        "minus_infinite": [0, 0, 1, 1, 0, 0],
    }
    columns = [aggregate("sum", DOUBLE), aggregate("avg", DOUBLE)]
    batch = emitted(results(columns, [1] * 6, lanes))
    expected = "[nan, inf, nan, -inf, {}, None]"
    assert str(batch["sum"].to_pylist()) == expected.format(8.0)
    assert str(batch["avg"].to_pylist()) == expected.format(4.0)
    assert batch["beyond"].null_count == 6


EXTREMES = [
    (LONG, np.array([-(2**63), 2**63 - 1, 7]), [-(2**63), 2**63 - 1, 7]),
    (decimal(2), np.array([-150, 5, 0]), [Decimal("-1.50"), Decimal("0.05"), Decimal("0.00")]),
    (DOUBLE, np.array([-1.5, -0.0, math.inf]), [-1.5, 0.0, math.inf]),
    (DOUBLE, np.array([-math.inf, 5e-324, -5e-324]), [-math.inf, 5e-324, -5e-324]),
    (TIMESTAMP, np.array([-1, 0, 1]), [EPOCH + dt.timedelta(microseconds=n) for n in (-1, 0, 1)]),
    (DATE, np.array([-1, 0, 1]), [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1970, 1, 2)]),
    (DURATION, np.array([-1, 0, 1]), [dt.timedelta(microseconds=n) for n in (-1, 0, 1)]),
]


@pytest.mark.parametrize(("kind", "values", "expected"), EXTREMES)
def test_extremes_have_the_type_of_the_attribute(
    kind: Type, values: np.ndarray, expected: list[object]
) -> None:
    keys = comparable(Column(kind, values), EVENTS.strings, ordered=True).tolist()
    columns = [aggregate("min", kind), aggregate("max", kind)]
    extremes: dict[Extreme, Sequence[int | None]] = {
        Extreme("a", "x", is_largest=False): [*keys, None],
        Extreme("a", "x", is_largest=True): [*(~key for key in keys), None],
    }
    batch = emitted(results(columns, [1] * 4, extremes=extremes))
    assert batch["min"].to_pylist() == batch["max"].to_pylist() == [*expected, None]


def test_nan_is_an_extreme() -> None:
    keys = comparable(Column(DOUBLE, np.array([math.nan])), EVENTS.strings, ordered=True)
    extremes = {Extreme("a", "x", is_largest=True): [int(~keys[0])]}
    (value,) = emitted(results([aggregate("max", DOUBLE)], [1], extremes=extremes))["max"].to_pylist()
    assert math.isnan(value)


def test_a_row_has_its_window_and_group() -> None:
    columns = [
        TrendColumn("where", None, None, "site", STRING),
        TrendColumn("level", None, None, "level", DOUBLE),
        TRENDS,
    ]
    batch = emitted(results(columns, [4, 5, 6], length=10, slide=5))
    assert batch.schema.names == ["query", "window_start", "window_end", "where", "level", "trends", "beyond"]
    assert batch["query"].to_pylist() == ["q"] * 3
    assert batch["window_start"].cast(pa.int64()).to_pylist() == [-5, 0, 5]
    assert batch["window_end"].cast(pa.int64()).to_pylist() == [5, 10, 15]
    assert batch["where"].to_pylist() == ["zoé", "north", "zoé"]
    assert str(batch["level"].to_pylist()) == "[0.0, nan, 2.5]"


def test_without_a_window_there_is_neither_start_nor_end() -> None:
    (row,) = emitted(results([TRENDS], [4])).to_pylist()
    assert (row["window_start"], row["window_end"], row["trends"]) == (None, None, 4)


def test_rows_can_be_chosen() -> None:
    found = results([TRENDS], [4, HUGE, 6], length=10, slide=5)
    batch = emitted(found, [1, 2])
    assert batch["window_start"].cast(pa.int64()).to_pylist() == [0, 5]
    assert batch["trends"].to_pylist() == [None, 6]
    assert [bool(one) for one in batch["beyond"].to_pylist()] == [True, False]
    assert emitted(found, []).num_rows == 0


def test_columns_of_other_queries_are_null() -> None:
    schema = trend_schema({"other": pa.string(), "trends": pa.decimal128(38, 0)})
    batch = emit_trends(results([TRENDS], [4]), EVENTS, np.array([0]), ["trends"], schema)
    assert batch.to_pylist() == [
        {"query": "q", "window_start": None, "window_end": None, "other": None, "trends": 4, "beyond": None}
    ]
