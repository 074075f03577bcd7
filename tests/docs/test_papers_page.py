"""The page on the papers names what exists: files, sections of the benchmarks, every algorithm."""

import ast
import re
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PLACES = ("lab/", "tests/", "benchmarks/")
PATHS = sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE)))
SECTIONS = sorted(set(re.findall(r"bench `([\w-]+)`", PAGE)))
PAPERS = 5


def resolved(path: str) -> Path:
    """Where a path of the page is: below `src/weft/`, unless it says another place."""
    return ROOT / path if path.startswith(PLACES) else ROOT / "src" / "weft" / path


def with_reference() -> list[str]:
    """The files whose header cites where an algorithm comes from."""
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "lab").rglob("*.py")]
    cited = [
        path
        for path in sources
        if re.search(
            r"^Reference  ", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "", re.MULTILINE
        )
    ]
    return sorted(path.relative_to(ROOT).as_posix().removeprefix("src/weft/") for path in cited)


def test_every_path_that_is_named_exists() -> None:
    assert len(PATHS) > 150
    missing = [path for path in PATHS if not resolved(path).is_file()]
    assert missing == [], "docs/papers.md names files that are not there: mend their paths"


@pytest.mark.parametrize("path", with_reference())
def test_every_algorithm_with_a_reference_is_named(path: str) -> None:
    assert f"`{path}`" in PAGE, f"docs/papers.md does not say which item of a paper {path} holds"


def test_algorithms_with_a_reference_are_found() -> None:
    assert len(with_reference()) > 30


def test_every_section_of_the_benchmarks_that_is_named_exists() -> None:
    run = ast.parse((ROOT / "benchmarks" / "run.py").read_text(encoding="utf-8"))
    (named,) = (
        {key.value for key in node.value.keys}
        for node in ast.walk(run)
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "SECTIONS"
    )
    assert len(SECTIONS) > 10
    assert set(SECTIONS) <= named


def test_every_paper_has_its_items_and_its_figures() -> None:
    papers = PAGE.split("\n## ")[1:]
    assert len(papers) == PAPERS
    for paper in papers:
        assert "| Item |" in paper
        assert "| Figure |" in paper


def test_tables_have_as_many_cells_in_every_row() -> None:
    width = 0
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = line.count("|")
        assert width in (0, cells), line
        width = cells


def test_the_papers_are_those_of_the_citation_file() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    titles = re.findall(r'^    title: "(.*)"$', citation, re.MULTILINE)
    assert len(titles) == PAPERS
    words = " ".join(PAGE.split())
    for title in titles:
        assert f"*{title}.*" in words, title
    for doi in re.findall(r"^    doi: (.*)$", citation, re.MULTILINE):
        assert doi in PAGE


def test_the_citation_file_has_the_version_of_the_project() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {weft.__version__}\n" in citation
