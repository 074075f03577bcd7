"""Sites of a placed stream: negations checked elsewhere, what is remembered, and matches that come twice."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.engine import expected_outcome
from tests.helpers.placed import PlacedCase
from tests.helpers.placed_streams import matches_of, run_placed_stream
from tests.helpers.strategies import Case, event
from tests.helpers.streams import Kept

from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.projection import Projection
from weft.runtime.columns.events import Events
from weft.runtime.stages.meeting_stage import Meeting, MeetingStage
from weft.runtime.stages.messages import DISTINCT, OUTCOME, Message
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.runtime.stages.shard_executor import FoundAtSite
from weft.runtime.stages.site_executor import WorkEvaluator
from weft.runtime.state.journal import Journal
from weft.runtime.state.log import EVENTS, LogWriter
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes, table_to_bytes
from weft.statistics.model import Statistics

SECOND = 1_000_000
ARISING = {"A": (0,), "B": (1,), "C": (0, 1), "D": (2,)}  # the sites of each type


def quiet_case(seed: int, text: str) -> tuple[PlacedCase, MuseGraph]:
    """Return events of three sites; A without C before B is found at the second, with D at the third.

    If there is a second query, it is the same without C.
    """
    dice = random.Random(seed)
    events, sites = [], []
    for row in range(40):
        kind = dice.choice("AABBCD")
        events.append(event(row, kind, dice.randint(0, 25) * SECOND))
        sites.append(dice.choice(ARISING[kind]))
    case = Case(text, tuple(events))
    queries = normal_form_queries(case.queries, None, Statistics())
    rates = {kind: np.isin(np.arange(3), own).astype(float) for kind, own in ARISING.items()}
    network = Network(("s0", "s1", "s2"), rates)
    raw = {(kind, site): Vertex(Projection(kind, (kind,)), site) for kind in rates for site in ARISING[kind]}
    inputs: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys(raw.values(), ())
    for query, read in zip(queries, ("ABC", "AB"), strict=False):
        pairs = Vertex(query.projection(0b011), 1)
        inputs[pairs] = tuple(vertex for (kind, _), vertex in raw.items() if kind in read)
        inputs[Vertex(query.projection(0b111), 2)] = (pairs, raw["D", 2])
    return PlacedCase(case, tuple(sites), network, queries), MuseGraph(network, inputs)


@pytest.mark.parametrize("seed", range(8))
def test_a_negation_checked_at_one_site_holds_at_another(seed: int) -> None:
    text = "QUERY q PATTERN SEQ(A a, NOT C c, B b, D d) WITHIN 6 seconds"
    placed, graph = quiet_case(seed, text)
    program = placed.program(graph)
    assert any(finding.among for work in program.works for finding in work.findings)
    stream = run_placed_stream(placed, program, seed, delay=5 * SECOND)
    expected = expected_outcome(placed.case)
    assert expected["q"]
    assert matches_of(stream, ["q"]) == expected
    assert stream.late == 0


@pytest.mark.parametrize("seed", range(7))
def test_a_site_waits_for_the_check_of_another_though_it_knows_the_events(seed: int) -> None:
    text = """
    QUERY quiet PATTERN SEQ(A a, NOT C c, B b, D d) WITHIN 6 seconds
    QUERY any   PATTERN SEQ(A a, B b, D d) WITHIN 6 seconds
    """
    placed, graph = quiet_case(seed, text)
    program = placed.program(graph)
    assert {work.level for work in program.works if work.site == 2} == {2}, "both are evaluated together"
    stream = run_placed_stream(placed, program, seed, delay=5 * SECOND)
    expected = expected_outcome(placed.case)
    assert 0 < len(expected["quiet"]) <= len(expected["any"])
    assert matches_of(stream, ["quiet", "any"]) == expected


def test_a_step_evaluates_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that knows what the last step left gives every event once to each work that sees it."""
    placed, graph = quiet_case(0, "QUERY q PATTERN SEQ(A a, NOT C c, B b, D d) WITHIN 6 seconds")
    program = placed.program(graph)
    seen: Counter[tuple[int, int, int]] = Counter()
    step = WorkEvaluator.step

    def counting(self: WorkEvaluator, new: Events, *others: Any) -> Iterator[FoundAtSite]:
        seen.update((self.work.level, self.work.site, number) for number in new.ids.to_pylist())
        return step(self, new, *others)

    monkeypatch.setattr(WorkEvaluator, "step", counting)
    stream = run_placed_stream(placed, program, 0, delay=5 * SECOND, is_calm=True)
    assert matches_of(stream, ["q"]) == expected_outcome(placed.case)
    assert {number for _, _, number in seen} == set(range(40))
    assert set(seen.values()) == {1}
    seen.clear()
    run_placed_stream(placed, program, 0, delay=5 * SECOND)
    assert max(seen.values()) > 1  # processes that forget run the log again


