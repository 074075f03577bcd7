"""Every algorithm on drawn problems: graphs that pass the checks, costs by the rule, and their order."""

import numpy as np
import pytest
from tests.helpers.small_networks import random_problem, same, slow_cost

from weft.errors import PlacementError
from weft.placement.amuse import place_query_star
from weft.placement.checks import check_graph
from weft.placement.multi_query import multi_query
from weft.placement.muse_graph import MuseGraph, central_cost
from weft.placement.network import Network
from weft.placement.pipeline import ALGORITHMS
from weft.placement.single_sink import operator_inputs, single_sink
from weft_lab.placement.optimal import EXACT, optimal
from weft_lab.placement.problem_file import PlacementProblem, problem_of


def graph_of(problem: PlacementProblem, algorithm: str) -> MuseGraph:
    """Return the graph of an algorithm, or of the optimum, if it finds every match once."""
    draft = {**ALGORITHMS, **EXACT}[algorithm](problem.network, problem.queries)
    graph = draft.graph(problem.queries)
    check_graph(graph, problem.queries)
    assert same(graph.cost, draft.cost)
    return graph


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("links", [False, True])
def test_graphs_are_right_and_cost_what_the_rule_says(algorithm: str, links: bool) -> None:
    for seed in range(6):
        problem = random_problem(seed, n_sites=5, n_types=6, n_queries=3, n_items=4, links=links)
        graph = graph_of(problem, algorithm)
        assert same(graph.cost, slow_cost(problem, graph)), seed


def test_the_optimum_costs_no_more_than_any_algorithm() -> None:
    n_better = 0
    for seed in range(12):
        problem = random_problem(seed, n_sites=3, n_types=4, n_queries=2, n_items=3)
        graph = graph_of(problem, "optimal")
        assert same(graph.cost, slow_cost(problem, graph))
        costs = [graph_of(problem, algorithm).cost for algorithm in ALGORITHMS]
        assert graph.cost <= min(costs) * (1 + 1e-9), seed
        n_better += graph.cost < min(costs) * (1 - 1e-9)
    assert n_better > 0


def test_more_places_never_cost_more() -> None:
    for seed in range(3):
        problem = random_problem(seed, n_sites=3, n_types=3, n_items=3, links=seed % 2 == 1)
        free = optimal(problem.network, problem.queries, groupings=True)
        check_graph(free.graph(problem.queries), problem.queries)
        assert free.cost <= optimal(problem.network, problem.queries).cost * (1 + 1e-9)


def test_central_cost_is_that_of_all_events_used() -> None:
    for seed in range(5):
        problem = random_problem(seed, n_sites=4, n_types=5, n_queries=2)
        graph = graph_of(problem, "central")
        assert same(graph.cost, central_cost(problem.network, problem.queries))
        assert graph.network.sites[-1] == "center"


def test_single_sink_is_exact_for_one_query() -> None:
    """Against all assignments of the operators to sites."""
    for seed in range(15):
        problem = random_problem(seed, n_sites=3, n_types=4, n_items=4, links=seed % 3 == 0)
        query = problem.queries[0]
        inputs = operator_inputs(query)
        least = min(
            slow_single_sink_cost(problem.network, problem, dict(zip(inputs, sites, strict=True)))
            for sites in np.ndindex(*[3] * len(inputs))
        )
        assert same(single_sink(problem.network, problem.queries).cost, least)


def slow_single_sink_cost(network: Network, problem: PlacementProblem, sites: dict[int, int]) -> float:
    query = problem.queries[0]
    cost = 0.0
    for items, parts in operator_inputs(query).items():
        for part in parts:
            projection = query.projection(part)
            if part in sites:
                matches = projection.factor * np.prod(
                    [network.rates[kind].sum() for kind in projection.kinds]
                )
                cost += matches * network.distances[sites[part], sites[items]]
            else:
                cost += float(network.rates[projection.text] @ network.distances[:, sites[items]])
    return cost


