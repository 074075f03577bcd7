"""Where a shard or a site decides by a hair: an event at the very edge of what is late, kept or known."""

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.case_files import events_of
from tests.helpers.engine import arrow_events, expected_outcome, plan_of
from tests.helpers.placed import PlacedCase, placed_case
from tests.helpers.placed_streams import PlacedStream, matches_of
from tests.helpers.strategies import Case, SeededDice
from tests.helpers.streams import Stream, merged, program_of

from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.pipeline import place
from weft.placement.projection import Projection
from weft.runtime.stages.match_codec import MatchCodec
from weft.runtime.stages.shard import Memory
from weft.statistics.model import Statistics

MILLISECOND = 1_000


def case_of(query: str, events: str, order: str | None = None) -> Case:
    return Case(f"QUERY q PATTERN {query}", events_of(events, order), order)


def stream_of(case: Case, *, delay: int = 0) -> tuple[Stream, pa.Table]:
    table, layout = arrow_events(case)
    work = program_of(plan_of(case), layout, delay=delay * MILLISECOND)
    return Stream(work, random.Random(0), n_workers=1, is_calm=True), table


def deliver(stream: Stream, table: pa.Table, rows: list[int], *, at: float | None = None) -> None:
    """Deliver rows; `at` is what Spark's watermark is by then, in milliseconds."""
    if at is not None:
        stream.latest = int(at * MILLISECOND) + (stream.program.delay or 0)
    stream.deliver(table.take(pa.array(rows, pa.int64())))


def forget(stream: Stream) -> None:
    stream.workers = [Memory()]


def found(stream: Stream) -> set[tuple[tuple[str, tuple[object, ...]], ...]]:
    return {tuple(sorted(bindings)) for bindings in merged(stream).matches.get("q", {})}


def test_of_rows_that_several_shards_get_the_owner_alone_tells_the_late_ones() -> None:
    stream, table = stream_of(case_of("SEQ(A a, B b) WITHIN 10 ms", "A 50; A 1; B 2; B 3"))
    stream.program = replace(stream.program, owner="owns")
    table = table.append_column("owns", [[True, True, False, True]])
    deliver(stream, table, [0])
    deliver(stream, table, [1, 2, 3])
    late = stream.outcomes[-1].late
    assert late is not None
    assert late["__id"].to_pylist() == [1, 3]
    assert stream.late == 2


def test_what_comes_within_the_millisecond_of_the_latest_event_is_in_time() -> None:
    """A watermark has whole milliseconds, so nothing within the last one is decided."""
    case = case_of("SEQ(A a, NOT B x, C c) WITHIN 5 ms", "A 0.1; C 1.9; B 1.5; D 9")
    stream, table = stream_of(case)
    deliver(stream, table, [0, 1])
    assert not found(stream)
    deliver(stream, table, [2])
    deliver(stream, table, [3])
    stream.finish()
    assert stream.late == 0
    assert not found(stream)


@pytest.mark.parametrize("watermark", [0, 5, 9])
def test_a_frontier_never_goes_back(watermark: int) -> None:
    """Neither by a watermark that is told later, nor by events that are only just in time."""
    case = case_of("SEQ(A a, NOT B x, C c) WITHIN 50 ms", "A 1; C 2; A 30; C 12; B 9.5; B 1.5; D 99")
    stream, table = stream_of(case, delay=20)
    deliver(stream, table, [0, 1, 2], at=0)  # up to 10 ms all is known: 30 less the delay
    assert found(stream) == {(("a", (0,)), ("c", (1,)))}
    deliver(stream, table, [3], at=10)  # in time, but 12 less the delay is long ago
    deliver(stream, table, [4, 5], at=watermark)
    assert stream.late == 2
    deliver(stream, table, [6])
    stream.finish()
    assert found(stream) == {(("a", (0,)), ("c", (1,))), (("a", (0,)), ("c", (3,)))}


@pytest.mark.parametrize("window", ["10 ms", "3 EVENTS"])
def test_the_oldest_event_that_matters_outlives_a_process(window: str) -> None:
    """It is kept to the end of its window, inclusive, and read again by whoever goes on."""
    case = case_of(f"SEQ(A a, B b) WITHIN {window}", "A 5; A 6; B 15; D 40")
    stream, table = stream_of(case)
    for rows in ([0], [1], [2], [3]):
        deliver(stream, table, rows)
        forget(stream)
    stream.finish()
    assert found(stream) == {tuple(sorted(one)) for one in expected_outcome(case)["q"]}
    assert len(found(stream)) == 2


def test_what_was_rejected_stays_rejected_when_a_process_starts_again() -> None:
    """A is kept for C's sake; the B that rejects it, from the beginning of a scope, is kept with it."""
    text = """
    QUERY q PATTERN SEQ(NOT B x, A a, NOT D y) WITHIN 10 ms
    QUERY r PATTERN SEQ(A a, C c) WITHIN 100 ms
    """
    case = Case(text, events_of("B 0; A 10; E 15; E 25; C 30; E 200", None))
    stream, table = stream_of(case)
    for row in range(6):
        deliver(stream, table, [row])
        forget(stream)
    stream.finish()
    outcome = merged(stream).matches
    assert not outcome.get("q")
    assert len(outcome["r"]) == 1


