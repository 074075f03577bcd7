"""Compare the engine with the reference on random cases for as long as one likes.

A failure is shrunk to a small case, printed ready to be pasted into a test. Run `make fuzz`, or
`make fuzz ARGS="--minutes 30 --seed 7"`.
"""

import argparse
import sys
import time

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from tests.helpers.engine import expected_outcome, is_supported, run_case
from tests.helpers.strategies import Case, cases

ROUND = 500  # cases between two lines of progress


def main() -> int:
    """Fuzz until the time is up, the user interrupts or a case fails; return the exit status."""
    options = _options()
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    number, n_cases = options.seed, 0
    try:
        while time.monotonic() < end:
            n_cases += _round(number, options.cases)
            print(f"seed {number}: {n_cases} cases agree with the reference", flush=True)
            number += 1
    except KeyboardInterrupt:
        print(f"stopped after {n_cases} cases, all of which agree")
    return 0


def _round(number: int, n_cases: int) -> int:
    """Run one seeded round; a failing case is shrunk and raised."""
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
    @given(cases(), st.integers(1, 5))
    def agree(case: Case, n_batches: int) -> None:
        nonlocal seen
        assume(is_supported(case))
        seen += 1
        found = run_case(case, n_batches=n_batches, seed=number).matches
        assert found == expected_outcome(case), f"{case!r} differs in {n_batches} batches"

    agree()
    return seen


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes (0: never)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; every round takes the next")
    parser.add_argument("--cases", type=int, default=ROUND, help=f"cases per round (default {ROUND})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
