"""A MuSE graph on a stream gives the reference's matches, each once, and sends what a batch does."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.engine import expected_outcome, is_supported
from tests.helpers.placed import is_placeable, placed_case, run_program
from tests.helpers.placed_streams import matches_of, run_placed_stream
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.strategies import Case, SeededDice, cases

from weft.errors import WeftError
from weft.hosts.spark.parts import check_windows

RELAXED = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
]


def has_windows(case: Case) -> bool:
    try:
        check_windows(case.queries)
    except WeftError:
        return False
    return True


@given(cases(most_queries=2), st.integers(0, 1_000_000), st.integers(1, 4))
@settings(max_examples=50, suppress_health_check=RELAXED)
def test_a_stream_in_pieces_gives_the_matches_of_the_reference(case: Case, seed: int, n_sites: int) -> None:
    """Events out of order, some twice, sites that are idle, steps tried twice, workers that forget."""
    assume(is_placeable(case) and is_supported(case) and has_windows(case))
    dice = SeededDice(seed)
    placed = placed_case(case, dice, n_sites)
    program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
    stream = run_placed_stream(placed, program, seed)
    assert stream.late == 0
    assert matches_of(stream, [query.name for query in case.queries]) == expected_outcome(case)
    in_batch = run_program(placed, program).sent
    sites = program.sites
    ways = [(one.projection, sites[one.source], sites[one.target]) for one in program.streams]
    assert stream.sent == {ways[number]: rows for number, rows in in_batch.items() if rows}
