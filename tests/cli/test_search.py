"""What the command line says of a search, and how it improves a stored plan; all in its own process."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from weft.cli.app import app

QUERIES = "\n".join(
    f"QUERY q{number} PATTERN SEQ({', '.join(f'{name} {name.lower()}' for name in types)}) WITHIN 60 seconds"
    for number, types in enumerate(("ABC", "ABD", "BCD"))
)
KEYS = {"seconds", "steps", "stopped_by", "cost", "start_cost", "strategy"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "q.weft").write_text(QUERIES)
    rows = "".join(f"{1_000 * second},{'ABABABABCD'[second % 10]},{second}\n" for second in range(600))
    (tmp_path / "e.csv").write_text(f"ts,type,id\n{rows}")
    return tmp_path


def invoke(files: Path, command: str, *options: object) -> Result:
    given = (files / "q.weft", files / "e.csv", "--time", "ts", "--type", "type", "--id", "id", *options)
    result = CliRunner().invoke(app, [command, *map(str, given), "--engine", "local"])
    assert result.exit_code == 0, result.stderr
    return result


def search_of(files: Path, command: str, *options: object) -> dict[str, Any]:
    summary = json.loads(invoke(files, command, *options, "--json").stdout)
    found: dict[str, Any] = summary["search"]
    assert found.keys() == KEYS
    assert all(effort.keys() == {"steps", "seconds", "gain"} for effort in found["strategy"].values())
    return found


@pytest.mark.parametrize("command", ["run", "explain"])
def test_json_has_the_search(files: Path, command: str) -> None:
    search = search_of(files, command, "--steps", 40)
    assert search["steps"] <= 40
    assert search["stopped_by"] in ("steps", "settled")
    assert search["cost"] <= search["start_cost"]
    assert "replies" in search["strategy"]


def test_json_of_a_plan_that_is_not_searched_for_has_none(files: Path) -> None:
    assert "search" not in json.loads(invoke(files, "run", "--plan", "share", "--json").stdout)
    explained = json.loads(invoke(files, "explain", "--plan", "share", "--json").stdout)
    assert explained.keys() == {"explain", "notices"}
    assert "Cost in microseconds" in explained["explain"]


def test_queries_without_events_are_explained_as_json_too(files: Path) -> None:
    result = CliRunner().invoke(app, ["explain", str(files / "q.weft"), "--json"])
    assert json.loads(result.stdout)["explain"].startswith("Normal forms\n  q0\n")


@pytest.mark.parametrize(
    ("options", "method", "said"),
    [
        (("--heuristic", "annealing"), "annealing", "Planning: heuristic annealing, steps 300"),
        (("--heuristic", "tabu"), "tabu", "Planning: heuristic tabu, steps 300"),
        (("--neighborhood", "edge"), "edge", "Planning: neighborhood edge, steps 300"),
        (
            ("--neighborhood", "vertex", "--neighborhood-size", 3),
            "vertex of 3",
            "Planning: neighborhood vertex of 3, steps 300",
        ),
        (("--neighborhood-size", 8), "edge", "Planning: neighborhood mixed of 8, steps 300"),
        (("--prefix-only",), "edge", "Planning: prefix_only True, steps 300"),
        (("--objective", "latency"), "replies", "Planning: objective latency, steps 300"),
    ],
)
def test_ways_to_search_are_reached_and_shown(
    files: Path, options: tuple[object, ...], method: str, said: str
) -> None:
    assert method in search_of(files, "run", *options, "--steps", 300)["strategy"]
    shown = invoke(files, "explain", *options, "--steps", 300).stdout
    assert said in shown
    assert "Search: " in shown


def test_a_stored_plan_is_improved_when_seconds_or_steps_are_given(files: Path) -> None:
    plan, better = files / "plan.json", files / "better.json"
    invoke(files, "run", "--plan", "trivial", "--save-plan", plan)
    assert "Search: " not in invoke(files, "explain", "--plan", plan).stdout
    for end in (("--steps", 300), ("--search-seconds", 60)):
        search = search_of(files, "run", "--plan", plan, *end, "--save-plan", better)
        assert search["cost"] < search["start_cost"]
        assert better.read_text() != plan.read_text()


def test_only_seconds_that_were_given_are_told_as_short(files: Path) -> None:
    def kinds(*options: object) -> set[str]:
        notices = json.loads(invoke(files, "run", *options, "--json").stdout)["notices"]
        return {notice["kind"] for notice in notices}

    assert "short search" in kinds("--search-seconds", 1e-6)
    assert "short search" not in kinds("--steps", 1)
    assert "short search" not in kinds()
    assert "short search" not in kinds("--search-seconds", 0)  # no search at all is what was asked for
