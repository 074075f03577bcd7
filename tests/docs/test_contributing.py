"""The glossary names each concept once, by classes that exist."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
GLOSSARY = PAGE.partition("### Glossary\n")[2].partition("No abbreviations")[0]
ROWS = [row.strip("|").split("|") for row in GLOSSARY.splitlines() if row.startswith("| ")][2:]


def class_names() -> Counter[str]:
    """How often each name is that of a class of the engine."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py"))
    return Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_concepts_are_named_once() -> None:
    concepts = Counter(concept.strip() for concept, *_ in ROWS)
    assert len(concepts) > 25
    assert [concept for concept, count in concepts.items() if count > 1] == []


def test_classes_of_the_glossary_exist_once() -> None:
    known = class_names()
    named = [name for *_, names in ROWS for name in re.findall(r"`(\w+)`", names)]
    assert len(named) > 25
    assert {name: known[name] for name in named if known[name] != 1} == {}
    assert [name for name, count in Counter(named).items() if count > 1] == []


def test_make_targets_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, page.name
