"""Results as JSON lines and as Parquet without Spark; what Spark writes of the same rows says the same."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft.hosts.local.result_table import ResultTable
from weft.hosts.results import TrendNames
from weft.io import arrow_sinks
from weft.io.arrow_sinks import write_results
from weft.io.spark import sinks
from weft.io.targets import check_target

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(microseconds=1)
TIME = pa.timestamp("us", "UTC")
EVENT = pa.struct([("variable", pa.string()), ("type", pa.string()), ("ts", TIME), ("id", pa.int64())])
MATCHED = pa.schema(
    [
        ("query", pa.string()),
        ("match_id", pa.string()),
        ("start", TIME),
        ("end", TIME),
        ("events", pa.list_(EVENT)),
        ("who", pa.string()),
        ("amount", pa.decimal128(10, 2)),
        ("ratio", pa.float64()),
        ("n", pa.int64()),
        ("took", pa.duration("us")),
        ("day", pa.date32()),
        ("at", TIME),
        ("who_2", pa.bool_()),
    ]
)
RETURNED = {
    "theft": {"who": "who", "amount": "amount", "ratio": "ratio", "n": "n", "took": "took"},
    "noise": {"who": "who_2", "day": "day", "at": "at"},
    "plain": {},
}
BOUND = [
    {"variable": "a", "type": "Login", "ts": NOON, "id": 1},
    {"variable": "b[0]", "type": 'Pay "now"', "ts": LATER, "id": None},
]
THEFT = {
    "who": "Zoë\n",
    "amount": Decimal("1.50"),
    "ratio": 1246003200.0,
    "n": 2**60,
    "took": timedelta(minutes=5, microseconds=1),
}
MATCHES = pa.Table.from_pylist(
    [
        {"query": "plain", "match_id": "m4", "start": LATER, "end": LATER, "events": []},
        {"query": "noise", "match_id": "m3", "start": NOON, "end": LATER, "events": []}
        | {"day": date(2026, 1, 31), "at": LATER, "who_2": True},
        {"query": "theft", "match_id": "m2", "start": NOON, "end": LATER, "events": []},
        {"query": "theft", "match_id": "m1", "start": NOON, "end": LATER, "events": BOUND} | THEFT,
        {"query": "theft", "match_id": "m0", "start": NOON, "end": NOON, "events": []}
        | {"ratio": float("nan")},
    ],
    schema=MATCHED,
)
TIMEOUTS = MATCHES.slice(2, 1).append_column("missing", pa.array(["b"]))
NAMES = {
    "sums": TrendNames({"k": "k"}, {"total": "total", "n": "sums_n"}),
    "all": TrendNames({}, {"n": "all_n"}),
}
TRENDS = pa.table(
    {
        "query": ["sums", "all", "sums", "sums"],
        "window_start": pa.array([NOON, None, NOON, LATER], TIME),
        "window_end": pa.array([LATER, None, LATER, LATER], TIME),
        "k": pa.array([2, None, None, 1], pa.int64()),
        "total": [0.5, None, None, -0.0],
        "sums_n": pa.array([3, None, None, None], pa.decimal128(38, 0)),
        "all_n": pa.array([None, 2**70, None, None], pa.decimal128(38, 0)),
        "beyond": pa.array(
            [None, None, [("sums_n", "9" * 50)], [("sums_n", "-Infinity")]], pa.map_(pa.string(), pa.string())
        ),
    }
)


def written(
    path: Path, matches: pa.Table | None, trends: pa.Table | None, timeouts: pa.Table | None
) -> list[Any]:
    """Write results, and return the lines of the file as a parser reads them."""
    frames = [None if table is None else ResultTable(table) for table in (matches, trends, timeouts)]
    write_results(frames[0], frames[1], RETURNED, NAMES, str(path), frames[2])
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows_of(table: pa.Table) -> list[str]:
    """Return rows as text, in which NaN equals itself, below the columns with the types of plain ones."""
    names = [(field.name, "" if field.type.num_fields else str(field.type)) for field in table.schema]
    return [str(names), *map(str, table.to_pylist())]


def test_one_object_per_match_with_the_columns_of_its_query(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "out.jsonl"
    odd, noise, theft, bare, plain = written(target, MATCHES, None, None)
    assert list(theft) == ["query", "match_id", "start", "end", "events", "returned"]
    assert theft == {
        "query": "theft",
        "match_id": "m1",
        "start": "2026-01-01T12:00:00.000000Z",
        "end": "2026-01-01T12:00:00.000001Z",
        "events": [
            {"variable": "a", "type": "Login", "ts": "2026-01-01T12:00:00.000000Z", "id": 1},
            {"variable": "b[0]", "type": 'Pay "now"', "ts": "2026-01-01T12:00:00.000001Z", "id": None},
        ],
        "returned": {"who": "Zoë\n", "amount": 1.5, "ratio": 1246003200.0, "n": 2**60, "took": 300.000001},
    }
    assert bare["returned"] == dict.fromkeys(RETURNED["theft"])
    assert odd["returned"]["ratio"] == "NaN"
    assert noise["returned"] == {"who": True, "day": "2026-01-31", "at": "2026-01-01T12:00:00.000001Z"}
    assert plain["returned"] == {}
    assert [path.name for path in target.parent.iterdir()] == ["out.jsonl"]


def test_results_of_all_kinds_follow_each_other(tmp_path: Path) -> None:
    lines = written(tmp_path / "out.jsonl", MATCHES.slice(0, 1), TRENDS, TIMEOUTS)
    assert [line["query"] for line in lines] == ["plain", "theft", "all", "sums", "sums", "sums"]
    assert list(lines[1]) == ["query", "match_id", "start", "end", "events", "timeout", "returned"]
    assert lines[1]["timeout"] == "b"
    assert lines[2] == {
        "query": "all",
        "window_start": None,
        "window_end": None,
        "group": {},
        "aggregates": {"n": 2**70},
    }
    assert [line["group"]["k"] for line in lines[3:]] == [None, 2, 1]
    assert lines[3]["aggregates"] == {"total": None, "n": int("9" * 50)}
    assert lines[5]["aggregates"] == {"total": -0.0, "n": "-Infinity"}


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_chunks_do_not_change_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    expected = written(tmp_path / "out.jsonl", MATCHES, TRENDS, TIMEOUTS)
    monkeypatch.setattr(arrow_sinks, "CHUNK_ROWS", rows)
    pieces = [pa.concat_tables([table.slice(0, 1), table.slice(1)]) for table in (MATCHES, TRENDS, TIMEOUTS)]
    assert written(tmp_path / "again.jsonl", *pieces) == expected


def test_a_file_is_replaced_and_may_be_empty(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    assert written(target, MATCHES.slice(0, 0), TRENDS.slice(0, 0), TIMEOUTS.slice(0, 0)) == []
    assert target.read_text() == ""


def test_a_file_stays_as_it_was_after_an_error(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    with pytest.raises(KeyError):
        write_results(ResultTable(MATCHES), None, {"plain": {}}, {}, str(target))
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_directory_gets_parquet_again_and_again(tmp_path: Path) -> None:
    target = tmp_path / "new" / "out"
    for table in (MATCHES, MATCHES.slice(0, 2)):
        check_target(str(target))
        write_results(ResultTable(table), None, RETURNED, {}, str(target))
        assert rows_of(pq.read_table(target)) == rows_of(table)
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_results_of_several_kinds_get_directories_of_their_own(tmp_path: Path) -> None:
    target = tmp_path / "out"
    for _ in range(2):
        check_target(str(target))
        write_results(
            ResultTable(MATCHES), ResultTable(TRENDS), RETURNED, NAMES, str(target), ResultTable(TIMEOUTS)
        )
    assert sorted(path.name for path in target.iterdir()) == ["matches", "timeouts", "trends"]
    for name, table in (("matches", MATCHES), ("timeouts", TIMEOUTS), ("trends", TRENDS)):
        assert rows_of(pq.read_table(target / name)) == rows_of(table)


@pytest.mark.spark
def test_spark_writes_the_same_lines(spark: SparkSession, tmp_path: Path) -> None:
    """The same values, told in the same order."""
    kinds = [MATCHES, TRENDS, TIMEOUTS]
    frames = [spark.createDataFrame(table).repartition(2) for table in kinds]
    path = tmp_path / "spark.jsonl"
    sinks.write_results(frames[0], frames[1], RETURNED, NAMES, str(path), frames[2])
    expected = [json.loads(line) for line in path.read_text().splitlines()]
    found = written(tmp_path / "local.jsonl", *kinds)
    assert found == expected
    assert [list(line) for line in found] == [list(line) for line in expected]


@pytest.mark.spark
def test_spark_writes_the_same_rows_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    """A duration is one to whom wrote it, and microseconds to the other: Parquet has no durations."""
    sinks.write_results(spark.createDataFrame(MATCHES), None, RETURNED, NAMES, str(tmp_path / "spark"))
    write_results(ResultTable(MATCHES), None, RETURNED, NAMES, str(tmp_path / "local"))
    by_spark, own = (spark.read.parquet(str(tmp_path / name)) for name in ("spark", "local"))
    assert own.drop("took").schema == by_spark.drop("took").schema
    rows = [sorted(map(str, frame.drop("took").collect())) for frame in (by_spark, own)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == MATCHES.num_rows
    micros = [pq.read_table(tmp_path / "spark")["took"].to_pylist(), [row["took"] for row in own.collect()]]
    assert set(micros[0]) == set(micros[1]) == {None, 300_000_001}
