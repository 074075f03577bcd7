"""The reference of the public names is that of the code."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from scripts import api_page

import weft

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == api_page.page(), "docs/api.md is stale: run `make docs`"


def test_every_public_name_has_its_entry() -> None:
    titles = re.findall(r"^### weft\.(\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(titles) == sorted(weft.__all__)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> str:
    """The page of a package with one name of each kind."""
    for name, thing in (("Option", Option), ("run", run), ("BrokenError", BrokenError)):
        monkeypatch.setitem(vars(weft), name, thing)
    monkeypatch.setattr(weft, "__all__", ["Option", "run", "BrokenError"])
    monkeypatch.setattr(api_page, "_own", lambda thing: [thing])
    return api_page.page()


class BrokenError(ValueError):
    """Something is wrong."""


@dataclass(frozen=True)
class Option:
    """How to run.

    size
        How large it is,
        as a number.
    names, known
        What there is.

    >>> Option(2).twice
    4
    """

    size: int
    names: tuple[str, ...] = ()
    known: dict[str, int] = field(default_factory=dict)

    @property
    def twice(self) -> int:
        """The size, twice."""
        return 2 * self.size

    @classmethod
    def of(cls, text: str) -> "Option":
        """Read an option."""
        return cls(int(text))


def run(
    first: int, /, second: str = "x", *rest: float, third: Option | None = None, **others: object
) -> list[int]:
    """Run it.

    Parameters
    ----------
    first : int
        Where to begin,
        and so on.
    second
        What to say.

    Returns
    -------
    list
        What came out.
    """
    raise NotImplementedError


def test_signatures_are_as_they_are_written(sample: str) -> None:
    call = """weft.run(
    first: int,
    /,
    second: str = "x",
    *rest: float,
    third: Option | None = None,
    **others: object,
) -> list[int]"""
    assert call in sample
    assert "weft.Option(size: int, names: tuple[str, ...] = (), known: dict[str, int] = dict())" in sample
    assert "property Option.twice -> int" in sample
    assert "Option.of(text: str) -> Option" in sample
    assert "class weft.BrokenError(ValueError)" in sample


def test_sections_become_lists_and_examples_code(sample: str) -> None:
    assert (
        "**Parameters**\n\n- `first` (int): Where to begin, and so on.\n- `second`: What to say.\n" in sample
    )
    assert "- `size`:\n  How large it is,\n  as a number.\n- `names`, `known`:\n  What there is.\n" in sample
    assert "```python\n>>> Option(2).twice\n4\n```" in sample


def test_names_are_grouped(sample: str) -> None:
    assert re.findall(r"^## (\w+)$", sample, re.MULTILINE) == ["Functions", "Classes", "Errors"]
