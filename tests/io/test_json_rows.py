"""Lines of JSON read one by one: what is malformed, and what a value is as a value of its column."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from weft.io.json_rows import MalformedLineError, column_of_rows, parse_line, type_of_rows


@pytest.mark.parametrize(
    "line",
    ["{", "}", "5", "[1]", "null", '{"a"}', '{"a":}', '{"a":1,}', '{"a":01}', '{"a":1.}', "{a:1}",
     "[" * 10_000, '{"a":[1,]}', '{"a":"\t"}', '{"a":no}', '{"a":1"b":2}', '{"a":"\\x"}', "{'a\":1}"],
)  # fmt: skip
def test_malformed_lines(line: str) -> None:
    with pytest.raises(MalformedLineError):
        parse_line(line)


def test_lines_hold_any_number_of_objects() -> None:
    assert [len(parse_line(line)) for line in ("", " \t", "[]", "{}", "[{},{}]", '{"a":1} more', " {} ")] == [
        0,
        0,
        0,
        1,
        2,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("null", pa.string(), None),
        ('"é\\n"', pa.string(), "é\n"),
        ("'it\"s'", pa.string(), 'it"s'),
        ('"\\ud800"', pa.string(), "?"),
        ("[1, 2.50]", pa.string(), "[1, 2.50]"),
        ('{"x" : 1e5}', pa.string(), '{"x" : 1e5}'),
        ("-0", pa.int64(), 0),
        ("1.5", pa.int64(), None),
        ('"7"', pa.int64(), None),
        ('""', pa.float64(), None),
        ("1E400", pa.float64(), float("inf")),
        ("-INF", pa.float64(), float("-inf")),
        ("7", pa.float64(), 7.0),
        ("7", pa.decimal128(20, 0), Decimal(7)),
        ("true", pa.bool_(), True),
        ("1", pa.bool_(), None),
        ("[[1], null]", pa.list_(pa.list_(pa.float64())), [[1.0], None]),
        ('{"y": "z"}', pa.struct([("x", pa.int64()), ("y", pa.string())]), {"x": None, "y": "z"}),
    ],
)
def test_a_value_as_one_of_its_column(text: str, kind: pa.DataType, value: Any) -> None:
    rows = [*parse_line(f'{{"a": {text}}}'), None, *parse_line("{}")]
    assert column_of_rows(rows, "a", kind).to_pylist() == [value, None, None]


def test_types_of_values() -> None:
    for text, kind in {
        "9223372036854775807": pa.int64(),
        "9223372036854775808": pa.decimal128(19, 0),
        "9" * 39: pa.float64(),
        '""': pa.null(),
        "[]": pa.list_(pa.field("element", pa.null())),
        '{"b":1,"a":true,"":2}': pa.struct([("a", pa.bool_()), ("b", pa.int64())]),
    }.items():
        assert type_of_rows(parse_line(f'{{"x": {text}}}')) == pa.struct([("x", kind)])
