"""Oracle tests of a shard of a stream: the reference's matches, however the events come."""

import pytest
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.strategies import Case, matching_case
from tests.helpers.streams import as_stream, counted, run_stream
from tests.helpers.tally import Count, seed_blocks


def is_streamable(case: Case) -> bool:
    return bool(case.events) and is_supported(case)


@pytest.mark.parametrize("seeds", seed_blocks(130_000, 40, soak=2_000))
def test_a_stream_gives_the_reference_result(seeds: range, count: Count) -> None:
    """In pieces, out of order, twice, with retries and restarts: every match once, and no late row."""
    n_steps = n_matches = 0
    for seed in seeds:
        case = as_stream(matching_case(seed, accepts=is_streamable))
        outcome, stream = run_stream(case, seed)
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert {name: own for name, own in outcome.matches.items() if own} == expected, case
        assert stream.late == 0
        assert counted(stream) == {name: len(own) for name, own in expected.items()}
        assert stream.wake is None
        n_steps += len(stream.outcomes)
        n_matches += case.n_matches
    count(streams=len(seeds), steps=n_steps, matches=n_matches)
