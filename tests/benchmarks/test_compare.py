"""Two commits of a small project with benchmarks of their own are compared, by turns."""

import subprocess
from pathlib import Path

import compare
import pytest
from compare import Compared, Quantity, compare_with

RUN = r"""
import json, pathlib, sys
import weft
only, section, events, _, measures = sys.argv[1:]
assert (only, section, events) == ("--only", "trends", "--events=7")
with open("ORDER", "a") as order:
    order.write(weft.NAME + " ")
results = pathlib.Path("benchmarks/results")
results.mkdir(exist_ok=True)
(results / "rates.csv").write_text(f"rate\n{weft.SPEED}\n{weft.SPEED}\n")
numbers = [{"what": "seconds", "value": 1 / weft.SPEED}, {"what": "other", "value": "skipped"}]
pathlib.Path(measures).write_text(json.dumps({"measures": numbers}))
"""


def git(place: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=place, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: Path) -> Path:
    """A project whose second commit, which is checked out, takes twice the time of its first."""
    root = tmp_path / "project"
    (root / "src" / "weft").mkdir(parents=True)
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "run.py").write_text(RUN.replace("ORDER", str(tmp_path / "order")))
    git(root, "init", "--quiet")
    for name, speed in (("old", 40.0), ("new", 20.0)):
        (root / "src" / "weft" / "__init__.py").write_text(f"NAME, SPEED = {name!r}, {speed}\n")
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", name)
    monkeypatch.setattr(compare, "ROOT", root)
    quantities = (Quantity("seconds"), Quantity("rate", is_rate=True, table="rates"))
    monkeypatch.setattr(compare, "QUANTITIES", {"trends": quantities})
    return root


def test_sides_take_turns_and_times_are_compared(project: Path, tmp_path: Path, results: Path) -> None:
    said: list[str] = []
    measures = compare_with("HEAD~1", ["trends"], 3, ["--events=7"], said.append)
    assert [(one.what, one.value, one.is_met) for one in measures] == [
        ("seconds: time, new / old", 2.0, False),
        ("rates: rate: time, new / old", 2.0, False),
    ]
    assert (tmp_path / "order").read_text().split() == ["old", "new", "new", "old", "old", "new"]
    assert len(said) == 6
    assert list(results.glob("before-*.csv"))
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=project, capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1, "the worktree of the earlier commit is gone"


def test_what_cannot_be_compared_is_refused(project: Path) -> None:
    with pytest.raises(SystemExit, match="compares trends; not peers"):
        compare_with("HEAD~1", ["peers"], 1, [], str)
    with pytest.raises(SystemExit, match="git worktree add"):
        compare_with("no-such-commit", ["trends"], 1, [], str)


def test_a_section_that_fails_is_an_error_with_its_output(project: Path) -> None:
    with pytest.raises(SystemExit, match="AssertionError"):
        compare_with("HEAD~1", ["trends"], 1, ["--events=8"], str)


def test_a_measure_that_a_side_does_not_have_is_named(project: Path, monkeypatch) -> None:
    monkeypatch.setattr(compare, "QUANTITIES", {"trends": (Quantity("minutes"),)})
    with pytest.raises(SystemExit, match="do not measure 'minutes'"):
        compare_with("HEAD~1", ["trends"], 1, ["--events=7"], str)


def test_five_percent_more_time_are_within_the_goal() -> None:
    def is_met(new: float) -> bool | None:
        return Compared("stream", Quantity("stream", is_rate=True), (100.0,), (new,)).measure.is_met

    assert is_met(96.0)
    assert not is_met(95.0)


def test_sections_that_are_compared_exist() -> None:
    import ast

    run = ast.parse((Path(compare.__file__).parent / "run.py").read_text())
    (sections,) = (
        node.value
        for node in ast.walk(run)
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "SECTIONS"
    )
    names = {key.value for key in sections.keys}
    assert set(compare.QUANTITIES) <= names
