"""Drafts: their costs are those of the graphs, and everything is found once."""

import numpy as np
import pytest
from tests.helpers.small_networks import random_problem, same, slow_cost

from weft.placement.checks import check_graph
from weft.placement.draft import TransferLedger
from weft.placement.local_search import PlacementSearch, search_draft
from weft_lab.placement.problem_file import problem_of

TRIANGLE = {
    "sites": {"1": ["A", "B"], "2": ["A"], "3": ["A"]},
    "rates": {"A": {"1": 4, "2": 2, "3": 1}, "B": 3},
    "queries": ["SEQ(A, B)"],
}


def test_hosts_divide_a_kind_among_themselves() -> None:
    problem = problem_of(TRIANGLE)
    (query,) = problem.queries
    ledger = TransferLedger(problem.network)
    pairs = ledger.arrange(query, 0b11, (0b01, 0b10), "A", np.array([0, 1, 0]))
    draft = ledger.draft({"SEQ(A, B)": pairs})
    graph = draft.graph(problem.queries)
    check_graph(graph, problem.queries)
    assert pairs.sites.tolist() == [0, 1]
    assert pairs.rates.tolist() == [15.0, 6.0, 0.0]
    assert draft.cost == graph.cost == 1 + 3  # A of the third site, B to the second


def test_what_two_projections_read_at_a_host_is_paid_once() -> None:
    problem = problem_of(TRIANGLE | {"queries": ["SEQ(A, B)", "AND(A, B)"]})
    ledger = TransferLedger(problem.network)
    hosts = np.array([0, 1, 0])
    both = [ledger.arrange(query, 0b11, (0b01, 0b10), "A", hosts) for query in problem.queries]
    draft = ledger.draft({one.projection.text: one for one in both})
    assert draft.sends["A"].origins.tolist() == [2]
    assert draft.cost == draft.graph(problem.queries).cost == 1 + 3


def test_a_host_may_have_inputs_of_its_own() -> None:
    document = TRIANGLE | {
        "sites": {"1": ["A", "B", "C"], "2": ["A"], "3": ["A"]},
        "queries": ["SEQ(A, B, C)"],
    }
    document["rates"] = {**TRIANGLE["rates"], "C": 5}  # type: ignore[dict-item]
    document["selectivities"] = {"BC": 0.1}
    problem = problem_of(document)
    (query,) = problem.queries
    ledger = TransferLedger(problem.network)
    whole = query.projection(0b111).text
    hosts = np.array([0, 1, 2])
    arrangements = {
        "SEQ(B, C)": ledger.arrange(query, 0b110, (0b010, 0b100), None, np.array([0])),
        whole: ledger.arrange(query, 0b111, (0b001, 0b110), "A", hosts, {2: (0b001, 0b010, 0b100)}),
    }
    draft = ledger.draft(arrangements)
    graph = draft.graph(problem.queries)
    check_graph(graph, problem.queries)
    assert same(draft.cost, graph.cost)
    assert same(graph.cost, 1.5 + 3 + 5)


def test_equal_arrangements_are_the_same() -> None:
    problem = problem_of(TRIANGLE)
    (query,) = problem.queries
    ledger = TransferLedger(problem.network)
    one, other = (ledger.arrange(query, 0b11, (1, 2), "A", np.array([0, 1, 2])) for _ in range(2))
    assert one is other
    single = ledger.arrange(query, 0b11, (1, 2), "A", np.array([1, 1, 1]))
    assert single.partition is None
    assert single is ledger.arrange(query, 0b11, (1, 2), None, np.array([1]))


def test_what_is_divided_otherwise_is_not_sound() -> None:
    problem = problem_of(
        {"sites": {"1": ["A", "B", "C"], "2": ["A", "B", "C"]}, "rates": {"A": 1, "B": 2, "C": 3}}
        | {"queries": ["SEQ(A, B, C)"]}
    )
    (query,) = problem.queries
    ledger = TransferLedger(problem.network)
    own = np.array([0, 1])
    by_b = ledger.arrange(query, 0b011, (1, 2), "B", own)
    whole = ledger.arrange(query, 0b111, (0b011, 0b100), "A", own)
    assert not ledger.draft({"SEQ(A, B)": by_b, whole.projection.text: whole}).is_sound()
    by_a = ledger.arrange(query, 0b011, (1, 2), "A", own)
    assert ledger.draft({"SEQ(A, B)": by_a, whole.projection.text: whole}).is_sound()


@pytest.mark.parametrize("links", [False, True])
def test_costs_are_those_of_the_graphs(links: bool) -> None:
    for seed in range(15):
        problem = random_problem(seed, n_sites=5, n_types=6, n_queries=3, n_items=4, links=links)
        draft = search_draft(problem.network, problem.queries, steps=3, seed=seed)
        assert draft.is_sound()
        graph = draft.graph(problem.queries)
        check_graph(graph, problem.queries)
        assert same(draft.cost, graph.cost), seed
        assert same(graph.cost, slow_cost(problem, graph)), seed


def test_prices_are_what_one_more_reader_costs() -> None:
    for seed in range(10):
        problem = random_problem(seed, n_sites=5, n_types=4, n_queries=2, n_items=3, links=seed % 2 == 1)
        search = PlacementSearch(problem.network, problem.queries)
        first, second = search.queries
        base = search.start([0])
        for site in range(5):
            added = search.ledger.arrange(second, second.whole, (1, 2, 4), None, np.array([site]))
            cost = base.with_arrangements({added.projection.text: added}).cost - base.cost
            prices = sum(base.price(kind)[site] for kind in second.root.kinds)
            assert same(cost, prices) or first.root.text == added.projection.text


def test_only_what_is_needed_stays() -> None:
    problem = problem_of(TRIANGLE | {"queries": ["SEQ(A, B)", "AND(A, B)"]})
    draft = search_draft(problem.network, problem.queries, steps=0)
    assert set(draft.needed_for(["AND(A, B)"]).arrangements) == {"AND(A, B)"}
