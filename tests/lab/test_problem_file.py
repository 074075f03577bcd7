"""Problems from files: their forms, and errors that say what was found, where and what was expected."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from weft.errors import DataError, WeftError
from weft_lab.placement.problem_file import problem_of, read_problems

GOOD: dict[str, Any] = {
    "name": "robots",
    "sites": {"R1": ["C", "F"], "R2": ["C", "L"]},
    "rates": {"C": 1000, "F": 1, "L": 900},
    "queries": ["SEQ(AND(C, L), F)"],
    "selectivities": {"CL": 0.0001, "F, C": 0.01},
    "best_known_cost": 45.0,
    "amuse_cpu_seconds": None,
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        json.dumps({"about": "two", "problems": [GOOD, GOOD]}),
        json.dumps([GOOD]),
        "\n".join([json.dumps(GOOD), "", json.dumps(GOOD)]),
    ],
)
def test_all_forms_of_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "problems.json"
    path.write_text(text, encoding="utf-8")
    problems = read_problems(path)
    assert {problem.name for problem in problems} == {"robots"}
    assert len(problems) == text.count('"name"')
    assert problems[0].best_known_cost == 45.0
    assert problems[0].amuse_seconds is None
    network, query = problems[0].network, problems[0].queries[0]
    assert network.sites == ("R1", "R2")
    assert network.rates["L"].tolist() == [0.0, 900.0]
    assert query.projection(0b101).factor == 0.01


def test_rates_may_differ_from_site_to_site() -> None:
    network = problem_of(GOOD | {"rates": {"C": {"R1": 5, "R2": 7}, "F": 1, "L": 900}}).network
    assert network.rates["C"].tolist() == [5.0, 7.0]


def test_links_have_one_as_default_and_hold_in_both_directions() -> None:
    sites = {"1": ["C"], "2": ["F"], "3": ["L"]}
    links = {"1": {"2": 2.5}, "2": {"3": 4}, "3": {"2": 5}}
    network = problem_of(GOOD | {"sites": sites, "links": links}).network
    assert network.distances.tolist() == [[0, 2.5, 1], [2.5, 0, 4], [1, 5, 0]]


def test_longer_names_of_types_are_told_apart_by_a_comma() -> None:
    document = {
        "sites": {"1": ["Camera", "Lidar"]},
        "rates": {"Camera": 2, "Lidar": 3},
        "queries": ["SEQ(Camera, Lidar)"],
        "selectivities": {"Lidar,Camera": 0.5},
    }
    assert problem_of(document).queries[0].projection(0b11).factor == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sites": None}, "sites: expected the types of events of every site, found nothing"),
        ({"sites": {"R1": "CF"}}, "sites: R1: expected a list of types, found CF"),
        ({"rates": {"C": 1, "F": 1}}, "rates: expected a rate for L, which site R2 emits"),
        ({"rates": {"C": 0, "F": 1, "L": 2}}, "rates: C at site R1: expected a number above 0, found 0"),
        ({"rates": {"C": "x", "F": 1, "L": 2}}, 'expected a number above 0, found "x"'),
        (
            {"rates": {"C": {"R1": 2}, "F": 1, "L": 2}},
            "C at site R2: expected a number above 0, found nothing",
        ),
        ({"rates": {"C": 1, "F": {"R2": 3}, "L": 2}}, "rates: F: expected a site that emits F, found R2"),
        ({"queries": []}, "queries: expected a list of queries, found []"),
        ({"queries": ["SEQ(C, X)"]}, "queries: 1:1:8: unknown type X"),
        ({"queries": ["SEQ(C, OR(L, F))"]}, "queries: 1:1:8: OR is no operator"),
        (
            {"queries": ["SEQ(C, Z)"], "rates": GOOD["rates"] | {"Z": 1}},
            "expected a site that emits Z, found none",
        ),
        ({"queries": [7]}, "queries: 1: expected a query such as SEQ(A, B), found 7"),
        ({"selectivities": {"CLF": 0.1}}, 'CLF: expected two types, as "AB" or "first,second", found CLF'),
        ({"selectivities": {"CL": -1}}, "selectivities: CL: expected a number above 0, found -1"),
        ({"selectivities": {"CL": 0.1, "LC": 0.2}}, "LC: expected 0.1 as for CL, found 0.2"),
        ({"links": {"R9": {"R1": 2}}}, "links: expected a known site, found R9"),
        ({"links": {"R1": {"R1": 2}}}, "links: R1: expected another known site, found R1"),
        ({"links": {"R1": {"R2": 0}}}, "links: R1 to R2: expected a number above 0, found 0"),
        ({"name": 7}, "name: expected a text, found 7"),
    ],
)
def test_errors_say_what_was_found_where_and_expected(change: dict[str, Any], message: str) -> None:
    with pytest.raises(WeftError, match=re.escape(message)):
        problem_of(GOOD | change)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "problems.json:1:2: not JSON"),
        (json.dumps(GOOD) + "\n{oops", "problems.json:2:2: not JSON"),
        ('{"problems": 3}', "problems: expected a list of problems, found 3"),
        ("[]", "no problem found"),
        ('{"sites": {"R1": ["C"], "R1": ["F"]}}', "problems.json: R1 occurs twice in one object"),
        (
            json.dumps(GOOD) + '\n{"rates": 1, "rates": 2}',
            "problems.json:2: rates occurs twice in one object",
        ),
        ("[3]", "problem 1: expected an object with sites, rates and queries, found 3"),
        (json.dumps(GOOD | {"rates": {}}), "problem robots: rates: expected a rate for every type"),
    ],
)
def test_errors_of_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "problems.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        read_problems(path)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(DataError, match=r"nowhere\.json: No such file"):
        read_problems("nowhere.json")
