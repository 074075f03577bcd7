"""Oracle tests of AFTER MATCH SKIP, PREFER LONGEST and SUPPRESS: the reference's matches on every path."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case, run_plan
from tests.helpers.mutations import queries_in
from tests.helpers.random_plans import random_plan
from tests.helpers.strategies import Case
from tests.helpers.streams import as_stream, counted, run_stream
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.walked_cases import WalkedCase, walked_case

from weft.hosts.spark.assignment import is_unordered


def is_streamable(case: Case) -> bool:
    return bool(case.events) and is_supported(case)


def walked_stream(seed: int) -> WalkedCase:
    """Return a case of which a stream knows at some time which match is next."""
    case = as_stream(walked_case(seed, is_streamable))
    unordered = {query.name for query in case.queries if is_unordered(query)}
    texts = [text for text in queries_in(case.text) if text.split()[1] not in unordered]
    return replace(case, text="\n\n".join(texts or ["QUERY q0\nPATTERN A a WITHIN 1 second"]))


def n_left_out(case: WalkedCase) -> int:
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
