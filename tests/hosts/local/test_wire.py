"""What of each batch the engine is given, and what is counted of it."""

import pyarrow as pa
import pytest
from tests.helpers.local_cases import local_events

from weft.hosts.demand import Demand
from weft.hosts.local.columns import places_in
from weft.hosts.local.content import content_hashes
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.wire import RowCounts, Wire, count_texts, is_good, required_columns
from weft.hosts.meaning import CONTENT, ID, TIE, TIME, TYPE
from weft.pattern.normal_form import EVERY_TYPE

TIMES = pa.array([10, None, 30, 40, 50, 60], pa.timestamp("us", "UTC"))
ROWS = pa.table(
    {
        "ts": TIMES,
        "type": ["A", "A", None, "B", "C", "A"],
        "id": [1, 2, 3, None, 5, 6],
        "x": pa.array([1, 2, 3, 4, 5, None], pa.int16()),
        "other": ["u", "v", "w", "x", "y", "z"],
    }
)


def wire_of(source: LocalEvents, types: str, attributes: str = "", *, counts: bool = False) -> Wire:
    return Wire.of(source, Demand(frozenset(types.split()), frozenset(attributes.split()), counts))


def all_of(wire: Wire) -> tuple[pa.Table, RowCounts]:
    """Return what the engine is given of all batches, and the counts of them together."""
    total, parts = RowCounts(), []
    for rows in wire.batches():
        events, as_given, counts = wire.events_of(rows)
        assert events.num_rows == as_given.num_rows
        parts.append(events)
        total.add(counts)
    return pa.Table.from_batches(parts), total


def test_only_wanted_types_and_columns_are_given_and_all_rows_are_counted() -> None:
    wire = wire_of(local_events(ROWS, type="type", id="id"), "A", "x")
    assert wire.read_columns == ["ts", "type", "id", "x"]
    events, counts = all_of(wire)
    assert events.select([TIME, TYPE, ID]).to_pydict() == {TIME: [10, 60], TYPE: ["A", "A"], ID: [1, 6]}
    column, _ = wire.layout.attributes["x"]
    assert (events[column].type, events[column].to_pylist()) == (pa.int64(), [1, None])
    assert counts == RowCounts(6, 3, {"A": 2, "C": 1}, 10, 60)


@pytest.mark.parametrize("counts", [True, False])
def test_all_types_are_given_where_events_of_any_type_count(counts: bool) -> None:
    source = local_events(ROWS, type="type", id="id")
    wire = wire_of(source, "A", counts=True) if counts else wire_of(source, f"A {EVERY_TYPE}")
    events, _ = all_of(wire)
    assert events[ID].to_pylist() == [1, 5, 6]
    assert events[TYPE].to_pylist() == ["A", None, "A"]  # what no plan names has no name


def test_a_type_that_no_event_has_gives_no_rows_but_columns() -> None:
    events, counts = all_of(wire_of(local_events(ROWS, type="type", id="id"), "D", "x"))
    assert events.num_rows == 0
    assert events.column_names[:3] == [TIME, TYPE, ID]
    assert counts.n_rows == 6


def test_without_an_id_the_content_of_all_columns_is_read() -> None:
    wire = wire_of(local_events(ROWS, type="type"), "B")
    assert wire.read_columns == ROWS.column_names
    events, counts = all_of(wire)
    assert events[CONTENT].to_pylist() == [int(content_hashes(ROWS)[3])]
    assert counts.n_rejected == 2


def test_rows_all_rejected_and_no_rows_at_all() -> None:
    untyped = ROWS.set_column(1, "type", pa.nulls(6, pa.string()))
    wire = wire_of(local_events(untyped, type="type", id="id"), "A", "x")
    (rows,) = wire.batches()
    for given in (rows, rows.slice(0, 0)):
        events, as_given, counts = wire.events_of(given)
        assert (events.num_rows, as_given.num_rows) == (0, 0)
        assert counts == RowCounts(given.num_rows, given.num_rows)


def test_encoded_types_with_nulls_among_their_values_are_rejected() -> None:
    """A dictionary may hold a NULL that its indices refer to."""
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, 1, None]), pa.array(["A", None, "B"]))
    assert kinds.null_count == 1
    source = local_events(ROWS.set_column(1, "type", kinds), type="type")
    events, counts = all_of(wire_of(source, "A B"))
    assert events[TYPE].to_pylist() == ["A", "A", "B"]
    assert counts.n_rejected == 3
    assert counts.n_of_type == {"A": 2, "B": 1}


