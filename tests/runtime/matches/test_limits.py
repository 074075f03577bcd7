"""The edges of what the runtime computes with: long windows, large numbers, budgets, work per event."""

from decimal import Decimal

import pytest
from tests.helpers.engine import arrow_events, derived_schema, expected_outcome, plan_of, run_case
from tests.helpers.strategies import Case, event

from weft.errors import BudgetError, WeftError
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program


def executor_of(case: Case, budget: Budget | None = None) -> tuple[Executor, Events]:
    table, layout = arrow_events(case)
    return Executor(Program(plan_of(case)), budget), ingest(table, layout)


@pytest.mark.parametrize("name", ["ann", None])
def test_a_string_literal_is_returned(name: str | None) -> None:
    case = Case("PATTERN A a RETURN 'abc' AS label", (event(0, "A", 0, name=name),))
    assert list(run_case(case).matches["query"].values()) == [{"label": "abc"}]


def test_a_sum_of_19_digits_is_returned() -> None:
    events = tuple(event(row, "A", row, amount=Decimal("9999999999999999.99")) for row in range(2))
    case = Case("PATTERN A{2} a[] RETURN SUM(a.amount) AS s", events)
    assert list(run_case(case).matches["query"].values()) == [{"s": Decimal("19999999999999999.98")}]


def test_large_decimals_become_the_same_doubles_everywhere() -> None:
    amount = Decimal("1234567891234567.89")
    case = Case("PATTERN A a WHERE a.amount <= a.y", (event(0, "A", 0, amount=amount, y=float(amount)),))
    assert run_case(case).matches == expected_outcome(case)


@pytest.mark.parametrize("window", ["60000000 days", "9223372036854775807 EVENTS"])
def test_a_very_long_window_works_in_batches(window: str) -> None:
    events = tuple(event(row, "AB"[row], row) for row in range(2))
    case = Case(f"PATTERN SEQ(A a, B b, NOT D d) WITHIN {window}", events)
    assert run_case(case, n_batches=2, seed=1).matches == expected_outcome(case)


@pytest.mark.parametrize(
    "pattern", ["SEQ(A a, NOT B b)", "AND(A a, NOT B b)", "SEQ(A a, B+ b[])", "SEQ(B+ b[], A a)", "B+ b[]"]
)
def test_work_grows_with_the_window_not_with_the_stream(pattern: str) -> None:
    events = tuple(event(row, "AB"[row % 2], row * 1_000_000) for row in range(400))
    executor, stream = executor_of(Case(f"PATTERN {pattern} WITHIN 1 second", events))
    n_matches = sum(found.table.n_rows for found in executor.run(stream))
    assert n_matches == (0 if "NOT" in pattern else 200 if pattern == "B+ b[]" else 199 + (pattern[4] == "A"))
    assert sum(executor.meter.examined.values()) < 10 * len(events)


def test_combinations_grow_with_the_window_and_with_what_is_found() -> None:
    """What is looked at and does not fit is what the condition refuses."""
    events = tuple(event(row, "ABCD"[row % 4], row * 1_000_000, x=row) for row in range(400))
    where = "WHERE a.x < b.x AND a.x < c.x AND a.x < d.x"
    executor, stream = executor_of(Case(f"PATTERN SOME(A a, B b, C c, D d) {where} WITHIN 3 seconds", events))
    n_matches = sum(found.table.n_rows for found in executor.run(stream))
    assert n_matches > 4 * len(events)
    assert sum(executor.meter.examined.values()) < 2 * n_matches


@pytest.mark.parametrize(
    ("limit", "what"), [("partial_matches", "partial matches"), ("candidates", "candidates")]
)
def test_too_many_combinations_stop_the_query(limit: str, what: str) -> None:
    events = tuple(event(row, "ABCD"[row % 4], row) for row in range(40))
    case = Case("PATTERN SOME(A a, B b, C c, D d) WITHIN 1 second", events)
    executor, stream = executor_of(case, Budget(**{limit: 500}))
    with pytest.raises(BudgetError, match=f"query query: more than 500 {what}.* that begins with event"):
        list(executor.run(stream))


@pytest.mark.parametrize(
    "pattern", ["SEQ(A a, B b)", "SEQ(A a, B{1} b[])", "SEQ(A a, NOT B b)", "AND(B b, A a)"]
)
def test_work_grows_with_a_window_of_events_of_each_key(pattern: str) -> None:
    """The clock that counts inside partitions ends a search as early as time does."""
    events = tuple(event(row, "AB"[row // 2 % 2], row, k=row % 2) for row in range(800))
    executor, stream = executor_of(Case(f"PATTERN {pattern} WITHIN 2 EVENTS PARTITION BY k", events))
    assert bool(list(executor.run(stream))) == ("NOT" not in pattern)
    assert 0 < sum(executor.meter.examined.values()) < 4 * len(events)


def test_held_rows_count_against_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.runtime.matches.execute.BATCH_EVENTS", 100)
    events = tuple(event(row, "AB"[row % 2], row) for row in range(1000))
    case = Case("PATTERN SEQ(A a, B b, C c)", events)
    plan = optimize(case.queries, derived_schema(case), Planning(plan="trivial", cost="partial-matches"))
    executor, (_, stream) = Executor(Program(plan), Budget(held=20_000)), executor_of(case)
    with pytest.raises(BudgetError, match="query query: more than 20,000 partial matches held"):
        list(executor.run(stream))


def test_a_scope_with_too_many_pairs_is_looked_at_in_parts() -> None:
    """Each of the A sees each of the B, yet no more than 60 rows can come out."""
    events = tuple(event(row, "A" if row < 60 else "B", row, x=row) for row in range(120))
    text = "PATTERN SEQ(A a, NOT B b) WHERE b.x = a.x + 1000 OR b.x < a.x"
    executor, stream = executor_of(Case(text, events), Budget(partial_matches=200))
    assert sum(found.table.n_rows for found in executor.run(stream)) == 60


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(WeftError, match="at least 1"):
        Budget(partial_matches=0)
