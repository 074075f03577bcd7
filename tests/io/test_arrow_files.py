"""Files of events without Spark: batches, columns, types and what is refused."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.helpers.odd_files import CSV, JSON, random_csv, random_json, write

from weft.errors import DataError
from weft.hosts.local.arrow_events import BATCH_ROWS
from weft.io import line_blocks
from weft.io.arrow_files import open_events
from weft.io.event_files import EventColumns

COLUMNS = EventColumns(time="ts", type="type")


def read(path: Path, columns: EventColumns = COLUMNS, *, delimiter: str = ",") -> pa.Table:
    events = open_events(str(path), columns, delimiter=delimiter)
    return pa.Table.from_batches(events.batches(events.schema.names), events.schema)


def kinds(table: pa.Table) -> dict[str, str]:
    return {field.name: str(field.type) for field in table.schema}


def test_csv_has_types_and_its_batches_can_be_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,ts,type,price,ok\n007,1000,01,1.5,true\n7,2000,B,,\n")
    events = open_events(str(path), EventColumns(time="ts", type="type", id="id"))
    assert kinds(events.schema.empty_table()) == {
        "id": "string",
        "ts": "timestamp[us, tz=UTC]",
        "type": "string",
        "price": "double",
        "ok": "bool",
    }
    assert events.n_bytes == path.stat().st_size
    for _ in range(2):
        (batch,) = events.batches(["price", "id"])
        assert batch.to_pydict() == {"price": [1.5, None], "id": ["007", "7"]}


def test_a_header_alone_has_columns_and_no_rows(tmp_path: Path) -> None:
    assert kinds(read(write(tmp_path / "a.csv", "ts,type,x"))) == {
        "ts": "timestamp[us, tz=UTC]",
        "type": "string",
        "x": "string",
    }


@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_blocks_of_any_size_give_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, size: int
) -> None:
    odd = CSV if format == "csv" else JSON
    texts = [
        *odd.values(),
        *((random_csv if format == "csv" else random_json)(seed, 40) for seed in range(10)),
    ]
    for place, text in enumerate(texts):
        path = write(tmp_path / f"{place}.{format}", text)
        monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 1 << 20)
        expected = read(path)
        monkeypatch.setattr(line_blocks, "BLOCK_BYTES", size)
        found = read(path)
        assert found.schema == expected.schema
        assert repr(found.drop_columns(["ts"]).to_pylist()) == repr(expected.drop_columns(["ts"]).to_pylist())
        assert found["ts"].cast(pa.int64()).to_pylist() == expected["ts"].cast(pa.int64()).to_pylist()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_some_columns_are_those_of_all(tmp_path: Path, format: str) -> None:
    table = pa.table({"ts": [1, 2, 3], "type": ["A", "B", None], "x": [1.5, None, 2.5], "y": ["u", "v", "w"]})
    path = tmp_path / f"events/day=3/a.{format}"
    if format == "parquet":
        path.parent.mkdir(parents=True)
        pq.write_table(table, path)
    elif format == "jsonl":
        write(path, "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        write(path, "ts,type,x,y\n1,A,1.5,u\n2,B,,v\n3,,2.5,w\n")
    events = open_events(str(tmp_path / "events"), COLUMNS)
    whole = read(tmp_path / "events")
    assert whole.column_names == ["ts", "type", "x", "y", "day"]
    for names in (["day"], ["x", "day"], ["y", "ts"], ["type"]):
        some = pa.Table.from_batches(events.batches(names))
        assert some.to_pydict() == whole.select(names).to_pydict()


def test_long_files_come_in_batches(tmp_path: Path) -> None:
    n_rows = BATCH_ROWS + 10
    pq.write_table(pa.table({"ts": range(n_rows), "type": ["A"] * n_rows}), tmp_path / "a.parquet")
    write(tmp_path / "a.csv", "ts,type\n" + "".join(f"{row},A\n" for row in range(n_rows)))
    for name in ("a.parquet", "a.csv"):
        batches = list(open_events(str(tmp_path / name), COLUMNS).batches(["ts"]))
        assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
        times = pa.Table.from_batches(batches)["ts"].cast(pa.int64())
        assert times.to_pylist() == [1_000 * row for row in range(n_rows)]


def test_nanoseconds_and_another_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "ts\ttype\n1999\tA,B\n")
    table = read(path, EventColumns(time="ts", type="type", time_unit="ns"), delimiter="\\t")
    assert (table["ts"].cast(pa.int64()).to_pylist(), table["type"].to_pylist()) == ([1], ["A,B"])
    with pytest.raises(DataError, match=r"one column, `ts\ttype`, whose name holds a tab"):
        read(path, EventColumns(time="ts", type="type"))


def test_a_field_may_be_of_many_types_in_many_lines(tmp_path: Path) -> None:
    lines = [f'{{"ts":{row},"type":"A","x":{row if row % 500 else "[1, 2.0]"}}}\n' for row in range(3_000)]
    lines[1_234] = "garbage\n"
    table = read(write(tmp_path / "a.jsonl", "".join(lines)))
    assert kinds(table)["x"] == "string"
    assert table["x"][:3].to_pylist() == ["[1, 2.0]", "1", "2"]
    assert table["_corrupt_record"].drop_null().to_pylist() == ["garbage"]
    assert (table.num_rows, table["ts"].null_count) == (3_000, 1)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "order/a.csv", "ts,type\n1,A\n")
    write(tmp_path / "order/b.csv", "type,ts\nA,1\n")
    (tmp_path / "types").mkdir()
    pq.write_table(pa.table({"ts": [1], "type": ["A"], "x": [1]}), tmp_path / "types/a.parquet")
    pq.write_table(pa.table({"ts": [1], "type": ["A"], "x": ["y"]}), tmp_path / "types/b.parquet")
    clock = pa.table({"ts": [1], "type": ["A"], "x": pa.array([1], pa.time64("us"))})
    pq.write_table(clock, tmp_path / "clock.parquet")
    messages: dict[str | Path, str] = {
        "s3a://b/a.csv": "s3a://b/a.csv: files elsewhere than on this machine are read by Spark alone\n"
        "  hint: run on Spark",
        tmp_path / "order": f"{tmp_path}/order/b.csv: the columns are type, ts, but those of a.csv are "
        "ts, type\n  hint: files of one directory have the same columns in the same order",
        tmp_path / "types": f"{tmp_path}/types/b.parquet: the column `x` is of type string, but bigint in "
        "the first file of the directory\n  hint: write all files of a directory with the same types",
        tmp_path / "clock.parquet": f"{tmp_path}/clock.parquet: the column `x` is of type time64[us], which "
        "events cannot have\n  hint: leave the column out, or write it as numbers or text",
        write(tmp_path / "case.jsonl", '{"ts":1,"type":"A","a":1,"A":2}\n'): f"{tmp_path}/case.jsonl: the "
        "columns `A` and `a` differ in upper and lower case alone\n  hint: rename one of them",
        write(tmp_path / "twice.jsonl", '{"ts":1,"type":"A","a":1,"a":2}\n'): "the JSON object "
        '{"ts":1,"type":"A","a":1,"a":2} has the field `a` twice\n  hint: rename one of them',
        write(tmp_path / "flag.jsonl", '{"ts":true,"type":"A"}\n'): f"{tmp_path}/flag.jsonl: the time column "
        "`ts` is of type boolean; it must hold timestamps, numbers counted from the epoch, or ISO 8601 text",
    }
    for path, message in messages.items():
        with pytest.raises(DataError) as error:
            read(path)  # type: ignore[arg-type]
        assert str(error.value) == message
