"""The contract of the command line: names, shapes, messages, exit statuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from weft.cli.app import app
from weft.cli.console import report_errors
from weft.cli.demo import demo_queries
from weft.codec import VERSION
from weft.language.parser import parse

FEWEST_STORIES = 3  # of each kind, in the events of the demonstration
WEFT = Path(sys.executable).with_name("weft")

QUERIES = """
QUERY theft
PATTERN SEQ(Login l, NOT Call c, Pay p)
WHERE   [user] AND p.amount > 100
WITHIN  10 minutes
RETURN  p.user AS who, p.amount AS amount, p.ts - l.ts AS took

QUERY nothing
PATTERN SEQ(Pay p, Login l, Pay q)
WITHIN  1 second
"""
EVENTS = """ts,type,id,user,amount
2026-01-01T12:00:00Z,Login,1,ann,
2026-01-01T12:05:00Z,Pay,2,ann,250.5
2026-01-01T12:06:00Z,Pay,3,ann,50
2026-01-01T12:06:00Z,Pay,4,bob,500
not a time,Pay,5,ann,999
2026-01-01T12:07:00Z,,6,ann,999
"""
MISTAKES = """
QUERY one PATTERN SEQ(Login l, Pay p) WITHN 5 minutes
QUERY two PATTERN SEQ(Login l, Pay p) WHERE q.amount > 3
QUERY two PATTERN Login
"""
TREND_QUERIES = """
QUERY q1 PATTERN SEQ(A, B+) RETURN COUNT(*)
QUERY q2 PATTERN SEQ(C, B+) RETURN COUNT(*), COUNT(B) AS bs
"""
WINDOW_QUERIES = """
QUERY q1 PATTERN SEQ(A, B+) WITHIN 10 seconds SLIDE 5 seconds RETURN COUNT(*) AS trends
QUERY q2 PATTERN SEQ(C, B+) WITHIN 15 seconds SLIDE 5 seconds RETURN COUNT(*) AS trends
"""
TRENDS = "A1 A2 C3 B4 B5 B6 B7 A8 A9 C10 C11 C12 B13 B14"  # types and seconds
WINDOWS = "A0 B1 C2 B4 A5 B6 B8 C11 B13"
BOOM = "QUERY boom PATTERN SEQ(Pay+ p[], Login l) WITHIN 1 hour"
MANY = (
    "ts,type,id,user,amount\n"
    + "".join(f"{1000 + n},Pay,{n},ann,1\n" for n in range(200))
    + "2000,Login,999,ann,\n"
)
END = "<end of a command>"
ONE_AFTER_THE_OTHER = f"""
import json
import sys

from weft.cli.app import main

statuses = []
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
        statuses.append(0)
    except SystemExit as end:
        statuses.append(end.code or 0)
    for output in (sys.stdout, sys.stderr):
        print({END!r}, end="", file=output, flush=True)
print(*statuses)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "queries.weft").write_text(QUERIES)
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "wrong.weft").write_text(MISTAKES)
    return tmp_path


def invoke(*arguments: object) -> Result:
    """Run a command in this process, in the session that is running."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run(files: Path, *arguments: object, queries: str = "queries.weft", events: str = "events.csv") -> Result:
    """Run `weft run` in the test's session; `local[1]` keeps its two shuffle partitions."""
    options = ("--time", "ts", "--type", "type", "--id", "id", "--master", "local[1]")
    return invoke("run", files / queries, files / events, *options, *arguments)


def trends(files: Path, queries: str, events: str, *arguments: object) -> tuple[Result, list[dict[str, Any]]]:
    """Run trend queries on events given as types and seconds; return what was written."""
    (files / "trends.weft").write_text(queries)
    rows = "".join(f"{one[1:]},{one[0]},{number},x\n" for number, one in enumerate(events.split()))
    (files / "letters.csv").write_text(f"ts,type,id,site\n{rows}")
    out = files / "trends.jsonl"
    result = run(
        files, "--time-unit", "s", "--out", out, *arguments, queries="trends.weft", events="letters.csv"
    )
    assert result.exit_code == 0, result.stderr
    return result, [json.loads(line) for line in out.read_text().splitlines()]


