"""What `place` refuses."""

import pytest

from weft.errors import PlacementError
from weft.placement.pipeline import ALGORITHMS, place
from weft_lab.placement.optimal import EXACT
from weft_lab.placement.problem_file import problem_of


@pytest.mark.parametrize("algorithm", ["best", *ALGORITHMS, *EXACT])
def test_costs_that_no_number_holds_are_refused(algorithm: str) -> None:
    problem = problem_of(
        {
            "sites": {"north": ["A", "B"], "south": ["A", "B"]},
            "rates": {"A": 1.5e308, "B": 1.5e308},
            "queries": ["SEQ(A, B)"],
        }
    )
    with pytest.raises(PlacementError, match="multiply to about 1e617, expected at most 1e300"):
        place(problem.network, problem.queries, algorithm, seconds=0.1, algorithms=EXACT)


def test_an_unknown_algorithm_is_refused() -> None:
    problem = problem_of(
        {"sites": {"north": ["A", "B"]}, "rates": {"A": 1, "B": 1}, "queries": ["SEQ(A, B)"]}
    )
    with pytest.raises(PlacementError, match="unknown algorithm muse; there are "):
        place(problem.network, problem.queries, "muse")
