"""What is given as events and is none is refused with what it is and what to give instead."""

from pathlib import Path

import pandas as pd
import polars
import pytest

import weft
from weft.errors import DataError, QueryError
from weft.hosts.meaning import refuse_duplicates

QUERY = "PATTERN SEQ(A a, B b)"


class OldFrame:
    """A frame that does not give its columns as Arrow."""

    columns = ("ts", "type")

    def __len__(self) -> int:
        return 0


def message_of(events: object) -> str:
    with pytest.raises(DataError) as raised:
        weft.detect(events, QUERY, time="ts", type="type")
    return str(raised.value)


@pytest.mark.parametrize(
    ("events", "said", "remedy"),
    [
        (None, "`events` is None, which holds no events", "was the frame ever assigned?"),
        (7, "`events` is 7, which", "give a Spark DataFrame, an Arrow table"),
        (object(), "`events` is a builtins.object, which", "give a Spark DataFrame"),
        (OldFrame, "which holds no events", "give a frame, not its class"),
        (OldFrame(), "test_unusable_events.OldFrame, which", "__arrow_c_stream__): convert it"),
        (
            polars.LazyFrame({"ts": [1]}),
            "polars.lazyframe.frame.LazyFrame",
            "give what its collect() returns",
        ),
        (polars.Series([1]), "`events` cannot be taken as Arrow", "give a table whose columns hold values"),
        ({"ts": [1]}, "`events` is a builtins.dict", "pyarrow.table(events)"),
        ([{"ts": 1}], "`events` is a builtins.list", "pyarrow.Table.from_pylist(events)"),
        (
            "absent/events.parquet",
            "absent/events.parquet: there is no such file or directory",
            "there is no directory",
        ),
        (Path("absent.csv"), "absent.csv: there is no such file or directory of events", "looked for in"),
        (
            QUERY,
            "`events` is the text of a query",
            "the events come first, as in weft.detect(events",
        ),
    ],
)
def test_what_is_no_frame_is_told_with_a_remedy(events: object, said: str, remedy: str) -> None:
    told, _, hint = message_of(events).partition("\n  hint: ")
    assert said in told
    assert remedy in hint


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match=r"several columns 'id'\n  hint: rename or drop all but one"):
        refuse_duplicates(["ts", "id", "x", "id"])
    refuse_duplicates(["ts", "Id", "id"])
    with pytest.raises(DataError, match=r"columns 'Id' and 'id', which differ in case alone\n  hint: rename"):
        refuse_duplicates(["ts", "Id", "id"], ignores_case=True)


def test_frames_of_pandas_that_are_no_table_of_events() -> None:
    twice = pd.DataFrame([[1, "A", "B"]], columns=["ts", "type", "type"])
    assert "several columns 'type'\n  hint: rename or drop all but one" in message_of(twice)
    mixed = pd.DataFrame({"ts": pd.to_datetime(["2026-03-01"] * 2), "type": ["A", 4625]})
    assert message_of(mixed).startswith("`events` cannot be taken as Arrow: ")
    assert "type" in message_of(mixed)
    numbers = pd.DataFrame({"ts": [1, 2], "type": ["A", "B"]})
    assert 'convert it, for example with pandas.to_datetime, numbers with unit="s"' in message_of(numbers)


def test_a_file_without_rows_is_told(tmp_path: Path) -> None:
    (tmp_path / "header.csv").write_text("ts,type,id\n")
    detection = weft.prepare(str(tmp_path / "header.csv"), QUERY, time="ts", type="type", notices=False)
    assert detection.matches.to_pylist() == []
    assert [(notice.kind, notice.reason) for notice in detection.notices] == [
        ("no events", "the input has no rows")
    ]


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN A a WHERE a.amount > 1000",
        "PATTERN A a WHERE a.amount IN (1, 2)",
        "PATTERN A+ a[] WHERE SUM(a.amount) > 1",
        "PATTERN A a RETURN -a.amount AS less",
    ],
)
@pytest.mark.parametrize("rows", ["", "2026-03-01T00:00:00Z,A,\n"])
def test_a_column_without_values_is_told_where_it_is_no_number(tmp_path: Path, rows: str, query: str) -> None:
    """To quote the constant, as with a column of texts, would be wrong as soon as there are values."""
    events = tmp_path / "events.csv"
    events.write_text(f"ts,type,amount\n{rows}")
    with pytest.raises(QueryError, match="no row has a value of amount, so its type is not known: is it the"):
        weft.detect(events, query, time="ts", type="type")
    events.write_text(f"ts,type,amount\n{rows}2026-03-01T00:00:00Z,A,x\n")
    with pytest.raises(QueryError) as raised:
        weft.detect(events, query, time="ts", type="type")
    assert "no row has a value" not in str(raised.value)


def test_columns_of_one_name_in_a_file_are_told_where_they_are_asked_for(tmp_path: Path) -> None:
    """They get numbers, as Spark has it."""
    events = tmp_path / "events.csv"
    events.write_text("ts,type,user,user\n2026-03-01T00:00:00Z,A,ann,bob\n")
    with pytest.raises(
        QueryError, match="there are user2 and user3; if a CSV file names several columns user"
    ):
        weft.detect(events, "PATTERN A a WHERE a.user = 'ann'", time="ts", type="type")
    assert weft.detect(events, "PATTERN A a WHERE a.user3 = 'bob'", time="ts", type="type").num_rows == 1
