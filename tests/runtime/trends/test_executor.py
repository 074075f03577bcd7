"""Trend queries in a shard: when windows give results, what is kept, who starts empty, who is stopped."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.helpers.random_trends import results_of
from tests.helpers.streams import Stream, program_of
from tests.helpers.trend_streams import LAYOUT, table_of, trends_of

from weft.errors import BudgetError
from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_program import Arrived, run_once
from weft.runtime.trends import aggregate
from weft.runtime.trends import executor as trend_executor
from weft.runtime.trends.executor import SlidingWindows, TrendPlan
from weft.runtime.trends.online import OnlineTrends
from weft.runtime.trends.shared import Counters
from weft.schema import LONG, Schema

SECOND = 1_000_000
SCHEMA = Schema({"x": LONG, "g": LONG}, time="ts")
COUNTED = "QUERY q PATTERN SEQ(A a, B+ b[]) WITHIN 10 seconds SLIDE 5 seconds RETURN COUNT(*) AS n"


def plan_of(text: str) -> TrendPlan:
    return TrendPlan(tuple(map(template_of, read_queries(text, SCHEMA))))


def stream_of(
    text: str,
    *arrivals: tuple[str, float],
    delay: float = 0.0,
    budget: Budget | None = None,
    exact: bool = False,
) -> tuple[Stream, pa.Table]:
    attributes = {"x": 1, "g": 1, "k": 1, "y": None}
    events = [
        ReferenceEvent(row, frozenset(kind), int(at * SECOND), attributes=attributes)
        for row, (kind, at) in enumerate(arrivals)
    ]
    plan = replace(plan_of(text), exact=exact)
    work = program_of(plan, LAYOUT, delay=int(delay * SECOND), budget=budget)
    return Stream(work, random.Random(0), n_workers=1, is_calm=True), table_of(events)


def deliver(stream: Stream, table: pa.Table, *batches: Sequence[int]) -> None:
    for rows in batches:
        stream.deliver(table.take(pa.array(list(rows), pa.int64())))


def counts_of(stream: Stream, name: str = "q") -> dict[float, object]:
    return {start / SECOND: own["n"] for (start, _), own in trends_of(stream).get(name, {}).items()}  # type: ignore[operator]


def test_a_window_gives_its_results_when_no_event_of_it_can_come() -> None:
    stream, table = stream_of(COUNTED, ("A", 1), ("B", 6), ("B", 7), ("B", 9.999), ("A", 10), ("A", 15))
    deliver(stream, table, [0, 1, 2])
    assert counts_of(stream) == {}
    deliver(stream, table, [3])
    assert counts_of(stream) == {}
    deliver(stream, table, [4])
    assert counts_of(stream) == {0.0: 7}
    deliver(stream, table, [5])
    assert counts_of(stream) == {0.0: 7}  # from 5 to 15 there is no A before a B


def test_a_silent_shard_is_woken_when_its_first_window_ends() -> None:
    stream, table = stream_of(COUNTED, ("A", 1), ("B", 2))
    deliver(stream, table, [0, 1])
    assert stream.wake == 5_000  # the window from -5 to 5
    stream.latest = 5 * SECOND  # by events of other shards
    deliver(stream, table, [])
    assert counts_of(stream) == {-5.0: 1}
    assert stream.wake == 10_000
    stream.latest = 10 * SECOND
    deliver(stream, table, [])
    assert counts_of(stream) == {-5.0: 1, 0.0: 1}
    assert stream.wake is None
    assert not stream.store.segments


def test_late_rows_are_counted_and_change_nothing() -> None:
    stream, table = stream_of(COUNTED, ("A", 6), ("B", 20), ("B", 9), ("B", 14), ("B", 40), delay=8)
    deliver(stream, table, [0, 1], [2, 3], [4])  # after the first batch the watermark is at 12 s
    assert stream.late == 1
    assert counts_of(stream) == {5.0: 1}


def test_a_shard_keeps_what_panes_do_and_the_events_that_are_not_settled() -> None:
    text = COUNTED.replace("COUNT(*)", "MIN(b.x) AS x, COUNT(*)")
    stream, table = stream_of(text, ("A", 0), *(("B", number / 100) for number in range(1, 3_000)))
    sizes = []
    for first in range(0, 3_000, 100):
        deliver(stream, table, range(first, first + 100))
        report = stream.outcomes[-1].report
        assert report.buffered == 1
        sizes.append((report.query_bytes["q"], report.state_bytes))
    n_bytes, state_bytes = zip(*sizes, strict=True)
    assert max(n_bytes[15:]) <= max(n_bytes[:15]) < 50_000
    assert max(state_bytes[20:]) < 1.5 * max(state_bytes[5:15])


def test_a_shard_keeps_the_events_of_open_windows_where_numbers_are_exact() -> None:
    stream, table = stream_of(COUNTED, *(("B", second) for second in range(30)), exact=True)
    deliver(stream, table, *([second] for second in range(30)))
    reports = [outcome.report for outcome in stream.outcomes]
    assert [report.buffered for report in reports[:16]] == [*range(1, 11), 6, 7, 8, 9, 10, 6]
    assert set(reports[-1].query_bytes) == {"q"}
    assert reports[-1].partial_matches == {}


def test_only_the_windows_that_close_are_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, Sequence[tuple[int, int]]]] = []
    actual = trend_executor.aggregate_workload

    def noted(templates, events, sharing, chosen, *, exact):  # type: ignore[no-untyped-def]
        asked.append((events.n_events, chosen))
        return actual(templates, events, sharing, chosen, exact=exact)

    monkeypatch.setattr(trend_executor, "aggregate_workload", noted)
    text = COUNTED.replace("SLIDE 5 seconds", "SLIDE 1 second")
    stream, table = stream_of(text, *(("B", second) for second in range(20)), exact=True)
    deliver(stream, table, range(12), [12], [13])
    assert [chosen for _, chosen in asked] == [((-9, 1),), ((2, 2),), ((3, 3),)]
    assert [n_events for n_events, _ in asked[1:]] == [10, 10]


def test_an_event_is_worked_out_once_however_many_windows_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[list[int]] = []
    actual = OnlineTrends.settle

    def noted(online: OnlineTrends, events: Events) -> Counters:
        settled.append((events.times // SECOND).tolist())
        return actual(online, events)

    monkeypatch.setattr(OnlineTrends, "settle", noted)
    text = COUNTED.replace("SLIDE 5 seconds", "SLIDE 1 second")
    stream, table = stream_of(text, ("A", 0), *(("B", second) for second in range(1, 20)))
    deliver(stream, table, range(12), [12], [13])
    assert settled == [list(range(11)), [11], [12]]
    assert counts_of(stream)[0.0] == 2**9 - 1
    stream.workers = [Memory()]  # another process goes on with what the panes of open windows do
    deliver(stream, table, [14])
    assert settled[3:] == [[13]]


def test_reports_tell_what_sharing_did() -> None:
    text = f"{COUNTED}\n{COUNTED.replace(' q ', ' other ').replace('SEQ(A a, ', 'SEQ(C c, ')}"
    arrivals = [("A", 0), ("C", 0.5), *(("B", 1 + number / 10) for number in range(50)), ("A", 9)]
    stream, table = stream_of(text, *arrivals)
    deliver(stream, table, range(20), range(20, 53))
    shared = [outcome.report.sharing for outcome in stream.outcomes]
    assert [(own.bursts, own.shared_graphlets) for own in shared if own is not None] == [(1, 1), (2, 2)]
    assert Report.from_json(stream.outcomes[0].report.to_json()).sharing == shared[0]


def test_partitions_come_and_go() -> None:
    """The events that stand for partitions are given up with these, and others get their numbers."""
    text = "PATTERN SEQ(A a, B+ b[]) WITHIN 4 ms SLIDE 1 ms GROUP BY g RETURN COUNT(*) AS n"
    (query,) = read_queries(text, SCHEMA)
    online, found, delivered = OnlineTrends([template_of(query)], "dynamic"), {}, []
    for moment in range(60):
        attributes = {"g": moment // 7, "x": 1, "k": 1, "y": None}
        events = [
            ReferenceEvent(2 * moment + row, frozenset(kind), 1_000 * moment + row, attributes=attributes)
            for row, kind in enumerate("AB")
        ]
        delivered += events
        settled = ingest(table_of(events), LAYOUT)
        pool = settled.strings if online.examples is None else online.examples.strings
        online.settle(replace(settled, strings=pool))
        rows = online.close(0, (moment - 3, moment - 3))
        assert rows is not None
        assert online.examples is not None
        found |= results_of(rows, online.examples)
        online.forget(1_000 * (moment + 1))
        assert online.examples.n_events <= 4
    expected = find_trend_results(query, delivered)
    assert found == {key: own for key, own in expected.items() if key[0] <= 56_000}  # type: ignore[operator]
    assert len(found) > 60


def test_a_query_that_comes_later_sees_the_events_since_then() -> None:
    arrivals = [("A", 1), ("B", 2), ("A", 3), ("B", 4), ("B", 30)]
    stream, table = stream_of(COUNTED, *arrivals, delay=8)
    deliver(stream, table, [0, 1])
    stream.program = stream_of(f"{COUNTED}\n{COUNTED.replace(' q ', ' new ')}", *arrivals, delay=8)[0].program
    deliver(stream, table, [2, 3])
    assert stream.outcomes[-1].report.started == ["new"]
    stream.workers = [Memory()]
    deliver(stream, table, [4])
    assert counts_of(stream) == {-5.0: 4, 0.0: 4}
    assert counts_of(stream, "new") == {-5.0: 1, 0.0: 1}


def test_a_query_beyond_its_budget_is_stopped_alone() -> None:
    text = f"{COUNTED}\nQUERY many PATTERN C+ c[] WITHIN 1 hour RETURN COUNT(*) AS n"
    arrivals = [("A", 1), *(("C", 2 + n / 10) for n in range(9)), ("B", 4), ("A", 5000)]
    stream, table = stream_of(text, *arrivals, budget=Budget(held=5), exact=True)
    deliver(stream, table, range(4), range(4, 11), [11])
    report = stream.outcomes[-1].report
    assert list(report.stopped) == ["many"]
    assert "more than 5 events held" in report.stopped["many"]
    assert counts_of(stream) == {-5.0: 1, 0.0: 1}
    assert counts_of(stream, "many") == {}
    stream.program = replace(stream.program, budget=Budget())
    deliver(stream, table, [11])
    assert stream.outcomes[-1].report.started == ["many"]


def test_a_query_of_a_batch_is_stopped_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "QUERY small PATTERN B+ b[] RETURN COUNT(*) AS n\n"
        "QUERY big PATTERN B+ b[] WHERE b[i-1].x < b[i].x RETURN COUNT(*) AS n"
    )
    events = [
        ReferenceEvent(n, frozenset("B"), n, attributes={"x": n, "g": 1, "k": 1, "y": None})
        for n in range(50)
    ]
    program = program_of(plan_of(text), LAYOUT, delay=0)
    monkeypatch.setattr(aggregate, "MOST_BYTES", 1_000)
    executor, _, results = run_once(program, Arrived([table_of(events)]))
    assert {found.query: found.results.numbers(0) for found in results} == {"small": [2**50 - 1]}  # type: ignore[union-attr]
    assert executor.stopped is not None
    assert list(executor.stopped) == ["big"]
    assert executor.stopped["big"].startswith("query big: a window of 50 events")
    with pytest.raises(BudgetError, match="query big: a window of 50 events"):
        list(run_once(replace(program, on_budget="error"), Arrived([table_of(events)]))[2])


def test_the_first_window_with_events_where_windows_have_gaps() -> None:
    span = SlidingWindows(length=2, slide=10)
    assert span.first_with(pa.array([5, 7, 31]).to_numpy(), 0) == 3
    assert span.first_with(pa.array([5, 7]).to_numpy(), 0) is None
    assert span.first_with(pa.array([-9, 11]).to_numpy(), -5) == -1
