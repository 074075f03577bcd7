"""Walks in a shard: they begin anew with their query, what they keep is bounded, and plans are shared."""

import random

import pyarrow as pa
from tests.helpers.engine import arrow_events, derived_schema
from tests.helpers.strategies import Case, event
from tests.helpers.streams import Stream, merged, program_of

from weft.hosts.demand import Demand, demand_of
from weft.optimizer.pipeline import optimize
from weft.plan.dag import readers
from weft.plan.nodes import Await
from weft.runtime.stages.walk_log import LEAST_OUTDATED, WALK
from weft.runtime.state.journal import Journal

SECOND = 1_000_000
NEXT = "QUERY q PATTERN SEQ(A a, B b) WITHIN 10 seconds AFTER MATCH SKIP PAST LAST"
QUIET = "QUERY q PATTERN A a SUPPRESS 1 hour"


def stream_of(text: str, n_events: int, kinds: str = "AB", *, apart: float = 1.0) -> tuple[Stream, pa.Table]:
    events = tuple(
        event(row, kinds[row % len(kinds)], int(apart * SECOND * row), k=row) for row in range(n_events)
    )
    case = Case(text, events)
    table, layout = arrow_events(case)
    work = program_of(optimize(case.queries, derived_schema(case)), layout, delay=0)
    return Stream(work, random.Random(0), n_workers=1, is_calm=True), table


def n_logged(stream: Stream) -> int:
    journal = Journal.from_json(stream.store.text or "")
    return sum(segment.n_rows for segment in journal.logs.get(WALK, ()))


def found(stream: Stream) -> list[tuple[int, ...]]:
    rows = [dict(one) for one in merged(stream).matches["q"]]
    return sorted(tuple(ids[0] for _, ids in sorted(row.items())) for row in rows)


def test_a_changed_query_begins_a_walk_of_its_own() -> None:
    """The quiet time of the query before does not hold for it; a query that is as it was goes on."""
    for fingerprint, kept in (("same", [(0,)]), ("another", [(0,), (3,)])):
        stream, table = stream_of(QUIET, 6, "A")
        stream.deliver(table.slice(0, 3))
        layout = stream.program.layout
        stream.program = program_of(stream.program.plan, layout, delay=0, q=fingerprint)
        stream.deliver(table.slice(3))
        stream.finish()
        assert found(stream) == kept


def test_a_walk_keeps_what_may_matter_and_nothing_else() -> None:
    stream, table = stream_of(NEXT, 400)
    for row in range(400):
        stream.deliver(table.slice(row, 1))
        assert n_logged(stream) <= 10
    stream.finish()
    assert found(stream) == [(row, row + 1) for row in range(0, 400, 2)]
    assert not stream.store.segments


def test_a_walk_by_first_events_and_again_by_last_ones_keeps_what_is_on_its_way() -> None:
    """The longest match is chosen when its first event is, and comes out steps later."""
    text = f"{NEXT} PREFER LONGEST SUPPRESS 1 ms"
    expected = [(row, row + 9) for row in range(0, 40, 10)]
    for n_rows in (1, 2, 5, 40):
        stream, table = stream_of(text, 40)
        for start in range(0, 40, n_rows):
            stream.deliver(table.slice(start, n_rows))
        stream.finish()
        assert found(stream) == expected


def test_the_log_of_a_walk_is_written_anew_when_most_of_it_is_old() -> None:
    """A long quiet time of one key, whose row changes with every match that it swallows."""
    stream, table = stream_of(f"{QUIET} RETURN SUPPRESSED() AS n", 3_000, "A", apart=0.001)
    most = 0
    for row in range(3_000):
        stream.deliver(table.slice(row, 1))
        most = max(most, n_logged(stream))
    assert LEAST_OUTDATED < most <= LEAST_OUTDATED + 3
    assert found(stream) == [(0,)]


def test_queries_that_differ_in_what_counts_share_everything_below() -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 10 seconds"
    clauses = ("", "AFTER MATCH SKIP TO NEXT", "AFTER MATCH SKIP PAST LAST PREFER LONGEST", "SUPPRESS 1 hour")
    queries = "\n".join(f"QUERY q{number} {text} {clause}" for number, clause in enumerate(clauses))
    case = Case(queries, ())
    plan = optimize(case.queries, derived_schema(case))
    shared = {
        type(node).__name__: len(names)
        for node, names in readers(plan).items()
        if not isinstance(node, Await)
    }
    assert shared == {"Scan": 4, "Join": 4}
    waits = [node.since for node in readers(plan) if isinstance(node, Await)]
    assert sorted(waits) == ["first", "last"]


def test_a_query_that_goes_leaves_no_walk() -> None:
    stream, table = stream_of(f"{QUIET} RETURN SUPPRESSED() AS n", 6, "A")
    stream.deliver(table.slice(0, 3))
    stream.deliver(table.slice(3, 1))
    assert n_logged(stream)
    plan = optimize(Case("QUERY p PATTERN SEQ(A a, B b) WITHIN 1 s", ()).queries, None)
    stream.program = program_of(plan, stream.program.layout, delay=0)
    stream.deliver(table.slice(4))
    assert not n_logged(stream)


def test_to_be_walked_a_query_asks_for_no_more_events_than_without() -> None:
    """What the wait needs is the time alone, but the values of the keys have to be there."""
    text = "PATTERN A a PARTITION BY k WITHIN 9 s AFTER MATCH SKIP TO NEXT SUPPRESS 1 s PER a.y"
    demand = demand_of(optimize(Case(text, ()).queries, None))
    assert demand == Demand(frozenset("A"), frozenset("ky"))
