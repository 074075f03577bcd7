"""Oracle tests: the engine finds exactly the reference's matches, in one batch and in many."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.helpers.engine import expected_outcome, is_supported, run_case, run_with_budget
from tests.helpers.strategies import Case, cases, event

from weft.runtime.budget import Budget

RELAXED = [
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
]


@given(cases())
@settings(max_examples=500, suppress_health_check=RELAXED)
def test_one_batch_gives_the_reference_result(case: Case) -> None:
    assume(is_supported(case))
    assert run_case(case).matches == expected_outcome(case)


@given(cases(), st.integers(2, 6), st.integers(0, 1_000_000))
@settings(max_examples=250, suppress_health_check=RELAXED)
def test_random_batches_give_the_reference_result(case: Case, n_batches: int, seed: int) -> None:
    """Batches in any order, as long as no event comes before an announced frontier."""
    assume(is_supported(case))
    assert run_case(case, n_batches=n_batches, seed=seed).matches == expected_outcome(case)


@given(cases(most_queries=2))
@settings(max_examples=60, suppress_health_check=RELAXED)
def test_a_small_budget_splits_steps_or_refuses_but_never_lies(case: Case) -> None:
    assume(is_supported(case))
    outcome = run_with_budget(case, Budget(partial_matches=1_100))
    assert outcome is None or outcome.matches == expected_outcome(case)


@given(cases())
@settings(max_examples=100, suppress_health_check=RELAXED)
def test_match_ids_are_distinct_and_do_not_depend_on_batches(case: Case) -> None:
    assume(is_supported(case))
    once, again = run_case(case), run_case(case, n_batches=3, seed=1)
    every = [one for ids in once.ids.values() for one in ids]
    assert len(set(every)) == len(every)
    assert {name: sorted(ids) for name, ids in once.ids.items()} == {
        name: sorted(ids) for name, ids in again.ids.items()
    }


def test_the_comparison_sees_a_missing_match() -> None:
    case = Case("PATTERN SEQ(A a, B b) WITHIN 1 second", (event(0, "A", 0), event(1, "B", 5)))
    late = Case("PATTERN SEQ(A a, B b) WITHIN 1 second", (event(0, "A", 5), event(1, "B", 5)))
    assert expected_outcome(case)["query"]
    assert run_case(late).matches != expected_outcome(case)


@pytest.mark.parametrize("n_batches", [1, 2, 3])
def test_ties_in_time_are_unordered(n_batches: int) -> None:
    events = tuple(event(row, kind, 5) for row, kind in enumerate("AB"))
    case = Case("QUERY s PATTERN SEQ(A a, B b)\nQUERY c PATTERN AND(A a, B b)", events)
    found = run_case(case, n_batches=n_batches, seed=3).matches
    assert not found["s"]
    assert len(found["c"]) == 1
