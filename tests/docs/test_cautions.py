"""No query of the documentation or of the demonstration is likely to explode, but the one that shows it."""

import re
from pathlib import Path

import pytest

from weft.cli.demo import demo_queries
from weft.language.parser import parse
from weft.normalize.cautions import list_cautions

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md")))
SHOWN_TO_EXPLODE = {"every_choice"}  # docs/matches.md tells what it does


def texts_of(page: str) -> list[str]:
    """Return the texts of queries on a page: blocks of their own, and strings in Python."""
    blocks = re.findall(r"^```(weft|sql|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    own = [text for kind, text in blocks if kind != "python"]
    code = [text for kind, text in blocks if kind == "python"]
    strings = [text for part in code for text in re.findall(r'"""(.*?)"""', part, re.DOTALL)]
    return own + [text for text in strings if "PATTERN" in text and "..." not in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_queries_of_the_pages(page: Path) -> None:
    for text in texts_of(page.read_text(encoding="utf-8")):
        assert set(list_cautions(parse(text))) <= SHOWN_TO_EXPLODE


def test_queries_are_found() -> None:
    assert sum(len(texts_of(page.read_text(encoding="utf-8"))) for page in PAGES) > 20


def test_queries_of_the_demonstration() -> None:
    assert list_cautions(parse(demo_queries())) == {}


def test_queries_of_the_examples() -> None:
    for path in (ROOT / "examples").glob("*.py"):
        (text,) = re.findall(r'QUERIES = """(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL)
        assert list_cautions(parse(text)) == {}, path.name
