"""What docs/local.md and the README say of the local host is so."""

import re
from pathlib import Path
from typing import get_args

import pytest

from weft.notices import NoticeKind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "local.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", CODE.findall(PAGE))
def test_the_code_of_the_page_runs(text: str) -> None:
    exec(compile(text, "docs/local.md", "exec"), {})


def test_the_first_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(CODE.findall(README)[0], "README.md", "exec"), {})
    assert "takeover" in capsys.readouterr().out


def test_all_kinds_of_notices_but_those_of_streams_are_named() -> None:
    named = set(re.findall(r"^\| `([\w ]+)` \|", PAGE, re.MULTILINE))
    assert named == set(get_args(NoticeKind)) - {"stream"}
