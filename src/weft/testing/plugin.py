"""The plug-in of pytest: it collects files of tests of rules, a test each.

pytest loads it wherever Weft is installed, so the engine is imported only where there is such a file.
"""

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from weft.errors import WeftError
from weft.testing.file_names import is_rule_test

if TYPE_CHECKING:
    from weft.testing.rule_test_file import RuleTest
    from weft.testing.rule_test_run import RuleTestRun

DECISIONS = "weft_decisions"  # what the report of a test says of conditions, in simple types: workers send it


class RuleTestError(AssertionError):
    """Rules do not find what a test expects."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "RuleTestCollector | None":
    """Collect a file of tests of rules."""
    if not is_rule_test(file_path):
        return None
    collector: RuleTestCollector = RuleTestCollector.from_parent(parent, path=file_path)
    return collector


class RuleTestCollector(pytest.File):
    """A file of tests of rules."""

    def collect(self) -> "Iterable[RuleTestItem]":
        """Yield the tests of the file; what is wrong with it is told as it is."""
        from weft.testing.rule_test_file import read_rule_tests
        from weft.testing.rule_test_run import RuleTestRun

        try:
            run = RuleTestRun(read_rule_tests(self.path))
        except WeftError as error:
            raise self.CollectError(str(error)) from None
        for test in run.file.tests:
            yield RuleTestItem.from_parent(self, name=test.name, file_run=run, test=test)


class RuleTestItem(pytest.Item):
    """A test of rules."""

    def __init__(self, *, file_run: "RuleTestRun", test: "RuleTest", **given: Any) -> None:
        super().__init__(**given)
        self.file_run = file_run
        self.test = test
        self.decisions: dict[str, Any] | None = None

    def runtest(self) -> None:
        """Run the test, and take note of which conditions it decides."""
        from weft.testing.rule_test_run import undecided_lines

        run = self.file_run
        outcome = run.run(self.test)
        self.decisions = {
            "file": str(self.path),
            "tests": len(run.file.tests),
            "told": list(undecided_lines(run.record.conditions, run.untested)),
            "decided": list(undecided_lines(outcome.decided)),
        }
        if not outcome.passes:
            raise RuleTestError(outcome.error or outcome.difference)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the difference, without a traceback."""
        if isinstance(excinfo.value, RuleTestError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the test stands."""
        return self.path, self.test.line - 1, self.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report of a test of rules say which conditions it decides."""
    report = yield
    if isinstance(item, RuleTestItem) and call.when == "call":
        setattr(report, DECISIONS, item.decisions)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the conditions that no test decides, of files all of whose tests were run."""
    reports = (report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind))
    lines = undecided_in(getattr(report, DECISIONS, None) for report in reports)
    if lines:
        terminalreporter.section("conditions that no test decides")
        for line in lines:
            terminalreporter.write_line(line)


def undecided_in(decisions: Iterable[dict[str, Any] | None]) -> list[str]:
    """Return what no test decides, from what each test said, on whatever worker.

    >>> undecided_in(
    ...     [{"file": "a.yaml", "tests": 1, "told": ["rule q: x", "rule q: y"], "decided": ["rule q: y"]}]
    ... )
    ['a.yaml: rule q: x']
    """
    files: dict[str, list[dict[str, Any]]] = {}
    for own in decisions:
        if own is not None:
            files.setdefault(own["file"], []).append(own)
    lines = []
    for name, tests in files.items():
        decided = {line for own in tests for line in own["decided"]}
        if len(tests) == tests[0]["tests"]:
            lines += [f"{name}: {line}" for line in tests[0]["told"] if line not in decided]
    return lines
