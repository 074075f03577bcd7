"""The plug-in of pytest, run by pytest on files that pass, fail and are wrong."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import weft.testing.rule_test_run  # noqa: F401 - imported before pytest runs within pytest and forgets what it imports
from weft.testing.plugin import undecided_in

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PASSES = """
rules: |
  QUERY q
  PATTERN SEQ(A a, B b)
  WITHIN 1 hour
tests:
  - name: a, then b
    events: |
      ts     type
      09:00  A
      09:01  B
    expect: {q: [[1, 2]]}
"""
FAILS = (
    PASSES
    + """\
  - name: b, then a
    events: |
      ts     type
      09:00  B
      09:01  A
    expect: {q: [[1, 2]]}
"""
)


def run(pytester: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    """Run pytest on some files; where the plug-in is installed, it is not loaded twice."""
    for name, text in files.items():
        pytester.makefile(".yaml", **{name: text})
    return pytester.runpytest_subprocess(
        "-p", "no:weft", "-p", "weft.testing.plugin", "-p", "no:xdist", *arguments
    )


def test_each_test_of_a_file_is_one(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-v", test_rules=PASSES, test_other="services: {}", rules=FAILS)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_rules.yaml::a, then b PASSED*"])
    result.stdout.fnmatch_lines(
        [
            "*conditions that no test decides*",
            "*test_rules.yaml: rule q: no test decides `WITHIN 1 hour`; add*",
        ]
    )


def test_a_failure_tells_the_difference_without_a_traceback(pytester: pytest.Pytester) -> None:
    result = run(pytester, test_rules=FAILS)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*b, then a*",
            "rule q: 1 match missing",
            "  missing [[]1, 2]",
            "    - 1  +0:00:00  B",
            "    - 2  +0:01:00  A",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*plugin.py*")


def test_a_file_that_is_wrong_is_an_error(pytester: pytest.Pytester) -> None:
    result = run(pytester, test_rules=PASSES.replace("expect", "expectt"))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*test_rules.yaml:11:5: a test has the unknown key expectt", "  hint: did you mean expect?"]
    )


def test_tests_are_chosen_as_usual(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-k", "then and not 'b, then'", test_rules=FAILS)
    assert result.ret in (0, 4)
    result = run(pytester, "test_rules.yaml::a, then b")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*conditions that no test decides*")  # as another test might


def test_the_workers_of_a_run_tell_together_what_is_undecided() -> None:
    told = ["rule q: a", "rule q: b", "rule q: c"]
    first = {"file": "a.yaml", "tests": 2, "told": told, "decided": ["rule q: a"]}
    second = {**first, "decided": ["rule q: c"]}
    assert undecided_in([first, None, second]) == ["a.yaml: rule q: b"]
    assert undecided_in([first]) == []


def test_the_plug_in_is_announced_and_light() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = project["entry-points"]["pytest11"]["weft"]
    assert import_module(name).pytest_collect_file is not None
    code = f"import sys, pytest; import {name}; print(*{{each.partition('.')[0] for each in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "numba", "pyspark", "yaml", "lark"} & set(done.stdout.split())
