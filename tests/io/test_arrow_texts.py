"""The types that text holds, by the rules of Spark for CSV, and the values it stands for."""

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from weft.io.arrow_texts import narrow, read_text, widest

TIME = pa.timestamp("us", "UTC")
CASES: list[tuple[list[str | None], pa.DataType, list[Any]]] = [
    (["1", "+5", "007", None], pa.int32(), [1, 5, 7, None]),
    (["1", "2147483648"], pa.int64(), [1, 2147483648]),
    (["1", "99999999999999999999"], pa.decimal128(20, 0), [Decimal(1), Decimal("99999999999999999999")]),
    (["1", "9" * 39], pa.float64(), [1.0, 1e39]),
    (["5."], pa.decimal128(1, 0), [Decimal(5)]),
    (["5", "5."], pa.decimal128(10, 0), [Decimal(5), Decimal(5)]),
    (
        ["1", ".5", "1e3", " 2 ", "1.5f", "NaN", "-Inf"],
        pa.float64(),
        [1.0, 0.5, 1e3, 2.0, 1.5, math.nan, -math.inf],
    ),
    (["0x1F"], pa.string(), ["0x1F"]),
    (["1_0"], pa.string(), ["1_0"]),
    (["inf"], pa.string(), ["inf"]),
    (["TRUE", "false"], pa.bool_(), [True, False]),
    (["true", "1"], pa.string(), ["true", "1"]),
    (["2024-01-31", "2024-02-29"], pa.date32(), None),
    (["2024-01-31", "2024-02-30"], pa.string(), ["2024-01-31", "2024-02-30"]),
    (["2024-01-31", "2024"], TIME, None),
    (["2024", "2024-01-31"], pa.string(), ["2024", "2024-01-31"]),
    (["2024-01-31T10:00:00", "2024-01-31"], TIME, None),
    ([None, None], pa.null(), [None, None]),
]


@pytest.mark.parametrize(("texts", "kind", "values"), CASES, ids=str)
def test_type_and_values(texts: list[str | None], kind: pa.DataType, values: list[Any] | None) -> None:
    whole = pa.array(texts, pa.string())
    assert narrow(whole, pa.null()) == kind
    one_by_one = pa.null()
    for place in range(len(texts)):
        one_by_one = narrow(whole[place : place + 1], one_by_one)
    assert one_by_one == kind
    if values is not None:
        assert repr(read_text(whole, kind).to_pylist()) == repr(values)


def test_text_of_another_type_is_null() -> None:
    texts = pa.array(["x", "", "2024-02-30", None, "5000000000"])
    for kind in (pa.int32(), pa.bool_(), pa.date32(), TIME):
        assert read_text(texts, kind).null_count == 5
    for kind in (pa.int64(), pa.float64(), pa.decimal128(10, 0)):
        assert read_text(texts, kind).null_count == 4


def test_what_holds_the_values_of_several_types() -> None:
    assert widest([pa.null(), pa.int32(), pa.int64()]) == pa.int64()
    assert widest([pa.decimal128(5, 0), pa.int64()]) == pa.decimal128(20, 0)
    assert widest([pa.decimal128(5, 0), pa.float64()]) == pa.float64()
    assert widest([pa.date32(), TIME]) == TIME
    assert widest([pa.date32(), pa.int32()]) == widest([pa.bool_(), pa.int32()]) == pa.string()
