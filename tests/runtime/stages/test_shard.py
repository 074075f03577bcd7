"""The steps of a shard: what is late, what is kept, who starts empty, who is stopped."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.helpers.engine import arrow_events, derived_schema
from tests.helpers.strategies import Case, event
from tests.helpers.streams import Kept, Stream, merged, program_of

from weft.errors import BudgetError, DataError
from weft.optimizer.pipeline import optimize
from weft.runtime.budget import Budget
from weft.runtime.stages.shard import Memory, Shard
from weft.runtime.stages.shard_program import Arrived
from weft.runtime.state.journal import Journal

SECOND = 1_000_000
PAIRS = "QUERY pairs PATTERN SEQ(A a, B b) WITHIN 10 seconds"
ALONE = "QUERY alone PATTERN SEQ(A a, NOT B b) WITHIN 10 seconds"


def case_of(text: str, *arrivals: tuple[str, float]) -> Case:
    return Case(text, tuple(event(row, kind, int(at * SECOND)) for row, (kind, at) in enumerate(arrivals)))


def stream_of(case: Case, *, delay: float = 0.0, budget: Budget | None = None) -> tuple[Stream, pa.Table]:
    table, layout = arrow_events(case)
    plan = optimize(case.queries, derived_schema(case))
    work = program_of(plan, layout, delay=int(delay * SECOND), budget=budget)
    return Stream(work, random.Random(0), n_workers=1, is_calm=True), table


def deliver(stream: Stream, table: pa.Table, *batches: Sequence[int]) -> None:
    for rows in batches:
        stream.deliver(table.take(pa.array(list(rows), pa.int64())))


def matches_of(stream: Stream) -> dict[str, int]:
    return {name: len(found) for name, found in merged(stream).matches.items()}


def test_rows_before_the_watermark_are_late_and_not_matched() -> None:
    case = case_of(PAIRS, ("A", 1), ("A", 20), ("B", 21), ("B", 9.999), ("B", 10), ("A", 30))
    stream, table = stream_of(case, delay=11)
    deliver(stream, table, [0, 1, 2], [3, 4, 5])  # after the first batch, the watermark is at 10 s
    assert stream.late == 1
    late = [outcome.late for outcome in stream.outcomes if outcome.late is not None]
    assert [one["__id"].to_pylist() for one in late] == [[3]]
    assert matches_of(stream) == {"pairs": 2}  # 1 s with 10 s, 20 s with 21 s


def test_a_shard_without_events_decides_when_the_watermark_has_passed() -> None:
    case = case_of(ALONE, ("A", 1))
    stream, table = stream_of(case)
    deliver(stream, table, [0])
    assert matches_of(stream) == {"alone": 0}
    stream.latest = 11 * SECOND  # by events of other shards: exactly the end of the window
    deliver(stream, table, [])
    assert matches_of(stream) == {"alone": 0}
    stream.latest = 11 * SECOND + 1_000
    deliver(stream, table, [])
    assert matches_of(stream) == {"alone": 1}


def test_a_shard_keeps_what_it_needs_and_nothing_else() -> None:
    case = case_of(PAIRS, ("A", 1), ("A", 2), ("C", 3), ("A", 50), ("C", 100))
    stream, table = stream_of(case)
    deliver(stream, table, [0, 1, 2])
    assert stream.outcomes[-1].report.buffered == 3
    deliver(stream, table, [3])
    assert stream.outcomes[-1].report.buffered == 1
    deliver(stream, table, [4])
    report = stream.outcomes[-1].report
    assert (report.buffered, report.state_bytes, len(stream.store.segments)) == (1, report.state_bytes, 1)
    stream.finish()
    assert not stream.store.segments


def test_many_small_steps_are_kept_in_few_segments() -> None:
    case = case_of(PAIRS, *(("A", number / 100) for number in range(400)))
    stream, table = stream_of(case)
    deliver(stream, table, *([row] for row in range(400)))
    assert stream.outcomes[-1].report.buffered == 400
    assert len(stream.store.segments) < 40


def test_the_same_event_counts_once() -> None:
    case = case_of(PAIRS, ("A", 1), ("B", 2))
    stream, table = stream_of(case, delay=60)
    deliver(stream, table, [0], [0, 0], [1], [0, 1])
    assert matches_of(stream) == {"pairs": 1}
    assert sum(outcome.report.duplicates for outcome in stream.outcomes) == 4


def test_a_process_that_missed_steps_repeats_these_alone() -> None:
    case = case_of(PAIRS, *(("A", number) for number in range(6)), ("B", 6))
    stream, table = stream_of(case)
    first, second = Memory(), Memory()
    for row, memory in enumerate([first, first, first, second, second, second, first]):
        stream.workers = [memory]
        deliver(stream, table, [row])
    assert [outcome.report.repeated for outcome in stream.outcomes] == [0, 0, 0, 3, 0, 0, 3]
    assert matches_of(stream) == {"pairs": 6}


def test_a_process_that_missed_a_step_without_events_decides_nothing_again() -> None:
    stream, table = stream_of(case_of(ALONE, ("A", 1), ("A", 30)), delay=5)
    first, second = Memory(), Memory()
    stream.workers = [first]
    deliver(stream, table, [0])
    stream.workers, stream.latest = [second], 20 * SECOND  # by events of other shards
    deliver(stream, table, [])
    assert matches_of(stream) == {"alone": 1}
    stream.workers = [first]
    deliver(stream, table, [1])
    assert matches_of(stream) == {"alone": 1}


def test_a_new_query_starts_empty_and_the_others_go_on() -> None:
    before = case_of(PAIRS, ("A", 1), ("A", 3), ("B", 4))
    after = replace(before, text=f"{PAIRS}\n{PAIRS.replace('pairs', 'new')}")
    stream, table = stream_of(before, delay=60)
    deliver(stream, table, [0])
    stream.program = stream_of(after, delay=60)[0].program
    deliver(stream, table, [1, 2])
    assert stream.outcomes[-1].report.started == ["new"]
    assert matches_of(stream) == {"pairs": 2, "new": 1}
    stream.program = stream_of(before, delay=60)[0].program
    deliver(stream, table, [0])
    assert stream.outcomes[-1].report.ended == ["new"]


def test_a_changed_query_starts_empty() -> None:
    stream, table = stream_of(case_of(PAIRS, ("A", 1), ("B", 2), ("A", 3), ("B", 4)), delay=60)
    deliver(stream, table, [0])
    stream.program = replace(stream.program, fingerprints={"pairs": "another"})
    deliver(stream, table, [1, 2, 3])
    assert matches_of(stream) == {"pairs": 1}


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_query_beyond_its_budget_is_stopped_alone(n_workers: int) -> None:
    text = f"QUERY many PATTERN SEQ(C a, C b, C c) WITHIN 1 hour\n{PAIRS}"
    case = case_of(
        text, ("A", 1), *(("C", 2) for _ in range(3)), *(("C", 3 + n) for n in range(60)), ("B", 5)
    )
    stream, table = stream_of(case, delay=60, budget=Budget(partial_matches=500))
    stream.workers = [Memory() for _ in range(n_workers)]
    deliver(stream, table, [0, 1, 2], range(3, 64), [64])
    report = stream.outcomes[-1].report
    assert list(report.stopped) == ["many"]
    assert "partial matches" in report.stopped["many"]
    assert matches_of(stream)["pairs"] == 1
    assert "many" not in report.partial_matches
    stream.program = replace(stream.program, budget=Budget())
    deliver(stream, table, [])
    deliver(stream, table, [64])
    assert stream.outcomes[-1].report.started == ["many"]


def test_a_query_beyond_its_budget_ends_the_stream_if_asked_to() -> None:
    case = case_of("QUERY many PATTERN SEQ(C a, C b, C c) WITHIN 1 hour", *(("C", n) for n in range(60)))
    stream, table = stream_of(case, delay=60, budget=Budget(partial_matches=500))
    stream.program = replace(stream.program, on_budget="error")
    deliver(stream, table, [0, 1, 2])
    with pytest.raises(BudgetError, match="query many: more than 500 partial matches"):
        deliver(stream, table, range(3, 60))


def test_another_number_of_shards_is_refused() -> None:
    stream, table = stream_of(case_of(PAIRS, ("A", 1)))
    deliver(stream, table, [0])
    stream.program = replace(stream.program, assignment="3 shards")
    with pytest.raises(
        DataError, match=r"written for 1 shards.*now has 3 shards.*partitions of the first start"
    ):
        deliver(stream, table, [0])


def test_an_attempt_that_failed_leaves_no_trace() -> None:
    """A process that ran a step which was never committed must not go on from it."""
    case = case_of(PAIRS, ("A", 1), ("B", 2), ("B", 3))
    stream, table = stream_of(case, delay=60)
    deliver(stream, table, [0])
    memory = stream.workers[0]
    Shard("s", stream.program, stream.store.copy(), memory).step(Arrived([table.slice(1, 1)]), 0)
    deliver(stream, table, [2])
    assert matches_of(stream) == {"pairs": 1}
    assert stream.outcomes[-1].report.repeated == 1


def test_events_that_were_given_up_still_count_after_a_restart() -> None:
    """A segment stays whole for its last event; what lay between that and its first is gone with others."""
    case = case_of(
        "QUERY near PATTERN SEQ(A a, B b) WITHIN 3 EVENTS",
        *(("A", 1), ("E", 20), ("E", 11), ("E", 12), ("E", 13), ("E", 30), ("B", 21), ("E", 50), ("E", 90)),
    )
    stream, table = stream_of(case, delay=10)
    deliver(stream, table, [0, 1], [2, 3, 4], [5])
    stream.workers = [Memory()]
    deliver(stream, table, [6], [7], [8])
    assert stream.late == 0
    assert matches_of(stream) == {"near": 0}
    assert stream.outcomes[3].report.repeated == 2  # of 20 s and 30 s


def test_a_shard_begins_with_nothing() -> None:
    program = stream_of(case_of(PAIRS, ("A", 1)))[0].program
    store = Kept()
    assert Shard("s", program, store, Memory()).step(Arrived(), 0) is None
    assert store.journal() is None
    assert Journal("").to_json() == Journal.from_json(Journal("").to_json()).to_json()
