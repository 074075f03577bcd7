"""Events from CSV, JSON lines and Parquet, and what happens when they are not as they should be."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from weft.errors import DataError
from weft.io.event_files import EventColumns, find_events
from weft.io.spark.sources import read_events

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_SECONDS = int(NOON.timestamp())


def times(events: DataFrame, name: str = "ts") -> list[datetime | None]:
    """The times as they are, in UTC, in the order of the column `n`."""
    rows = events.orderBy("n").select(events[name].cast("timestamp").cast("string").alias("t")).collect()
    return [row.t and datetime.fromisoformat(row.t).replace(tzinfo=UTC) for row in rows]


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_csv_has_inferred_types_and_millisecond_times(spark: SparkSession, tmp_path: Path) -> None:
    path = write(
        tmp_path / "events.csv",
        f"n,ts,type,price,ok\n1,{NOON_SECONDS}000,A,1.5,true\n2,{NOON_SECONDS}001,B,,\n",
    )
    events = read_events(spark, path, EventColumns(time="ts", type="type", id="n"))
    assert dict(events.dtypes) == {
        "n": "int",
        "ts": "timestamp",
        "type": "string",
        "price": "double",
        "ok": "boolean",
    }
    assert times(events) == [NOON, NOON + timedelta(milliseconds=1)]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1_000), ("us", 1_000_000)])
def test_time_units_of_integers_and_doubles(
    spark: SparkSession, tmp_path: Path, unit: str, factor: int
) -> None:
    value = NOON_SECONDS * factor
    path = write(tmp_path / "events.jsonl", f'{{"n": 1, "ts": {value}, "late": {value}.25, "type": "A"}}\n')
    assert times(read_events(spark, path, EventColumns(time="ts", time_unit=unit))) == [NOON]
    quarter = timedelta(microseconds=round(250_000 / factor))
    assert times(read_events(spark, path, EventColumns(time="late", time_unit=unit)), "late") == [
        NOON + quarter
    ]


def test_nanoseconds_are_rounded_down(spark: SparkSession, tmp_path: Path) -> None:
    path = write(
        tmp_path / "events.jsonl",
        f'{{"n": 1, "ts": {NOON_SECONDS}000000999, "text": "-1"}}\n'
        '{"n": 2, "ts": -1000, "text": "-1001.5"}\n',
    )
    before = [datetime.fromtimestamp(0, UTC) - timedelta(microseconds=n) for n in (1, 2)]
    assert times(read_events(spark, path, EventColumns(time="ts", time_unit="ns"))) == [NOON, before[0]]
    assert times(read_events(spark, path, EventColumns(time="text", time_unit="ns")), "text") == before


def test_text_times_are_iso_8601_or_numbers_and_anything_else_is_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    expected = {
        "2026-01-01T12:00:00Z": NOON,
        "2026-01-01 12:00:00": NOON,
        "2026-01-01T12:00:00.25": NOON + timedelta(milliseconds=250),
        "2026-01-01T12:00:00.000001999Z": NOON + timedelta(microseconds=1),
        "2026-01-01T14:30:00+02:30": NOON,
        "2026-01-01T11:00:00-0100": NOON,
        "2026-01-01T13:00:00+01": NOON,
        "2026-01-01T12:00": NOON,
        "2026-01-01T12:00Z": NOON,
        "20260101T120000Z": NOON,
        "20260101T130000+0100": NOON,
        '"2026-01-01T12:00:00,5Z"': NOON + timedelta(milliseconds=500),
        "2026-01-01": NOON - timedelta(hours=12),
        f"{NOON_SECONDS}000": NOON,
        f"{NOON_SECONDS}000.5": NOON + timedelta(microseconds=500),
        "yesterday": None,
        "12:00:00": None,
        "2026-02-30T00:00:00Z": None,
        "99999999999999999999": None,
        "": None,
    }
    lines = "".join(f"{n},{text},A\n" for n, text in enumerate(expected))
    path = write(tmp_path / "events.csv", "n,ts,type\n" + lines)
    assert times(read_events(spark, path, EventColumns(time="ts", type="type"))) == list(expected.values())


def test_numbers_beyond_any_calendar_are_null(spark: SparkSession, tmp_path: Path) -> None:
    path = write(
        tmp_path / "events.jsonl",
        '{"n": 1, "ts": 9223372036854775807, "x": 1e300}\n{"n": 2, "ts": 0, "x": "NaN"}\n',
    )
    assert times(read_events(spark, path, EventColumns(time="ts", time_unit="s"))) == [
        None,
        datetime.fromtimestamp(0, UTC),
    ]
    assert times(read_events(spark, path, EventColumns(time="x")), "x") == [None, None]


def test_type_and_identity_of_csv_are_kept_as_written(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "events.csv", "ts,type,id,n\n1,01,007,1\n2,1,7,2\n")
    events = read_events(spark, path, EventColumns(time="ts", type="type", id="id"))
    assert [(row.type, row.id) for row in events.orderBy("n").collect()] == [("01", "007"), ("1", "7")]


def test_broken_lines_become_rows_without_time_or_type(spark: SparkSession, tmp_path: Path) -> None:
    csv = write(tmp_path / "events.csv", 'n,ts,type\n1,1000,A\n2\n,,\n4,1000,"B",surplus\n')
    rows = read_events(spark, csv, EventColumns(time="ts", type="type")).orderBy("n").collect()
    assert [(row.n, row.type) for row in rows] == [(None, None), (1, "A"), (2, None), (4, "B")]
    json = write(tmp_path / "events.jsonl", '{"ts": 1000, "type": "A"}\n{"ts": 10\nnonsense\n{"type": "B"}\n')
    rows = read_events(spark, json, EventColumns(time="ts", type="type")).select("ts", "type").collect()
    assert [(row.ts is not None, row.type) for row in rows] == [
        (True, "A"),
        (False, None),
        (False, None),
        (False, "B"),
    ]


def test_quotes_line_ends_byte_order_mark_and_compression(spark: SparkSession, tmp_path: Path) -> None:
    text = '\ufeffn,ts,type,note\r\n1,1000,A,"says ""hi"", twice"\r\n'
    plain = write(tmp_path / "plain.csv", text)
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (plain, str(packed)):
        (row,) = read_events(spark, path, EventColumns(time="ts", type="type")).collect()
        assert (row.n, row.type, row.note) == (1, "A", 'says "hi", twice')


def test_parquet_keeps_timestamps_also_those_in_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    moments = [NOON, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)]
    naive = pd.to_datetime([moment.replace(tzinfo=None) for moment in moments])
    for unit in ("ns", "us"):
        path = tmp_path / f"{unit}.parquet"
        times_in_unit = pa.array(naive.astype("datetime64[us]")).cast(pa.timestamp(unit))
        pq.write_table(pa.table({"n": [1, 2], "ts": times_in_unit, "type": ["A", "B"]}), path)
        assert times(read_events(spark, str(path), EventColumns(time="ts", type="type"))) == moments


def test_parquet_of_spark_itself_with_timestamps_of_96_bits(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events.parquet")
    written = spark.createDataFrame([(1, NOON, "A")], "n long, ts timestamp, type string")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        written.write.parquet(path)
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    assert times(read_events(spark, path, EventColumns(time="ts", type="type"))) == [NOON]


def test_directories_nested_partitioned_and_with_marker_files(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "flat/_SUCCESS", "")
    write(tmp_path / "flat/.part.crc", "x")
    write(tmp_path / "flat/a.csv", "n,ts,type\n1,1000,A\n")
    write(tmp_path / "flat/b.csv", "n,ts,type\n2,2000,B\n")
    write(tmp_path / "nested/x/a.jsonl", '{"n": 1, "ts": 1000, "type": "A"}\n')
    write(tmp_path / "nested/y/b.json", '{"n": 2, "ts": 2000, "type": "B"}\n')
    write(tmp_path / "partitioned/day=3/a.csv", "n,ts,type\n1,1000,A\n")
    for name, expected in (("flat", 2), ("nested", 2), ("partitioned", 1)):
        events = read_events(spark, str(tmp_path / name), EventColumns(time="ts", type="type"))
        assert events.count() == expected
        assert ("day" in events.columns) == (name == "partitioned")


def test_names_with_wildcards_spaces_and_dots(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "a [1] {x}*.csv", "n,event.time,the type\n1,1000,A\n")
    (row,) = read_events(spark, path, EventColumns(time="event.time", type="the type")).collect()
    assert row["the type"] == "A"


def test_format_is_told_by_content_when_the_name_does_not(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ts": [1]}), tmp_path / "one")
    assert find_events(str(tmp_path / "one")).format == "parquet"
    assert find_events(write(tmp_path / "two.txt", '\n {"ts": 1}\n')).format == "json"
    assert find_events(write(tmp_path / "three.log", "ts,type\n1,A\n")).format == "csv"
    assert find_events("s3a://bucket/events.parquet/").format == "parquet"


def test_files_that_cannot_be_events_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "mixed/a.csv", "ts\n1\n")
    write(tmp_path / "mixed/b.jsonl", '{"ts": 1}\n')
    (tmp_path / "none").mkdir()
    (tmp_path / "image.bin").write_bytes(b"GIF\0\0\0")
    for path, message in {
        "absent.csv": "there is no such file or directory",
        "mixed": "the directory mixes formats: csv (a.csv), json (b.jsonl)",
        "none": "the directory holds no events",
        "image.bin": "neither CSV nor JSON lines nor Parquet",
    }.items():
        with pytest.raises(DataError) as error:
            find_events(str(tmp_path / path))
        assert message in str(error.value)


def test_contents_that_cannot_be_events_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    for path, message in {
        write(tmp_path / "empty.csv", ""): "there is nothing in it",
        write(tmp_path / "empty.jsonl", ""): "there is nothing in it",
        write(tmp_path / "array.json", '[{"ts": 1}]'): "one object per line",
        write(tmp_path / "no.parquet", "text"): "no readable Parquet file",
        write(tmp_path / "bool.jsonl", '{"ts": true}\n'): "is of type boolean; it must hold timestamps",
    }.items():
        with pytest.raises(DataError) as error:
            read_events(spark, path, EventColumns(time="ts"))
        assert message in str(error.value)
        assert path in str(error.value)


def test_another_delimiter_and_what_is_said_when_it_is_not_named(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "events.csv", "n;ts;type;note\n1;1000;A;x,y\n")
    columns = EventColumns(time="ts", type="type")
    (row,) = read_events(spark, path, columns, delimiter=";").collect()
    assert (row.n, row.note) == (1, "x,y")
    with pytest.raises(DataError) as error:
        read_events(spark, path, columns)
    assert str(error.value) == (
        f"{path}: there is one column, `n;ts;type;note`, whose name holds `;`; "
        "columns are expected to be delimited by `,`\n"
        "  hint: if this is the delimiter, say so: --delimiter ';'"
    )


def test_a_header_alone_has_columns_and_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    events = read_events(
        spark, write(tmp_path / "a.csv", "ts,type,x\n"), EventColumns(time="ts", type="type")
    )
    assert (events.dtypes, events.count()) == ([("ts", "timestamp"), ("type", "string"), ("x", "string")], 0)


def test_missing_columns_are_named_together_with_near_names(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "events.csv", "ts,kind,sequence\n1,A,1\n")
    with pytest.raises(DataError) as error:
        read_events(spark, path, EventColumns(time="Ts", type="knd", id="identity", order_by="sequence"))
    assert str(error.value).splitlines() == [
        f"{path}: there is no column `Ts` (--time); did you mean `ts`?",
        f"{path}: there is no column `knd` (--type); did you mean `kind`?",
        f"{path}: there is no column `identity` (--id)",
        "  the columns are `ts`, `kind`, `sequence`",
    ]


def test_unknown_time_unit_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "events.csv", "ts,type\n1,A\n")
    with pytest.raises(DataError, match="time unit is 'days'; it must be one of s, ms, us, ns"):
        read_events(spark, path, EventColumns(time="ts", time_unit="days"))  # type: ignore[arg-type]
