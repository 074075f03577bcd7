"""The one step of a batch: a query that exceeds its budget is stopped by itself, the others lack nothing."""

import logging

import pyarrow as pa
import pytest
from tests.helpers.engine import Outcome, arrow_events, expected_outcome, is_supported, outcome_of, plan_of
from tests.helpers.strategies import Case, event, matching_case
from tests.helpers.tally import Count, seed_blocks

from weft.errors import BudgetError
from weft.runtime import budget as budgets
from weft.runtime.budget import Budget, OnBudget
from weft.runtime.stages.shard_program import Arrived, ShardProgram, run_once

CROWD = tuple(event(row, "AB"[row == 15], row, key=500 + row) for row in range(16))
TWO = "QUERY fine PATTERN SEQ(A a, B b) WITHIN 3 microseconds\nQUERY wild PATTERN A+ a[] WITHIN 1 hour"


def run(case: Case, budget: Budget, on_budget: OnBudget = "stop") -> tuple[Outcome, dict[str, str]]:
    """Run a case in one step; return what was found, each match once, and what was stopped."""
    table, layout = arrow_events(case)
    program = ShardProgram(plan_of(case), layout, pa.int64(), budget, on_budget=on_budget)
    executor, _, results = run_once(program, Arrived([table]))
    outcome = outcome_of(plan_of(case), results)  # type: ignore[arg-type]
    return outcome, dict(executor.stopped or {})


@pytest.mark.parametrize("split", [2, 2_000_000])
@pytest.mark.parametrize("seeds", seed_blocks(130_000, 60, soak=600))
def test_the_others_lack_nothing_and_nothing_comes_twice(
    seeds: range, split: int, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "SPLIT_ROWS", split)
    kinds = (Budget(partial_matches=2), Budget(candidates=9), Budget(held=3))
    n_stopped = n_complete = 0
    for seed in seeds:
        case = matching_case(seed, most_queries=4, accepts=is_supported)
        outcome, stopped = run(case, kinds[seed % 3])
        for name, expected in expected_outcome(case).items():
            found = outcome.matches[name]
            if name in stopped:
                assert found.items() <= expected.items(), (name, case)
            else:
                assert found == expected, (name, case)
        n_stopped += len(stopped)
        n_complete += sum(name not in stopped and len(own) > 0 for name, own in outcome.matches.items())
    assert n_stopped > 0
    assert n_complete > 0
    count(cases=len(seeds), stopped=n_stopped)


def test_what_was_stopped_is_told_and_what_it_had_found_stays(caplog: pytest.LogCaptureFixture) -> None:
    case = Case(TWO, CROWD)
    with caplog.at_level(logging.WARNING, "weft"):
        outcome, stopped = run(case, Budget(partial_matches=100))
    assert outcome.matches["fine"] == expected_outcome(case)["fine"]
    assert len(outcome.matches["fine"]) == 3
    assert stopped.keys() == {"wild"}
    assert stopped["wild"].startswith(
        "query wild: more than 100 partial matches for the group of events up to"
    )
    (record,) = caplog.records
    assert record.getMessage() == f"stopped, the others go on: {stopped['wild']}"
    n_early = 2**7 - 1  # the seventh event ends 64 lists, the eighth 128
    assert len(outcome.matches["wild"]) == n_early


def test_all_readers_of_a_part_that_explodes_are_stopped() -> None:
    shared = "".join(f"QUERY q{n} PATTERN SEQ(A+ a[], B b) WITHIN 1 hour\n" for n in range(2))
    outcome, stopped = run(Case(shared + TWO.splitlines()[0], CROWD), Budget(partial_matches=100))
    assert stopped.keys() == {"q0", "q1"}
    assert stopped["q0"].startswith("queries q0, q1, which share a part: more than 100 partial matches")
    assert len(outcome.matches["fine"]) == 3


def test_many_queries_are_stopped_at_one_event() -> None:
    text = "".join(f"QUERY q{n} PATTERN A+ a[] WHERE a[i-1].x < a[i].x + {n}\n" for n in range(1, 41))
    events = [event(row, "A", row, x=row) for row in range(8)]
    outcome, stopped = run(Case(text, tuple(events)), Budget(partial_matches=100))
    assert len(stopped) == 40
    assert {len(own) for own in outcome.matches.values()} == {2**7 - 1}


def test_an_error_is_raised_if_asked_for() -> None:
    with pytest.raises(BudgetError, match="query wild: more than 100 partial matches") as caught:
        run(Case(TWO, CROWD), Budget(partial_matches=100), "error")
    assert caught.value.queries == ("wild",)
