"""Types that conditions derive from the columns of a row."""

import pyarrow as pa
import pytest

from weft.errors import QueryError, WeftError
from weft.hosts.local.derived import derive_type
from weft.schema import LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "x": LONG, "name": STRING}, time="ts")
ROWS = pa.record_batch(
    {
        "name": pa.array(["ann", None, "bob", "ann"]).dictionary_encode(),
        "ts": pa.array([0, 1_000_000, None, 3_000_000], pa.timestamp("us")),
        "x": pa.array([1, 2, 3, None], pa.int8()),
    }
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x >= 2", [False, True, True, False]),
        ("NOT x >= 2", [True, False, False, False]),
        ("x IS NULL OR x = 1", [True, False, False, True]),
        ("name = 'ann'", [True, False, False, True]),
        ("name <> 'ann'", [False, False, True, False]),
        ("name LIKE '%n%' AND x IN (1, 2)", [True, False, False, False]),
        ("ts >= '1970-01-01T00:00:01Z'", [False, True, False, True]),
        ("x / 0 = 1", [False] * 4),
        ("TRUE", [True] * 4),
        ("NULL", [False] * 4),
    ],
)
def test_null_is_no(condition: str, expected: list[bool]) -> None:
    derived = derive_type("T", condition, SCHEMA)
    assert derived.holds(ROWS).to_pylist() == expected
    assert derived.holds(ROWS.slice(1, 2)).to_pylist() == expected[1:3]
    assert derived.holds(ROWS.slice(0, 0)).to_pylist() == []


def test_a_condition_says_which_columns_it_reads() -> None:
    assert derive_type("T", "x > 1 OR name IS NULL", SCHEMA).attributes == {"x": LONG, "name": STRING}
    assert derive_type("T", "TRUE", SCHEMA).attributes == {}


def test_what_is_no_condition_is_refused_by_the_name_of_its_type() -> None:
    with pytest.raises(
        WeftError, match=r"the condition of the type T is a builtins\.int\n  hint: without Spark"
    ):
        derive_type("T", 5, SCHEMA)
    with pytest.raises(QueryError, match=r"^type T:1:1: unknown attribute y"):
        derive_type("T", "y > 1", SCHEMA)
    with pytest.raises(QueryError, match="type T"):
        derive_type("T", "x + 1", SCHEMA)