def test_what_is_good_is_not_computed_where_all_is() -> None:
    whole = ROWS.slice(0, 1).to_batches()[0]
    source = local_events(ROWS, type="type", id="id")
    assert is_good(whole, source) is None
    (rows,) = ROWS.to_batches()
    good = is_good(rows, source)
    assert good is not None
    assert good.to_pylist() == [True, False, False, False, True, True]
    assert required_columns(source, ["x", "ts"]) == ["ts", "type", "id", "x"]


def test_several_derived_types_of_one_event_are_bits() -> None:
    types = {"Low": "x < 4", "Even": "x % 2 = 0", "Never": "x > 100"}
    source = local_events(ROWS.filter(ROWS["ts"].is_valid()), types=types, id="other")
    wire = wire_of(source, "Low Even")
    assert wire.read_columns == ["ts", "other", "x"]
    events, counts = all_of(wire)
    assert wire.layout.derived_types == ("Even", "Low")
    (flags,) = wire.layout.flags
    assert dict(zip(events[ID].to_pylist(), events[flags].to_pylist(), strict=True)) == {
        "u": 0b10,
        "w": 0b10,
        "x": 0b01,
    }
    assert counts.n_of_type == {"Low": 2, "Even": 1}  # the types that are not asked for are not counted


def test_the_order_among_events_of_equal_time_is_given() -> None:
    source = local_events(ROWS, type="type", id="id", order_by="x")
    events, _ = all_of(wire_of(source, "A C"))
    assert events[TIE].to_pylist() == [1, 5, None]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_are_microseconds(unit: str) -> None:
    moments = [-1, 0, 1_700_000_000]
    times = pa.array(moments, pa.timestamp("s")).cast(pa.timestamp(unit))
    table = pa.table({"ts": times, "type": ["A"] * 3})
    events, counts = all_of(wire_of(local_events(table, type="type"), "A"))
    assert events[TIME].to_pylist() == [moment * 1_000_000 for moment in moments]
    assert (counts.earliest, counts.latest) == (-1_000_000, 1_700_000_000_000_000)


def test_nanoseconds_are_rounded_down_and_may_be_missing() -> None:
    times = pa.array([-1, None, 1_999], pa.timestamp("ns"))
    table = pa.table({"ts": times, "at": times, "type": ["A"] * 3})
    wire = wire_of(local_events(table, type="type"), "A", "at")
    events, counts = all_of(wire)
    column, _ = wire.layout.attributes["at"]
    assert events[TIME].to_pylist() == events[column].to_pylist() == [-1, 1]
    assert counts.n_rejected == 1


def test_counts_add_up_in_any_order() -> None:
    one, other = RowCounts(5, 1, {"A": 3, "B": 1}, 10, 20), RowCounts(3, 0, {"B": 2, "C": 1}, 5, 12)
    for parts in ([one, RowCounts(), other], [other, one, RowCounts(2, 2)]):
        total = RowCounts()
        for part in parts:
            total.add(part)
        assert total.n_of_type == {"A": 3, "B": 3, "C": 1}
        assert (total.earliest, total.latest) == (5, 20)
        assert total.n_rows - total.n_rejected == 7
    assert one.n_of_type == {"A": 3, "B": 1}


def test_a_batch_without_rows_in_between_changes_nothing() -> None:
    (whole,) = ROWS.to_batches()
    pieces = [whole.slice(0, 2), whole.slice(2, 0), whole.slice(2), whole.slice(0, 0)]
    for given in (pa.Table.from_batches(pieces), pa.RecordBatchReader.from_batches(ROWS.schema, pieces)):
        events, counts = all_of(wire_of(local_events(given, type="type", id="id"), "A B C"))
        assert events[ID].to_pylist() == [1, 5, 6]
        assert (counts.n_rows, counts.n_rejected) == (6, 3)


def test_a_dictionary_may_have_a_text_twice() -> None:
    codes = pa.array([0, 1, 2, 0], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["A", "B", "A"]))
    assert count_texts(column) == {"A": 3, "B": 1}
    assert places_in(column, pa.array(["B", "A"])).to_pylist() == [1, 0, 1, 1]
    with_null = pa.DictionaryArray.from_arrays(codes, pa.array(["A", None, "B"]))
    assert places_in(with_null, pa.array(["B", "A"])).to_pylist() == [1, None, 0, 1]
