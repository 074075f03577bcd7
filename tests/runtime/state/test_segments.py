"""Events outlive the process as bytes: every type of value, for the same layout or another."""

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from weft.codec import VERSION
from weft.errors import DataError
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.runtime.matches.emit import to_arrow
from weft.runtime.state.segments import (
    VERSION_KEY,
    Reader,
    arrivals_of,
    table_to_bytes,
    to_table,
    with_arrival,
)
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal


def to_bytes(events: Events) -> bytes:
    return table_to_bytes(to_table(events))


NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)
OLD = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC)
VALUES: dict[str, tuple[Type, pa.DataType, list[object]]] = {
    "long": (LONG, pa.int64(), [2**63 - 1, None, -(2**63), 0]),
    "double": (DOUBLE, pa.float64(), [math.nan, None, -0.0, math.inf]),
    "boolean": (BOOLEAN, pa.bool_(), [True, None, False, True]),
    "string": (STRING, pa.string(), ["é", None, "", "\0tie"]),
    "decimal": (decimal(3), pa.decimal128(18, 3), [Decimal("-0.001"), None, Decimal("9.5"), Decimal("0")]),
    "date": (DATE, pa.date32(), [NOON.date(), None, OLD.date(), NOON.date()]),
    "timestamp": (TIMESTAMP, pa.timestamp("us", "UTC"), [NOON, None, OLD, NOON]),
    "duration": (
        DURATION,
        pa.duration("us"),
        [dt.timedelta(days=-1), None, dt.timedelta(0), dt.timedelta(1)],
    ),
}
TIMES = [30, 10, 20, 20]
IDS = [3, 1, 2, 4]


