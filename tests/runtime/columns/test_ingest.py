"""Arrow tables of every type and shape become the same sorted columns."""

import datetime as dt
import math
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.runtime.columns.events import Column, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal

NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
BEFORE_EPOCH = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
NOON_MICROS = 1_709_208_000_000_000
BIG = 2**63 - 1


def layout_of(
    attributes: dict[str, Type] | None = None,
    *,
    type: str | None = None,
    type_names: tuple[str, ...] = (),
    id: str | None = None,
    content: str | None = None,
    tie: Type | None = None,
    derived_types: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
) -> Layout:
    """Return a layout whose columns have the names of their roles."""
    return Layout(
        time="time",
        type=type,
        id=id,
        content=content,
        tie=None if tie is None else "tie",
        attributes={name: (name, kind) for name, kind in (attributes or {}).items()},
        type_names=type_names,
        derived_types=derived_types,
        flags=flags,
        tie_type=tie,
    )


def values_of(column: Column, events: Events) -> list[object]:
    """Return the values of a column, strings as texts and NULL as None."""
    found = column.values.tolist()
    if column.type == STRING:
        texts = events.strings.values.to_pylist()
        found = [texts[code] if texts else None for code in found]
    return [value if valid else None for value, valid in zip(found, column.validity.tolist(), strict=True)]


COLUMNS = {
    "int8": (pa.array([1, None, -128], pa.int8()), LONG, [1, None, -128]),
    "int16": (pa.array([1, None, -1], pa.int16()), LONG, [1, None, -1]),
    "int32": (pa.array([1, None, -(2**31)], pa.int32()), LONG, [1, None, -(2**31)]),
    "int64": (pa.array([BIG, None, -BIG - 1], pa.int64()), LONG, [BIG, None, -BIG - 1]),
    "float32": (pa.array([0.5, None, math.inf], pa.float32()), DOUBLE, [0.5, None, math.inf]),
    "float64": (pa.array([0.1, None, -0.0], pa.float64()), DOUBLE, [0.1, None, -0.0]),
    "bool": (pa.array([True, None, False], pa.bool_()), BOOLEAN, [True, None, False]),
    "string": (pa.array(["b", None, ""], pa.string()), STRING, ["b", None, ""]),
    "large_string": (pa.array(["b", None, "zoé"], pa.large_string()), STRING, ["b", None, "zoé"]),
    "timestamp[us]": (
        pa.array([NOON, None, BEFORE_EPOCH], pa.timestamp("us", "UTC")),
        TIMESTAMP,
        [NOON_MICROS, None, -1],
    ),
    "timestamp[ms] without a zone": (
        pa.array([1, None, -1], pa.timestamp("ms")),
        TIMESTAMP,
        [1000, None, -1000],
    ),
    "date32": (pa.array([dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)]), DATE, [1, None, -1]),
    "duration[us]": (pa.array([5, None, -5], pa.duration("us")), DURATION, [5, None, -5]),
    "decimal128": (
        pa.array([Decimal("1.25"), None, Decimal("-0.01")], pa.decimal128(10, 2)),
        decimal(2),
        [125, None, -1],
    ),
    "decimal128 of the widest precision": (
        pa.array([Decimal("1.25"), None, Decimal("-0.01")], pa.decimal128(38, 2)),
        decimal(2),
        [125, None, -1],
    ),
    "the largest decimals": (
        pa.array(
            [Decimal("9999999999999999.99"), None, Decimal("-9999999999999999.99")], pa.decimal128(18, 2)
        ),
        decimal(2),
        [999_999_999_999_999_999, None, -999_999_999_999_999_999],
    ),
}


