"""A MuSE graph on a stream gives the reference's matches, each once, and sends what a batch does."""

import pytest
from tests.helpers.engine import expected_outcome
from tests.helpers.placed import placeable_case, placed_case, run_program
from tests.helpers.placed_streams import matches_of, run_placed_stream
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.strategies import SeededDice
from tests.helpers.streams import as_stream
from tests.helpers.tally import Count, seed_blocks


@pytest.mark.parametrize("seeds", seed_blocks(140_000, 20, soak=1_000, block=10))
def test_a_stream_in_pieces_gives_the_matches_of_the_reference(seeds: range, count: Count) -> None:
    """Events out of order, some twice, sites that are idle, steps tried twice, workers that forget."""
    n_matches = 0
    for seed in seeds:
        case = as_stream(placeable_case(seed, most_queries=2))
        dice = SeededDice(seed)
        placed = placed_case(case, dice, dice.integer(1, 4))
        program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
        stream = run_placed_stream(placed, program, seed)
        assert stream.late == 0
        assert matches_of(stream, [query.name for query in case.queries]) == expected_outcome(case), case
        in_batch = run_program(placed, program).sent
        sites = program.sites
        ways = [(one.projection, sites[one.source], sites[one.target]) for one in program.channels]
        assert stream.sent == {ways[number]: rows for number, rows in in_batch.items() if rows}, case
        n_matches += case.n_matches
    count(placed_streams=len(seeds), matches=n_matches)
