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

from weft.errors import DataError
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.projection import Projection
from weft.plan.sites import Finding
from weft.runtime.columns.events import Events
from weft.runtime.matches.execute import Found
from weft.runtime.stages.site_distinct import take_distinct
from weft.runtime.stages.site_evaluator import SiteEvaluator
from weft.runtime.state.segments import TIME_COLUMN
from weft.runtime.state.site_log import EVENTS, LogWriter, SiteJournal
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
    step = SiteEvaluator.step

    def counting(self: SiteEvaluator, new: Events, *others: Any) -> Iterator[tuple[Finding, Found]]:
        seen.update((self.work.level, self.work.site, number) for number in new.ids.to_pylist())
        return step(self, new, *others)

    monkeypatch.setattr(SiteEvaluator, "step", counting)
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
    store, journal = Kept(), SiteJournal("p")
    for step in range(40):
        journal = LogWriter(store, journal, (step - 20) * SECOND).write({EVENTS: table_of(step, step)})
    kept = journal.logs[EVENTS]
    assert sum(segment.n_events for segment in kept) <= 2 * (20 + 16)
    assert len(kept) < 20
    assert {segment.number for segment in kept} == store.segments.keys()
    assert SiteJournal.from_json(journal.to_json()) == journal
    assert LogWriter(store, journal, 100 * SECOND).write({}).logs == {}
    assert not store.segments


def test_a_journal_of_a_newer_version_is_refused() -> None:
    text = SiteJournal("p").to_json().replace('"version": 1', '"version": 2')
    with pytest.raises(DataError, match="version 2, expected 1; it was written by a newer Weft"):
        SiteJournal.from_json(text)


def test_a_match_that_two_sites_find_goes_out_once() -> None:
    def matches(*pairs: tuple[str, int]) -> pa.Table:
        ends = [datetime.fromtimestamp(end, UTC) for _, end in pairs]
        ids = [name for name, _ in pairs]
        return pa.table({"match_id": ids, "end": pa.array(ends, pa.timestamp("us", "UTC"))})

    store, horizon = Kept(), 5 * SECOND
    out: Counter[str] = Counter()
    steps = [([("a", 10), ("b", 11), ("a", 10)], 0), ([("b", 11), ("c", 12)], 12_000), ([], 14_000)]
    for pairs, watermark in steps:
        found, journal = take_distinct(store, "p", matches(*pairs) if pairs else None, watermark, horizon)
        out.update([] if found is None else found["match_id"].to_pylist())
    assert out == {"a": 1, "b": 1, "c": 1}
    _, journal = take_distinct(store, "p", None, 17_001, horizon)
    assert journal.wake is None
    assert not store.segments
