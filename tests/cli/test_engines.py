"""Which engine a command runs on, and that it says so."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from weft.cli import engines
from weft.cli.app import app
from weft.cli.engines import EngineName, choose_engine
from weft.cli.options import EngineOptions
from weft.errors import DataError, WeftError

EVENTS = """ts,type,id,user
2026-01-01T12:00:00Z,A,1,ann
2026-01-01T12:01:00Z,B,2,ann
2026-01-01T12:02:00Z,B,3,bob
not a time,B,4,ann
"""
QUERIES = "QUERY pair PATTERN SEQ(A a, B b) WHERE [user] WITHIN 5 minutes RETURN b.user AS who"
COLUMNS = ("--time", "ts", "--type", "type", "--id", "id")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q.weft").write_text(QUERIES)
    (tmp_path / "events.csv").write_text(EVENTS)
    return tmp_path


def run(files: Path, *arguments: str, events: str = "events.csv") -> Result:
    path = events if "://" in events else str(files / events)
    return CliRunner().invoke(app, ["run", str(files / "q.weft"), path, *COLUMNS, *arguments])


def chosen(path: str | Path | None, engine: str = "auto", master: str | None = None) -> EngineName:
    options = EngineOptions(engine=engine, master=master)  # type: ignore[arg-type]
    return choose_engine(options, None if path is None else str(path))


def test_a_file_of_this_machine_is_read_here(files: Path) -> None:
    assert chosen(files / "events.csv") == "local"
    assert chosen(files / "events.csv", master="local[2]") == "spark"
    assert chosen(None) == "spark"


@pytest.mark.parametrize("path", ["s3a://bucket/events.csv", "hdfs://host/events", "file:///tmp/events.csv"])
def test_a_file_elsewhere_is_read_by_spark(path: str) -> None:
    assert chosen(path) == "spark"
    assert chosen(path, engine="local") == "local"  # which then says that it cannot


def test_a_master_is_of_spark(files: Path) -> None:
    assert chosen(files / "events.csv", engine="spark", master="local[2]") == "spark"
    with pytest.raises(WeftError, match=r"^--master local\[2\] is of Spark, and --engine local runs without"):
        chosen(files / "events.csv", engine="local", master="local[2]")


def test_much_to_read_is_read_by_spark(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files of a directory count together, the hidden ones do not; what is asked for has precedence."""
    (files / "many").mkdir()
    for name in ("a.csv", "b.csv", ".c.csv"):
        (files / "many" / name).write_text(EVENTS)
    size = len(EVENTS)
    for limit, one, many in (
        (size - 1, "spark", "spark"),
        (size, "local", "spark"),
        (2 * size, "local", "local"),
    ):
        monkeypatch.setattr(engines, "LOCAL_BYTES", limit)
        assert (chosen(files / "events.csv"), chosen(files / "many")) == (one, many)
        assert chosen(files / "many", engine="local") == "local"
        assert chosen(files / "many", engine="spark") == "spark"


def test_what_is_not_there_is_told_before_an_engine_is_chosen(files: Path) -> None:
    with pytest.raises(DataError, match="there is no such file or directory"):
        chosen(files / "none.csv")
    assert chosen(files / "none.csv", engine="spark") == "spark"
    shown = run(files, events="none.csv")
    assert shown.exit_code == 1
    assert "none.csv: there is no such file or directory of events" in shown.stderr
    assert f"hint: it was looked for in {files}" in shown.stderr
    near = run(files, events="event.csv")
    assert f"hint: did you mean {files / 'events.csv'}?" in near.stderr


@pytest.mark.parametrize("options", [(), ("--engine", "auto"), ("--engine", "local")])
def test_the_summary_says_local(files: Path, options: tuple[str, ...]) -> None:
    shown = run(files, "--json", "--no-notices", *options)
    assert shown.exit_code == 0, shown.stderr
    summary = json.loads(shown.stdout)
    assert (summary["engine"], summary["matches"], summary["events"]) == ("local", {"pair": 1}, 3)
    assert shown.stderr == ""
    assert "│ engine   │   local │" in run(files, *options).stdout


def test_an_analyzed_run_stores_what_it_counted(files: Path) -> None:
    """The next run expects what this one found, and not what a look at the events tells."""
    stored = files / "statistics.json"
    shown = run(files, "--explain", "analyze", "--save-statistics", str(stored))
    assert shown.exit_code == 0, shown.stderr
    (learned,) = json.loads(stored.read_text())["corrections"]
    assert (learned["pattern"], learned["where"]) == ("SEQ(A a, B b)", "[user]")
    again = run(files, "--statistics", str(stored), "--explain", "analyze")
    (joined,) = [line for line in again.stdout.splitlines() if " join " in line and "%" in line][:1]
    assert joined.split()[:3] == ["1", "1", "1"], "one query, one row expected, one found"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("options", [("--engine", "spark"), ("--master", "local[2]"), ()])
def test_the_summary_says_spark(
    files: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Because it is asked for, because it is told where to run, because there is much to read."""
    if not options:
        monkeypatch.setattr(engines, "LOCAL_BYTES", 10)
    summaries = []
    for own in (options, ("--engine", "local")):
        shown = run(files, "--json", "--out", str(files / f"out-{len(summaries)}.jsonl"), *own)
        assert shown.exit_code == 0, shown.stderr
        summaries.append(json.loads(shown.stdout))
    assert [summary["engine"] for summary in summaries] == ["spark", "local"]
    for summary in summaries:
        del summary["engine"], summary["seconds"], summary["search"]
    assert summaries[0] == summaries[1]
    lines = [(files / f"out-{number}.jsonl").read_text() for number in range(2)]
    assert [json.loads(line) for line in lines[0].splitlines()] == [
        json.loads(line) for line in lines[1].splitlines()
    ]
    assert lines[0]


@pytest.mark.parametrize("command", ["run", "explain", "why"])
def test_files_elsewhere_are_for_spark_alone(files: Path, command: str) -> None:
    arguments = [command, str(files / "q.weft"), "s3://bucket/events.csv", *COLUMNS, "--engine", "local"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 1
    assert "s3://bucket/events.csv: files elsewhere than on this machine are read by Spark" in shown.stderr
    assert "hint: run on Spark" in shown.stderr


def test_an_unknown_engine_is_told_with_those_there_are(files: Path) -> None:
    shown = run(files, "--engine", "sparc")
    assert shown.exit_code == 2
    assert all(name in shown.stderr for name in ("auto", "local", "spark"))


def test_every_row_rejected_is_told_with_reasons(files: Path) -> None:
    (files / "events.csv").write_text("ts,type,id,user\nnot a time,A,1,ann\n2026-01-01T12:00:00Z,,2,ann\n")
    shown = run(files)
    assert "every row was rejected: ts is not a time; type is NULL" in shown.stderr
    assert "(--time-unit)" in shown.stderr