@pytest.mark.parametrize(("array", "kind", "expected"), COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("shape", ["whole", "chunks", "slice", "empty chunks"])
def test_a_column_of_any_type_and_shape_is_read(
    array: pa.Array, kind: Type, expected: list[object], shape: str
) -> None:
    chunks = {
        "whole": [array],
        "chunks": [array[:1], array[1:]],
        "slice": [pa.concat_arrays([array, array, array]).slice(3, 3)],
        "empty chunks": [array[:0], array, array[:0]],
    }[shape]
    table = pa.table({"time": [0, 1, 2], "value": pa.chunked_array(chunks)})
    events = ingest(table, layout_of({"value": kind}))
    assert values_of(events.columns["value"], events) == expected
    assert events.columns["value"].type == kind
    assert repr(events.columns["value"].values.dtype) == repr(
        np.dtype({"double": np.float64, "boolean": np.bool_}.get(kind.kind, np.int64))
    )


@pytest.mark.parametrize(("array", "kind", "expected"), COLUMNS.values(), ids=COLUMNS)
def test_a_table_without_rows_or_without_values_is_read(
    array: pa.Array, kind: Type, expected: list[object]
) -> None:
    none = ingest(
        pa.table({"time": pa.array([], pa.int64()), "value": array[:0]}), layout_of({"value": kind})
    )
    assert none.n_events == 0
    assert none.columns["value"].values.size == 0
    nulls = pa.table({"time": [0, 1], "value": pa.nulls(2, array.type)})
    events = ingest(nulls, layout_of({"value": kind}))
    assert values_of(events.columns["value"], events) == [None, None]


def test_a_sliced_table_is_read_from_its_own_rows() -> None:
    table = pa.table({"time": [9, 1, 2, 9], "value": ["no", "b", None, "no"]}).slice(1, 2)
    events = ingest(table, layout_of({"value": STRING}))
    assert events.times.tolist() == [1, 2]
    assert values_of(events.columns["value"], events) == ["b", None]


def test_string_columns_share_one_pool() -> None:
    table = pa.table({"time": [0, 1], "a": ["x", "y"], "b": ["y", None]})
    events = ingest(table, layout_of({"a": STRING, "b": STRING}))
    assert events.columns["a"].values[1] == events.columns["b"].values[0]
    assert events.strings.values.to_pylist() == ["x", "y"]


@given(st.lists(st.integers(-5, 5)))
def test_events_are_sorted_by_time_and_ties_keep_their_order(times: list[int]) -> None:
    table = pa.table({"time": pa.array(times, pa.int64()), "place": pa.array(range(len(times)), pa.int64())})
    events = ingest(table, layout_of({"place": LONG}))
    order = sorted(range(len(times)), key=times.__getitem__)
    assert events.columns["place"].values.tolist() == order
    assert events.times.tolist() == sorted(times)
    assert events.ranks.tolist() == events.times.tolist()


TIES = {
    "long": (pa.array([3, None, -1, None, 3]), LONG),
    "double": (pa.array([math.nan, None, -0.5, None, math.nan]), DOUBLE),
    "string": (pa.array(["é", None, "Z", None, "é"]), STRING),
    "boolean": (pa.array([True, None, False, None, True]), BOOLEAN),
    "decimal": (
        pa.array([Decimal("0.5"), None, Decimal("-7"), None, Decimal("0.5")], pa.decimal128(9, 1)),
        decimal(1),
    ),
    "timestamp": (pa.array([NOON, None, BEFORE_EPOCH, None, NOON], pa.timestamp("us", "UTC")), TIMESTAMP),
}


@pytest.mark.parametrize(("tie", "kind"), TIES.values(), ids=TIES)
def test_a_tie_break_orders_events_of_one_time_with_null_first(tie: pa.Array, kind: Type) -> None:
    table = pa.table({"time": [5, 5, 5, 5, 5], "tie": tie, "place": [0, 1, 2, 3, 4]})
    events = ingest(table, layout_of({"place": LONG}, tie=kind))
    assert events.columns["place"].values.tolist() == [1, 3, 2, 0, 4]
    assert events.ranks.tolist() == [1, 1, 2, 3, 3]


def test_time_comes_before_the_tie_break() -> None:
    table = pa.table({"time": [5, 4, 5], "tie": [1, 2, 0], "place": [0, 1, 2]})
    events = ingest(table, layout_of({"place": LONG}, tie=LONG))
    assert events.columns["place"].values.tolist() == [1, 2, 0]
    assert events.ranks.tolist() == [1, 2, 3]


def test_zero_and_minus_zero_tie() -> None:
    table = pa.table({"time": [5, 5], "tie": [0.0, -0.0]})
    assert len(set(ingest(table, layout_of(tie=DOUBLE)).ranks.tolist())) == 1


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_a_repeated_delivery_counts_once(kind: pa.DataType) -> None:
    ids = pa.array(["7", "8", "7", "7", None, None], pa.string()).cast(kind)
    table = pa.table({"time": [5, 5, 5, 6, 5, 5], "id": ids, "place": [0, 1, 2, 3, 4, 5]})
    events = ingest(table, layout_of({"place": LONG}, id="id"))
    assert events.columns["place"].values.tolist() == [0, 1, 4, 5, 3]
    assert events.ids.to_pylist() == pa.array(["7", "8", None, None, "7"]).cast(kind).to_pylist()


def test_events_without_an_id_column_are_all_kept() -> None:
    events = ingest(pa.table({"time": [5, 5, 5]}), layout_of())
    assert events.ids.to_pylist() == [0, 1, 2]


def test_content_ids_tell_equal_rows_apart_by_a_number() -> None:
    table = pa.table({"time": [5, 6, 5, 5], "content": [255, 255, 255, -1]})
    events = ingest(table, layout_of(content="content"))
    assert sorted(events.ids.to_pylist()) == sorted(
        ["00000000000000ff", "00000000000000ff-1", "00000000000000ff", "ffffffffffffffff"]
    )
    assert events.ids.to_pylist()[-1] == "00000000000000ff"  # at time 6 it is the first of its kind


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1), st.randoms())
def test_content_ids_do_not_depend_on_the_order_of_arrival(
    rows: list[tuple[int, int]], generator: random.Random
) -> None:
    def ids_of(rows: list[tuple[int, int]]) -> list[tuple[int, str]]:
        times, content = zip(*rows, strict=True)
        events = ingest(pa.table({"time": times, "content": content}), layout_of(content="content"))
        return sorted(zip(events.times.tolist(), events.ids.to_pylist(), strict=True))

    shuffled = generator.sample(rows, len(rows))
    assert ids_of(shuffled) == ids_of(rows)
    assert len(set(ids_of(rows))) == len(rows)


