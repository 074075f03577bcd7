"""What an executor keeps between batches, when it lets go, and when it decides."""

import numpy as np
import pytest
from tests.helpers.engine import arrow_events, expected_outcome, outcome_of, plan_of
from tests.helpers.strategies import SECOND, Case, event

from weft.errors import BudgetError
from weft.plan.nodes import Await, Branch, Extent, Output, Plan, Scan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor, Found
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME


class Run:
    """A case on an executor, fed by hand."""

    def __init__(self, text: str, events: tuple[ReferenceEvent, ...], budget: Budget | None = None) -> None:
        self.case = Case(text, events)
        table, layout = arrow_events(self.case)
        self.plan: Plan = plan_of(self.case)
        self.events: Events = ingest(table, layout)
        self.executor = Executor(Program(self.plan), budget)
        self.found: list[Found] = []

    def feed(self, start: int, stop: int, frontier: int) -> int:
        """Process some of the sorted events; return the number of matches they complete."""
        found = self.executor.process(self.events.take(slice(start, stop)), frontier)
        self.found += found
        return sum(one.table.n_rows for one in found)

    def feed_in_order(self, size: int) -> list[tuple[int, int]]:
        """Process all events in batches; return how many events and rows are held after each."""
        held = []
        for start in range(0, self.events.n_events, size):
            stop = min(start + size, self.events.n_events)
            last = stop == self.events.n_events
            self.feed(start, stop, END_OF_TIME if last else int(self.events.times[stop]))
            held.append((self.n_events_held, self.n_rows_held))
        return held

    @property
    def n_events_held(self) -> int:
        events = self.executor._events
        return 0 if events is None else events.n_events

    @property
    def n_rows_held(self) -> int:
        return sum(state.held.n_rows + state.pending.n_rows for state in self.executor._states.values())

    @property
    def is_right(self) -> bool:
        return outcome_of(self.plan, self.found).matches == expected_outcome(self.case)


def steady_stream(n_events: int) -> tuple[ReferenceEvent, ...]:
    """One event a second, its types in turn."""
    return tuple(event(row, "ABCD"[row % 4], row * SECOND, k=row % 3) for row in range(n_events))


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WITHIN 5 seconds",
        "PATTERN AND(A a, B b, C c) WITHIN 5 seconds",
        "PATTERN SOME(A a, B b, C c, D d) WITHIN 5 seconds",
        "PATTERN SOME(A a, B b, C c, D d) WITHIN 5 seconds AFTER MATCH SKIP PAST LAST",
        "PATTERN SEQ(A a, B+ b[], C c) WITHIN 5 seconds",
        "PATTERN A+ a[] WITHIN 9 seconds",
        "PATTERN SEQ(A a, NOT B x, C c) WITHIN 5 seconds",
        "PATTERN SEQ(NOT B x, A a, C c) WITHIN 5 seconds",
        "PATTERN SEQ(A a, NOT D x) WITHIN 2 seconds",
        "PATTERN AND(A a, OR(NOT C c, NOT D d)) WITHIN 1 second",
        "PATTERN SEQ(A a, NOT SEQ(B x, NOT C y, D z), A b) WITHIN 5 seconds",
    ],
)
def test_what_a_time_window_has_passed_is_forgotten(text: str) -> None:
    held = Run(text, steady_stream(400)).feed_in_order(2)
    settled, later = held[20:100], held[100:-1]
    assert max(events for events, _ in later) <= max(events for events, _ in settled) <= 40
    assert max(rows for _, rows in later) <= max(rows for _, rows in settled) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A a, B b, C c) WITHIN 6 EVENTS",
        "PATTERN SEQ(A a, NOT D x) WITHIN 3 EVENTS",
        "PATTERN SOME(A a, B b, C c, D d) WITHIN 3 EVENTS",
        "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS PARTITION BY k",
    ],
)
def test_rows_that_a_count_window_has_passed_are_forgotten(text: str) -> None:
    held = Run(text, steady_stream(400)).feed_in_order(2)
    assert max(rows for _, rows in held[100:-1]) <= max(rows for _, rows in held[20:100]) <= 60


def test_single_events_leave_nothing_behind() -> None:
    run = Run("PATTERN A a WHERE a.k = 1", steady_stream(40))
    assert max(rows for _, rows in run.feed_in_order(4)) == 0
    assert run.is_right


@pytest.mark.parametrize("text", ["PATTERN SEQ(A a, B b)", "PATTERN SEQ(A a, NOT D d) WITHIN 9 seconds"])
def test_the_end_of_time_leaves_nothing_behind(text: str) -> None:
    run = Run(text, steady_stream(40))
    held = run.feed_in_order(7)
    assert held[-2][0] > 0
    assert held[-2][1] > 0
    assert held[-1] == (0, 0)
    assert run.is_right


