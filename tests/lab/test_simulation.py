"""What is predicted and drawn for a plan: the streams and the cost of its graph, and Poisson arrivals."""

import numpy as np
import pytest

from weft.placement.draft import TransferLedger
from weft.placement.local_search import PlacementSearch
from weft_lab.placement.problem_file import PlacementProblem, problem_of
from weft_lab.placement.simulation import simulate


def problem(n_sites: int, *, is_linked: bool = False) -> PlacementProblem:
    """Many C and L everywhere, some D at every third site, few F at the first two."""
    types = {
        str(site): ["C", "L", *(["D"] if site % 3 == 0 else []), *(["F"] if site < 2 else [])]
        for site in range(n_sites)
    }
    return problem_of(
        {
            "sites": types,
            "rates": {"C": 1000, "L": 800, "D": 20, "F": 2},
            "queries": ["SEQ(AND(C, L), F)", "SEQ(C, D, F)"],
            "selectivities": {"CL": 0.0001, "CF": 0.01, "LF": 0.01, "CD": 0.001, "DF": 0.1},
            **({"links": {"0": {"1": 3.0}}} if is_linked else {}),
        }
    )


@pytest.mark.parametrize("n_sites", [3, 8])
def test_what_is_predicted_is_what_the_graph_says(n_sites: int) -> None:
    given = problem(n_sites)
    search = PlacementSearch(given.network, given.queries)
    draft = search.settle(search.start(range(2)), lambda: False)
    graph = draft.graph(given.queries)
    simulated = simulate(draft, n_units=300)
    assert simulated.n_channels == len(graph.channels)
    assert simulated.rows == pytest.approx(graph.cost)
    assert abs(simulated.drawn.mean() - simulated.rows) < 4 * simulated.error
    assert simulated.received.sum() == pytest.approx(simulated.drawn.mean())
    sizes = {vertex.projection.text: len(vertex.projection.kinds) for vertex in graph.inputs}
    expected = sum(graph.rate(vertex) * sizes[vertex.projection.text] for vertex, _ in graph.channels)
    assert simulated.bytes == pytest.approx(32 * expected)


def test_rows_do_not_depend_on_what_links_cost() -> None:
    plain, linked = problem(4), problem(4, is_linked=True)
    hosts = np.array([0])
    rows = []
    for given in (plain, linked):
        ledger = TransferLedger(given.network)
        query = given.queries[0]
        whole = ledger.arrange(query, 0b111, (1, 2, 4), None, hosts)
        draft = ledger.draft({whole.projection.text: whole})
        rows.append(simulate(draft, n_units=10).rows)
        assert simulate(draft, n_units=10).received[1:].sum() == 0
    assert rows[0] == rows[1] == pytest.approx(3 * 1800 + 2)


def test_a_seed_gives_the_same_numbers_and_another_others() -> None:
    given = problem(5)
    search = PlacementSearch(given.network, given.queries)
    draft = search.start(range(2))
    first, same, other = (simulate(draft, n_units=20, seed=seed) for seed in (1, 1, 2))
    assert first.drawn.tolist() == same.drawn.tolist() != other.drawn.tolist()


def test_thousands_of_sites() -> None:
    given = problem(3_000)
    search = PlacementSearch(given.network, given.queries)
    draft = search.start(range(2))
    simulated = simulate(draft, n_units=20)
    assert simulated.rows == pytest.approx(draft.cost)
    assert simulated.n_channels > 3_000
    assert abs(simulated.drawn.mean() - simulated.rows) < 4 * simulated.error
