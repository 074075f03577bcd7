"""The first answers of the command line: at once, because nothing is imported that they do not need."""

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import weft
from weft.cli.app import SUMMARIES, app
from weft.cli.groups import with_groups
from weft.cli.options import PlanOptions
from weft.cli.steps import planning_of
from weft.cli.trend_options import TrendOptions
from weft.optimizer.planning import Planning

HEAVY = ("pyspark", "py4j", "numba", "pandas", "pyarrow", "numpy")
SCRIPT = """
import sys
from weft.cli.app import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("imported:", *sorted(name for name in sys.modules if "." not in name))
"""


def imported_by(*arguments: str) -> tuple[str, set[str]]:
    """Return what a command prints, and the packages that it imports."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    shown, _, names = ran.stdout.rpartition("imported:")
    return shown, set(names.split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("check", "QUERIES")])
def test_first_answers_import_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    queries = tmp_path / "queries.weft"
    queries.write_text("QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 minutes")
    shown, names = imported_by(*(str(queries) if part == "QUERIES" else part for part in arguments))
    assert shown.strip()
    assert "weft" in names
    assert names.isdisjoint(HEAVY)


def test_a_command_that_runs_spark_imports_it() -> None:
    _, names = imported_by("stream", "--help")
    assert {"pyspark", "numpy"} <= names


@pytest.mark.parametrize("command", ["run", "explain", "why", "test", "warm"])
def test_a_command_that_runs_here_imports_no_spark(command: str) -> None:
    _, names = imported_by(command, "--help")
    assert names.isdisjoint({"pyspark", "py4j"})


def test_the_list_of_commands_has_the_first_line_of_each_help() -> None:
    for name, summary in SUMMARIES.items():
        command = getattr(import_module(f"weft.cli.{name}"), name)
        assert (inspect.getdoc(command) or "").splitlines()[0] == summary
    shown = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "160"}).stdout.split())
    assert all(f"{name} {summary}" in shown for name, summary in SUMMARIES.items())


def test_the_version_is_one() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"weft {weft.__version__}\n"


def test_an_unknown_command_is_told_with_a_near_one() -> None:
    result = CliRunner().invoke(app, ["checks"])
    assert result.exit_code == 2
    assert "check" in result.stderr


def test_options_of_groups_have_their_defaults_and_bounds() -> None:
    files = ("run", "q.weft", "e.csv")
    result = CliRunner().invoke(app, [*files, "--time", "ts", "--type", "t", "--budget", "0"])
    assert result.exit_code == 2
    assert "--budget" in result.stderr
    missing = CliRunner().invoke(app, [*files, "--type", "t"])
    assert "--time" in missing.stderr


def test_a_command_without_groups_stays_as_it_is() -> None:
    def command(name: str, *, loud: bool = False) -> None:
        """Greet."""
        typer.echo(f"{name}{'!' * loud}")

    assert inspect.signature(with_groups(command)) == inspect.signature(command)


def test_planning_options_are_checked_before_spark_starts(tmp_path: Path) -> None:
    queries, events = tmp_path / "q.weft", tmp_path / "e.csv"
    queries.write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 minutes")
    events.write_text("ts,type\n1,A\n")
    given = ("run", str(queries), str(events), "--time", "ts", "--type", "type")
    for options, message in (
        (
            ("--neighborhood-size", "3", "--neighborhood", "edge"),
            "--neighborhood-size needs --neighborhood vertex",
        ),
        (("--heuristic", "tabu", "--plan", "share"), "heuristic is 'tabu', which plan='share' does not use"),
        (("--plan", "best"), "--plan best: expected auto"),
        (("--objective", "speed"), "--objective speed: expected throughput, latency, or a number"),
        (("--objective", "2"), "objective is 2.0; expected 'throughput', 'latency' or a number from 0 to 1"),
    ):
        result = CliRunner().invoke(app, [*given, *options])
        assert result.exit_code == 1
        assert message in result.stderr


def test_planning_options_become_a_planning() -> None:
    options = PlanOptions(
        plan="mcep",
        steps=50,
        seed=7,
        heuristic="annealing",
        neighborhood="vertex",
        neighborhood_size=3,
        prefix_only=True,
        cost="partial-matches",
        objective="0.25",
        search_seconds=2.0,
    )
    assert planning_of(options, TrendOptions(sharing="static", exact=True)) == Planning(
        plan="mcep",
        steps=50,
        seed=7,
        heuristic="annealing",
        neighborhood="vertex",
        k=3,
        prefix_only=True,
        cost="partial-matches",
        objective=0.25,
        search_seconds=2.0,
        sharing="static",
        exact=True,
    )
    assert planning_of(PlanOptions()) == Planning()
