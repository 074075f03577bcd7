"""Oracle tests: the engine finds exactly the reference's matches, in one batch and in many."""

import random

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case, run_with_budget
from tests.helpers.strategies import Case, event, matching_case
from tests.helpers.tally import Count, seed_blocks

from weft.runtime.budget import Budget


def cases_of(seeds: range, count: Count, *, most_queries: int = 4) -> list[tuple[int, Case]]:
    """Return the cases of a block of seeds, all of which have matches."""
    cases = [(seed, matching_case(seed, most_queries=most_queries, accepts=is_supported)) for seed in seeds]
    count(cases=len(cases), matches=sum(case.n_matches for _, case in cases))
    return cases


@pytest.mark.parametrize("seeds", seed_blocks(100_000, 100, soak=3_000))
def test_one_batch_gives_the_reference_result(seeds: range, count: Count) -> None:
    for _, case in cases_of(seeds, count):
        assert run_case(case).matches == expected_outcome(case), case


@pytest.mark.parametrize("seeds", seed_blocks(110_000, 100, soak=3_000))
def test_random_batches_give_the_reference_result(seeds: range, count: Count) -> None:
    """Batches in any order, as long as no event comes before an announced frontier; ids are the same."""
    for seed, case in cases_of(seeds, count):
        n_batches = random.Random(seed).randint(2, 6)
        outcome = run_case(case, n_batches=n_batches, seed=seed)
        assert outcome.matches == expected_outcome(case), (n_batches, case)
        ids = [one for own in outcome.ids.values() for one in own]
        assert len(set(ids)) == len(ids)
        once = run_case(case).ids
        assert {name: sorted(own) for name, own in outcome.ids.items()} == {
            name: sorted(own) for name, own in once.items()
        }


@pytest.mark.parametrize("seeds", seed_blocks(120_000, 40, soak=500))
def test_a_small_budget_splits_steps_or_refuses_but_never_lies(seeds: range, count: Count) -> None:
    outcomes = []
    for _, case in cases_of(seeds, count, most_queries=2):
        outcome = run_with_budget(case, Budget(partial_matches=1_100))
        assert outcome is None or outcome.matches == expected_outcome(case), case
        outcomes.append(outcome)
    assert any(outcome is not None for outcome in outcomes)


def test_the_comparison_sees_a_missing_match() -> None:
    case = Case("PATTERN SEQ(A a, B b) WITHIN 1 second", (event(0, "A", 0), event(1, "B", 5)))
    late = Case("PATTERN SEQ(A a, B b) WITHIN 1 second", (event(0, "A", 5), event(1, "B", 5)))
    assert expected_outcome(case)["query"]
    assert run_case(late).matches != expected_outcome(case)
