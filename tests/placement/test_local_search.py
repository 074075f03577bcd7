"""The search for the best plan: reference costs, the optimum of small problems, and what it finds beyond."""

import numpy as np
import pytest
from tests.helpers.small_networks import ROBOTS, random_problem, same, slow_cost

from weft.errors import PlacementError
from weft.placement.checks import check_graph
from weft.placement.draft import TransferLedger
from weft.placement.hosting import choose_hosts
from weft.placement.local_search import search_draft
from weft.placement.lower_bound import lower_bound
from weft.placement.multi_query import multi_query
from weft.placement.own_combinations import with_own_combinations
from weft.placement.pipeline import ALGORITHMS, place
from weft.placement.single_sink import single_sink
from weft_lab.placement.optimal import EXACT, optimal
from weft_lab.placement.problem_file import PlacementProblem, problem_of

CLUSTER = {  # 20 machines that emit all types; rates and selectivities of the paper's case study
    "sites": {str(site): list("CDEFH") for site in range(20)},
    "rates": {"C": 212.0, "D": 24.0, "E": 400.0, "F": 129.0, "H": 0.005},
    "selectivities": dict.fromkeys(("FH", "CH", "DH", "CD", "CF", "DF"), 0.05),
}


def reference(name: str) -> tuple[PlacementProblem, float]:
    """Return a problem and the best cost known for it from elsewhere."""
    tiny = {
        "sites": {"0": ["A", "B"], "1": ["A", "C"], "2": ["A", "B", "C"]},
        "rates": {"A": 100.0, "B": 10.0, "C": 1.0},
        "selectivities": {"AB": 0.1, "AC": 0.05, "BC": 0.1},
    }
    documents = {
        "robots": (ROBOTS, 45.0),
        "cluster SEQ": (CLUSTER | {"queries": ["SEQ(D, C, F, H)"]}, 36.575),
        "cluster AND": (CLUSTER | {"queries": ["AND(E, D, F, H)"]}, 583.3),
        "cluster both": (CLUSTER | {"queries": ["SEQ(D, C, F, H)", "AND(E, D, F, H)"]}, 603.44),
        "tiny": (tiny | {"queries": ["SEQ(A, B, C)"]}, 11.0),
    }
    document, cost = documents[name]
    return problem_of(document), cost


@pytest.mark.parametrize("name", ["robots", "cluster SEQ", "cluster AND", "cluster both", "tiny"])
def test_no_reference_cost_is_exceeded(name: str) -> None:
    problem, best_known = reference(name)
    placed = place(problem.network, problem.queries)
    assert placed.cost <= best_known * (1 + 1e-9)
    assert placed.lower_bound <= placed.cost
    check_graph(placed.graph, problem.queries)


def test_a_query_reads_what_another_sends_if_it_has_all_its_matches() -> None:
    problem, _ = reference("cluster both")
    placed = place(problem.network, problem.queries)
    assert same(placed.cost, 583.3)  # of AND(E, D, F, H); AND(D, H) and AND(F, H) serve the other query too
    reads = {
        read.projection.text
        for vertex, inputs in placed.graph.inputs.items()
        if vertex.projection.text == "SEQ(D, C, F, H)"
        for read in inputs
    }
    assert reads == {"C", "AND(D, H)", "AND(F, H)"}


def test_drawn_problems_cost_at_most_the_optimum_of_its_class_and_the_bound_holds() -> None:
    n_better = n_exact = 0
    for seed in range(40):
        problem = random_problem(
            seed, n_sites=3, n_types=4, n_queries=1 + seed % 2, n_items=3, links=seed % 4 == 2
        )
        graph = optimal(problem.network, problem.queries)
        placed = place(problem.network, problem.queries)
        assert same(placed.cost, slow_cost(problem, placed.graph))
        assert placed.cost <= graph.cost * (1 + 1e-9), seed
        bound = lower_bound(problem.network, problem.queries)
        assert bound <= min(placed.cost, graph.cost) * (1 + 1e-9), seed
        n_better += placed.cost < graph.cost * (1 - 1e-9)
        n_exact += bound > 0 and bound >= placed.cost * (1 - 1e-6)
    assert n_better > 0
    assert n_exact > 0


def test_drawn_problems_cost_at_most_what_other_algorithms_find() -> None:
    for seed in range(10):
        problem = random_problem(seed, n_sites=6, n_types=7, n_queries=3, n_items=4, links=seed % 3 == 2)
        cost = place(problem.network, problem.queries).cost
        others = (
            multi_query(problem.network, problem.queries),
            single_sink(problem.network, problem.queries),
        )
        assert cost <= min(draft.cost for draft in others) * (1 + 1e-9), seed


def test_the_same_seed_gives_the_same_graph() -> None:
    problem = random_problem(3, n_sites=6, n_types=7, n_queries=4, n_items=4)
    one, other = (place(problem.network, problem.queries, steps=20, seed=5) for _ in range(2))
    assert one.graph.inputs == other.graph.inputs