def weft(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as users do, in a process of its own."""
    return run_apart(WEFT, *arguments)


def run_apart(*command: object) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env=clean, timeout=300
    )


def test_check_shows_each_query(files: Path) -> None:
    result = invoke("check", files / "queries.weft")
    assert result.exit_code == 0
    assert "SEQ(Login l, NOT Call c, Pay p)" in result.stdout
    assert "10 minutes" in result.stdout
    assert "who, amount, took" in result.stdout
    assert "2 queries are fine." in result.stdout


def test_check_says_what_is_likely_to_explode(files: Path) -> None:
    (files / "burst.weft").write_text("QUERY burst PATTERN Failure{10,} f[] WHERE [host] WITHIN 1 minute")
    result = invoke("check", files / "burst.weft")
    assert result.exit_code == 0
    assert "1 query is fine." in result.stdout
    assert "caution: query burst: f[] has no upper bound: every choice of 10 or more" in result.stderr
    assert "hint: STRATEGY NEXT takes the next that fits" in result.stderr
    assert "or bound the list" in result.stderr
    explained = invoke("explain", files / "burst.weft")
    assert "Cautions\n  query burst: f[] has no upper bound" in explained.stdout


def test_check_reports_all_mistakes_with_their_place(files: Path) -> None:
    result = invoke("check", files / "wrong.weft")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{files}/wrong.weft:2:39: " in result.stderr
    assert "WITHIN" in result.stderr
    assert "^^^^^" in result.stderr
    assert "Traceback" not in result.stderr


def test_check_of_a_directory_places_mistakes_in_their_files(files: Path) -> None:
    (files / "queries.weft").unlink()
    (files / "a.weft").write_text("QUERY a PATTERN SEQ(A x, B y)\n")
    (files / "wrong.weft").write_text("QUERY b PATTERN SEQ(A x, B y)\nWHERE z.n > 3")
    result = invoke("check", files)
    assert result.exit_code == 1
    assert f"{files}/wrong.weft:2:7: query b: " in result.stderr
    (files / "wrong.weft").write_text("QUERY a PATTERN SEQ(A x, B y)")
    assert f"{files}/wrong.weft:1:" in invoke("check", files).stderr  # one name, two queries
    (files / "wrong.weft").write_text("QUERY b PATTERN SEQ(A x, B y)")
    assert "2 queries are fine." in invoke("check", files).stdout


@pytest.mark.parametrize("content", ["", "-- nothing\n", "\ufeffQUERY", "\0\0"])
def test_check_of_no_query_is_an_error_not_a_crash(files: Path, content: str) -> None:
    (files / "odd.weft").write_text(content)
    result = invoke("check", files / "odd.weft")
    assert result.exit_code == 1
    assert "odd.weft" in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_files_that_are_missing_or_no_text_are_named(files: Path) -> None:
    (files / "binary.weft").write_bytes(b"\xff\xfe\x00")
    (files / "empty").mkdir()
    for name, message in {
        "absent.weft": "there is no such file or directory",
        "binary.weft": "not a text file in UTF-8",
        "empty": "holds no *.weft and no *.ccl files",
    }.items():
        result = invoke("check", files / name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"{files / name}: " in result.stderr
        assert message in result.stderr


def test_explain_shows_the_shared_plan(files: Path) -> None:
    result = invoke("explain", files / "queries.weft")
    assert result.exit_code == 0
    assert "theft" in result.stdout
    assert "nothing" in result.stdout


def test_which_matches_count_where_queries_do_not_say(files: Path) -> None:
    (files / "longest.weft").write_text(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 h PREFER LONGEST RETURN SUPPRESSED()"
    )
    assert invoke("check", files / "longest.weft").exit_code == 1
    options = ("--strategy", "next", "--skip", "past-last", "--suppress", "90 min")
    assert "1 query is fine." in invoke("check", files / "longest.weft", *options).stdout
    shown = invoke("explain", files / "longest.weft", *options).stdout
    assert [line.strip() for line in shown.splitlines() if "counts" in line] == [
        "counts  STRATEGY NEXT",
        "counts  AFTER MATCH SKIP PAST LAST",
        "counts  PREFER LONGEST",
        "counts  SUPPRESS 90 minutes",
    ]


@pytest.mark.parametrize("command", ["check", "explain", "run", "stream"])
def test_what_no_match_can_count_by_is_refused_before_spark_starts(files: Path, command: str) -> None:
    needed = {
        "run": ("events.csv",),
        "stream": ("events.csv", "--out", "o", "--checkpoint", "c", "--watermark", "1s"),
    }
    columns = ("--time", "ts", "--type", "type") if command in needed else ()
    for option, value in (("--strategy", "nxt"), ("--skip", "past"), ("--suppress", "soon")):
        result = invoke(command, files / "queries.weft", *needed.get(command, ()), *columns, option, value)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"{option} is '{value}'; expected ")


def test_usage_errors_exit_with_2(files: Path) -> None:
    for arguments in (
        ("run", files / "queries.weft"),
        ("run", files / "queries.weft", files / "events.csv", "--type", "type"),
        ("run", files / "queries.weft", files / "events.csv", "--time", "ts"),
        ("run", "q", "e", "--time", "ts", "--type", "type", "--time-unit", "days"),
        ("run", "q", "e", "--time", "ts", "--type", "type", "--colour"),
        ("check",),
        ("stitch",),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, arguments
        assert result.stdout == ""


def test_help_has_examples() -> None:
    for command in ("check", "explain", "run", "stream", "demo"):
        result = invoke(command, "--help")
        assert result.exit_code == 0
        assert f"weft {command} " in result.stdout


def test_help_names_the_kinds_of_query_files() -> None:
    shown = invoke("--help").stdout
    assert all(word in shown for word in ("*.weft", "*.ccl", "--plan"))


def test_mistakes_show_before_spark_starts(files: Path) -> None:
    (files / "full").mkdir()
    (files / "full" / "thesis.tex").touch()
    for result, message in (
        (run(files, queries="wrong.weft"), "wrong.weft:2:39: "),
        (run(files, queries="absent.weft"), "there is no such file"),
        (run(files, events="absent.csv"), "there is no such file"),
        (run(files, "--out", files / "full"), "the directory holds other files"),
        (run(files, "--out", files / "matches.csv"), "FILE.jsonl"),
    ):
        assert (result.exit_code, result.stdout) == (1, "")
        assert message in result.stderr


def test_an_interruption_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as left, report_errors():
        raise KeyboardInterrupt
    assert left.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_run_writes_json_lines(spark: SparkSession, files: Path) -> None:
    result = run(files, "--json", "--out", files / "matches.jsonl")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    assert list(summary) == ["events", "rejected", "matches", "seconds", "engine", "notices", "search"]
    assert (summary["events"], summary["rejected"]) == (4, 2)
    assert summary["matches"] == {"theft": 1, "nothing": 0}
    (match,) = map(json.loads, (files / "matches.jsonl").read_text().splitlines())
    assert list(match) == ["query", "match_id", "start", "end", "events", "returned"]
    assert match["query"] == "theft"
    assert match["start"] == "2026-01-01T12:00:00.000000Z"
    assert match["end"] == "2026-01-01T12:05:00.000000Z"
    assert match["events"] == [
        {"variable": "l", "type": "Login", "ts": "2026-01-01T12:00:00.000000Z", "id": 1},
        {"variable": "p", "type": "Pay", "ts": "2026-01-01T12:05:00.000000Z", "id": 2},
    ]
    assert match["returned"] == {"who": "ann", "amount": 250.5, "took": 300.0}


def test_run_writes_timeouts_beside_the_matches(spark: SparkSession, files: Path) -> None:
    text = QUERIES.replace("RETURN", "TIMEOUTS\nRETURN", 1)
    (files / "timed.weft").write_text(text)
    with (files / "events.csv").open("a") as out:
        out.write("2026-01-01T13:00:00Z,Login,7,cat,\n")
    result = run(files, "--json", "--out", files / "matches.jsonl", queries="timed.weft")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    kept = ["events", "rejected", "matches", "timeouts", "seconds", "engine", "notices", "search"]
    assert list(summary) == kept
    assert (summary["matches"], summary["timeouts"]) == ({"theft": 1, "nothing": 0}, {"theft": 1})
    match, timeout = map(json.loads, (files / "matches.jsonl").read_text().splitlines())
    assert list(timeout) == [*list(match)[:-1], "timeout", "returned"]
    assert (timeout["query"], timeout["timeout"]) == ("theft", "p")
    assert [event["id"] for event in timeout["events"]] == [7]
    assert timeout["returned"] == {"who": None, "amount": None, "took": None}
    shown = run(files, "--out", files / "found", queries="timed.weft")
    assert shown.exit_code == 0, shown.stderr
    assert "timeouts" in shown.stdout
    (row,) = spark.read.parquet(str(files / "found" / "timeouts")).collect()
    assert (row.query, row.missing, [event.id for event in row.events]) == ("theft", "p", [7])
    assert spark.read.parquet(str(files / "found" / "matches")).count() == 1
    again = run(files, "--out", files / "found", "--explain", "analyze", queries="timed.weft")
    assert again.exit_code == 0, again.stderr
    assert spark.read.parquet(str(files / "found" / "timeouts")).count() == 1


def test_run_shows_a_table_and_writes_parquet(spark: SparkSession, files: Path) -> None:
    result = run(files, "--out", files / "matches")
    assert result.exit_code == 0, result.stderr
    for line in ("theft", "nothing", "events", "rejected", "seconds"):
        assert line in result.stdout
    (row,) = spark.read.parquet(str(files / "matches")).collect()
    assert (row.query, row.who, [event.id for event in row.events]) == ("theft", "ann", [1, 2])


def test_run_shows_what_the_plan_did(spark: SparkSession, files: Path) -> None:
    result = run(files, "--explain", "analyze")
    assert result.exit_code == 0, result.stderr
    summary, analysis = result.stdout.split(" ms in the nodes, ")
    assert "theft" in summary
    assert "in the slowest of " in analysis
    assert analysis.index("Shared plan: ") < analysis.index("scan Login") < analysis.index("Dearest nodes: ")


def test_what_the_plan_did_is_no_part_of_the_json_object(spark: SparkSession, files: Path) -> None:
    out = files / "matches.jsonl"
    result = run(files, "--explain", "analyze", "--json", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["matches"] == {"theft": 1, "nothing": 0}
    assert "Dearest nodes: " in result.stderr
    assert [json.loads(line)["query"] for line in out.read_text().splitlines()] == ["theft"]


def test_run_reads_json_lines_in_seconds_from_a_directory(spark: SparkSession, files: Path) -> None:
    (files / "log").mkdir()
    (files / "log" / "1.jsonl").write_text(
        '{"ts": 0, "type": "Login", "id": "a", "user": 7, "amount": 0.0}\n'
    )
    (files / "log" / "2.jsonl").write_text(
        '{"ts": 600, "type": "Pay", "id": "b", "user": 7, "amount": 101.0}\n'
    )
    for unit, expected in (("s", 1), ("ms", 1), ("us", 1)):
        result = run(files, "--json", "--time-unit", unit, events="log")
        assert json.loads(result.stdout)["matches"]["theft"] == expected, result.stderr
    (files / "log" / "2.jsonl").write_text(
        '{"ts": 601, "type": "Pay", "id": "b", "user": 7, "amount": 101.0}\n'
    )
    assert json.loads(run(files, "--json", "--time-unit", "s", events="log").stdout)["matches"]["theft"] == 0


def test_bad_data_exits_with_1(spark: SparkSession, files: Path) -> None:
    (files / "untyped.weft").write_text(
        "QUERY q PATTERN SEQ(Login l, Pay p) WHERE p.amuont > 3 WITHIN 1 hour"
    )
    missing = invoke("run", files / "queries.weft", files / "events.csv", "--time", "TS", "--type", "type")
    unknown = run(files, queries="untyped.weft")
    for result, message in ((missing, "did you mean `ts`?"), (unknown, "did you mean amount?")):
        assert (result.exit_code, result.stdout) == (1, "")
        assert message in result.stderr
        assert "Traceback" not in result.stderr


def test_rows_that_are_all_rejected_are_explained(spark: SparkSession, files: Path) -> None:
    (files / "events.csv").write_text(EVENTS.replace("2026-01-01T12", "noon"))
    result = run(files, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rejected"] == 6
    assert "every row was rejected" in result.stderr


def test_a_plan_is_stored_and_used_again(spark: SparkSession, files: Path) -> None:
    plan, statistics = files / "plan.json", files / "statistics.json"
    first = run(files, "--plan", "share", "--save-plan", plan, "--save-statistics", statistics, "--json")
    assert first.exit_code == 0, first.stderr
    assert json.loads(plan.read_text())["queries"] == {"theft": [["l", "p"]], "nothing": [[["p", "l"], "q"]]}
    assert {entry["pattern"] for entry in json.loads(statistics.read_text())["rates"]} >= {"Login a", "Pay a"}
    again = run(files, "--plan", plan, "--statistics", statistics, "--explain", "plan")
    assert again.exit_code == 0, again.stderr
    assert "this plan" in again.stdout
    assert "estimated" in again.stdout


def test_a_plan_that_is_none_is_refused_before_spark_starts(files: Path) -> None:
    wrong = run(files, "--plan", "autos")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "--plan autos: expected auto, trivial, reorder, share, mcep, motto," in wrong.stderr
    assert "did you mean auto?" in wrong.stderr
    (files / "plan.json").write_text('{"version": 7}')
    assert f"version 7, expected {VERSION}" in run(files, "--plan", files / "plan.json").stderr
    assert "No such file" in run(files, "--plan", files / "none.json").stderr


def test_explain_with_events(spark: SparkSession, files: Path) -> None:
    result = invoke("explain", files / "queries.weft", files / "events.csv", "--master", "local[1]")
    assert result.exit_code == 0, result.stderr
    assert "theft" in result.stdout


@pytest.mark.parametrize("sharing", ["dynamic", "static", "none"])
def test_trends_are_counted(spark: SparkSession, files: Path, sharing: str) -> None:
    result, written = trends(files, TREND_QUERIES, TRENDS, "--sharing", sharing, "--json")
    assert json.loads(result.stdout)["trends"] == {"q1": 1, "q2": 1}
    always = {"window_start": None, "window_end": None, "group": {}}
    assert written == [
        {"query": "q1", **always, "aggregates": {"COUNT(*)": 132}},
        {"query": "q2", **always, "aggregates": {"COUNT(*)": 72, "bs": 204}},
    ]
    assert list(written[0]) == ["query", "window_start", "window_end", "group", "aggregates"]


def test_trends_are_counted_in_windows(spark: SparkSession, files: Path) -> None:
    _, written = trends(files, WINDOW_QUERIES, WINDOWS)
    counts = {(one["query"], one["window_start"]): one["aggregates"]["trends"] for one in written}
    day, night = "1970-01-01T00:00:", "1969-12-31T23:59:"
    assert counts == {
        ("q1", f"{night}55.000000Z"): 3,
        ("q1", f"{day}00.000000Z"): 18,
        ("q1", f"{day}05.000000Z"): 7,
        ("q2", f"{night}50.000000Z"): 1,
        ("q2", f"{night}55.000000Z"): 7,
        ("q2", f"{day}00.000000Z"): 16,
        ("q2", f"{day}05.000000Z"): 1,
        ("q2", f"{day}10.000000Z"): 1,
    }
    assert {one["window_end"] for one in written if one["query"] == "q1"} == {
        f"{day}{second}.000000Z" for second in ("05", "10", "15")
    }


def test_results_of_any_size_and_matches_are_written_to_one_file(spark: SparkSession, files: Path) -> None:
    text = """
    QUERY many PATTERN B+ b GROUP BY site RETURN COUNT(*) AS n, SUM(b.id) AS total, MIN(b.ts) AS first
    QUERY pair PATTERN SEQ(A a, B b) WITHIN 2 seconds RETURN b.id AS n
    """
    letters = "A0 " + " ".join(f"B{second}" for second in range(2, 302))
    _, (_, many) = trends(files, text, letters)
    assert many["aggregates"]["n"] == pytest.approx(2**300, rel=1e-10)
    _, (pair, many) = trends(files, text, letters, "--exact")
    assert (pair["query"], pair["returned"]) == ("pair", {"n": 1})
    assert many == {
        "query": "many",
        "window_start": None,
        "window_end": None,
        "group": {"site": "x"},
        "aggregates": {
            "n": 2**300 - 1,
            "total": 301 * 150 * 2**299,
            "first": "1970-01-01T00:00:02.000000Z",
        },
    }


def test_trend_results_are_shown(spark: SparkSession, files: Path) -> None:
    trends(files, WINDOW_QUERIES, WINDOWS)
    options = ("--time-unit", "s", "--explain", "analyze")
    result = run(files, *options, queries="trends.weft", events="letters.csv")
    assert result.exit_code == 0, result.stderr
    assert "1970-01-01 00:00:05" in result.stdout
    assert "trends 18" in result.stdout
    assert "results" in result.stdout
    for counter in ("bursts", "shared graphlets", "graphlet snapshots", "event snapshots", "splits"):
        assert f"  {counter}  " in result.stdout


def test_trends_of_both_kinds_are_written_as_parquet(spark: SparkSession, files: Path) -> None:
    trends(files, TREND_QUERIES, TRENDS)
    mixed = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 2 seconds" + TREND_QUERIES
    (files / "mixed.weft").write_text(mixed)
    for _ in range(2):  # what was written is replaced
        options = ("--time-unit", "s", "--out", files / "both")
        result = run(files, *options, queries="mixed.weft", events="letters.csv")
        assert result.exit_code == 0, result.stderr
    assert spark.read.parquet(str(files / "both" / "matches")).count() == 1
    assert spark.read.parquet(str(files / "both" / "trends")).count() == 2


def test_explain_shows_templates_and_what_can_be_shared(files: Path) -> None:
    (files / "trends.weft").write_text(TREND_QUERIES)
    result = invoke("explain", files / "trends.weft")
    assert result.exit_code == 0, result.stderr
    assert "B: B    after A; after B" in result.stdout
    assert "q1, q2: can share B+" in result.stdout


def test_a_stream_refuses_a_window_without_an_end_before_spark_starts(files: Path) -> None:
    (files / "trends.weft").write_text(TREND_QUERIES)
    options = ("--time", "ts", "--type", "type", "--watermark", "1s")
    places = ("--checkpoint", files / "state", "--out", files / "out")
    result = invoke("stream", files / "trends.weft", files, *options, *places)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "queries q1, q2: without WITHIN, the only window never ends" in result.stderr


def test_the_demonstration_finds_the_crimes(spark: SparkSession) -> None:
    result = invoke("demo", "--events", "20000", "--master", "local[1]")
    assert result.exit_code == 0, result.stderr
    for query in parse(demo_queries()):
        assert query.name in result.stdout
    counts = dict(re.findall(r"│ (\w+) +│ [^│]+│ +(\d+) │", result.stdout))
    for name in ("guessed_password", "guessed_then_changed", "card_testing", "spending_spree", "structuring"):
        assert int(counts[name]) == FEWEST_STORIES, name  # one alert for each crime
    assert "serve several queries" in result.stdout
    assert "PasswordChange" in result.stdout.split("read closely")[1]


@pytest.mark.spark
def test_a_query_that_explodes_ends_the_run_if_asked_to(spark: SparkSession, files: Path) -> None:
    (files / "boom.weft").write_text(BOOM + QUERIES)
    (files / "many.csv").write_text(MANY)
    out = files / "out.jsonl"
    result = run(files, "--on-budget", "error", "--out", out, queries="boom.weft", events="many.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    message, remedy = result.stderr.splitlines()[-2:]
    assert message.startswith("query boom: more than 1,000,000 partial matches ")
    assert remedy.endswith("or raise the budget (--budget)")
    assert not out.exists()


NOTICES = ["rejected rows", "unknown type", "no matches"]


@pytest.fixture(scope="module")
def two_commands(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, str, str]]:
    """Run two commands as users do, in a process of their own, but one after the other in the same.

    Return for each of them the exit status, standard output and standard error.
    """
    files = tmp_path_factory.mktemp("two")
    (files / "queries.weft").write_text(QUERIES)
    (files / "events.csv").write_text(EVENTS)
    (files / "boom.weft").write_text(BOOM)
    (files / "many.csv").write_text(MANY)
    options = ("--time", "ts", "--type", "type", "--json")
    commands = [
        ["run", str(files / queries), str(files / events), *options]
        for queries, events in (("queries.weft", "events.csv"), ("boom.weft", "many.csv"))
    ]
    run = run_apart(sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(commands))
    assert run.returncode == 0, run.stderr
    shown, told = run.stdout.split(END), run.stderr.split(END)
    assert (len(shown), len(told)) == (3, 3)
    return [
        (int(status), out, error) for status, out, error in zip(shown[-1].split(), shown, told, strict=False)
    ]


@pytest.mark.spark
@pytest.mark.xdist_group("two commands")
def test_standard_output_is_the_json_object_alone(two_commands: list[tuple[int, str, str]]) -> None:
    status, shown, told = two_commands[0]
    assert status == 0, told
    assert json.loads(shown)["matches"] == {"theft": 1, "nothing": 0}
    assert shown.count("\n") == 1
    notices = [line.removeprefix("notice: ") for line in told.splitlines() if line.startswith("notice: ")]
    assert [own["kind"] for own in json.loads(shown)["notices"]] == NOTICES
    assert len(notices) == len(NOTICES)
    assert [line for line in told.splitlines() if not line.startswith(("notice: ", "  hint: "))] == []


@pytest.mark.spark
@pytest.mark.xdist_group("two commands")
def test_an_exploding_query_is_stopped_with_its_message(two_commands: list[tuple[int, str, str]]) -> None:
    status, shown, told = two_commands[1]
    assert status == 3
    summary = json.loads(shown)
    assert summary["matches"]["boom"] == 0
    assert summary["stopped"]["boom"].startswith("query boom: more than 1,000,000 partial matches ")
    caution, hint, *_, message, remedy = told.splitlines()
    assert caution.startswith("caution: query boom: p[] has no upper bound")
    assert hint.startswith("  hint: STRATEGY NEXT")
    assert message.startswith("query boom was stopped in 1 shard (partition 0), the others go on: query boom")
    assert remedy.endswith("or raise the budget (--budget)")
    assert summary["stopped"]["boom"].endswith(remedy)
    assert "Traceback" not in told
    assert "org.apache" not in told


@pytest.mark.spark
@pytest.mark.soak
def test_a_process_for_each_command(files: Path) -> None:
    run = ("run", files / "queries.weft", files / "events.csv", "--time", "ts", "--type", "type", "--json")
    fine = weft(*run)
    assert (fine.returncode, fine.stderr) == (0, "")
    assert json.loads(fine.stdout)["matches"] == {"theft": 1, "nothing": 0}
    assert fine.stdout.count("\n") == 1
    (files / "queries.weft").write_text(BOOM)
    (files / "events.csv").write_text(MANY)
    stopped = weft(*run)
    assert stopped.returncode == 3
    assert list(json.loads(stopped.stdout)["stopped"]) == ["boom"]
    assert stopped.stderr.splitlines()[-2].startswith("query boom was stopped in ")
    assert not any(word in stopped.stderr for word in ("Traceback", "org.apache"))