NEGATED = {
    "sites": {"1": ["A", "N"], "2": ["B", "C"], "3": ["A", "B", "N"]},
    "rates": {"A": 100, "B": 20, "C": 5, "N": 3},
    "queries": ["SEQ(A, NOT N, B, C)", "AND(A, C)"],
    "selectivities": {"AB": 0.001, "BC": 0.1},
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_negated_events_reach_the_first_vertex_that_needs_them(algorithm: str) -> None:
    problem = problem_of(NEGATED)
    graph = graph_of(problem, algorithm)
    assert same(graph.cost, slow_cost(problem, graph))
    checking = {
        vertex
        for vertex, inputs in graph.inputs.items()
        if "NOT N" in vertex.projection.text and not any("NOT N" in read.projection.text for read in inputs)
    }
    assert checking
    for vertex in checking:
        assert {read.site for read in graph.inputs[vertex] if read.projection.text == "N"} == {0, 2}


def test_a_graph_without_all_negated_events_is_refused() -> None:
    problem = problem_of(NEGATED)
    graph = graph_of(problem, "amuse")
    assert optimal(problem.network, problem.queries).cost <= graph.cost
    inputs = {
        vertex: tuple(one for one in read if (one.projection.text, one.site) != ("N", 2))
        for vertex, read in graph.inputs.items()
    }
    with pytest.raises(PlacementError, match="does not read all negated events: N"):
        check_graph(MuseGraph(problem.network, inputs), problem.queries)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_types_that_occur_twice(algorithm: str) -> None:
    for query in ("AND(B1, SEQ(A, B2))", "AND(B1, B2, A)", "SEQ(B1, B2)"):
        problem = problem_of(
            {
                "sites": {"1": ["A", "B"], "2": ["B"], "3": ["A"]},
                "rates": {"A": 100, "B": 3},
                "queries": [query, "SEQ(A, B)"],
                "selectivities": {"AB": 0.01, "BB": 0.5},
            }
        )
        graph = graph_of(problem, algorithm)
        assert same(graph.cost, slow_cost(problem, graph))
        assert optimal(problem.network, problem.queries).cost <= graph.cost * (1 + 1e-9)


def test_a_later_query_reads_what_an_earlier_one_sends() -> None:
    document = {
        "sites": {"1": ["A"], "2": ["B"], "3": ["A"]},
        "rates": {"A": 50, "B": 2},
    }
    one = problem_of(document | {"queries": ["SEQ(A, B)"]})
    two = problem_of(document | {"queries": ["SEQ(A, B)", "AND(A, B)", "SEQ(A, B)"]})
    assert multi_query(one.network, one.queries).cost == 4
    assert multi_query(one.network, one.queries, place_query_star).cost == 4
    assert multi_query(two.network, two.queries).cost == 4
    assert single_sink(two.network, two.queries).cost == 52


def test_queries_are_placed_once_more_given_the_others() -> None:
    """Alone, the first query sends C to A; with the second at B, which needs C as well, both do at B."""
    problem = problem_of(
        {
            "sites": {"1": ["A"], "2": ["B"], "3": ["C"]},
            "rates": {"A": 10, "B": 1000, "C": 9},
            "queries": ["SEQ(A, C)", "SEQ(A, B, C)"],
        }
    )
    assert multi_query(problem.network, [problem.queries[0]]).cost == 9
    assert multi_query(problem.network, problem.queries).cost == 19


def test_equal_projections_of_different_queries_are_found_once() -> None:
    problem = problem_of(
        {
            "sites": {"1": ["A"], "2": ["B"], "3": ["C", "D"]},
            "rates": {"A": 1000, "B": 500, "C": 10, "D": 10},
            "queries": ["SEQ(AND(A, B), C)", "SEQ(AND(B, A), D)"],
            "selectivities": {"AB": 1e-6},
        }
    )
    graph = graph_of(problem, "amuse")
    assert [vertex.site for vertex in graph.inputs if vertex.projection.text == "AND(A, B)"] == [0]
    assert same(graph.cost, 500 + 1.0)


def test_too_large_a_problem_for_the_optimum_is_refused() -> None:
    problem = random_problem(1, n_sites=3, n_types=4, n_queries=2, n_items=3)
    with pytest.raises(PlacementError, match="too many ways to place the queries"):
        optimal(problem.network, problem.queries, most_steps=10)
    longer = random_problem(1, n_sites=3, n_types=7, n_items=7)
    with pytest.raises(PlacementError, match="too many ways to place the queries"):
        optimal(longer.network, longer.queries)


def test_long_queries_are_placed_with_fewer_combinations() -> None:
    problem = random_problem(7, n_sites=20, n_types=12, n_queries=2, n_items=8)
    graph = graph_of(problem, "amuse")
    assert graph.cost <= central_cost(problem.network, problem.queries)


def test_very_long_queries_are_left_to_other_algorithms() -> None:
    problem = random_problem(7, n_sites=3, n_types=13, n_items=13)
    with pytest.raises(PlacementError, match="q1 has 13 items, more than the 12 that aMuSE can place"):
        multi_query(problem.network, problem.queries)
    assert single_sink(problem.network, problem.queries).cost <= central_cost(
        problem.network, problem.queries
    )
