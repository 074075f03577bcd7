"""ARCHITECTURE.md tells the tree and the import rules as they are."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/language.md",
    "docs/matches.md",
    "docs/optimizer.md",
    "docs/semantics.md",
    "docs/streams.md",
)
PLACES = (ROOT, ROOT / "src" / "weft")


def test_every_folder_is_told() -> None:
    table = PAGE.partition("| folder |")[2].partition("\n\n")[0]
    told = {name.split("/")[0] for name in re.findall(r"^\| `([\w/]+)/`", table, re.MULTILINE)}
    folders = {path.parent.name for path in (ROOT / "src" / "weft").glob("*/__init__.py")}
    assert told == folders


def test_the_layers_are_those_that_are_checked() -> None:
    block = PAGE.partition("## Import rules\n\n```text\n")[2].partition("```")[0]
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert block.splitlines() == [layer.replace("weft.", "") for layer in layers]


@pytest.mark.parametrize("name", PAGES)
def test_paths_that_are_named_exist(name: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.M | re.S)
    named = set(re.findall(r"`([\w/-]+/|[\w/-]+/[\w-]+\.(?:py|md|toml))`", text))
    missing = [path for path in named if not any((place / path).exists() for place in PLACES)]
    apart = {"matches/", "trends/", "orders/", "sharing/", "rewriting/", "columns/", "state/", "stages/"}
    assert sorted(set(missing) - apart) == []


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