@pytest.mark.parametrize("frontier", [1, 5_000_000, 5_000_001])
@pytest.mark.parametrize(("gap", "n_matches"), [(5 * SECOND, 1), (5 * SECOND + 1, 0)])
def test_a_window_is_inclusive_across_batches(frontier: int, gap: int, n_matches: int) -> None:
    """The first event is held exactly as long as an event to come may still be in its window."""
    run = Run("PATTERN SEQ(A a, B b) WITHIN 5 seconds", (event(0, "A", 0), event(1, "B", gap)))
    assert run.feed(0, 1, min(frontier, gap)) == 0
    assert run.feed(1, 2, END_OF_TIME) == n_matches
    assert run.is_right


@pytest.mark.parametrize(("frontier", "n_matches"), [(3, 0), (5 * SECOND, 0), (5 * SECOND + 1, 1)])
def test_a_trailing_negation_waits_until_its_scope_is_complete(frontier: int, n_matches: int) -> None:
    """An event at the very end of the scope may come as long as the frontier has not passed it."""
    text = "PATTERN SEQ(A a, NOT B b) WITHIN 5 seconds"
    run = Run(text, (event(0, "A", 0), event(1, "C", 60 * SECOND)))
    assert run.feed(0, 1, frontier) == n_matches
    assert run.feed(1, 2, END_OF_TIME) == 1 - n_matches
    assert run.is_right


@pytest.mark.parametrize(("frontier", "n_matches"), [(6, 0), (7, 0), (8, 1)])
def test_a_negation_between_waits_for_late_events_before_its_end(frontier: int, n_matches: int) -> None:
    run = Run("PATTERN SEQ(A a, NOT C x, B b)", (event(0, "A", 5), event(1, "B", 7), event(2, "D", 9)))
    assert run.feed(0, 2, frontier) == n_matches
    assert run.feed(2, 3, END_OF_TIME) == 1 - n_matches
    assert run.is_right


@pytest.mark.parametrize(("frontier", "n_matches"), [(2, 0), (3, 1)])
def test_a_negation_is_decided_by_the_event_that_ends_its_scope(frontier: int, n_matches: int) -> None:
    """The match ends later, at 8: nothing to come can enter the scope, so it comes out at once."""
    run = Run(
        "PATTERN SEQ(C c, NOT B x, AND(A a, D d))", (event(0, "C", 0), event(1, "A", 2), event(2, "D", 8))
    )
    assert run.feed(0, 3, frontier) == n_matches
    assert run.feed(3, 3, END_OF_TIME) == 1 - n_matches
    assert run.is_right


@pytest.mark.parametrize(("frontier", "n_matches"), [(5 * SECOND, 0), (5 * SECOND + 1, 1)])
def test_a_trailing_negation_is_decided_by_the_window_of_the_first_event(
    frontier: int, n_matches: int
) -> None:
    """The match ends at second 4, but its window at second 5, counted from its first event."""
    events = (event(0, "A", 0), event(1, "C", 4 * SECOND))
    run = Run("PATTERN SEQ(A a, C c, NOT B x) WITHIN 5 seconds", events)
    assert run.feed(0, 2, frontier) == n_matches
    assert run.feed(2, 2, END_OF_TIME) == 1 - n_matches
    assert run.is_right


def test_a_late_event_takes_its_place_among_those_held() -> None:
    run = Run("PATTERN SEQ(A a, B b, C c)", (event(0, "A", 1), event(1, "B", 2), event(2, "C", 3)))
    run.feed(0, 1, 1)
    run.feed(2, 3, 1)
    assert run.feed(1, 2, 4) == 1
    assert run.is_right


def test_events_at_the_frontier_may_still_come() -> None:
    """The time of the frontier itself is not closed: an event tied with those seen arrives later."""
    events = (event(0, "A", 5, rank=1, tie=1), event(1, "B", 5, rank=2, tie=2))
    case = Case("PATTERN SEQ(A a, B b) WITHIN 1 microsecond", events, order_by="rank")
    table, layout = arrow_events(case)
    plan = plan_of(case)
    sorted_events = ingest(table, layout)
    executor = Executor(Program(plan))
    found = executor.process(sorted_events.take(np.array([1])), 5)
    found += executor.process(sorted_events.take(np.array([0])), 6)
    assert outcome_of(plan, found).matches == expected_outcome(case)
    assert sum(one.table.n_rows for one in found) == 1


def test_an_empty_batch_changes_nothing_but_the_frontier() -> None:
    run = Run("PATTERN SEQ(A a, NOT B b) WITHIN 5 seconds", (event(0, "A", 0),))
    assert run.feed(0, 0, 0) == 0
    assert run.feed(0, 1, 0) == 0
    assert run.feed(1, 1, 5 * SECOND) == 0
    assert run.feed(1, 1, 5 * SECOND + 1) == 1
    assert run.feed(1, 1, END_OF_TIME) == 0
    assert run.is_right


