"""What docs/testing.md shows of tests of rules is what happens."""

import re
from pathlib import Path

import pytest

from weft.testing.rule_conditions import conditions_of
from weft.testing.rule_test_file import read_rule_tests
from weft.testing.rule_test_run import run_file, undecided_lines

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
FILES, PYTHON, TEXT = (
    re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for language in ("yaml", "python", "text")
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "page.test.yaml"


@pytest.mark.parametrize("text", FILES)
def test_files_pass(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
    outcome = run_file(path)
    assert outcome.passes, outcome
    assert outcome.tests


def test_there_are_files_of_each_kind() -> None:
    assert len(FILES) == 3
    assert "trends" in FILES[1]
    assert "timeouts" in FILES[2]


def test_the_difference_is_that_of_the_page(path: Path) -> None:
    path.write_text(FILES[0].replace("[[1, 3]]", "[[1, 2]]"), encoding="utf-8")
    first, *_ = run_file(path).tests
    assert f"{first.difference}\n" == TEXT[0]


def test_what_no_test_decides_is_that_of_the_page(path: Path) -> None:
    path.write_text(FILES[0], encoding="utf-8")
    outcome = run_file(path)
    assert list(undecided_lines(outcome.undecided, outcome.untested)) == TEXT[1].splitlines()
    kinds = [condition.text for condition in conditions_of(read_rule_tests(path).rules.queries[0])]
    assert kinds == ["[user]", "t.amount > 1000", "WITHIN 1 hour"]


def test_code_of_the_page_runs() -> None:
    (code,) = PYTHON
    names: dict[str, object] = {}
    exec(compile(code, "testing.md", "exec"), names)
    assert names["table"].num_rows == 1  # type: ignore[attr-defined]
