"""Results as a table of Arrow, and as frames of other libraries."""

import sys

import pandas as pd
import polars
import pyarrow as pa
import pytest

from weft.errors import WeftError
from weft.hosts.local.result_table import ResultTable

EVENT = pa.struct([("variable", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("id", pa.int64())])
BEYOND = pa.map_(pa.string(), pa.string())
SCHEMA = pa.schema(
    [("query", pa.string()), ("events", pa.list_(EVENT)), ("beyond", BEYOND), ("n", pa.decimal128(38, 0))]
)
TABLE = pa.table(
    {
        "query": ["p", "q", None],
        "events": [
            [{"variable": "a", "ts": 1, "id": 7}, {"variable": "b[0]", "ts": 2, "id": None}],
            [],
            None,
        ],
        "beyond": [None, [("n", "9" * 40)], []],
        "n": [None, 3, 2**70],
    },
    schema=SCHEMA,
)


def test_nested_columns_reach_pandas() -> None:
    frame = ResultTable(TABLE).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert [event["id"] for event in frame["events"][0]] == [7, None]
    assert frame["beyond"][1] == [("n", "9" * 40)]
    assert int(frame["n"][2]) == 2**70


def test_nested_columns_reach_polars() -> None:
    frame = ResultTable(TABLE).to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame["events"].to_list()[1:] == [[], None]
    assert frame["events"][0][0]["variable"] == "a"
    assert frame["query"].to_list() == ["p", "q", None]
    assert ResultTable(SCHEMA.empty_table()).to_polars().columns == SCHEMA.names


def test_options_are_those_of_arrow() -> None:
    frame = ResultTable(TABLE).to_pandas(
        maps_as_pydicts="strict", types_mapper={pa.string(): pd.StringDtype()}.get
    )
    assert frame["beyond"][1] == {"n": "9" * 40}
    assert frame["query"].dtype == pd.StringDtype()


def test_a_table_without_rows_has_its_columns() -> None:
    empty = ResultTable(SCHEMA.empty_table())
    assert len(empty) == 0
    assert empty.schema == SCHEMA
    assert list(empty.to_pandas().columns) == SCHEMA.names
    assert repr(empty) == "<ResultTable of 0 rows: query, events, beyond, n>"


def test_all_of_arrow_is_there() -> None:
    table = ResultTable(TABLE)
    assert table.num_rows == len(table) == 3
    assert table["query"].to_pylist() == table.column("query").to_pylist() == ["p", "q", None]
    assert table.filter(pa.array([True, False, False])).num_rows == 1
    assert pa.table(table).equals(TABLE)
    assert pa.RecordBatchReader.from_stream(table).read_all().equals(TABLE)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = table.no_such_thing
    with pytest.raises(KeyError):
        _ = table["no such column"]


def test_the_first_rows_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ResultTable(pa.table({"x": range(1_234), "y": ["z"] * 1_234})).show(2)
    assert capsys.readouterr().out == "x=0, y=z\nx=1, y=z\n... and 1,232 more\n"
    ResultTable(pa.table({"x": [1, 2]})).show()
    assert capsys.readouterr().out == "x=1\nx=2\n"
    ResultTable(pa.table({"x": [1, 2]}).slice(0, 0)).show()
    assert capsys.readouterr().out == "(no rows)\n"


def test_a_library_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(WeftError, match="Polars is not installed\n  hint: pip install polars, or take"):
        ResultTable(TABLE).to_polars()