@pytest.mark.parametrize("window", ["", "WITHIN 1 hour", "WITHIN 500 EVENTS"])
def test_a_step_that_is_refused_leaves_the_state_as_it_was(window: str) -> None:
    """The same events in smaller steps then give the whole result."""
    events = tuple(event(row, "A", row) for row in range(60))
    run = Run(f"PATTERN SEQ(A a, A b) {window}", events, Budget(partial_matches=1_100))
    run.feed(0, 20, 20)
    executor = run.executor
    before = (executor._events, executor._waiting, executor._states, run.n_rows_held)
    with pytest.raises(BudgetError):
        run.feed(20, 60, END_OF_TIME)
    after = (executor._events, executor._waiting, executor._states, run.n_rows_held)
    assert all(new is old for new, old in zip(after[:3], before[:3], strict=True))
    assert after[3] == before[3] > 0
    for start in range(20, 60, 10):
        run.feed(start, start + 10, END_OF_TIME if start == 50 else start + 10)
    assert run.is_right


@pytest.mark.parametrize("text", ["SEQ(A a, B b)", "SEQ(A a, B+ b[]) WHERE COUNT(b) < 0"])
def test_without_a_window_only_what_others_may_follow_is_held(text: str) -> None:
    """An event that ends a match waits for none to come: only the A are kept."""
    run = Run(f"PATTERN {text}", steady_stream(40))
    lists = "+" in text
    assert [rows for _, rows in run.feed_in_order(4)][:-1] == [(1 + lists) * n for n in range(1, 10)]
    assert run.is_right


def test_every_node_is_metered() -> None:
    """Rows are those given to the readers, of each node once, in however many steps they came."""
    text = "PATTERN SEQ(A a, NOT C x, B b) WHERE a.k = 1 WITHIN 4 seconds"
    runs = [Run(text, steady_stream(40)) for _ in range(2)]
    runs[0].feed(0, 40, END_OF_TIME)
    runs[1].feed_in_order(3)
    for run in runs:
        meter = run.executor.meter
        rows = {type(node).__name__: meter.rows[node] for node in run.executor.program.order}
        assert rows == {"Scan": 10, "Filter": 3, "Join": 3, "NegationCheck": 3}
        assert all(meter.nanoseconds[node] > 0 for node in run.executor.program.order)
        assert meter.metrics_of(run.plan.outputs[0].branches[0].node).rows == 3


def test_rows_of_a_step_that_is_redone_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.runtime.budget.SPLIT_ROWS", 10)
    run = Run("PATTERN SEQ(A a, B b) WITHIN 9 seconds", steady_stream(40))
    n_matches = sum(found.table.n_rows for found in run.executor.run(run.events))
    rows = [run.executor.meter.rows[node] for node in run.executor.program.order]
    assert rows == [10, 10, n_matches]


def test_a_shared_node_works_once() -> None:
    events = steady_stream(40)
    one = Run("QUERY p PATTERN SEQ(A a, B b)", events)
    two = Run("QUERY p PATTERN SEQ(A a, B b)\nQUERY q PATTERN SEQ(A x, B y)", events)
    for run in (one, two):
        run.feed(0, 40, END_OF_TIME)
        assert run.is_right
    assert two.executor.meter.examined == one.executor.meter.examined


@pytest.mark.parametrize(("frontier", "n_rows"), [(7, 0), (8, 1), (9, 1), (END_OF_TIME, 2)])
def test_rows_are_awaited_until_the_frontier_has_passed_their_last_event(frontier: int, n_rows: int) -> None:
    run = Run("PATTERN SEQ(A a, B b) WITHIN 5 microseconds", (event(0, "A", 5), event(1, "A", 7)))
    plan = Plan((Output("q", (), (Branch(Await(Scan("A"), Extent("time", 2)), ("a",), ()),)),))
    executor = Executor(Program(plan))
    found = executor.process(run.events, frontier)
    assert sum(one.table.n_rows for one in found) == n_rows
    assert executor.is_waiting == (n_rows < 2)
    later = executor.process(run.events.take(slice(0, 0)), END_OF_TIME)
    assert sum(one.table.n_rows for one in later) == 2 - n_rows
    assert not executor.is_waiting


def test_events_before_the_frontier_find_what_is_not_too_old() -> None:
    """Where `oldest` is given, positive events may come after the frontier has passed them."""
    events = tuple(event(number, kind, number) for number, kind in enumerate("ABAB"))
    run = Run("PATTERN SEQ(A a, B b) WITHIN 3 microseconds", events)
    process, none = run.executor.process, run.events.take(slice(0, 0))
    early, late = (run.events.take(np.array(rows)) for rows in ([1, 3], [0, 2]))
    assert not process(early, 4, oldest=1)
    assert not process(none, 10, oldest=1)
    run.found += process(late, 10, oldest=1)
    assert run.is_right
    process(none, 20, oldest=3)
    assert (run.n_events_held, run.n_rows_held) == (1, 1)
    process(none, 20, oldest=4)
    assert (run.n_events_held, run.n_rows_held) == (0, 0)
