"""`weft place`: what it prints, as text and as JSON, what it simulates, and what it says of mistakes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.helpers.small_networks import ROBOTS
from typer.testing import CliRunner, Result

from weft.cli.app import app

LARGE = {
    "name": "large",
    "sites": {str(site): list("ABCDEFGH") for site in range(12)},
    "rates": dict.fromkeys("ABCDEFGH", 3.0),
    "queries": ["SEQ(A, B, C, D, E, F, G, H)"],
}


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A file with the problem of the paper's figure 2."""
    path = tmp_path / "robots.json"
    path.write_text(json.dumps(ROBOTS | {"name": "robots"}))
    return path


@pytest.fixture
def city(tmp_path: Path) -> Path:
    sites = {str(site): ["C", "F"] if site % 50 == 0 else ["C"] for site in range(500)}
    document = {
        "name": "city",
        "sites": sites,
        "rates": {"C": 100, "F": 1},
        "queries": ["SEQ(C, F)"],
        "selectivities": {"CF": 0.0001},
    }
    path = tmp_path / "city.json"
    path.write_text(json.dumps(document))
    return path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["place", *map(str, arguments)])


def test_json_has_all_that_the_cost_follows_from(robots: Path) -> None:
    result = invoke(robots, "--json")
    assert result.exit_code == 0, result.stderr
    (line,) = result.stdout.splitlines()
    found = json.loads(line)
    assert (found["name"], found["cost"], found["central_cost"]) == ("robots", 45.0, 4002.0)
    assert found["ratio"] == 45.0 / 4002.0
    assert 0 < found["seconds"] < 10
    vertices = {vertex["id"]: vertex for vertex in found["graph"]["vertices"]}
    edges = found["graph"]["edges"]
    assert sum(edge["cost"] for edge in edges) == pytest.approx(45.0)
    for edge in edges:
        is_local = vertices[edge["from"]]["site"] == vertices[edge["to"]]["site"]
        assert (edge["cost"] == 0) == is_local
    events = {(v["projection"], v["site"]) for v in vertices.values() if len(v["projection"]) == 1}
    assert events == {("C", "1"), ("C", "2"), ("F", "1"), ("F", "4"), ("L", "2"), ("L", "3")}
    assert "SEQ(AND(C, L), F)" in {vertex["projection"] for vertex in vertices.values()}


def test_people_see_what_is_found_where_and_what_it_costs(robots: Path) -> None:
    result = invoke(robots, "--algorithm", "central")
    assert result.exit_code == 0, result.stderr
    for text in ("robots: 4 sites, 1 query, central", "center", "4,002", "above the optimum", "What is sent"):
        assert text in result.stdout


def test_a_picture_is_drawn(robots: Path, tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    assert invoke(robots, "--picture", target).exit_code == 0
    assert ElementTree.parse(target).getroot().tag.endswith("svg")
    result = invoke(robots, "--picture", tmp_path / "missing" / "graph.svg")
    assert result.exit_code == 1
    assert "No such file or directory" in result.stderr


def test_problems_are_chosen_by_name(robots: Path) -> None:
    robots.write_text(f"{json.dumps(ROBOTS | {'name': 'one'})}\n{json.dumps(ROBOTS | {'name': 'other'})}\n")
    lines = invoke(robots, "--json").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["one", "other"]
    (line,) = invoke(robots, "--json", "--name", "other").stdout.splitlines()
    assert json.loads(line)["name"] == "other"
    result = invoke(robots, "--name", "othr")
    assert result.exit_code == 1
    assert "no problem othr; did you mean other?" in result.stderr
    result = invoke(robots, "--picture", "graph.svg")
    assert result.exit_code == 1
    assert "--picture draws one problem" in result.stderr


def test_a_problem_that_is_too_large_does_not_stop_the_others(robots: Path) -> None:
    robots.write_text(f"{json.dumps(LARGE)}\n{json.dumps(ROBOTS | {'name': 'small'})}\n")
    result = invoke(robots, "--json", "--algorithm", "optimal")
    assert result.exit_code == 1
    assert result.stderr.startswith("large: ")
    assert [json.loads(line)["name"] for line in result.stdout.splitlines()] == ["small"]


def test_what_costs_nothing_costs_a_number(robots: Path) -> None:
    robots.write_text(
        json.dumps({"sites": {"1": ["A", "B"]}, "rates": {"A": 2, "B": 1}, "queries": ["SEQ(A, B)"]})
    )
    found = json.loads(invoke(robots, "--json").stdout)
    assert isinstance(found["cost"], float)
    assert (found["cost"], found["ratio"], found["lower_bound"]) == (0.0, 0.0, 0.0)


def test_mistakes_are_told(robots: Path, tmp_path: Path) -> None:
    missing = invoke(tmp_path / "nothing.json")
    assert missing.exit_code == 1
    assert "nothing.json" in missing.stderr
    robots.write_text(json.dumps(ROBOTS | {"queries": ["SEQ(C, X)"]}))
    assert invoke(robots).exit_code == 1
    assert invoke(robots, "--algorithm", "fastest").exit_code == 2
    robots.write_text(json.dumps(ROBOTS))
    bitmap = invoke(robots, "--picture", tmp_path / "graph.png")
    assert bitmap.exit_code == 1
    assert "expected a name that ends in .svg" in bitmap.stderr


def test_numbers_of_a_simulation(city: Path) -> None:
    result = invoke(city, "--simulate", 200, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["name"] == "city"
    assert found["sites"] == 500
    assert found["rows"] == found["cost"] == pytest.approx(10 * 499)  # every F to all other sites
    assert found["central_cost"] == pytest.approx(50_010)
    assert found["streams"] == 10 * 499
    assert abs(found["drawn_rows"] - found["rows"]) < 4 * found["standard_error"]
    assert found["bytes"] == pytest.approx(32 * found["rows"])


def test_people_see_a_table(city: Path) -> None:
    result = invoke(city, "--simulate", 10)
    assert result.exit_code == 0
    assert "city" in result.output
    assert "4,990" in result.output
    assert "standard error" in result.output


def test_what_a_simulation_does_not_do(city: Path, tmp_path: Path) -> None:
    result = invoke(city, "--simulate", 10, "--picture", tmp_path / "city.svg")
    assert result.exit_code == 1
    assert "--simulate shows no graph" in result.output