def test_positions_wait_for_all_that_is_tied() -> None:
    """With a tie-break, an event at the frontier may still get another one before it."""
    events = "A 0 rank=1; B 5 rank=2; D 5 rank=1; A 20 rank=1; B 21 rank=1; D 40 rank=1"
    case = case_of("SEQ(A a, B b) WITHIN 2 EVENTS", events, "rank")
    stream, table = stream_of(case)
    for rows in ([0, 1], [2], [3, 4], [5]):
        deliver(stream, table, rows)
    stream.finish()
    assert found(stream) == {(("a", (3,)), ("b", (4,)))}


def placed_stream(placed: PlacedCase, graph: MuseGraph) -> tuple[PlacedStream, pa.Table]:
    table, layout = arrow_events(placed.case)
    codec = MatchCodec(layout, pa.int64())
    return PlacedStream(placed.program(graph), codec, random.Random(0), delay=0, is_calm=True), table


def step(
    stream: PlacedStream, table: pa.Table, placed: PlacedCase, row: int, *, is_restarted: bool = True
) -> None:
    """Deliver an event, to processes that know nothing, when the watermark has just come to it."""
    if is_restarted:
        stream.workers = [Memory(), Memory()]
    stream.latest = placed.case.events[row].time
    stream.deliver(table.take(pa.array([row], pa.int64())), [placed.sites[row]])


def test_a_site_remembers_an_event_to_the_very_end_of_its_window() -> None:
    case = case_of("SEQ(A a, B b) WITHIN 10 ms", "A 5; B 15; D 40")
    placed = placed_case(case, SeededDice(3), 2)
    stream, table = placed_stream(placed, place(placed.network, placed.queries, "central").graph)
    for row in range(3):
        step(stream, table, placed, row)
    stream.finish()
    assert stream.late == 0
    assert matches_of(stream, ["q"]) == expected_outcome(case)
    assert len(stream.found) == 1


def test_the_frontier_of_a_site_never_goes_back() -> None:
    case = case_of("SEQ(A a, B b) WITHIN 50 ms", "A 5; B 30; B 10")
    placed = placed_case(case, SeededDice(3), 2)
    stream, table = placed_stream(placed, place(placed.network, placed.queries, "central").graph)
    for row in range(2):
        step(stream, table, placed, row)
    stream.latest = 7 * MILLISECOND
    stream.deliver(table.take(pa.array([2], pa.int64())), [placed.sites[1]])
    assert stream.late == 1
    assert len(stream.found) == 1


def test_an_event_that_is_only_passed_on_is_passed_on_once() -> None:
    """Also when it comes again at the very time up to which all is known."""
    case = case_of("SEQ(A a, B b) WITHIN 50 ms", "A 5; B 30")
    case = replace(case, events=tuple(replace(one, id=one.row) for one in case.events))
    placed = replace(placed_case(case, SeededDice(3), 2), sites=(0, 1))
    network = Network(("s0", "s1"), {"A": np.array([1.0, 0.0]), "B": np.array([0.0, 5.0])})
    placed = replace(placed, network=network)
    stream, table = placed_stream(placed, place(network, placed.queries, "central").graph)
    for _ in range(2):
        stream.latest = 5 * MILLISECOND
        stream.deliver(table.take(pa.array([0], pa.int64())), [0])
    assert sum(stream.sent.values()) == 1


def stream_of_checked_pairs(case: Case) -> tuple[PlacedCase, PlacedStream, pa.Table]:
    """A and B without C between them are found at the first site, and wait for D at the second."""
    queries = normal_form_queries(case.queries, None, Statistics())
    kinds = {"A": 0, "B": 0, "C": 0, "D": 1}
    network = Network(("s0", "s1"), {kind: np.arange(2) == site for kind, site in kinds.items()})
    raw = {kind: Vertex(Projection(kind, (kind,)), site) for kind, site in kinds.items()}
    pairs = Vertex(queries[0].projection(0b011), 0)
    inputs: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys(raw.values(), ())
    inputs[pairs] = (raw["A"], raw["B"], raw["C"])
    inputs[Vertex(queries[0].projection(0b111), 1)] = (pairs, raw["D"])
    sites = tuple(kinds[next(iter(one.types))] for one in case.events)
    placed = PlacedCase(case, sites, network, queries)
    return placed, *placed_stream(placed, MuseGraph(network, inputs))


@pytest.mark.parametrize("negated", [7.0, 30.0])
def test_a_site_remembers_what_another_has_checked_to_the_very_end_of_the_window(negated: float) -> None:
    case = case_of("SEQ(A a, NOT C c, B b, D d) WITHIN 10 ms", f"A 5; B 9; D 15; C {negated}; D 40")
    placed, stream, table = stream_of_checked_pairs(case)
    for row in sorted(range(5), key=lambda row: case.events[row].time):
        step(stream, table, placed, row)
    stream.finish()
    assert stream.late == 0
    assert matches_of(stream, ["q"]) == expected_outcome(case)
    assert len(stream.found) == (negated == 30.0)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_match_of_one_moment_is_remembered_until_the_watermark_is_past_its_window(
    is_restarted: bool,
) -> None:
    """When D comes the watermark is at the end of the window, and what is checked cannot be told yet."""
    events = "A 5 rank=1; B 5 rank=2; D 15 rank=1; D 40 rank=1"
    case = case_of("SEQ(A a, NOT C c, B b, D d) WITHIN 10 ms", events, "rank")
    placed, stream, table = stream_of_checked_pairs(case)
    for row in range(4):
        step(stream, table, placed, row, is_restarted=is_restarted)
    stream.finish()
    assert stream.late == 0
    assert matches_of(stream, ["q"]) == expected_outcome(case)
    assert len(stream.found) == 1