def table_of(*seconds: int) -> pa.Table:
    return pa.table({TIME_COLUMN: pa.array([second * SECOND for second in seconds], pa.int64())})


def test_a_log_joins_segments_and_gives_up_what_is_old() -> None:
    store, journal = Kept(), Journal("p")
    for step in range(40):
        journal = LogWriter(store, journal, (step - 20) * SECOND).write({EVENTS: table_of(step, step)})
    kept = journal.logs[EVENTS]
    assert sum(segment.n_rows for segment in kept) <= 2 * (20 + 16)
    assert len(kept) < 20
    assert {segment.number for segment in kept} == store.segments.keys()
    assert Journal.from_json(journal.to_json()) == journal
    assert LogWriter(store, journal, 100 * SECOND).write({}).logs == {}
    assert not store.segments


def test_a_match_that_two_sites_find_goes_out_once() -> None:
    outcomes = OutcomeColumns(pa.int64())

    def pack(*pairs: tuple[str, int]) -> Message:
        """Return a message with matches, told by their ids and ends."""
        ends = pa.array([datetime.fromtimestamp(end, UTC) for _, end in pairs], pa.timestamp("us", "UTC"))
        known = {
            "weft_kind": pa.array(["match"] * len(pairs)),
            "match_id": [i for i, _ in pairs],
            "end": ends,
        }
        columns = {one.name: known.get(one.name, pa.nulls(len(pairs), one.type)) for one in outcomes.schema}
        return Message("distinct q", DISTINCT, table_to_bytes(pa.table(columns, schema=outcomes.schema)))

    store, stage = Kept(), MeetingStage(2, "p", outcomes, 5 * SECOND, {"q": Meeting("q")})
    out: Counter[str] = Counter()
    steps = [([("a", 10), ("b", 11), ("a", 10)], 0), ([("b", 11), ("c", 12)], 12_000), ([], 14_000)]
    for pairs, watermark in steps:
        for message in stage.take("distinct q", [pack(*pairs)] if pairs else [], watermark, store):
            if message.role == OUTCOME:
                ids = table_from_bytes(message.pack)["match_id"].to_pylist()
                out.update(one for one in ids if one is not None)
    assert out == {"a": 1, "b": 1, "c": 1}
    assert store.due is not None
    assert list(stage.take("distinct q", [], 17_001, store)) == []
    assert store.due is None
    assert not store.segments


def test_a_match_that_two_sites_find_in_a_batch_goes_out_once() -> None:
    outcomes = OutcomeColumns(pa.int64())
    rows = {one.name: pa.nulls(3, one.type) for one in outcomes.schema} | {"match_id": ["a", "b", "a"]}
    pack = table_to_bytes(pa.table(rows, schema=outcomes.schema))
    messages = [Message("distinct q", DISTINCT, pack), Message("distinct q", DISTINCT, pack)]
    out = list(MeetingStage(2, "p", outcomes, 0, {"q": Meeting("q")}).take("distinct q", messages, 0, None))
    ids = [
        one
        for message in out
        if message.role == OUTCOME
        for one in table_from_bytes(message.pack)["match_id"].to_pylist()
    ]
    assert ids == [None, "a", "b"]  # the report, and each match
