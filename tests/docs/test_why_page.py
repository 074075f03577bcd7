"""What docs/why.md shows is what the command prints."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from weft.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "why.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TEXTS = [text for kind, text in BLOCKS if kind == "text"]
COMMANDS = [
    (text.removeprefix("$ weft ").strip(), shown)
    for text, shown in zip(TEXTS, TEXTS[1:], strict=False)
    if text.startswith("$ ")
]


@pytest.mark.spark
@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_commands_print_what_the_page_shows(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    kinds = dict(reversed(BLOCKS))  # the first block of each kind
    (tmp_path / "bank.weft").write_text(kinds["weft"])
    (tmp_path / "events.csv").write_text(kinds["csv"])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*shlex.split(command), "--master", "local[1]"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout == shown


def test_there_are_commands() -> None:
    assert len(COMMANDS) == 3


def test_the_code_of_the_page_runs() -> None:
    code = "\n".join(text for kind, text in BLOCKS if kind == "python")
    test = doctest.DocTestParser().get_doctest(code, {}, "why.md", "why.md", 0)
    report: list[str] = []
    assert doctest.DocTestRunner().run(test, out=report.append).failed == 0, "".join(report)
