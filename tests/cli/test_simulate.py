"""`weft place --simulate`: what is predicted and drawn, for people and as JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from weft.cli.app import app


@pytest.fixture
def problem(tmp_path: Path) -> Path:
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


def test_numbers_of_a_simulation(problem: Path) -> None:
    result = invoke(problem, "--simulate", 200, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["name"] == "city"
    assert found["sites"] == 500
    assert found["rows"] == found["cost"] == pytest.approx(10 * 499)  # every F to all other sites
    assert found["central_cost"] == pytest.approx(50_010)
    assert found["streams"] == 10 * 499
    assert abs(found["drawn_rows"] - found["rows"]) < 4 * found["standard_error"]
    assert found["bytes"] == pytest.approx(32 * found["rows"])


def test_people_see_a_table(problem: Path) -> None:
    result = invoke(problem, "--simulate", 10)
    assert result.exit_code == 0
    assert "city" in result.output
    assert "4,990" in result.output
    assert "standard error" in result.output


def test_what_a_simulation_does_not_do(problem: Path, tmp_path: Path) -> None:
    result = invoke(problem, "--simulate", 10, "--picture", tmp_path / "city.svg")
    assert result.exit_code == 1
    assert "--simulate shows no graph" in result.output
