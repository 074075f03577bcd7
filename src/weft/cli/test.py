"""The command `weft test`: whether rules find in small tables of events what they should."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from weft.cli.console import FAILED, report_errors, say_error, terminal
from weft.cli.groups import option, with_groups
from weft.errors import WeftError
from weft.testing.file_names import rule_test_files
from weft.testing.junit import junit_xml
from weft.testing.rule_test_run import RuleFileOutcome, RuleTestOutcome, run_file, undecided_lines

EXAMPLES = (
    "Examples:\n\n"
    "  weft test fraud.test.yaml\n\n"
    "  weft test rules/ --junit report.xml\n\n"
    "  weft test rules/ -k takeover\n\n"
    "  weft test rules/ --strict"
)


@dataclass(frozen=True, kw_only=True)
class RuleTestOptions:
    """Which tests are run, how strictly, and where their outcome goes."""

    junit: str | None = option("Also write a report in JUnit XML.", metavar="FILE", default=None)
    text: str | None = option("Run only tests whose name has this in it.", "-k", metavar="TEXT", default=None)
    strict: bool = option("Fail if there is a condition that no test decides.", "--strict", default=False)
    as_json: bool = option("Print the outcome as one JSON object and nothing else.", "--json", default=False)


@with_groups
def test(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Files of tests in YAML, or directories; of these, all files test_*.yaml, *_test.yaml and "
            "*.test.yaml that have rules.",
        ),
    ],
    *,
    options: RuleTestOptions,
) -> None:
    """Test rules: find out whether they find in small tables of events what they should.

    A file of tests has `rules`, `columns` and `tests`, each with `name`, `events` and `expect`. Which
    conditions of a rule no event of a file ever decided is told at the end. The exit status is 1 if a test
    fails or a file is wrong.
    """
    with report_errors():
        text, strict, junit = options.text, options.strict, options.junit
        if strict and text is not None:
            raise WeftError("--strict looks at all tests of a file: leave out -k")
        outcomes = []
        for file in rule_test_files(paths):
            outcome = run_file(file, lambda name: text is None or text.casefold() in name.casefold())
            outcomes.append(outcome)
            if not options.as_json:
                _show(outcome)
        if not any(outcome.tests or outcome.error for outcome in outcomes):
            raise WeftError(f"no test has {text!r} in its name\n  hint: leave out -k to run all of them")
        fails = not all(own.passes and (own.decides_all or not strict) for own in outcomes)
        if junit is not None:
            _write(Path(junit), junit_xml(outcomes, is_strict=strict))
        if options.as_json:
            typer.echo(json.dumps(summary(outcomes), ensure_ascii=False))
        else:
            terminal().print(Text(_summary_line(outcomes), style="bold red" if fails else "bold green"))
        if fails:
            raise typer.Exit(FAILED)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WeftError(f"--junit {path}: {error.strerror}") from None


def _show(outcome: RuleFileOutcome) -> None:
    """Print what came of a file: a line for each test, what differs, and what no test decides."""
    console = terminal()
    console.print(Text(str(outcome.path), style="bold"))
    if outcome.error:
        say_error(outcome.error)
    for test in outcome.tests:
        line = Text("  ").append("\u2713" if test.passes else "\u2717", "green" if test.passes else "red")
        line.append(f" {test.name}").append(f"  {1000 * test.seconds:.0f} ms", "dim")
        console.print(line, soft_wrap=True)
        for told in (test.error or test.difference).splitlines():
            console.print(Text(f"      {told}", style=_style(told)), soft_wrap=True)
    for told in undecided_lines(outcome.undecided, outcome.untested):
        console.print(Text("  ? ", style="yellow").append(told, ""), soft_wrap=True)


def _style(line: str) -> str:
    return {"-": "red", "+": "green"}.get(line.strip()[:1], "")


def summary(outcomes: Sequence[RuleFileOutcome]) -> dict[str, object]:
    """Return what came of all files, in the form of JSON.

    >>> summary([RuleFileOutcome(Path("a.test.yaml"))])["passed"]
    0
    """
    tests = [test for outcome in outcomes for test in outcome.tests]
    return {
        "passed": sum(test.status == "passed" for test in tests),
        "failed": sum(test.status == "failed" for test in tests),
        "errors": sum(test.status == "error" for test in tests) + sum(bool(own.error) for own in outcomes),
        "undecided": sum(len(own.undecided) + len(own.untested) for own in outcomes),
        "seconds": round(sum(test.seconds for test in tests), 3),
        "files": [_file_summary(outcome) for outcome in outcomes],
    }


def _file_summary(outcome: RuleFileOutcome) -> dict[str, object]:
    told: dict[str, object] = {"file": str(outcome.path), "tests": list(map(_test_summary, outcome.tests))}
    told["undecided"] = [
        {"rule": own.rule, "condition": own.text, "hint": own.hint} for own in outcome.undecided
    ]
    told["untested"] = list(outcome.untested)
    return {**told, "error": outcome.error} if outcome.error else told


def _test_summary(test: RuleTestOutcome) -> dict[str, object]:
    told = {"name": test.name, "line": test.line, "status": test.status, "seconds": round(test.seconds, 4)}
    message = test.error or test.difference
    return {**told, "message": message} if message else told


def _summary_line(outcomes: Sequence[RuleFileOutcome]) -> str:
    """Return how many tests passed and failed, and how many conditions are undecided."""
    counts = summary(outcomes)
    words = {"passed": "passed", "failed": "failed", "errors": "with an error", "undecided": "not decided"}
    told = [f"{counts[key]} {word}" for key, word in words.items() if counts[key] or key == "passed"]
    return f"{', '.join(told)} in {counts['seconds']} seconds"
