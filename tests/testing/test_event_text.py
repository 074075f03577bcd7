"""Small tables of events in text: how they are written, their types, and what is said of mistakes."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from weft.errors import DataError, WeftError
from weft.testing import events
from weft.testing.moments import EXPECTED

DAY = datetime(2026, 1, 1, tzinfo=UTC)


def rows(text: str, **options: object) -> list[dict[str, object]]:
    return events(text, **options).to_pylist()  # type: ignore[arg-type]


def refused(text: str, **options: object) -> str:
    with pytest.raises(WeftError) as caught:
        events(text, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "ts     type   user\n09:00  Login  ann",
        "ts type user\n09:00 Login ann",
        "ts\ttype\tuser\n09:00\tLogin\tann",
        "ts|type|user\n09:00|Login|ann",
        "| ts    | type  | user |\n|-------|:-----:|------|\n| 09:00 | Login | ann  |",
        "\n\n   # what happened\n   ts     type   user\n\n   09:00  'Login'  \"ann\"\n",
    ],
)
def test_cells_lie_between_blanks_tabs_or_bars(text: str) -> None:
    assert rows(text) == [{"id": 1, "ts": DAY.replace(hour=9), "type": "Login", "user": "ann"}]


def test_times_are_those_of_a_clock_whole_ones_or_offsets() -> None:
    written = "23:59|9:00:01.5|2026-02-03 04:05|2026-02-03T04:05:06+01:00|+5m|90s|1 hour 30 min|0|-1s"
    table = events("ts|type\n" + "\n".join(f"{moment}|A" for moment in written.split("|")))
    assert [str(moment)[:19] for moment in table["ts"].to_pylist()] == [
        *("2026-01-01 23:59:00", "2026-01-01 09:00:01", "2026-02-03 04:05:00", "2026-02-03 03:05:06"),
        *("2026-01-01 00:05:00", "2026-01-01 00:01:30", "2026-01-01 01:30:00", "2026-01-01 00:00:00"),
        "2025-12-31 23:59:59",
    ]
    assert table.schema.field("ts").type == pa.timestamp("us", "UTC")


def test_the_day_and_the_unit_can_be_said() -> None:
    (row,) = rows("at kind\n7 A", time="at", type="kind", day="2030-05-06", time_unit="s")
    assert row["at"] == datetime(2030, 5, 6, 0, 0, 7, tzinfo=UTC)


def test_types_are_told_by_the_cells() -> None:
    table = events(
        """
        ts  type  whole  real  truth  text  quoted  nothing
        0   1     1      1     true   a     '1'     -
        1s  2     -      .5    FALSE  1     -       NULL
        """
    )
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "id": "int64",
        "ts": "timestamp[us, tz=UTC]",
        **dict.fromkeys(("type", "text", "quoted", "nothing"), "string"),
        "whole": "int64",
        "real": "double",
        "truth": "bool",
    }
    assert table["type"].to_pylist() == ["1", "2"]
    assert table["whole"].to_pylist() == [1, None]


def test_types_can_be_said() -> None:
    text = "ts  type  amount:double  price:decimal(9,2)  on:date        at\n0  A  1  1.50  2026-03-04  09:00"
    (row,) = rows(text, types={"at": "timestamp", "absent": "long"})
    assert (row["amount"], row["price"], row["on"]) == (1.0, Decimal("1.50"), date(2026, 3, 4))
    assert row["at"] == DAY.replace(hour=9)
    assert row["absent"] is None


def test_null_cells_and_quotes() -> None:
    found = rows('ts|type|a|b|c\n0|A||-|null\n1|B|"-"|"x ""|"" y"|\'it\'\'s\'', time_unit="s")
    assert [(row["a"], row["b"], row["c"]) for row in found] == [
        (None, None, None),
        ("-", 'x "|" y', "it's"),
    ]


def test_ids_are_those_of_a_column_or_the_numbers_of_rows() -> None:
    assert [row["id"] for row in rows("ts type\n0 A\n1s B")] == [1, 2]
    assert [row["id"] for row in rows("id ts type\na 0 A\n7 1s B")] == ["a", "7"]
    assert [row["key"] for row in rows("key ts type\n5 0 A", id="key")] == [5]


def test_all_mistakes_are_told_each_with_its_place() -> None:
    message = refused("ts     type  amount:dubble\n25:00  A     1\n09:00  B\n", origin="a.yaml")
    assert message.splitlines() == [
        "a.yaml:3:1: this row has 2 cells, the header has 3",
        "  09:00  B",
        "  ^^^^^^^^",
        "  hint: put two blanks between cells, and write - for NULL",
    ]
    message = refused("ts     type  amount:dubble\n25:00  A     1\n09:00  B     2\n", origin="a.yaml")
    assert message.splitlines() == [
        "a.yaml:1:14: unknown type dubble",
        "  ts     type  amount:dubble",
        "               ^^^^^^^^^^^^^",
        "  hint: did you mean double?",
        f"a.yaml:2:1: '25:00' does not fit; {EXPECTED}",
        "  25:00  A     1",
        "  ^^^^^",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there are no events\n  hint: write a line with the names of columns"),
        ("at type\n0 A", "there is no column ts for the time\n  at type\n  ^^^^^^^\n  hint: the columns are"),
        ("ts type ts\n0 A 0", "two columns are named ts"),
        ("ts|type|\n0|A|1", "this row has 3 cells, the header has 2"),
        ("ts||type\n0|A|1", "a column has no name"),
        ("ts type\n7 A", "'7' does not fit; expected a time"),
        ("ts type n:long\n0 A 1.5", "'1.5' does not fit; expected a whole number"),
        ("ts type n:long\n0 A 9223372036854775808", "expected a whole number"),
        ("ts type n:double\n0 A 1e999", "expected a number"),
        ("ts type n:boolean\n0 A yes", "expected true or false"),
        ("ts type n:date\n0 A 09:00", "expected a date such as 2026-01-01"),
        ("ts type n:decimal(4,2)\n0 A 123.45", "expected a decimal(4,2)"),
        ("ts type\n0 'A'x", "text follows a closing quote\n  0 'A'x\n       ^\n  hint: write ' twice"),
    ],
)
def test_mistakes(text: str, told: str) -> None:
    assert told in refused(text)


def test_options_that_make_no_sense() -> None:
    assert refused("ts type\n0 A", day="today") == "day is 'today'; expected a date such as '2026-01-01'"
    message = refused("ts type\n0 A", types={"absent": "lnog"})
    assert message == "types has absent: unknown type lnog\n  hint: did you mean long?"
    with pytest.raises(DataError):
        events("ts type\nsoon A")
