"""Oracle tests: the program of a MuSE graph finds exactly the reference's matches, each once.

Cases are drawn from seeds, not by Hypothesis: graphs of smaller cases are other graphs, so nothing shrinks.
"""

from dataclasses import replace

import pytest
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.placed import PlacedCase, expected_rows, is_placeable, placed_case, run_program
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.strategies import Case, SeededDice, event, matching_case, random_case

from weft.placement.muse_graph import MuseGraph
from weft.placement.pipeline import place
from weft_lab.placement.optimal import optimal

NEGATED = """
QUERY inner PATTERN SEQ(A a, NOT B n, C c) WHERE a.x <= c.x WITHIN 4 seconds
QUERY twice PATTERN SEQ(A a, NOT B n, C c, NOT D m, A b) WITHIN 5 seconds
QUERY lists PATTERN SEQ(A{1,2} a[], NOT SEQ(B n, B m), AND(C c, D d)) WITHIN 5 seconds
QUERY ends  PATTERN SEQ(NOT B n, A a, NOT C m, D d, NOT C k) WHERE a.k = d.k WITHIN 4 seconds
"""


def placeable_case(seed: int) -> Case:
    """Return a case with matches whose queries can be placed."""
    return matching_case(seed, most_queries=3, accepts=lambda case: is_placeable(case) and is_supported(case))


def check(placed: PlacedCase, graph: MuseGraph) -> None:
    outcome = run_program(placed, placed.program(graph))
    assert outcome.matches == expected_outcome(placed.case)
    assert outcome.sent == expected_rows(placed, graph)


@pytest.mark.parametrize("seed", range(40))
def test_any_graph_finds_the_matches_of_the_reference(seed: int) -> None:
    dice = SeededDice(seed)
    placed = placed_case(placeable_case(seed), dice, dice.integer(1, 4))
    check(placed, RandomGraph(dice, placed.network, placed.queries).build())


@pytest.mark.parametrize("seed", range(15))
def test_negations_are_checked_once_and_for_all_sites(seed: int) -> None:
    dice = SeededDice(seed)
    drawn = random_case(seed)
    placed = placed_case(Case(NEGATED, drawn.events, drawn.order_by, drawn.id), dice, 3)
    check(placed, RandomGraph(dice, placed.network, placed.queries).build())


@pytest.mark.parametrize("algorithm", ["best", "amuse", "amuse-star", "single-sink", "central"])
@pytest.mark.parametrize("seed", range(6))
def test_every_algorithm_finds_the_matches_of_the_reference(algorithm: str, seed: int) -> None:
    placed = placed_case(placeable_case(500 + seed), SeededDice(seed), 3)
    if placed.queries:
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
def test_the_optimum_finds_the_matches_of_the_reference(seed: int, groupings: bool) -> None:
    placed = small_case(700 + seed, 10)
    draft = optimal(placed.network, placed.queries, groupings=groupings)
    check(placed, draft.graph(placed.queries))


def test_the_comparison_sees_a_missing_match() -> None:
    case = Case("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute", (event(0, "A", 0), event(1, "B", 5)))
    placed = placed_case(case, SeededDice(1), 3)
    program = placed.program(place(placed.network, placed.queries, "central").graph)
    assert run_program(placed, program).matches == expected_outcome(case)
    silent = replace(program, works=tuple(work for work in program.works if work.site != placed.sites[0]))
    assert run_program(placed, silent).matches != expected_outcome(case)
