"""Arrow types as Weft takes them, and what is said of those that it does not."""

import pyarrow as pa
import pytest

from weft.hosts.local.columns import texts_of, wire_column
from weft.hosts.local.schemas import column_kinds, plain_type, value_type
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()], LONG),
        ([pa.float16(), pa.float32(), pa.float64()], DOUBLE),
        ([pa.bool_()], BOOLEAN),
        ([pa.string(), pa.large_string(), pa.string_view()], STRING),
        ([pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")], TIMESTAMP),
        ([pa.timestamp("us", "UTC"), pa.timestamp("ns", "+05:30")], TIMESTAMP),
        ([pa.date32(), pa.date64()], DATE),
        ([pa.duration("s"), pa.duration("ns")], DURATION),
        ([pa.decimal128(18, 2), pa.decimal128(5, 2), pa.decimal256(18, 2)], decimal(2)),
        ([pa.uint64(), pa.binary(), pa.null(), pa.list_(pa.int64()), pa.decimal128(19, 2)], None),
        ([pa.struct([("x", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.time64("us")], None),
    ],
)
def test_types_of_values(kinds: list[pa.DataType], expected: Type | None) -> None:
    for kind in kinds:
        assert value_type(kind) == expected, kind
        encoded = pa.dictionary(pa.int8(), kind)
        assert value_type(encoded) == expected, encoded
        assert plain_type(pa.dictionary(pa.int32(), encoded)) == plain_type(kind)


def test_values_in_runs_are_values() -> None:
    assert value_type(pa.run_end_encoded(pa.int32(), pa.large_string())) == STRING


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.uint64(), "uint64 may be too large for a long; cast it to int64"),
        (
            pa.decimal128(38, 10),
            "decimal128(38, 10) has more than 18 digits; cast it to decimal(18,6) or double",
        ),
        (
            pa.decimal128(20, 2),
            "decimal128(20, 2) has more than 18 digits; cast it to decimal(18,2) or double",
        ),
        (pa.list_(pa.int64()), "list<item: int64> is not a type Weft computes with"),
    ],
)
def test_what_cannot_be_computed_with_is_told(kind: pa.DataType, said: str) -> None:
    found = column_kinds(pa.schema([("x", kind), ("y", pa.int8())]))
    assert found == {"x": said, "y": LONG}


@pytest.mark.parametrize(
    ("given", "kind", "wired"),
    [
        (pa.array([1, None], pa.uint32()), LONG, pa.array([1, None], pa.int64())),
        (pa.array([1.5, None], pa.float32()), DOUBLE, pa.array([1.5, None], pa.float64())),
        (pa.array([86_400_000], pa.date64()), DATE, pa.array([1], pa.date32())),
        (pa.array([1_999, None], pa.duration("ns")), DURATION, pa.array([1, None], pa.duration("us"))),
        (pa.array([3], pa.duration("s")), DURATION, pa.array([3_000_000], pa.duration("us"))),
        (pa.array([-1, None], pa.timestamp("ms")), TIMESTAMP, pa.array([-1_000, None], pa.int64())),
        (pa.array([True, None]), BOOLEAN, pa.array([True, None])),
        (pa.array(["a", None]).dictionary_encode(), STRING, pa.array(["a", None])),
        (pa.array(["a", None], pa.large_string()), STRING, pa.array(["a", None])),
        (pa.array([], pa.int8()), LONG, pa.array([], pa.int64())),
    ],
    ids=str,
)
def test_values_as_the_engine_takes_them(given: pa.Array, kind: Type, wired: pa.Array) -> None:
    found = wire_column(given, kind)
    assert found.type == wired.type
    assert found.equals(wired)


def test_values_as_text() -> None:
    assert texts_of(pa.array([1, None], pa.int8())).to_pylist() == ["1", None]
    assert texts_of(pa.array(["x", None, "x"]).dictionary_encode()).to_pylist() == ["x", None, "x"]