def test_a_search_without_time_still_gives_a_plan() -> None:
    problem = random_problem(4, n_sites=6, n_types=7, n_queries=4, n_items=4)
    placed = place(problem.network, problem.queries, seconds=0.0)
    check_graph(placed.graph, problem.queries)


def test_some_sites_keep_their_events_and_others_send_them() -> None:
    sites = {"1": ["A", "B"], "2": ["A", "B"], "3": ["A"]}
    problem = problem_of(
        {"sites": sites, "rates": {"A": {"1": 50, "2": 50, "3": 3}, "B": 10}, "queries": ["SEQ(A, B)"]}
    )
    placed = place(problem.network, problem.queries)
    assert same(placed.cost, 10 + 10 + 3)  # the A of the third go to another: cheaper than all B to it
    assert optimal(problem.network, problem.queries).cost > placed.cost


def test_costly_links_are_avoided() -> None:
    document = {
        "sites": {"x": ["A"], "y": ["B"], "z": []},
        "rates": {"A": 5, "B": 5},
        "queries": ["SEQ(A, B)"],
        "links": {"x": {"y": 9, "z": 1}, "y": {"z": 1}},
    }
    placed = place(problem_of(document).network, problem_of(document).queries)
    assert placed.cost == 10.0  # both meet at the third site
    assert {vertex.site for vertex in placed.graph.inputs if not vertex.projection.is_primitive} == {2}


def test_negated_events_are_sent_where_they_are_looked_at() -> None:
    document = {
        "sites": {"1": ["A", "B"], "2": ["N", "B"], "3": ["A", "N"]},
        "rates": {"A": 10, "B": 20, "N": 1},
        "queries": ["SEQ(A, NOT N, B)"],
    }
    problem = problem_of(document)
    placed = place(problem.network, problem.queries)
    check_graph(placed.graph, problem.queries)
    assert placed.cost <= optimal(problem.network, problem.queries).cost * (1 + 1e-9)


def test_hosts_cost_at_most_a_quarter_more_than_the_best() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        opening, serving = random.uniform(0, 5, 5), random.uniform(0, 4, (5, 5))
        cost, hosts = choose_hosts(opening, serving)
        assert same(cost, opening[np.unique(hosts)].sum() + serving[np.arange(5), hosts].sum())
        least = min(
            opening[chosen].sum() + serving[:, chosen].min(axis=1).sum()
            for chosen in ([site for site in range(5) if bits >> site & 1] for bits in range(1, 32))
        )
        assert least - 1e-9 <= cost <= least * 1.25


def test_an_unknown_algorithm_is_named() -> None:
    problem, _ = reference("robots")
    with pytest.raises(PlacementError, match="unknown algorithm fast; there are best, amuse"):
        place(problem.network, problem.queries, "fast")


@pytest.mark.parametrize("algorithm", ["best", *ALGORITHMS, *EXACT])
def test_every_algorithm_tells_its_cost(algorithm: str) -> None:
    problem, best_known = reference("robots")
    placed = place(problem.network, problem.queries, algorithm, algorithms=EXACT)
    assert placed.cost == placed.graph.cost >= best_known
    assert placed.central_cost == 4002.0
    assert placed.ratio == placed.cost / 4002.0


def test_large_queries_are_planned_in_seconds() -> None:
    problem = random_problem(2, n_sites=20, n_types=12, n_queries=3, n_items=8)
    found = search_draft(problem.network, problem.queries, steps=0)
    assert 0 < found.cost < single_sink(problem.network, problem.queries).cost


def test_hosts_with_combinations_of_their_own_can_be_cheaper() -> None:
    document = {
        "sites": {"1": ["A"], "2": ["A", "B"], "3": ["C"]},
        "rates": {"A": 1000, "B": 20, "C": 6},
        "selectivities": {"BC": 0.1},
        "queries": ["SEQ(A, B, C)"],
    }
    problem = problem_of(document)
    (query,) = problem.queries
    ledger = TransferLedger(problem.network)
    whole = query.projection(0b111).text
    inner = ledger.arrange(query, 0b110, (0b010, 0b100), None, np.array([2]))
    same_inputs = ledger.arrange(query, 0b111, (0b001, 0b110), "A", np.array([0, 1, -1]))
    draft = ledger.draft({inner.projection.text: inner, whole: same_inputs})
    changed = with_own_combinations(draft, whole)
    assert changed is not None
    assert changed.own_inputs == {1: (0b001, 0b010, 0b100)}  # B is there: C is sent rather than SEQ(B, C)
    graph = draft.with_arrangements({whole: changed}).graph(problem.queries)
    check_graph(graph, problem.queries)
    assert graph.cost == draft.cost - 12 + 6
    assert same(graph.cost, slow_cost(problem, graph))
