"""A query that explodes is stopped with a clear message; a step that is merely large is split."""

import re

import pytest
from tests.helpers.engine import arrow_events, expected_outcome, is_supported, outcome_of, plan_of, run_case
from tests.helpers.strategies import Case, event, matching_case
from tests.helpers.tally import Count, seed_blocks

from weft.errors import BudgetError
from weft.reference.events import ReferenceEvent
from weft.runtime import budget as budgets
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor, Found
from weft.runtime.matches.program import Program

CROWD = tuple(event(row, "A", row, key=500 + row) for row in range(16))
REMEDIES = ("STRATEGY NEXT", "SKIP PAST LAST", "shorten WITHIN", "bound the list ({n,m})", "[key]")


def run(text: str, events: tuple[ReferenceEvent, ...], budget: Budget) -> int:
    """Return the number of matches."""
    case = Case(text, events)
    table, layout = arrow_events(case)
    executor = Executor(Program(plan_of(case)), budget)
    return sum(found.table.n_rows for found in executor.run(ingest(table, layout)))


def refusal(text: str, events: tuple[ReferenceEvent, ...], budget: Budget) -> str:
    with pytest.raises(BudgetError) as refused:
        run(text, events, budget)
    return str(refused.value)


def test_too_many_lists_are_refused_with_query_group_and_remedy() -> None:
    """The last of 16 events ends 32,768 lists."""
    text = "QUERY subsets PATTERN A+ a[] WITHIN 1 hour"
    assert run(text, CROWD, Budget(partial_matches=40_000)) == 2**16 - 1
    message = refusal(text, CROWD, Budget(partial_matches=5_000))
    assert message.startswith("query subsets: more than 5,000 partial matches for the group of events up to ")
    assert re.search(r"up to 1970-01-01T00:00:00\.0000\d\d UTC that begins with event 5\d\d\n", message)
    assert message.endswith("or raise the budget (budget=weft.Budget(partial_matches=...))")
    assert all(remedy in message for remedy in REMEDIES)


def test_too_many_pairs_are_refused_with_query_group_and_remedy() -> None:
    """One event completes more pairs than are allowed at one moment."""
    events = (*(event(row, "A", 0, key=row) for row in range(60)), event(60, "B", 1, key=60))
    text = "QUERY pairs PATTERN SEQ(AND(A a, A c), B b)"
    message = refusal(text, events, Budget(partial_matches=3_000))
    assert message.startswith("query pairs: more than 3,000 partial matches for the group of events up to ")
    assert "1970-01-01T00:00:00.000001 UTC that begins with event " in message
    assert all(remedy in message for remedy in REMEDIES)


def test_too_many_candidates_are_refused_with_query_group_and_remedy() -> None:
    events = tuple(event(row, "AB"[row % 2], row, x=row, key=row) for row in range(100))
    text = "QUERY rare PATTERN SEQ(A a, B b) WHERE a.x > b.x"
    assert run(text, events, Budget(candidates=2_600)) == 0
    message = refusal(text, events, Budget(candidates=1_000))
    assert message.endswith("or raise the budget (budget=weft.Budget(candidates=...))")
    assert message.startswith(
        "query rare: more than 1,000 candidates examined for the group of events up to "
    )
    assert all(remedy in message for remedy in REMEDIES)


def test_the_refusal_of_a_shared_node_names_its_readers() -> None:
    text = "\n".join(f"QUERY q{number} PATTERN A+ a[]" for number in range(7))
    message = refusal(text, CROWD, Budget(partial_matches=100))
    assert message.startswith(
        "queries q0, q1, q2, q3, q4 and 2 more, which share a part: more than 100 partial matches"
    )


def test_a_query_within_its_budget_is_not_refused_for_its_neighbor() -> None:
    text = "QUERY fine PATTERN SEQ(A a, A b) WITHIN 1 microsecond\nQUERY wild PATTERN A+ a[]"
    assert refusal(text, CROWD, Budget(partial_matches=100)).startswith("query wild:")


class CountingExecutor(Executor):
    """Counts its steps."""

    n_steps = 0

    def process(self, batch: Events, frontier: int, oldest: int | None = None) -> list[Found]:
        self.n_steps += 1
        return super().process(batch, frontier, oldest)


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, A b, A c) WITHIN 6 microseconds",
        "PATTERN SEQ(A a, A+ b[]) WITHIN 5 microseconds",
        "PATTERN SEQ(A a, NOT A x, A b, NOT A y) WHERE x.x = 1 WITHIN 4 microseconds",
        "PATTERN SEQ(A a, A b) WITHIN 8 EVENTS",
    ],
)
def test_a_large_step_is_split_and_gives_the_same_result(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(text, CROWD)
    table, layout = arrow_events(case)
    plan = plan_of(case)

    executor = CountingExecutor(Program(plan))
    whole = outcome_of(plan, executor.run(ingest(table, layout))).matches
    assert executor.n_steps == 1
    monkeypatch.setattr(budgets, "SPLIT_ROWS", 10)
    executor = CountingExecutor(Program(plan))
    split = outcome_of(plan, executor.run(ingest(table, layout))).matches
    assert executor.n_steps > 3
    assert split == whole == expected_outcome(case)


@pytest.mark.parametrize("seeds", seed_blocks(61_000, 30, soak=500, block=10))
def test_steps_split_as_far_as_possible_give_the_reference_result(
    seeds: range, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "SPLIT_ROWS", 2)
    for seed in seeds:
        case = matching_case(seed, most_queries=2, accepts=is_supported)
        assert run_case(case).matches == expected_outcome(case), case
    count(cases=len(seeds))
