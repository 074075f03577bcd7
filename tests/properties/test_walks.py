"""Oracle tests of AFTER MATCH SKIP, PREFER LONGEST and SUPPRESS: the reference's matches on every path."""

import random

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case, run_plan
from tests.helpers.placed import is_placeable, placed_case
from tests.helpers.placed_walks import run_stages, stream_stages
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_plans import random_plan
from tests.helpers.strategies import Case, SeededDice
from tests.helpers.streams import counted, never_settled, run_stream
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.walked_cases import WalkedCase, walked_case, walked_stream


def is_placed(case: Case) -> bool:
    return is_placeable(case) and is_supported(case)


def is_stream(case: Case) -> bool:
    """Say whether time alone decides all matches of a case."""
    return all(query.window is not None for query in case.queries) and not never_settled(case)


def n_left_out(case: Case) -> int:
    """Return how many matches the walks leave out."""
    return (
        WalkedCase(case.text, case.events, case.order_by, case.id, has_policies=False).n_matches
        - case.n_matches
    )


@pytest.mark.parametrize("seeds", seed_blocks(140_000, 100, soak=3_000))
def test_batches_give_the_reference_result(seeds: range, count: Count) -> None:
    """In one batch, in random batches that respect a frontier, and with random trees."""
    left_out = 0
    for seed in seeds:
        case = walked_case(seed)
        expected = expected_outcome(case)
        assert run_case(case).matches == expected, case
        n_batches = random.Random(seed).randint(2, 6)
        assert run_case(case, n_batches=n_batches, seed=seed).matches == expected, (n_batches, case)
        assert run_plan(case, random_plan(case, seed), n_batches=n_batches, seed=seed).matches == expected, (
            case
        )
        left_out += n_left_out(case)
    assert left_out > len(seeds)
    count(cases=len(seeds), left_out=left_out)


@pytest.mark.parametrize("seeds", seed_blocks(141_000, 40, soak=2_000))
def test_a_stream_gives_the_reference_result(seeds: range, count: Count) -> None:
    """In pieces, out of order, twice, with retries and restarts, with plans that change."""
    n_steps = left_out = 0
    for seed in seeds:
        case = walked_stream(seed)
        outcome, stream = run_stream(case, seed)
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert {name: own for name, own in outcome.matches.items() if own} == expected, (seed, case)
        assert stream.late == 0
        assert counted(stream) == {name: len(own) for name, own in expected.items()}
        assert stream.wake is None
        n_steps += len(stream.outcomes)
        left_out += n_left_out(case)
    count(streams=len(seeds), steps=n_steps, left_out=left_out)


@pytest.mark.parametrize("seeds", seed_blocks(142_000, 20, soak=1_000))
def test_sites_give_the_reference_result(seeds: range, count: Count) -> None:
    """In a batch, in one cut into slices of time, and on a stream whose processes forget everything."""
    left_out = 0
    for seed in seeds:
        dice = SeededDice(seed)
        placed = placed_case(walked_case(seed, is_placed, most_queries=2), dice, 3)
        program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
        able = {query.query.name for query in placed.queries}
        expected = {name: own for name, own in expected_outcome(placed.case).items() if own and name in able}
        assert run_stages(placed, program) == expected, (seed, placed.case)
        if is_stream(placed.case):
            assert stream_stages(placed, program, seed) == expected, (seed, placed.case)
        left_out += n_left_out(placed.case)
    count(cases=len(seeds), left_out=left_out)
