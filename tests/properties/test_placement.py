"""Oracle tests: the program of a MuSE graph finds exactly the reference's matches, each once.

Cases are drawn from seeds, not by Hypothesis: graphs of smaller cases are other graphs, so nothing shrinks.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.helpers.engine import expected_outcome
from tests.helpers.placed import PlacedCase, expected_rows, placeable_case, placed_case, run_program
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.strategies import FEWEST_MATCHES, SEED_STEP, Case, SeededDice, event, random_case
from tests.helpers.tally import Count

from weft.errors import BudgetError
from weft.placement.muse_graph import MuseGraph
from weft.placement.pipeline import place
from weft.runtime.budget import Budget
from weft_lab.placement.optimal import optimal

NEGATED = """
QUERY inner PATTERN SEQ(A a, NOT B n, C c) WHERE a.x <= c.x WITHIN 4 seconds
QUERY twice PATTERN SEQ(A a, NOT B n, C c, NOT D m, A b) WITHIN 5 seconds
QUERY lists PATTERN SEQ(A{1,2} a[], NOT SEQ(B n, B m), AND(C c, D d)) WITHIN 5 seconds
QUERY ends  PATTERN SEQ(NOT B n, A a, NOT C m, D d, NOT C k) WHERE a.k = d.k WITHIN 4 seconds
"""


Check = Callable[[PlacedCase, MuseGraph], None]


@pytest.fixture
def check(count: Count) -> Check:
    """Compare what the program of a graph finds and sends with what is expected, in a case with matches."""

    def compare(placed: PlacedCase, graph: MuseGraph) -> None:
        outcome = run_program(placed, placed.program(graph))
        assert outcome.matches == expected_outcome(placed.case)
        assert outcome.sent == expected_rows(placed, graph)
        n_matches = sum(map(len, outcome.matches.values()))
        assert n_matches >= FEWEST_MATCHES
        count(cases=1, matches=n_matches)

    return compare


@pytest.mark.parametrize("seed", range(40))
def test_any_graph_finds_the_matches_of_the_reference(seed: int, check: Check) -> None:
    dice = SeededDice(seed)
    placed = placed_case(placeable_case(seed), dice, dice.integer(1, 4))
    check(placed, RandomGraph(dice, placed.network, placed.queries).build())


def negated_case(seed: int) -> Case:
    """Return drawn events among which queries with negations have matches, three of them at least."""
    while True:
        drawn = random_case(seed)
        case = Case(NEGATED, drawn.events, drawn.order_by, drawn.id)
        if case.n_matches >= FEWEST_MATCHES:
            return case
        seed += SEED_STEP


@pytest.mark.parametrize("seed", range(15))
def test_negations_are_checked_once_and_for_all_sites(seed: int, check: Check) -> None:
    dice = SeededDice(seed)
    placed = placed_case(negated_case(seed), dice, 3)
    check(placed, RandomGraph(dice, placed.network, placed.queries).build())


def test_negations_of_most_cases_reject_something() -> None:
    """Without the negated events, there are more matches."""
    n_rejecting = 0
    for seed in range(15):
        case = negated_case(seed)
        quiet = tuple(event for event in case.events if "B" not in event.types)
        n_rejecting += Case(NEGATED, quiet, case.order_by, case.id).n_matches > case.n_matches
    assert n_rejecting >= 8


@pytest.mark.parametrize("algorithm", ["best", "amuse", "amuse-star", "single-sink", "central"])
@pytest.mark.parametrize("seed", range(6))
def test_every_algorithm_finds_the_matches_of_the_reference(algorithm: str, seed: int, check: Check) -> None:
    placed = placed_case(placeable_case(500 + seed), SeededDice(seed), 3)
    check(placed, place(placed.network, placed.queries, algorithm, steps=20).graph)


def small_case(seed: int, step: int) -> PlacedCase:
    """Return a case of a few queries of two or three items each, as many as the optimum can be found for."""
    while True:
        placed = placed_case(placeable_case(seed), SeededDice(seed), 3)
        if 0 < len(placed.queries) <= 4 and all(2 <= query.n_items <= 3 for query in placed.queries):
            return placed
        seed += step


@pytest.mark.parametrize("groupings", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_optimum_finds_the_matches_of_the_reference(seed: int, groupings: bool, check: Check) -> None:
    placed = small_case(700 + seed, 10)
    draft = optimal(placed.network, placed.queries, groupings=groupings)
    check(placed, draft.graph(placed.queries))


@pytest.mark.parametrize("negated", [False, True])
def test_a_query_beyond_its_budget_is_stopped_alone(negated: bool, count: Count) -> None:
    """A site that stops a part of it names the queries that miss it; nothing is found that is no match."""
    n_stopped = n_complete = 0
    for seed in range(900, 925):
        dice = SeededDice(seed)
        placed = placed_case(negated_case(seed) if negated else placeable_case(seed), dice, 3)
        graph = RandomGraph(dice, placed.network, placed.queries).build()
        budget = (Budget(partial_matches=2), Budget(candidates=9), Budget(held=1))[seed % 3]
        outcome = run_program(placed, placed.program(graph), budget=budget)
        for name, expected in expected_outcome(placed.case).items():
            found = outcome.matches[name]
            if name in outcome.stopped:
                assert found.items() <= expected.items(), (seed, name)
            else:
                assert found == expected, (seed, name)
                n_complete += len(found) > 0
        n_stopped += len(outcome.stopped)
    assert min(n_stopped, n_complete) > 0
    count(stopped=n_stopped)


def test_a_site_names_the_query_whose_part_explodes() -> None:
    events = (
        [event(n, "A", n) for n in range(6)]
        + [event(6 + n, "B", 3 + n) for n in range(6)]
        + [event(12, "C", 20)]
    )
    case = Case("QUERY q PATTERN SEQ(A a, B b, C c) WITHIN 1 minute", tuple(events))
    placed = placed_case(case, SeededDice(1), 3)
    program = placed.program(place(placed.network, placed.queries, "central").graph)
    budget = Budget(candidates=5)
    assert (
        run_program(placed, program, budget=budget).stopped["q"].startswith("query q: more than 5 candidates")
    )
    with pytest.raises(BudgetError, match="query q: more than 5 candidates"):
        run_program(placed, program, budget=budget, on_budget="error")


def test_the_comparison_sees_a_missing_match() -> None:
    case = Case("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute", (event(0, "A", 0), event(1, "B", 5)))
    placed = placed_case(case, SeededDice(1), 3)
    program = placed.program(place(placed.network, placed.queries, "central").graph)
    assert run_program(placed, program).matches == expected_outcome(case)
    silent = replace(program, works=tuple(work for work in program.works if work.site != placed.sites[0]))
    assert run_program(placed, silent).matches != expected_outcome(case)
