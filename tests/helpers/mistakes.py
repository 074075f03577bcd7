"""Load pairs of a wrong text and what is said of it from a file of cases."""

from pathlib import Path

import pytest


def load_mistakes(name: str) -> list[object]:
    """Return the cases of a file: `=== title`, the text, `---`, and the message in full."""
    content = (Path(__file__).parents[1] / "language" / "cases" / name).read_text(encoding="utf-8")
    cases: list[object] = []
    for case in content.removeprefix("=== ").split("\n=== "):
        title, rest = case.split("\n", 1)
        text, message = rest.split("\n---\n")
        cases.append(pytest.param(text, message.rstrip("\n"), id=title))
    return cases
