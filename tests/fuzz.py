"""Compare every way to run queries with the reference on random cases, for as long as one likes.

In turn: plans in one batch and in several, streams with restarts, sites in a batch and on a stream, plans
that change, trends in a batch and on a stream. A failure in a batch, or of trends, is shrunk to a small case;
all are printed ready to be pasted into a test. Run `make fuzz`, or `make fuzz ARGS="--minutes 30 --seed 7"`,
or `make fuzz ARGS="--only streams --only sites"`.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from tests.adaptation.test_migration import check, various_plans
from tests.helpers.engine import expected_outcome, is_supported, run_case
from tests.helpers.placed import is_placeable, placed_case, run_program
from tests.helpers.placed_streams import matches_of, run_placed_stream
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_trends import bursts, events, queries, related_queries, with_results
from tests.helpers.strategies import Case, SeededDice, cases, matching_case
from tests.helpers.streams import as_stream, run_stream
from tests.properties import test_trend_streams, test_trends

ROUND = 200  # cases of a kind between two lines of progress


def main() -> int:
    """Fuzz until the time is up, the user interrupts or a case fails; return the exit status."""
    options = _options()
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    number, done = options.seed, Counter[str]()
    try:
        while time.monotonic() < end:
            for kind in options.only or KINDS:
                done[kind] += KINDS[kind](number, options.cases)
                if time.monotonic() >= end:
                    break
            counts = ", ".join(f"{n_cases} {kind}" for kind, n_cases in done.items())
            print(f"seed {number}: {counts} agree with the reference", flush=True)
            number += 1
    except KeyboardInterrupt:
        print(f"stopped after {done.total()} cases, all of which agree")
    return 0


def _shrinking(number: int, n_cases: int, test: Callable[..., None], *drawn: st.SearchStrategy) -> int:
    """Run a seeded round of a property; a failing case is shrunk and raised."""
    seen = 0

    @seed(number)
    @settings(
        max_examples=n_cases,
        deadline=None,
        database=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*drawn))
    def agree(values: tuple[object, ...]) -> None:
        nonlocal seen
        test(*values)
        seen += 1

    agree()
    return seen


def _batches(number: int, n_cases: int) -> int:
    def agree(case: Case, n_batches: int) -> None:
        assume(is_supported(case))
        found = run_case(case, n_batches=n_batches, seed=number).matches
        assert found == expected_outcome(case), f"{case!r} differs in {n_batches} batches"

    return _shrinking(number, n_cases, agree, cases(), st.integers(1, 5))


def _seeded(agree: Callable[[Case, int], None], accepts: Callable[[Case], bool]) -> Callable[[int, int], int]:
    """Return rounds of cases that have matches, drawn from seeds."""

    def run(number: int, n_cases: int) -> int:
        for place in range(n_cases):
            own = 1_000 * number + place
            case = as_stream(
                matching_case(own, most_queries=2, accepts=lambda case: bool(case.events) and accepts(case))
            )
            try:
                agree(case, own)
            except AssertionError:
                print(f"seed {own}:\n{case!r}", flush=True)
                raise
        return n_cases

    return run


def _stream_agrees(case: Case, own: int) -> None:
    outcome, stream = run_stream(case, own)
    found = {name: matches for name, matches in outcome.matches.items() if matches}
    assert found == {name: matches for name, matches in expected_outcome(case).items() if matches}
    assert stream.late == 0
    assert stream.wake is None


def _sites_agree(case: Case, own: int) -> None:
    dice = SeededDice(own)
    placed = placed_case(case, dice, dice.integer(1, 4))
    program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
    assert run_program(placed, program).matches == expected_outcome(case)
    stream = run_placed_stream(placed, program, own)
    assert matches_of(stream, [query.name for query in case.queries]) == expected_outcome(case)


def _changing_plans_agree(case: Case, own: int) -> None:
    check(case, various_plans(case, own), own)


def _trends(number: int, n_cases: int) -> int:
    def agree(sharing: test_trends.Sharing, case: test_trends.Workload) -> None:
        test_trends.check_workload(sharing, *case)

    cases = with_results(st.lists(queries(), min_size=1, max_size=4), events())
    return _shrinking(number, n_cases, agree, st.sampled_from(("dynamic", "static", "none")), cases)


def _trend_streams(number: int, n_cases: int) -> int:
    own = test_trend_streams.test_a_stream_gives_the_reference_results
    pairs = st.one_of(
        st.tuples(st.lists(queries(), min_size=1, max_size=3), events()),
        st.tuples(related_queries(), bursts()),
    )
    inner = own.hypothesis.inner_test  # type: ignore[attr-defined]
    return _shrinking(number, n_cases, inner, pairs, st.integers(0, 1_000_000))


KINDS: dict[str, Callable[[int, int], int]] = {
    "batches": _batches,
    "streams": _seeded(_stream_agrees, is_supported),
    "sites": _seeded(_sites_agree, lambda case: is_placeable(case) and is_supported(case)),
    "adaptation": _seeded(_changing_plans_agree, is_supported),
    "trends": _trends,
    "trend streams": _trend_streams,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes (0: never)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; every round takes the next")
    parser.add_argument("--cases", type=int, default=ROUND, help=f"cases of a kind a round (default {ROUND})")
    parser.add_argument("--only", action="append", choices=KINDS, help="this kind alone, or several")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
