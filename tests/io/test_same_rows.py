"""Files that Spark reads and files that Arrow reads: the same columns, the same rows."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.helpers.odd_files import CSV, DIRECTORIES, IDENTITIES, JSON, random_csv, random_json, write

from weft.errors import DataError
from weft.io.arrow_files import open_events
from weft.io.event_files import EventColumns
from weft.io.spark.sources import read_events
from weft.io.type_names import type_name

NOON, YEAR_1 = 1_767_268_800_000_000, -62_135_596_800_000_000  # microseconds
COLUMNS = EventColumns(time="ts", type="type")


def rows_of(table: pa.Table) -> Counter[str]:
    """Rows as texts, NaN equal to itself; times as numbers, since some have no date in Python."""
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.columns
    ]
    return Counter(map(repr, zip(*(column.to_pylist() for column in columns), strict=True)))


def assert_same(
    spark: SparkSession, path: Path, columns: EventColumns = COLUMNS, *, delimiter: str = ","
) -> pa.Table:
    """Read events both ways and compare names, types and rows; return them."""
    given = read_events(spark, str(path), columns, delimiter=delimiter)
    expected = given.toArrow()
    events = open_events(str(path), columns, delimiter=delimiter)
    found = pa.Table.from_batches(events.batches(events.schema.names), events.schema)
    assert [(field.name, type_name(field.type)) for field in found.schema] == given.dtypes
    assert rows_of(found) == rows_of(expected)
    return found


def test_the_comparison_sees_other_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "ts,type,x\n1,A,1\n2,A,2\n")
    found = assert_same(spark, path)
    assert rows_of(found) != rows_of(found.slice(1))
    assert rows_of(found) != rows_of(found.set_column(2, "x", pa.array([1, 3], pa.int32())))


@pytest.mark.parametrize("name", CSV)
def test_csv(spark: SparkSession, tmp_path: Path, name: str) -> None:
    assert_same(spark, write(tmp_path / "events.csv", CSV[name]))


def test_identities(spark: SparkSession, tmp_path: Path) -> None:
    for place, (texts, kind) in enumerate(IDENTITIES.items()):
        rows = "".join(f"{n},A,{text}\n" for n, text in enumerate(texts.split("\n")))
        path = write(tmp_path / f"{place}.csv", "ts,type,id\n" + rows)
        columns = EventColumns(time="ts", type="type", id="id")
        assert type_name(assert_same(spark, path, columns).schema.field("id").type) == kind


def test_delimiters(spark: SparkSession, tmp_path: Path) -> None:
    for place, (delimiter, own) in enumerate({";": ";", "\\t": "\t", "|": "|", "^": "^", "-": "-"}.items()):
        text = 'ts,type,a\n1,A,"x,y"\n2,B,"x,y"z\n3,C,"q""\n4\n'.replace(",", own)
        found = assert_same(spark, write(tmp_path / f"{place}.csv", text), delimiter=delimiter)
        assert found.num_rows == 4
        assert found["a"][0].as_py() == f"x{own}y"


@pytest.mark.parametrize("name", JSON)
def test_json(spark: SparkSession, tmp_path: Path, name: str) -> None:
    assert_same(spark, write(tmp_path / "events.jsonl", JSON[name]))


@pytest.mark.parametrize("name", DIRECTORIES)
def test_directories(spark: SparkSession, tmp_path: Path, name: str) -> None:
    for file, content in DIRECTORIES[name].items():
        write(tmp_path / "events" / file, content)
    assert_same(spark, tmp_path / "events")


@pytest.mark.parametrize("seed", range(8))
def test_random_files(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    columns = EventColumns(time="ts", type="type", id="id")
    assert_same(spark, write(tmp_path / "events.csv", random_csv(seed, 60)), columns)
    assert_same(spark, write(tmp_path / "events.jsonl", random_json(seed, 60)))


def test_parquet_of_all_types(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "ts": pa.array([NOON * 1_000, -1], pa.timestamp("ns")),
            "type": pa.array(["A", "B"]).dictionary_encode(),
            "u8": pa.array([5, None], pa.uint8()),
            "u32": pa.array([5, None], pa.uint32()),
            "u64": pa.array([1 << 63, None], pa.uint64()),
            "nothing": pa.nulls(2),
            "large": pa.array(["x", None], pa.large_string()),
            "three": pa.array([b"abc", None], pa.binary(3)),
            "pair": pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
            "ms": pa.array([NOON // 1_000, None], pa.timestamp("ms")),
            "paris": pa.array([NOON, None], pa.timestamp("us", "Europe/Paris")),
            "decimal": pa.array([Decimal("1.25"), None], pa.decimal128(30, 2)),
            "moments": pa.array([[NOON * 1_000], None], pa.list_(pa.timestamp("ns"))),
            "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
            "struct": pa.array(
                [{"a": 1, "b": "x"}, None], pa.struct([("a", pa.uint32()), ("b", pa.large_string())])
            ),
        }
    )
    pq.write_table(table, tmp_path / "events.parquet")
    found = assert_same(spark, tmp_path / "events.parquet")
    assert found["ts"].cast(pa.int64()).to_pylist() == [NOON, -1]


def test_parquet_of_96_bits_and_of_several_files(spark: SparkSession, tmp_path: Path) -> None:
    first = pa.table({"ts": pa.array([NOON, YEAR_1], pa.timestamp("us")), "type": ["A", "B"], "x": [1, 2]})
    other = pa.table({"type": ["C"], "TS": pa.array([NOON], pa.timestamp("us")), "y": [1.5]})
    write(tmp_path / "events/_SUCCESS", "")
    pq.write_table(first, tmp_path / "events/a.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(other, tmp_path / "events/b.parquet", use_deprecated_int96_timestamps=True)
    assert assert_same(spark, tmp_path / "events")["x"].null_count == 1


def test_what_one_refuses_the_other_refuses_in_the_same_words(spark: SparkSession, tmp_path: Path) -> None:
    days = tmp_path / "days"
    write(days / "day=1/a.csv", "ts,type\n1,A\n")
    write(days / "b.csv", "ts,type\n1,A\n")
    for path in (
        write(tmp_path / "empty.csv", ""),
        write(tmp_path / "empty.jsonl", ""),
        write(tmp_path / "objects.jsonl", "{}\n"),
        write(tmp_path / "array.json", '[{"ts": 1}]'),
        write(tmp_path / "pretty.json", '{\n "ts":1\n}\n'),
        write(tmp_path / "no.parquet", "text"),
        write(tmp_path / "bool.jsonl", '{"ts": true, "type": "A"}\n'),
        write(tmp_path / "lists.jsonl", '{"ts": [{"a": 1.5, "b": [1]}], "type": "A"}\n'),
        write(tmp_path / "names.csv", "time,kind,ID\n1,A,1\n"),
        write(tmp_path / "semicolons.csv", "ts;type\n1;A\n"),
        write(tmp_path / "tabs.csv", "ts\ttype\n1\tA\n"),
        tmp_path / "absent.csv",
        days,
    ):
        with pytest.raises(DataError) as expected:
            read_events(spark, str(path), COLUMNS)
        with pytest.raises(DataError) as error:
            open_events(str(path), COLUMNS)
        assert str(error.value) == str(expected.value)
