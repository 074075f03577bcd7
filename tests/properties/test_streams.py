"""Oracle tests of a shard of a stream: the reference's matches, however the events come."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.strategies import Case, cases
from tests.helpers.streams import counted, never_settled, run_stream

RELAXED = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
]


@given(cases(), st.integers(0, 1_000_000))
@settings(max_examples=150, suppress_health_check=RELAXED)
def test_a_stream_gives_the_reference_result(case: Case, seed: int) -> None:
    """In pieces, out of order, twice, with retries and restarts: every match once, and no late row."""
    assume(is_supported(case))
    outcome, stream = run_stream(case, seed)
    expected, waiting = expected_outcome(case), never_settled(case)
    for name, matches in expected.items():
        found = outcome.matches.get(name, {})
        assert found.items() <= matches.items() if name in waiting else found == matches
    assert stream.late == 0
    assert counted(stream) == {name: len(found) for name, found in outcome.matches.items() if found}
    assert stream.wake is None or waiting
