"""The paper's running example: figures 1 to 3 and examples 1 to 11, with their numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.small_networks import ROBOTS, bindings_found, same, slow_cost

from weft.errors import PlacementError
from weft.placement.checks import check_complete, check_graph, check_inputs_suffice, check_well_formed
from weft.placement.combinations import is_redundant, rate_per_binding
from weft.placement.multi_query import multi_query
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.projection import Projection
from weft_lab.placement.all_combinations import is_correct
from weft_lab.placement.optimal import optimal
from weft_lab.placement.problem_file import PlacementProblem, problem_of

C, L, F = 0b001, 0b010, 0b100
RATE_C, RATE_F, RATE_L = 1000.0, 1.0, 900.0
FIGURE_1 = {
    "sites": {"R1": ["C", "F"], "R2": ["C", "L"], "R3": ["L"]},
    "rates": {"C": RATE_C, "F": RATE_F, "L": RATE_L},
    "queries": ["SEQ(AND(C, L), F)"],
    "selectivities": {"CL": 0.0001, "CF": 0.01, "FL": 0.01},
}


def events(problem: PlacementProblem) -> dict[str, dict[str, Vertex]]:
    """Return the primitive vertices by type and name of the site."""
    network = problem.network
    return {
        kind: {
            name: Vertex(Projection(kind, (kind,)), site)
            for site, name in enumerate(network.sites)
            if network.rates[kind][site] > 0
        }
        for kind in network.rates
    }


def all_events(problem: PlacementProblem) -> dict[Vertex, tuple[Vertex, ...]]:
    return {vertex: () for by_site in events(problem).values() for vertex in by_site.values()}


def naive(problem: PlacementProblem, site: str) -> MuseGraph:
    """Return the graph of figure 1a: everything is gathered at one site."""
    whole = problem.queries[0].projection(C | L | F)
    sink = Vertex(whole, problem.network.sites.index(site))
    primitive = all_events(problem)
    return MuseGraph(problem.network, primitive | {sink: tuple(primitive)})


def test_example_1_robots_emit_what_they_can() -> None:
    network = problem_of(FIGURE_1).network
    robot = network.sites.index("R2")
    assert {kind for kind in network.rates if network.emitters(kind) >> robot & 1} == {"C", "L"}


@pytest.mark.parametrize(
    ("site", "cost"), [("R2", RATE_F + RATE_C + RATE_L), ("R3", RATE_F + 2 * RATE_C + RATE_L)]
)
def test_example_2_costs_of_naive_evaluation(site: str, cost: float) -> None:
    problem = problem_of(FIGURE_1)
    graph = naive(problem, site)
    check_graph(graph, problem.queries)
    assert same(graph.cost, cost)


def test_figure_1c_sends_no_event_of_a_frequent_type() -> None:
    """SEQ(C, F) at R1 and R2, sinks at R2 and R3: the plan of the figure, and no other is cheaper."""
    problem = problem_of(FIGURE_1)
    query = problem.queries[0]
    event = events(problem)
    parts = [Vertex(query.projection(C | F), site) for site in (0, 1)]
    graph = MuseGraph(
        problem.network,
        all_events(problem)
        | {
            parts[0]: (event["C"]["R1"], event["F"]["R1"]),
            parts[1]: (event["C"]["R2"], event["F"]["R1"]),
            Vertex(query.projection(C | L | F), 1): (*parts, event["L"]["R2"]),
            Vertex(query.projection(C | L | F), 2): (*parts, event["L"]["R3"]),
        },
    )
    check_graph(graph, problem.queries)
    pairs = RATE_C * RATE_F * 0.01
    assert same(graph.cost, RATE_F + 3 * pairs)
    assert {read.projection.text for read, _ in graph.channels} == {"F", "SEQ(C, F)"}
    assert optimal(problem.network, problem.queries).cost <= graph.cost


def figure_2() -> tuple[PlacementProblem, MuseGraph, dict[str, Vertex]]:
    """Return the network and the graph of figure 2, and its vertices v1 to v5."""
    problem = problem_of(ROBOTS)
    query = problem.queries[0]
    event = events(problem)
    p2, p3, q1 = (query.projection(items) for items in (L | F, C | L, C | L | F))
    v1, v2, v3, v4, v5 = Vertex(p2, 0), Vertex(p3, 0), Vertex(p3, 1), Vertex(q1, 0), Vertex(q1, 1)
    inputs = all_events(problem) | {
        v1: (event["L"]["2"], event["L"]["3"], event["F"]["1"], event["F"]["4"]),
        v2: (event["C"]["1"], event["L"]["2"], event["L"]["3"]),
        v3: (event["C"]["2"], event["L"]["2"], event["L"]["3"]),
        v4: (v1, v2),
        v5: (v1, v3),
    }
    graph = MuseGraph(problem.network, inputs)
    return problem, graph, {"v1": v1, "v2": v2, "v3": v3, "v4": v4, "v5": v5}


def test_example_3_event_type_bindings_of_the_query() -> None:
    problem = problem_of(ROBOTS)
    whole = problem.queries[0].projection(C | L | F)
    found = {tuple(sorted(binding)) for binding in bindings_found(naive(problem, "1"), Vertex(whole, 0))}
    assert (("C", 0), ("F", 0), ("L", 1)) in found
    assert len(found) == 8


def test_examples_4_and_5_projections_of_the_query() -> None:
    query = problem_of(ROBOTS).queries[0]
    texts = [query.projection(items).text for items in (C | F, L | F, C | L)]
    assert texts == ["SEQ(C, F)", "SEQ(L, F)", "AND(C, L)"]


def test_examples_6_and_7_covers_of_vertices() -> None:
    _, graph, vertices = figure_2()
    found = {name: set(bindings_found(graph, vertex)) for name, vertex in vertices.items()}
    assert found["v2"] == {(("C", 0), ("L", 1)), (("C", 0), ("L", 2))}
    assert found["v3"] == {(("C", 1), ("L", 1)), (("C", 1), ("L", 2))}
    assert {(("L", 1), ("F", 0)), (("L", 2), ("F", 3))} < found["v1"]
    assert (("C", 0), ("L", 1), ("F", 0)) in found["v4"]
    check_inputs_suffice(graph)


def example_8(more_for_u: tuple[int, ...], more_for_w: tuple[int, ...]) -> MuseGraph:
    """Return the graph of example 8, in which u and w also read B from some sites."""
    problem = problem_of(
        {
            "sites": {"1": ["B"], "2": ["A", "B"], "3": ["C"]},
            "rates": {"A": 1, "B": 1, "C": 1},
            "queries": ["SEQ(A, B, C)"],
        }
    )
    query = problem.queries[0]
    event = events(problem)
    u, w, v = (Vertex(query.projection(items), 0) for items in (0b011, 0b110, 0b111))
    b = [event["B"]["1"], event["B"]["2"]]
    return MuseGraph(
        problem.network,
        all_events(problem)
        | {
            u: (event["A"]["2"], b[0], *(b[site] for site in more_for_u)),
            w: (b[1], event["C"]["3"], *(b[site] for site in more_for_w)),
            v: (u, w),
        },
    )


def test_example_8_inputs_must_agree_on_the_events_they_share() -> None:
    graph = example_8((), ())
    message = "SEQ(A, B, C) at site 1 misses matches of SEQ(A, B) with events from A at 2, B at 2"
    with pytest.raises(PlacementError, match=re.escape(message)):
        check_inputs_suffice(graph)
    with pytest.raises(PlacementError, match=re.escape("misses matches of SEQ(A, B)")):
        check_inputs_suffice(example_8((), (0,)))
    check_inputs_suffice(example_8((1,), (0,)))


def test_example_9_weight_of_an_edge_and_the_cost_of_the_graph() -> None:
    problem, graph, vertices = figure_2()
    output_rate = rate_per_binding(problem.network, vertices["v1"].projection)
    assert same(output_rate, 1000.0 * 1.0 * 0.01)
    assert same(graph.channels[vertices["v1"], 1], output_rate * 4)
    # example 17: 3 r(L) for AND(C, L) and 2 r(L) + r(F) for SEQ(L, F), of which 2 r(L) go to the same site
    assert same(graph.cost, 3 * 1000.0 + 1.0 + 4 * output_rate)
    assert same(graph.cost, slow_cost(problem, graph))


def test_example_10_and_figure_3_the_combination_is_correct() -> None:
    combination = {C | L | F: (C | L, L | F), C | L: (C, L), L | F: (L, F)}
    assert all(is_correct(items, inputs) for items, inputs in combination.items())
    assert not any(is_redundant(inputs) for inputs in combination.values())
    assert not is_correct(C | L | F, (C | L, L))


def test_example_11_the_graph_is_correct() -> None:
    problem, graph, vertices = figure_2()
    check_graph(graph, problem.queries)
    sinks = [set(bindings_found(graph, vertices[name])) for name in ("v4", "v5")]
    assert not sinks[0] & sinks[1]
    assert len(sinks[0] | sinks[1]) == 8


def test_a_missing_sink_is_named_with_what_it_would_find() -> None:
    problem, graph, vertices = figure_2()
    inputs = {vertex: read for vertex, read in graph.inputs.items() if vertex != vertices["v5"]}
    lame = replace(graph, inputs=inputs)
    check_well_formed(lame, problem.queries)
    message = "no sink finds SEQ(AND(C, L), F) with events from C at 2, L at 2, F at 1"
    with pytest.raises(PlacementError, match=re.escape(message)):
        check_complete(lame, problem.queries)


def test_the_algorithms_beat_the_graph_of_figure_2() -> None:
    problem, graph, _ = figure_2()
    best = optimal(problem.network, problem.queries).graph(problem.queries)
    check_graph(best, problem.queries)
    assert same(best.cost, 45.0)
    assert same(multi_query(problem.network, problem.queries).cost, 45.0)
    assert best.cost < graph.cost
    assert same(float(np.sum(list(best.channels.values()))), best.cost)
