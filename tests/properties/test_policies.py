"""Oracle tests of the clauses for which matches count: the matches of the reference, on every path."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case, run_plan
from tests.helpers.mutations import queries_in
from tests.helpers.placed import is_placeable, placed_case
from tests.helpers.placed_walks import run_slices, run_stages, slices_of, stream_stages
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_plans import random_plan
from tests.helpers.random_policies import n_left_out, policy_case, policy_stream
from tests.helpers.strategies import Case, SeededDice
from tests.helpers.streams import counted, never_settled, run_stream
from tests.helpers.tally import Count, seed_blocks

from weft.runtime.matches import execute


def is_placed(case: Case) -> bool:
    return is_placeable(case) and is_supported(case)


def is_stream(case: Case) -> bool:
    """Say whether time alone decides all matches of a case."""
    return all(query.window is not None for query in case.queries) and not never_settled(case)


@pytest.mark.parametrize("seeds", seed_blocks(140_000, 800, soak=5_000, block=50))
def test_batches_give_the_reference_result(seeds: range, count: Count) -> None:
    """In one batch, in random batches that respect a frontier, and with random trees."""
    left_out = 0
    for seed in seeds:
        case = policy_case(seed, accepts=is_supported)
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


@pytest.mark.parametrize("seeds", seed_blocks(180_000, 80, soak=2_000, block=40))
def test_small_parts_give_up_what_is_skipped(
    seeds: range, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events are taken three at a time; what the walk has passed is given up in between."""
    monkeypatch.setattr(execute, "BATCH_EVENTS", 3)
    for seed in seeds:
        case = policy_case(seed, accepts=is_supported)
        assert run_case(case).matches == expected_outcome(case), (seed, case)
    count(cases=len(seeds))


@pytest.mark.parametrize("seeds", seed_blocks(150_000, 100, soak=3_000, block=25))
def test_a_stream_gives_the_reference_result(seeds: range, count: Count) -> None:
    """In pieces, out of order, twice, with retries and restarts, with plans that change."""
    n_steps = left_out = 0
    for seed in seeds:
        case = policy_stream(seed)
        outcome, stream = run_stream(case, seed)
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert {name: own for name, own in outcome.matches.items() if own} == expected, (seed, case)
        assert stream.late == 0
        assert counted(stream) == {name: len(own) for name, own in expected.items()}
        assert stream.wake is None
        n_steps += len(stream.outcomes)
        left_out += n_left_out(case)
    count(streams=len(seeds), steps=n_steps, left_out=left_out)


@pytest.mark.parametrize("seeds", seed_blocks(170_000, 60, soak=1_000))
def test_slices_of_time_that_meet_give_the_reference_result(seeds: range, count: Count) -> None:
    """As short as they may be, so that matches and walks go from one slice to the next."""
    n_cases = n_matches = 0
    for seed in seeds:
        case = policy_case(seed, accepts=is_placed)
        walked = {query.name for query in case.queries if query.policy.walks}
        texts = [text for text in queries_in(case.text) if text.split()[1] in walked]
        case = replace(case, text="\n\n".join(texts))
        slices = slices_of(case) if texts else None
        if slices is None:
            continue
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert run_slices(case, slices) == expected, (seed, case)
        n_cases, n_matches = n_cases + 1, n_matches + case.n_matches
    count(cases=n_cases, matches=n_matches)
    assert n_cases > len(seeds) // 4


@pytest.mark.parametrize("seeds", seed_blocks(160_000, 60, soak=2_000))
def test_sites_give_the_reference_result(seeds: range, count: Count) -> None:
    """In a batch, in one cut into slices of time, and on a stream whose processes forget everything."""
    left_out = 0
    for seed in seeds:
        dice = SeededDice(seed)
        placed = placed_case(policy_case(seed, accepts=is_placed, most_queries=2), dice, 3)
        program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
        able = {query.query.name for query in placed.queries}
        expected = {name: own for name, own in expected_outcome(placed.case).items() if own and name in able}
        assert run_stages(placed, program).found == expected, (seed, placed.case)
        slices = slices_of(placed.case)
        if slices is not None:
            assert run_stages(placed, program, slices).found == expected, (seed, placed.case)
        if is_stream(placed.case):
            assert stream_stages(placed, program, seed).found == expected, (seed, placed.case)
        left_out += n_left_out(placed.case)
    count(cases=len(seeds), left_out=left_out)