def test_types_are_found_by_name_and_unknown_ones_are_of_no_type() -> None:
    table = pa.table({"time": [0, 1, 2, 3], "type": ["B", "E", "A", "B"]})
    events = ingest(table, layout_of(type="type", type_names=("A", "B", "C")))
    assert events.rows_of_type("A").tolist() == [2]
    assert events.rows_of_type("B").tolist() == [0, 3]
    assert events.rows_of_type("C").tolist() == []
    assert events.rows_of_type("E").tolist() == []


def test_many_types_have_their_own_rows() -> None:
    names = tuple(f"T{number}" for number in range(40_000))
    table = pa.table({"time": [0, 1, 2], "type": ["T39999", "T0", "T32768"]})
    events = ingest(table, layout_of(type="type", type_names=names))
    assert [events.rows_of_type(name).tolist() for name in ("T0", "T32768", "T39999")] == [[1], [2], [0]]


def test_derived_types_are_bits_of_several_columns() -> None:
    names = tuple(f"T{number}" for number in range(FLAGS_PER_COLUMN + 2))
    table = pa.table({"time": [0, 1], "low": [1 | 1 << 61, 2], "high": [0, 2]})
    events = ingest(table, layout_of(derived_types=names, flags=("low", "high")))
    rows = {name: events.rows_of_type(name).tolist() for name in names}
    assert {name: found for name, found in rows.items() if found} == {
        "T0": [0],
        "T1": [1],
        "T61": [0],
        "T63": [1],
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_time_column_of_any_unit_is_microseconds(unit: str) -> None:
    factor = {"s": 1_000_000, "ms": 1000, "us": 1}[unit]
    table = pa.table({"time": pa.array([7, -1], pa.timestamp(unit, "UTC"))})
    assert ingest(table, layout_of()).times.tolist() == [-factor, 7 * factor]
