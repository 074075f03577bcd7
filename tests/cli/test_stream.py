"""`weft stream` as its users see it: the same matches as `weft run`, each once, and clear words."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from weft.cli.app import app

WEFT = Path(sys.executable).with_name("weft")
SCHEMA = "ts timestamp, type string, id long, user string, amount double"
HEADER = "ts,type,id,user,amount\n"
QUERIES = """
QUERY theft
PATTERN SEQ(Login l, NOT Call c, Pay p)
WHERE   [user] AND p.amount > 100
WITHIN  10 minutes
RETURN  p.user AS who, p.amount AS amount, p.ts - l.ts AS took

QUERY silence
PATTERN SEQ(Login l, NOT Pay p)
WHERE   [user]
WITHIN  10 minutes
"""
FIRST = """2026-01-01T12:00:00Z,Login,1,ann,0.5
2026-01-01T12:01:00Z,Login,2,bob,
2026-01-01T12:05:00Z,Pay,3,ann,250.5
2026-01-01T12:06:00Z,Call,4,bob,
"""
SECOND = """2026-01-01T12:05:30Z,Pay,5,ann,700
2026-01-01T12:07:00Z,Pay,6,bob,500
2026-01-01T12:08:00Z,Login,7,cat,
2026-01-01T14:00:00Z,Pay,8,dan,1
"""  # the last one lets time pass, so that all that can be known is known
COLUMNS = ("--time", "ts", "--type", "type", "--id", "id")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "queries.weft").write_text(QUERIES)
    (tmp_path / "in").mkdir()
    return tmp_path


def arrive(files: Path, name: str, lines: str) -> None:
    """Let a CSV file arrive, after all that are there."""
    target = files / "in" / name
    target.write_text(HEADER + lines)
    moment = 1_700_000_000 + len(list(target.parent.iterdir()))
    os.utime(target, (moment, moment))


def arguments(files: Path, *more: object, source: object = None, watermark: str = "5 minutes") -> list[str]:
    given = [
        *("stream", files / "queries.weft", source or files / "in", *COLUMNS, "--watermark", watermark),
        *("--checkpoint", files / "state", "--out", files / "out", *more),
    ]
    return [str(one) for one in given]


def stream(files: Path, *more: object, **options: Any) -> Result:
    """Run `weft stream` over what is there, in the session of the tests."""
    every = ("--available-now", "--json", "--master", "local[1]", "--partitions", "1")
    return CliRunner().invoke(app, arguments(files, *every, *more, **options))


def refused(files: Path, *more: object, **options: Any) -> str:
    """What `weft stream` says when it does not start."""
    result = CliRunner().invoke(app, arguments(files, *more, **options))
    assert (result.exit_code, result.stdout) == (1, ""), result.stderr
    assert not (files / "out").exists()
    return result.stderr


def batches(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """The matches in each file of a directory, as any reader of plain files sees them."""
    found = sorted(directory.glob("*.jsonl"))
    return {file.name: [json.loads(line) for line in file.read_text().splitlines()] for file in found}


def written(directory: Path) -> list[dict[str, Any]]:
    """All matches in a directory."""
    return in_order([match for matches in batches(directory).values() for match in matches])


def in_order(matches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(matches, key=lambda match: str(match["match_id"]))


def matches_of_run(files: Path) -> list[dict[str, Any]]:
    """The matches that `weft run` finds in the same files."""
    given = ("run", files / "queries.weft", files / "in", *COLUMNS, "--master", "local[1]")
    result = CliRunner().invoke(app, [*map(str, given), "--out", str(files / "run.jsonl")])
    assert result.exit_code == 0, result.stderr
    return in_order([json.loads(line) for line in (files / "run.jsonl").read_text().splitlines()])


def converted(files: Path, format: str) -> None:
    """Turn the CSV files that have arrived into another format."""
    for file in (files / "in").glob("*.csv") if format != "csv" else ():
        types = pyarrow.csv.ConvertOptions(column_types={"amount": pa.float64()})
        table = pyarrow.csv.read_csv(file, convert_options=types)
        if format == "parquet":
            table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
            pyarrow.parquet.write_table(table, file.with_suffix(".parquet"))
        else:
            rows = ({**row, "ts": f"{row['ts']:%Y-%m-%dT%H:%M:%SZ}"} for row in table.to_pylist())
            file.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        file.unlink()


def test_timeouts_are_written_beside_the_matches(spark: SparkSession, files: Path) -> None:
    (files / "queries.weft").write_text(QUERIES.replace("RETURN", "TIMEOUTS\nRETURN", 1))
    arrive(files, "1.csv", FIRST)
    arrive(files, "2.csv", SECOND)
    result = stream(files)
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["matches"] == {"theft": 2, "silence": 1}
    assert summary["timeouts"] == {"theft": 2}
    assert written(files / "out") == matches_of_run(files)
    missing = {row["events"][0]["id"]: row["timeout"] for row in written(files / "out") if "timeout" in row}
    assert missing == {2: None, 7: "p"}  # there was a call, and no payment


def test_trend_queries_beside_others(spark: SparkSession, files: Path) -> None:
    """As JSON all in one file per batch; as Parquet in two directories, since the columns differ."""
    trends = (
        "QUERY paid PATTERN Pay+ p[] WITHIN 10 minutes GROUP BY user RETURN user, COUNT(*), SUM(p.amount)"
    )
    (files / "queries.weft").write_text(f"{QUERIES}\n{trends}")
    arrive(files, "1.csv", FIRST)
    arrive(files, "2.csv", SECOND + "2026-01-01T16:00:00Z,Login,9,dan,\n")
    result = stream(files, "--sharing", "static")
    assert result.exit_code == 0, result.stderr
    found = [one for own in batches(files / "out").values() for one in own]
    paid = {one["group"]["user"]: one["aggregates"] for one in found if one["query"] == "paid"}
    assert paid == {
        "ann": {"COUNT(*)": 3, "SUM(p.amount)": 1901.0},
        "bob": {"COUNT(*)": 1, "SUM(p.amount)": 500.0},
        "dan": {"COUNT(*)": 1, "SUM(p.amount)": 1.0},
    }
    assert json.loads(result.stdout)["matches"]["paid"] == 3
    other = ("--format", "parquet", "--checkpoint", files / "other", "--out", files / "apart")
    assert stream(files, *other).exit_code == 0
    tables = {kind: pyarrow.parquet.read_table(files / "apart" / kind) for kind in ("matches", "trends")}
    assert tables["trends"].num_rows == 3
    assert tables["matches"].num_rows == len(found) - 3 > 2


def with_branches(lines: str) -> str:
    """Return lines with one more column: logins arise in the north, all else in the south or the west."""
    branches = (
        "north" if ",Login," in line else "south" if number % 2 else "west"
        for number, line in enumerate(lines.splitlines())
    )
    return "".join(f"{line},{branch}\n" for line, branch in zip(lines.splitlines(), branches, strict=True))


def test_queries_are_evaluated_at_the_sites_of_past_events(
    spark: SparkSession, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "HEADER", HEADER.replace("\n", ",branch\n"))
    (files / "past.csv").write_text(HEADER + with_branches(FIRST + SECOND))
    placed = ("--site", "branch", "--history", files / "past.csv")
    arrive(files, "1.csv", with_branches(FIRST))
    result = stream(files, *placed)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["sent"]["rows"] > 0
    arrive(files, "2.csv", with_branches(SECOND))
    again = CliRunner().invoke(app, arguments(files, *placed, "--available-now"))
    assert again.exit_code == 0, again.stderr
    assert "Between sites: " in again.stdout
    assert "(placement: muse)" in again.stdout
    assert written(files / "out") == matches_of_run(files) != []


def test_sites_of_a_stream_have_a_history(spark: SparkSession, files: Path) -> None:
    arrive(files, "1.csv", FIRST)
    assert "--placement needs --site" in refused(files, "--placement", "muse")
    assert "--history needs --site" in refused(files, "--history", files / "in")
    assert "hint: name a file or a directory of past events" in refused(files, "--site", "user")
    given = ("--site", "user", "--history", files / "in")
    assert "--adapt invariants: a placement is kept" in refused(files, *given, "--adapt", "invariants")
    assert "no such file" in refused(files, "--site", "user", "--history", files / "missing.csv").lower()
    assert stream(files).exit_code == 0
    again = stream(files, *given)
    assert (again.exit_code, "started without sites" in again.stderr) == (1, True)


@pytest.mark.parametrize(
    "format", ["json", *(pytest.param(one, marks=pytest.mark.soak) for one in ("csv", "parquet"))]
)
def test_a_stream_finds_what_a_run_finds(spark: SparkSession, files: Path, format: str) -> None:
    arrive(files, "1.csv", FIRST)
    arrive(files, "2.csv", SECOND)
    converted(files, format)
    result = stream(files)
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    counts = ["batches", "events", "rejected", "late"]
    assert list(summary) == [*counts, "matches", "seconds", "stopped", "notices", "search"]
    assert summary["notices"] == []
    assert (summary["events"], summary["rejected"], summary["late"]) == (8, 0, 0)
    assert summary["matches"] == {"theft": 2, "silence": 1}
    assert summary["stopped"] == {}
    found = written(files / "out")
    assert [match["returned"].get("amount") for match in found if match["query"] == "theft"] != []
    assert found == matches_of_run(files)
    assert "batch 0: 8 rows, 0 rejected, 0 late" in result.stderr


def test_a_stream_goes_on_where_it_was_and_nothing_is_twice(spark: SparkSession, files: Path) -> None:
    arrive(files, "1.csv", FIRST)
    assert json.loads(stream(files).stdout)["events"] == 4
    arrive(files, "2.csv", SECOND)
    second = stream(files)
    assert second.exit_code == 0, second.stderr
    assert json.loads(second.stdout)["events"] == 4  # the new ones alone
    expected = matches_of_run(files)
    assert written(files / "out") == expected

    # Killed after the last matches were written, before the batch was done: it is repeated.
    names = list(batches(files / "out"))
    last = max(int(name[len("batch-") : -len(".jsonl")]) for name in names)
    for directory in ("commits", "offsets"):
        for file in (files / "state" / directory).iterdir():
            number = int(file.name.strip(".").split(".")[0])
            if number > last or number == last and directory == "commits":
                file.unlink()
    (files / "out" / f".batch-{last:06d}.tmp").mkdir()
    (files / "out" / f"batch-{last:06d}.jsonl").write_text("half of a fi")
    repeated = stream(files)
    assert repeated.exit_code == 0, repeated.stderr
    assert f"batch {last}: " in repeated.stderr
    assert written(files / "out") == expected
    assert list(batches(files / "out")) == names
    assert [file.name for file in (files / "out").iterdir() if file.name.startswith(".")] == []

    assert "the stream has started with 1" in stream(files, "--partitions", "3").stderr
    others = ("--checkpoint", files / "new state")
    assert "holds batches of the stream with the checkpoint" in stream(files, *others).stderr
    assert written(files / "out") == expected


def test_bad_rows_are_counted_and_late_ones_written(spark: SparkSession, files: Path) -> None:
    arrive(files, "1.csv", FIRST + "no time,Pay,50,ann,1\n2026-01-01T12:09:00Z,Pay,51,ann,much\n")
    arrive(files, "2.csv", SECOND)
    arrive(files, "3.csv", "2026-01-01T12:02:00Z,Pay,60,ann,900\n2026-01-01T14:00:00Z,Pay,,ann,1\n")
    result = stream(files, "--schema", SCHEMA, "--max-files", "1", "--late", files / "late")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["events"], summary["rejected"], summary["late"]) == (9, 3, 1)
    assert summary["matches"] == {"theft": 2, "silence": 1}
    assert batches(files / "late") == {
        "batch-000002.jsonl": [{"ts": "2026-01-01T12:02:00.000000Z", "type": "Pay", "id": 60}]
    }
    assert "1 of 2 rows of a batch came too late" in result.stderr
    assert "3 of 12 rows are no events, and left out" in result.stderr
    assert [notice["kind"] for notice in summary["notices"]] == ["stream", "rejected rows"]


@pytest.mark.parametrize("is_told", [True, False])
def test_queries_that_found_nothing_are_told_at_the_end(
    spark: SparkSession, files: Path, *, is_told: bool
) -> None:
    (files / "queries.weft").write_text(
        "QUERY never PATTERN SEQ(Pay p, Login l) WHERE p.id > 100 AND p.id < 9 WITHIN 1 hour"
    )
    arrive(files, "1.csv", FIRST)
    result = stream(files, *([] if is_told else ["--no-notices"]))
    assert result.exit_code == 0, result.stderr
    told = [notice["kind"] for notice in json.loads(result.stdout)["notices"]]
    assert told == ["contradiction", "no matches"]
    shown = ["no event can satisfy p.id > 100 and p.id < 9", "query never: no match in 4 events"]
    assert [text in result.stderr for text in shown] == [is_told, is_told]
    assert "batch 0: 4 rows" in result.stderr


def test_parquet_is_written_and_a_costly_query_is_stopped_alone(spark: SparkSession, files: Path) -> None:
    boom = "QUERY boom PATTERN SEQ(Pay a, Pay b, Pay c) WITHIN 1 hour\n"
    (files / "queries.weft").write_text(boom + "QUERY alone PATTERN Login l")
    pays = "".join(f"2026-01-01T12:00:{second:02d}Z,Pay,{second},ann,1\n" for second in range(60))
    arrive(files, "1.csv", pays + "2026-01-01T12:30:00Z,Login,60,ann,\n")
    result = stream(files, "--format", "parquet", "--budget", "100")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["matches"] == {"boom": 0, "alone": 1}
    assert list(summary["stopped"]) == ["boom"]
    assert "query boom was stopped, the others go on" in result.stderr
    assert summary["stopped"]["boom"].endswith("or raise the budget (--budget)")
    assert "weft.Budget" not in result.stderr
    (file,) = (files / "out").glob("*.parquet")
    (row,) = pyarrow.parquet.read_table(file).to_pylist()
    assert (row["query"], row["events"][0]["id"]) == ("alone", 60)


def test_a_costly_query_ends_the_stream_if_asked_to(spark: SparkSession, files: Path) -> None:
    (files / "queries.weft").write_text("QUERY boom PATTERN SEQ(Pay a, Pay b, Pay c) WITHIN 1 hour")
    arrive(
        files,
        "1.csv",
        "".join(f"2026-01-01T12:00:{second:02d}Z,Pay,{second},ann,1\n" for second in range(60)),
    )
    result = stream(files, "--budget", "100", "--on-budget", "error")
    assert result.exit_code == 1
    message, remedy = result.stderr.splitlines()[-2:]
    assert message.startswith("query boom: more than 100 partial matches")
    assert remedy.endswith("or raise the budget (--budget)")


def test_a_file_that_cannot_be_read_is_named(spark: SparkSession, files: Path) -> None:
    arrive(files, "1.csv", FIRST)
    converted(files, "parquet")
    other = pa.table({"ts": ["noon"], "type": ["Pay"], "id": [1], "user": ["ann"], "amount": [1]})
    pyarrow.parquet.write_table(other, files / "in" / "2.parquet")
    schema = ("--schema", SCHEMA, "--source-format", "parquet")
    result = stream(files, *schema)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "2.parquet" in result.stderr
    assert "Traceback" not in result.stderr
    assert "py4j" not in result.stderr


def test_what_spark_must_be_asked_for(spark: SparkSession, files: Path) -> None:
    assert "no file is there yet that would tell the columns" in refused(files)
    kafka = refused(files, source="kafka:localhost:9092/payments")
    assert "say with --schema what the values hold" in kafka
    missing = refused(files, "--schema", SCHEMA, source="kafka:localhost:9092/payments")
    assert "no Kafka on its class path" in missing
    assert "--packages org.apache.spark:spark-sql-kafka" in missing
    assert "--schema: " in refused(files, "--schema", "id lang", "--source-format", "csv")
    wrong = refused(files, "--schema", "id long, time string, type string", "--source-format", "csv")
    assert "there is no column `ts` (--time)" in wrong


def test_mistakes_show_before_spark_starts(files: Path) -> None:
    arrive(files, "1.csv", FIRST)
    inside, mixed = files / "in" / "out", files / "mixed"
    mixed.mkdir()
    (mixed / "a.csv").touch()
    (mixed / "b.jsonl").touch()
    (files / "full").mkdir()
    (files / "full" / "thesis.tex").touch()
    for options, message in {
        ("--source-format", "parquet"): "1.csv is csv, but --source-format is parquet",
        ("--trigger", "soon"): "--trigger soon: expected a duration",
        ("--trigger", "5s", "--available-now"): "leave out --trigger",
        ("--out", files / "out.jsonl"): "a stream writes a directory",
        ("--out", inside): "which is the source",
        ("--late", files / "out"): "which is a directory of the output",
        ("--checkpoint", files / "out" / "state"): "which is a directory of the output",
        ("--late", files / "full"): "the directory holds other files",
        ("--late", files / "queries.weft"): "this is a file",
        ("--plan", "autos"): "did you mean auto?",
    }.items():
        assert message in refused(files, *options)
    for source, message in {
        files / "nowhere": "there is no such directory",
        files / "in" / "1.csv": "this is a file; a stream takes a directory",
        mixed: "mixes formats",
        "kafka:localhost": "expected kafka:BROKERS/TOPIC",
        "s3a://bucket/events": "--source-format",
    }.items():
        assert message in refused(files, source=source)
    assert "--watermark late: expected a duration" in refused(files, watermark="late")
    (files / "queries.weft").write_text("QUERY q PATTERN SEQ(Login l, Pay p)")
    assert "query q: without WITHIN" in refused(files)


def test_what_must_be_given_is_asked_for(files: Path) -> None:
    given = arguments(files)
    for option in ("--watermark", "--checkpoint", "--out", "--time", "--type"):
        place = given.index(option)
        result = CliRunner().invoke(app, given[:place] + given[place + 2 :])
        assert (result.exit_code, result.stdout) == (2, "")
        assert option in result.stderr
    assert CliRunner().invoke(app, [*given, "--source-format", "xml"]).exit_code == 2


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)])
def test_a_signal_ends_a_stream_in_order(files: Path, number: signal.Signals) -> None:
    arrive(files, "1.csv", FIRST)
    arrive(files, "2.csv", SECOND)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    command = [str(WEFT), *arguments(files, "--json", "--master", "local[1]")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean, start_new_session=True
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said.startswith("batch 0: 8 rows, 0 rejected, 0 late, "), said + process.stderr.read()
        process.send_signal(number)
        shown, told = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 128 + number, told
    summary = json.loads(shown)
    assert (summary["events"], summary["matches"]["theft"]) == (8, 2)
    assert all(line.startswith("batch ") for line in told.splitlines()), told
