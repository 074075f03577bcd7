"""Arrow values as texts of JSON: what a parser reads back is the value."""

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.io.json_texts import json_texts, object_texts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STRUCT = pa.struct([("id", pa.int64()), ("names", pa.list_(pa.string()))])
DECIMALS = pa.decimal128(38, 2)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array([0, -(2**63), 2**63 - 1, None]), ["0", str(-(2**63)), str(2**63 - 1), "null"]),
        (pa.array([7, None], pa.uint8()), ["7", "null"]),
        (pa.array([True, False, None]), ["true", "false", "null"]),
        (pa.array([0.1, 1.0, -0.0, 1e22, None]), ["0.1", "1.0", "-0.0", "1e+22", "null"]),
        (pa.array([1246003200.0, 1e15]), ["1246003200.0", "1e+15"]),
        (pa.array([math.nan, math.inf, -math.inf]), ['"NaN"', '"Infinity"', '"-Infinity"']),
        (pa.array([1.5, None], pa.float32()), ["1.5", "null"]),
        (pa.array([Decimal("1.50"), Decimal("-0.01"), None], DECIMALS), ["1.50", "-0.01", "null"]),
        (pa.array(["", "Zoë 😀", None]), ['""', '"Zoë 😀"', "null"]),
        (pa.array(['a"b', "a\\b", "a\nb\t\x00", "a/b"]), [r'"a\"b"', r'"a\\b"', r'"a\nb\t\u0000"', '"a/b"']),
        (pa.array([date(2026, 1, 31), None]), ['"2026-01-31"', "null"]),
        (pa.array([timedelta(minutes=5, microseconds=1), None]), ["300.000001", "null"]),
        (pa.array([timedelta(seconds=-3)], pa.duration("s")), ["-3.0"]),
        (pa.nulls(2), ["null", "null"]),
    ],
    ids=str,
)
def test_values(values: pa.Array, texts: list[str]) -> None:
    assert json_texts(values).to_pylist() == texts
    assert json_texts(values.slice(1)).to_pylist() == texts[1:]
    assert json_texts(values.slice(0, 0)).to_pylist() == []


def test_times_are_in_utc_with_all_digits_of_a_microsecond() -> None:
    moments = [NOON, NOON + timedelta(microseconds=1), datetime(1, 1, 1, tzinfo=UTC), None]
    expected = [
        '"2026-01-01T12:00:00.000000Z"',
        '"2026-01-01T12:00:00.000001Z"',
        '"0001-01-01T00:00:00.000000Z"',
        "null",
    ]
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us")):
        assert json_texts(pa.array(moments, pa.timestamp("us", "UTC")).cast(kind)).to_pylist() == expected
    for unit in ("s", "ms", "ns"):
        values = pa.array([NOON, None], pa.timestamp(unit, "UTC"))
        assert json_texts(values).to_pylist() == [expected[0], "null"]


def test_lists_and_structs_nest() -> None:
    values = pa.array(
        [
            [{"id": 1, "names": ['x"y', None]}, {"id": None, "names": []}],
            None,
            [],
            [None, {"id": 2, "names": None}],
        ],
        pa.list_(STRUCT),
    )
    texts = [
        r'[{"id":1,"names":["x\"y",null]},{"id":null,"names":[]}]',
        "null",
        "[]",
        '[null,{"id":2,"names":null}]',
    ]
    assert json_texts(values).to_pylist() == texts
    for start in range(5):
        assert json_texts(values.slice(start)).to_pylist() == texts[start:]
    inner = pa.array([{"l": own} for own in values.to_pylist()], pa.struct([("l", values.type)]))
    assert json_texts(inner.slice(1, 2)).to_pylist() == ['{"l":null}', '{"l":[]}']


def test_a_list_that_is_null_may_hide_elements() -> None:
    whole = pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array([1, 2, 3]), mask=pa.array([True, False]))
    assert json_texts(whole).to_pylist() == ["null", "[3]"]


def test_objects_have_fields_of_any_name() -> None:
    names = ["a", 'odd "name"', "zoë", "new\nline"]
    texts = object_texts({name: pa.array(["1", "null"]) for name in names}, 2).to_pylist()
    assert [json.loads(text) for text in texts] == [dict.fromkeys(names, value) for value in (1, None)]
    assert object_texts({}, 3).to_pylist() == ["{}"] * 3
    assert object_texts({}, 0).to_pylist() == []


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.lists(
                st.fixed_dictionaries(
                    {
                        "text": st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=5)),
                        "double": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
                        "flag": st.one_of(st.none(), st.booleans()),
                        "long": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
                    }
                ),
                max_size=3,
            ),
        ),
        max_size=5,
    )
)
def test_what_is_read_back_is_the_value(values: list[Any]) -> None:
    kind = pa.list_(
        pa.struct(
            [("text", pa.string()), ("double", pa.float64()), ("flag", pa.bool_()), ("long", pa.int64())]
        )
    )
    texts = json_texts(pa.array(values, kind)).to_pylist()
    assert [json.loads(text) for text in texts] == values
    assert not any("\n" in text for text in texts)
