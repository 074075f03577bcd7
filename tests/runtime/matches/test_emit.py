"""Matches as Arrow rows: their identity, times, events and RETURN columns."""

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.helpers.engine import EPOCH, arrow_events, plan_of, run_case
from tests.helpers.identities import match_ids
from tests.helpers.strategies import SCHEMA, Case, event

from weft.reference.events import ReferenceEvent
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.emit import arrow_type, emit, match_schema
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal

PAIR = (event(0, "A", 10, key=7), event(1, "B", 20, key=8))
RISE = "QUERY rise PATTERN SEQ(A a, B b)"


def emitted(case: Case, id_type: pa.DataType | None = None) -> pa.Table:
    """Return the matches of all queries of a case; ids cast to `id_type`."""
    table, layout = arrow_events(case)
    id_type = id_type or pa.int64()
    table = table.set_column(table.schema.get_field_index("__id"), "__id", table["__id"].cast(id_type))
    plan = plan_of(case)
    returned = {column.name: column.type for output in plan.outputs for column in output.columns}
    schema = match_schema(id_type, returned)
    batches = [
        emit(found, [column.name for column in found.output.columns], schema)
        for found in Executor(Program(plan)).run(ingest(table, layout))
    ]
    return pa.Table.from_batches(batches, schema)


def ids_of(text: str, events: tuple[ReferenceEvent, ...], id_type: pa.DataType | None = None) -> list[str]:
    return emitted(Case(text, events), id_type)["match_id"].to_pylist()


def test_a_match_id_never_changes() -> None:
    """Stored results are joined by it: a new value here breaks every user who kept an old one."""
    assert ids_of(RISE, PAIR) == ["27bde800c13e3ad5fb2692c274af942e"]
    assert ids_of(RISE, PAIR, pa.string()) == ["84309668790faafe9e6c2a49fd82de37"]
    assert ids_of("QUERY rise PATTERN SEQ(A a, B+ b[])", PAIR) == ["27bde800c13e3ad5fb2692c274af942e"]


def test_a_match_id_is_hexadecimal() -> None:
    (found,) = ids_of(RISE, PAIR)
    assert len(found) == 32
    assert set(found) <= set("0123456789abcdef")


def test_a_match_id_depends_on_the_name_of_the_query() -> None:
    assert ids_of(RISE, PAIR) != ids_of(RISE.replace("rise", "fall"), PAIR)


def test_a_match_id_depends_on_the_variables() -> None:
    assert ids_of(RISE, PAIR) != ids_of("QUERY rise PATTERN SEQ(A b, B a)", PAIR)
    assert ids_of(RISE, PAIR) != ids_of("QUERY rise PATTERN SEQ(A a, B c)", PAIR)


@pytest.mark.parametrize("id_type", [pa.int64(), pa.int32(), pa.string(), pa.large_string(), pa.float64()])
def test_a_match_id_depends_on_each_event_id(id_type: pa.DataType) -> None:
    other = (PAIR[0], replace(PAIR[1], id=9))
    swapped = (replace(PAIR[0], id=8), replace(PAIR[1], id=7))
    found = [ids_of(RISE, events, id_type)[0] for events in (PAIR, other, swapped)]
    assert len(set(found)) == 3


def test_a_match_id_depends_on_nothing_else() -> None:
    """Neither on time, attributes, the row, the order of the pattern nor on other events."""
    elsewhere = (
        event(0, "C", 1, key=1),
        event(1, "B", 900, key=8, x=5),
        event(2, "A", 800, key=7, name="ann"),
    )
    assert ids_of(RISE, elsewhere) == ids_of(RISE, PAIR)
    assert ids_of("QUERY rise PATTERN AND(B b, A a)", PAIR) == ids_of(RISE, PAIR)


def test_match_ids_do_not_depend_on_the_order_of_arrival() -> None:
    events = [event(row, "AB"[row % 2], row, key=100 + row) for row in range(12)]
    text = "QUERY q PATTERN SEQ(A a, B+ b[]) WITHIN 4 microseconds"
    expected = sorted(ids_of(text, tuple(events)))
    shuffled = random.Random(1).sample(events, len(events))
    arrived = tuple(replace(one, row=row) for row, one in enumerate(shuffled))
    assert sorted(ids_of(text, arrived)) == expected
    assert len(set(expected)) == len(expected) > 12


def test_the_reference_walks_matches_in_the_order_of_the_same_ids() -> None:
    case = Case("QUERY q PATTERN SEQ(A+ a[], OR(B b, C c))", (*PAIR, event(2, "A", 15, key=3)))
    outcome = run_case(case)
    names = {row: one.id for row, one in enumerate(case.events)}
    match_id = match_ids("q", case.events)
    expected = {
        frozenset((name, tuple(names[row] for row in rows)) for name, rows in match.bindings): match_id(match)
        for match in case.expected()["q"]
    }
    assert dict(zip(outcome.matches["q"], outcome.ids["q"], strict=True)) == expected