def layout_of(
    attributes: dict[str, Type], *, tie: Type | None = None, derived: tuple[str, ...] = ()
) -> Layout:
    """Return a layout whose columns have the names of their roles."""
    n_flags = -(-len(derived) // FLAGS_PER_COLUMN)
    return Layout(
        time="time",
        type="type",
        id="id",
        content=None,
        tie=None if tie is None else "tie",
        attributes={name: (name, kind) for name, kind in attributes.items()},
        type_names=("A", "B"),
        derived_types=derived,
        flags=tuple(f"flags{number}" for number in range(n_flags)),
        tie_type=tie,
        keeps_tie=True,
    )


def events_of(layout: Layout, columns: dict[str, pa.Array], *, step: int = 1) -> Events:
    """Return four events that came in a step, of the types B, A, another and A."""
    given = {
        "time": pa.array(TIMES, pa.int64()),
        "type": pa.array(["B", "A", "Z", "A"]),
        "id": pa.array(IDS, pa.int64()),
    }
    return with_arrival(ingest(pa.table(given | columns), layout), step)


def plain(events: Events) -> dict[str, list[object]]:
    """Return events as lists; NaN as a text, so that it equals itself."""
    found: dict[str, list[object]] = {
        "time": events.times.tolist(),
        "type": [None if code < 0 else events.type_names[code] for code in events.type_codes],
        "id": events.ids.to_pylist(),
    }
    for name, column in events.columns.items():
        values = to_arrow(column, events.strings).to_pylist()
        found[name] = [repr(one) if isinstance(one, float) else one for one in values]
    for name, flag in events.flags.items():
        found[f"is {name}"] = flag.tolist()
    return found


@pytest.mark.parametrize("name", VALUES)
def test_a_column_of_any_type_comes_back(name: str) -> None:
    kind, arrow, values = VALUES[name]
    layout = layout_of({"x": kind})
    events = events_of(layout, {"x": pa.array(values, arrow)})
    again = Reader(layout, pa.int64()).read([to_bytes(events)])
    assert plain(again) == plain(events)
    assert plain(events)["x"] != [None] * 4
    assert again.columns["x"].type == kind
    assert again.columns["x"].values.dtype == events.columns["x"].values.dtype


def test_all_types_together_come_back_twice() -> None:
    layout = layout_of({name: kind for name, (kind, _, _) in VALUES.items()})
    events = events_of(layout, {name: pa.array(values, arrow) for name, (_, arrow, values) in VALUES.items()})
    reader = Reader(layout, pa.int64())
    once = reader.read([to_bytes(events)])
    assert plain(reader.read([to_bytes(once)])) == plain(events)


def test_ids_may_be_texts() -> None:
    layout = layout_of({})
    events = replace(events_of(layout, {}), ids=pa.array(["a", "b-1", "c", "d"]))
    assert Reader(layout, pa.string()).read([to_bytes(events)]).ids.to_pylist() == ["a", "b-1", "c", "d"]


def test_several_segments_are_one_sorted_set_of_events_with_their_steps() -> None:
    layout = layout_of({"x": STRING})
    first = events_of(layout, {"x": pa.array(["a", "b", None, "c"])}, step=3)
    second = events_of(layout, {"x": pa.array(["c", "d", "a", "e"])}, step=5)
    second = replace(second, times=second.times + 5, ids=pa.array([11, 12, 13, 14]))
    both = Reader(layout, pa.int64()).read([to_bytes(second), to_bytes(first)])
    assert both.times.tolist() == [10, 15, 20, 20, 25, 25, 30, 35]
    assert arrivals_of(both).tolist() == [3, 5, 3, 3, 5, 5, 3, 5]
    values = to_arrow(both.columns["x"], both.strings).to_pylist()
    assert values == ["b", "d", None, "c", "a", "e", "a", "c"]


@pytest.mark.parametrize("kind", ["long", "double", "string", "decimal", "timestamp"])
def test_ties_keep_the_order_of_events_of_equal_time(kind: str) -> None:
    type_, arrow, _ = VALUES[kind]
    values = {
        "long": [1, 1, 9, 2],
        "double": [1.0, 1.0, math.nan, 2.0],
        "string": ["a", "a", "c", "b"],
        "decimal": [Decimal(1), Decimal(1), Decimal(9), Decimal(2)],
        "timestamp": [OLD, OLD, NOON, OLD + dt.timedelta(seconds=1)],
    }[kind]
    layout = layout_of({}, tie=type_)
    events = events_of(layout, {"tie": pa.array(values, arrow)})
    assert events.ids.to_pylist() == [1, 4, 2, 3]
    again = Reader(layout, pa.int64()).read([to_bytes(events)])
    assert plain(again) == plain(events)
    assert again.ties is not None
    assert np.array_equal(again.ranks, events.ranks)


def test_derived_types_come_back_as_flags() -> None:
    derived = tuple(f"D{number}" for number in range(FLAGS_PER_COLUMN + 3))
    layout = layout_of({}, derived=derived)
    bits = {"flags0": pa.array([1 << 61, 3, 0, 1], pa.int64()), "flags1": pa.array([4, 0, 1, 0], pa.int64())}
    events = events_of(layout, bits)
    again = Reader(layout, pa.int64()).read([to_bytes(events)])
    assert plain(again) == plain(events)
    assert again.flags["D61"].tolist() == [False, False, False, True]
    assert again.flags["D64"].tolist() == [False, False, False, True]
    fewer = layout_of({}, derived=("new", "D62", "D0"))
    found = Reader(fewer, pa.int64()).read([to_bytes(events)]).flags
    assert {name: flag.tolist() for name, flag in found.items()} == {
        "new": [False] * 4,
        "D62": [False, True, False, False],
        "D0": [True, False, True, False],
    }


@pytest.mark.parametrize("name", VALUES)
def test_an_attribute_that_was_not_stored_is_null(name: str) -> None:
    old = events_of(layout_of({"x": LONG}), {"x": pa.array([1, 2, 3, 4])})
    wider = layout_of({"x": LONG, "y": VALUES[name][0]})
    again = Reader(wider, pa.int64()).read([to_bytes(old)])
    assert plain(again)["y"] == [None] * 4
    assert plain(again)["x"] == plain(old)["x"]


def test_an_attribute_that_nobody_asks_for_is_left_out() -> None:
    old = events_of(layout_of({"x": LONG}), {"x": pa.array([1, 2, 3, 4])})
    assert "x" not in Reader(layout_of({}), pa.int64()).read([to_bytes(old)]).columns


@pytest.mark.parametrize(
    ("stored", "wanted"), [("long", DOUBLE), ("string", LONG), ("decimal", decimal(2)), ("date", TIMESTAMP)]
)
def test_an_attribute_of_another_type_is_refused(stored: str, wanted: Type) -> None:
    kind, arrow, values = VALUES[stored]
    content = to_bytes(events_of(layout_of({"x": kind}), {"x": pa.array(values, arrow)}))
    with pytest.raises(
        DataError, match=r"the state holds attribute x as .*, the events have it as .*checkpoint"
    ):
        Reader(layout_of({"x": wanted}), pa.int64()).read([content])


@pytest.mark.parametrize(("version", "found"), [(b"2", "version 2"), (None, "no version")])
def test_another_version_is_refused(version: bytes | None, found: str) -> None:
    layout = layout_of({})
    table = to_table(events_of(layout, {}))
    changed = table.replace_schema_metadata(None if version is None else {VERSION_KEY: version})
    with pytest.raises(
        DataError, match=rf"segment of {found}, expected {VERSION}; it was written by another"
    ):
        Reader(layout, pa.int64()).read([table_to_bytes(changed)])


def test_nothing_is_no_events_of_the_right_types() -> None:
    layout = layout_of(
        {name: kind for name, (kind, _, _) in VALUES.items()}, tie=STRING, derived=("D0", "D1")
    )
    nothing = Reader(layout, pa.int64()).nothing()
    assert nothing.n_events == 0
    assert {name: column.type for name, column in nothing.columns.items() if name in VALUES} == {
        name: kind for name, (kind, _, _) in VALUES.items()
    }
    assert set(nothing.flags) == {"D0", "D1"}
    assert Reader(layout, pa.int64()).read([to_bytes(nothing)]).n_events == 0


def test_segments_are_small() -> None:
    layout = layout_of({"x": STRING})
    n_events = 10_000
    table = pa.table(
        {
            "time": pa.array(range(n_events)),
            "type": pa.array(["A"] * n_events),
            "id": pa.array(range(n_events)),
            "x": pa.array(["some text"] * n_events),
        }
    )
    assert len(to_bytes(with_arrival(ingest(table, layout), 1))) < 20 * n_events
