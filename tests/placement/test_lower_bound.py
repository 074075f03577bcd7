"""The lower bound: where it is exact, and the linear programs behind it."""

from itertools import combinations

import numpy as np
from tests.helpers.small_networks import same

from weft.placement.linear_program import maximize
from weft.placement.lower_bound import lower_bound
from weft_lab.placement.problem_file import problem_of


def bound(**document: object) -> float:
    problem = problem_of(document)
    return lower_bound(problem.network, problem.queries)


def test_rare_events_go_to_all_sites_with_frequent_ones() -> None:
    sites = {str(site): ["A", "B"] for site in range(5)}
    found = bound(sites=sites, rates={"A": 1, "B": 100}, queries=["AND(A, B)"])
    assert same(found, 5 * 4 * 1)


def test_events_of_different_sites_have_to_meet() -> None:
    sites = {"1": ["A"], "2": ["B"]}
    assert same(bound(sites=sites, rates={"A": 3, "B": 7}, queries=["SEQ(A, B)"]), 3)
    links = {"1": {"2": 5}}
    assert same(bound(sites=sites, rates={"A": 3, "B": 7}, queries=["SEQ(A, B)"], links=links), 15)


def test_unrelated_queries_add_up_and_equal_ones_do_not() -> None:
    sites = {"1": ["A", "C"], "2": ["B", "D"]}
    rates = {"A": 3, "B": 7, "C": 2, "D": 9}
    assert same(bound(sites=sites, rates=rates, queries=["SEQ(A, B)", "SEQ(C, D)"]), 5)
    assert same(bound(sites=sites, rates=rates, queries=["SEQ(A, B)", "AND(A, B)"]), 3)


def test_one_site_sends_nothing() -> None:
    assert bound(sites={"1": ["A", "B"]}, rates={"A": 1, "B": 1}, queries=["SEQ(A, B)"]) == 0.0


def test_types_that_occur_twice_are_sent_once() -> None:
    sites = {"1": ["A"], "2": ["A"]}
    assert bound(sites=sites, rates={"A": 4}, queries=["SEQ(A1, A2)"]) <= 4 * (1 + 1e-9)


def test_linear_programs_against_all_corners() -> None:
    random = np.random.default_rng(7)
    for _ in range(30):
        rows, limits = random.uniform(0, 1, (4, 3)), random.uniform(0.5, 2, 4)
        goal = random.uniform(0, 1, 3)
        found = maximize(goal, rows, limits)
        assert bool((rows @ found <= limits + 1e-6).all())
        assert bool((found >= 0).all())
        all_rows = np.vstack([rows, -np.eye(3)])
        all_limits = np.concatenate([limits, np.zeros(3)])
        corners = []
        for chosen in combinations(range(7), 3):
            matrix = all_rows[list(chosen)]
            if abs(np.linalg.det(matrix)) > 1e-9:
                corner = np.linalg.solve(matrix, all_limits[list(chosen)])
                if bool((all_rows @ corner <= all_limits + 1e-9).all()):
                    corners.append(float(goal @ corner))
        assert abs(float(goal @ found) - max(corners)) < 1e-5
