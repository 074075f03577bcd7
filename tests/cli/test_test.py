"""The command `weft test`, as a person calls it."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Tree

import pytest
from click.testing import Result
from typer.testing import CliRunner

from weft.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RULES = """
rules: |
  QUERY q
  PATTERN SEQ(A a, B b)
  WHERE a.x = b.x
  WITHIN 1 hour
  QUERY other
  PATTERN C c
tests:
"""
PASSES = """
  - name: a, then b
    events: |
      ts     type  x
      09:00  A     1
      09:01  B     1
    expect: {q: [[1, 2]]}
"""
FAILS = """
  - name: another x
    events: |
      ts     type  x
      09:00  A     1
      09:01  B     2
    expect: {q: [[1, 2]]}
"""
ENDS = """
  - name: no x
    events: |
      ts     type
      09:00  A
    expect: {q: none}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str, **files: str) -> Result:
    for name, text in files.items():
        Path(f"{name}.test.yaml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, ["test", *arguments])


def test_the_examples_pass_and_decide_all_conditions() -> None:
    result = call(str(EXAMPLES), "--strict")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].endswith("examples/takeover.test.yaml")
    assert lines[1].startswith("  \u2713 a password change, then a large transfer  ")
    assert lines[1].endswith(" ms")
    assert lines[-1].startswith("5 passed in ")


def test_a_test_that_fails_tells_the_difference() -> None:
    result = call(".", a=RULES + PASSES + FAILS)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "a.test.yaml"
    assert lines[2].startswith("  \u2717 another x  ")
    assert lines[3:7] == [
        "      rule q: 1 match missing",
        "        missing [1, 2]",
        "          - 1  +0:00:00  A",
        "          - 2  +0:01:00  B",
    ]
    assert lines[7:] == [
        "  ? rule q: no test decides `WITHIN 1 hour`; add events that fit but lie further apart",
        "  ? rule other: no test mentions it; say what it finds, or none, in `expect`",
        lines[-1],
    ]
    assert lines[-1].startswith("1 passed, 1 failed, 2 not decided in ")


def test_a_test_that_ends_with_an_error_tells_its_place() -> None:
    result = call("a.test.yaml", a=RULES + ENDS)
    assert result.exit_code == 1
    assert "a.test.yaml:5:9: query q: unknown attribute x" in result.stdout
    assert "0 passed, 1 with an error" in result.stdout


def test_what_is_undecided_fails_where_that_is_asked_for() -> None:
    assert call(".", a=RULES + PASSES).exit_code == 0
    assert call(".", "--strict").exit_code == 1
    result = call(".", "--strict", "-k", "x")
    assert result.exit_code == 1
    assert result.stderr == "--strict looks at all tests of a file: leave out -k\n"


def test_a_file_that_is_wrong_does_not_hide_others() -> None:
    result = call(".", a=RULES + PASSES.replace("expect", "expectt"), b=RULES + PASSES)
    assert result.exit_code == 1
    assert "a.test.yaml:16:5: a test has the unknown key expectt" in result.stderr
    assert "\u2713 a, then b" in result.stdout
    assert "1 passed, 1 with an error" in result.stdout


def test_tests_are_chosen_by_their_names() -> None:
    result = call(".", "-k", "THEN", a=RULES + PASSES + FAILS)
    assert result.exit_code == 0
    assert "another" not in result.stdout
    assert "decide" not in result.stdout
    result = call(".", "-k", "zebra")
    assert result.exit_code == 1
    assert result.stderr == "no test has 'zebra' in its name\n  hint: leave out -k to run all of them\n"


def test_the_outcome_as_json() -> None:
    result = call(".", "--json", a=RULES + PASSES + FAILS + ENDS, b="rules: x\n")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert {name: told[name] for name in ("passed", "failed", "errors", "undecided")} == {
        "passed": 1,
        "failed": 1,
        "errors": 2,
        "undecided": 2,
    }
    first, second = told["files"]
    assert [test["status"] for test in first["tests"]] == ["passed", "failed", "error"]
    assert first["tests"][1]["message"].startswith("rule q: 1 match missing\n")
    assert first["undecided"][0]["condition"] == "WITHIN 1 hour"
    assert first["untested"] == ["other"]
    assert "the file has no `tests`" in second["error"]


def test_the_outcome_as_junit() -> None:
    result = call(".", "--junit", "report.xml", "--strict", a=RULES + PASSES + FAILS)
    assert result.exit_code == 1
    root = Tree.parse("report.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == [
        *("a, then b", "another x", "every condition is decided"),
    ]
    assert [failure.get("message") for failure in root.iter("failure")] == [
        "rule q: 1 match missing",
        "rule q: no test decides `WITHIN 1 hour`; add events that fit but lie further apart",
    ]
    result = call("a.test.yaml", "--junit", "absent/report.xml")
    assert result.exit_code == 1
    assert "--junit absent/report.xml: No such file or directory" in result.stderr


def test_paths_that_hold_no_tests() -> None:
    result = call(".")
    assert result.exit_code == 1
    assert "the directory holds no tests of rules" in result.stderr
    assert call("absent.yaml").exit_code == 1
    assert call().exit_code == 2


def test_neither_spark_nor_java_is_started() -> None:
    code = "import sys; from weft.cli.app import app; app(standalone_mode=False)"
    told = "print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {told}", "test", str(EXAMPLES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr
