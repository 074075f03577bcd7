"""Matches as JSON lines and as Parquet."""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from weft.errors import DataError
from weft.io.spark.sinks import write_results
from weft.io.targets import check_target

SCHEMA = (
    "query string, match_id string, start timestamp, end timestamp, "
    "events array<struct<variable: string, type: string, ts: timestamp, id: bigint>>, "
    "who string, amount decimal(10,2), ratio double, n bigint, took interval day to second, "
    "day date, at timestamp, who_2 boolean"
)
RETURNED = {
    "theft": {"who": "who", "amount": "amount", "ratio": "ratio", "n": "n", "took": "took"},
    "noise": {"who": "who_2", "day": "day", "at": "at"},
    "plain": {},
}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(microseconds=1)


@pytest.fixture
def matches(spark: SparkSession) -> DataFrame:
    events = [("a", "Login", NOON, 1), ("b[0]", 'Pay "now"', LATER, None)]
    theft = ("Zoë", Decimal("1.50"), 0.1, 2**60, timedelta(minutes=5, microseconds=1), None, None, None)
    empty = (None,) * 8
    noise = (None, None, None, None, None, date(2026, 1, 31), LATER, True)
    return spark.createDataFrame(
        [
            ("plain", "m4", LATER, LATER, [], *empty),
            ("noise", "m3", NOON, LATER, [], *noise),
            ("theft", "m2", NOON, LATER, [], *empty),
            ("theft", "m1", NOON, LATER, events, *theft),
        ],
        SCHEMA,
    ).repartition(3)


def test_one_object_per_match_with_the_columns_of_its_query(matches: DataFrame, tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "out.jsonl"
    write_results(matches, None, RETURNED, {}, str(target))
    noise, theft, bare, plain = (json.loads(line) for line in target.read_text().splitlines())
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
        "returned": {"who": "Zoë", "amount": 1.5, "ratio": 0.1, "n": 2**60, "took": 300.000001},
    }
    assert bare["returned"] == dict.fromkeys(RETURNED["theft"])
    assert noise["returned"] == {"who": True, "day": "2026-01-31", "at": "2026-01-01T12:00:00.000001Z"}
    assert plain["returned"] == {}
    assert [path.name for path in target.parent.iterdir()] == ["out.jsonl"]


def test_a_file_is_replaced_and_may_be_empty(matches: DataFrame, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    write_results(matches.where("false"), None, RETURNED, {}, str(target))
    assert target.read_text() == ""


def test_many_queries_with_columns_of_their_own(matches: DataFrame, tmp_path: Path) -> None:
    returned = {f"q{n}": {f"column {n}": "who"} for n in range(1000)} | {"theft": {"x": "who"}}
    write_results(matches.where("match_id = 'm1'"), None, returned, {}, str(tmp_path / "out.jsonl"))
    assert json.loads((tmp_path / "out.jsonl").read_text())["returned"] == {"x": "Zoë"}


def test_returned_columns_may_have_any_name(matches: DataFrame, tmp_path: Path) -> None:
    renamed = matches.withColumnsRenamed({"who": "labels", "n": "values"}).where("match_id = 'm1'")
    returned = {"theft": {"labels": "labels", "values": "values"}}
    write_results(renamed, None, returned, {}, str(tmp_path / "out.jsonl"))
    written = json.loads((tmp_path / "out.jsonl").read_text())
    assert written["returned"] == {"labels": "Zoë", "values": 2**60}


def test_a_directory_gets_parquet(spark: SparkSession, matches: DataFrame, tmp_path: Path) -> None:
    for _ in range(2):  # what an earlier run wrote is replaced
        check_target(str(tmp_path / "out"))
        write_results(matches, None, RETURNED, {}, str(tmp_path / "out"))
    back = spark.read.parquet(str(tmp_path / "out"))
    assert back.schema.simpleString() == matches.schema.simpleString()
    assert back.count() == 4


def test_a_target_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    (tmp_path / "dir.jsonl").mkdir()
    (tmp_path / "file").touch()
    for name, message in {
        "full": "the directory holds other files",
        "dir.jsonl": "this is a directory",
        "file": "this is a file",
        "out.csv": "FILE.jsonl (JSON lines) or to a directory (Parquet)",
    }.items():
        with pytest.raises(DataError) as error:
            check_target(str(tmp_path / name))
        assert message in str(error.value)
    check_target(str(tmp_path / "new.jsonl"))
    check_target(str(tmp_path / "new"))