def test_both_assignments_of_two_events_are_two_matches() -> None:
    found = ids_of("QUERY q PATTERN AND(A a, A b)", (event(0, "A", 5, key=1), event(1, "A", 5, key=2)))
    assert len(set(found)) == 2


def test_a_row_shows_times_and_events_in_time_order() -> None:
    events = (event(0, "B", -5, key=4), event(1, "A", -9, key=3), event(2, "B", 2_000_000, key=5))
    rows = emitted(Case("QUERY q PATTERN AND(B+ b[], A a)", events)).to_pylist()
    (row,) = [row for row in rows if len(row["events"]) == 3]
    assert row["query"] == "q"
    assert row["start"] == EPOCH - dt.timedelta(microseconds=9)
    assert row["end"] == EPOCH + dt.timedelta(seconds=2)
    assert [(one["variable"], one["type"], one["id"]) for one in row["events"]] == [
        ("a", "A", 3),
        ("b", "B", 4),
        ("b", "B", 5),
    ]
    assert [one["ts"] for one in row["events"]] == [
        row["start"],
        EPOCH - dt.timedelta(microseconds=5),
        row["end"],
    ]


@pytest.mark.parametrize("n_matches", [1, 3])
def test_names_follow_the_events_where_all_matches_have_one_order(n_matches: int) -> None:
    """In time first z, then a, then m; by name and in the pattern in other orders."""
    events = [event(0, "C", 1, key=3), event(1, "A", 2, key=4)]
    events += [event(2 + n, "B", 3 + n, key=5 + n) for n in range(n_matches)]
    table = emitted(Case("QUERY q PATTERN AND(B m, A a, C z)", tuple(events)))
    shown = [
        [(one["variable"], one["type"], one["id"]) for one in row["events"]] for row in table.to_pylist()
    ]
    assert shown == [[("z", "C", 3), ("a", "A", 4), ("m", "B", 5 + n)] for n in range(n_matches)]


def test_an_event_of_two_types_is_shown_with_the_type_that_was_asked_for() -> None:
    (row,) = emitted(
        Case("QUERY q PATTERN SEQ(A a, B b)", (event(0, "AC", 1), event(1, "AB", 2)))
    ).to_pylist()
    assert [one["type"] for one in row["events"]] == ["A", "B"]


RETURNED = {
    "id": (LONG, 3),
    "y": (DOUBLE, -0.5),
    "flag": (BOOLEAN, True),
    "name": (STRING, "zoé"),
    "amount": (decimal(2), Decimal("-99999999.99")),
    "day": (DATE, dt.date(1969, 12, 31)),
    "seen": (TIMESTAMP, EPOCH - dt.timedelta(microseconds=1)),
    "took": (DURATION, dt.timedelta(microseconds=-1)),
}
STORED = {"id": 3, "y": -0.5, "flag": True, "name": "zoé", "amount": Decimal("-99999999.99")} | dict.fromkeys(
    ("day", "seen", "took"), -1
)


@pytest.mark.parametrize(("name", "kind", "value"), [(name, *rest) for name, rest in RETURNED.items()])
def test_a_returned_attribute_has_its_type_and_value(name: str, kind: Type, value: object) -> None:
    assert SCHEMA.attributes[name] == kind
    text = f"QUERY q PATTERN A a RETURN a.{name} AS shown"
    table = emitted(Case(text, (event(0, "A", 1, **STORED), event(1, "A", 2))))
    assert table.schema.field("shown").type == arrow_type(kind)
    assert table["shown"].to_pylist() == [value, None]


def test_returned_expressions_keep_their_order_and_names() -> None:
    text = "QUERY q PATTERN SEQ(A a, B+ b[]) RETURN COUNT(b) AS n, b.x > a.x AS up, SUM(b.x) AS total"
    text = text.replace("b.x > a.x", "LAST(b).x > a.x")
    table = emitted(Case(text, (event(0, "A", 1, x=1), event(1, "B", 2, x=5))))
    assert table.select(["n", "up", "total"]).to_pylist() == [{"n": 1, "up": True, "total": 5}]


def test_a_column_of_another_query_is_null() -> None:
    text = "QUERY p PATTERN A a RETURN a.x AS one\nQUERY q PATTERN A a RETURN a.name AS two"
    rows = emitted(Case(text, (event(0, "A", 1, x=1, name="ann"),))).to_pylist()
    assert {row["query"]: (row["one"], row["two"]) for row in rows} == {"p": (1, None), "q": (None, "ann")}


def test_an_absent_item_is_returned_as_null_and_counts_zero() -> None:
    text = "QUERY q PATTERN SEQ(A a, B* b[]) RETURN COUNT(b) AS n, LAST(b).name AS who"
    assert emitted(Case(text, (event(0, "A", 1),))).select(["n", "who"]).to_pylist() == [
        {"n": 0, "who": None}
    ]
