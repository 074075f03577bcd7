"""A stream that drifts: its plan follows, deterministically, and no match is lost or repeated."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa
import pytest
from tests.helpers.engine import Bindings, arrow_events, derived_schema
from tests.helpers.strategies import Case, event
from tests.helpers.streams import Stream, cut, merged, program_of

from weft.adaptation.adapter import KEPT_SHARED, StreamAdapter
from weft.adaptation.decisions import FARTHEST
from weft.adaptation.migration import MigratingExecutor, Way
from weft.adaptation.reckoning import PER_EVENT
from weft.adaptation.settings import Adaptation, Decider
from weft.adaptation.shard_state import ShardState, StateReader
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.plan.nodes import Plan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.stages.shard_executor import AdapterState, PlanChange
from weft.runtime.state.journal import Journal
from weft.statistics.model import ItemKey, Statistics

SECOND = 1_000_000
TEXT = """
QUERY p PATTERN SEQ(A a, B b, C c) WITHIN 2 seconds
QUERY q PATTERN SEQ(A a, B b, D d) WITHIN 2 seconds
QUERY r PATTERN SEQ(A a, NOT D n, C c, B b) WITHIN 3 seconds
"""
PHASES = (
    {"A": 1, "B": 8, "C": 8, "D": 2},
    {"A": 10, "B": 8, "C": 1, "D": 2},
    {"A": 8, "B": 1, "C": 8, "D": 8},
)


def drifting(
    seed: int, seconds: int = 24, phases: Sequence[Mapping[str, int]] = PHASES
) -> tuple[ReferenceEvent, ...]:
    """Return events whose rates change from phase to phase."""
    dice, drawn = random.Random(seed), []
    for number, rates in enumerate(phases):
        start = number * seconds * SECOND
        drawn += [
            (start + dice.randrange(seconds * SECOND), name)
            for name, rate in rates.items()
            for _ in range(rate * seconds)
        ]
    return tuple(event(row, name, time) for row, (time, name) in enumerate(sorted(drawn)))


def eager(decide: Decider = "invariants", **others: Any) -> Adaptation:
    """Return an adaptation that plans although so short a stream is not worth it."""
    return Adaptation(decide, planning=0.0, **{"watching": 1.0, **others})


def adapter_of(case: Case, adaptation: Adaptation, rates: Mapping[str, int] = PHASES[0]) -> StreamAdapter:
    known = Statistics(rates={ItemKey(name): float(rate) for name, rate in rates.items()})
    chosen = choose_plan(
        case.queries,
        derived_schema(case),
        Planning(plan="auto", statistics=known, steps=50, cost="partial-matches"),
    )
    return StreamAdapter(case.queries, derived_schema(case), chosen.stored, known, adaptation)


def run(case: Case, adaptation: Adaptation | None, seed: int = 0, *, is_calm: bool = True) -> Stream:
    """Run a case as a stream of batches of about a second."""
    table, layout = arrow_events(case)
    plan = choose_plan(
        case.queries, derived_schema(case), Planning(plan="trivial", cost="partial-matches")
    ).plan
    work = program_of(plan, layout, delay=0)
    if adaptation is not None:
        work = replace(work, adapter=adapter_of(case, adaptation))
    stream = Stream(work, random.Random(seed), n_workers=1 if is_calm else 3, is_calm=is_calm)
    for rows in cut(list(range(len(case.events))), random.Random(7), 60):
        stream.deliver(table.take(pa.array(rows, pa.int64())))
    stream.finish()
    return stream


def remembered(stream: Stream) -> dict[str, Any]:
    text = stream.store.text
    assert text is not None
    journal = Journal.from_json(text)
    assert journal.adaptation is not None
    assert journal.adapted is not None
    return {**json.loads(stream.store.segment(journal.adapted.number)), **journal.adaptation}


CASE = Case(TEXT, drifting(1))


@lru_cache(maxsize=1)
def expected() -> dict[str, dict[Bindings, dict[str, object]]]:
    """Return what a plan that stays finds."""
    return merged(run(CASE, None)).matches


@lru_cache(maxsize=1)
def adapted() -> Stream:
    return run(CASE, eager())


DENSE = Case(
    """
    QUERY p PATTERN SEQ(A a, B b, C c) WITHIN 100 ms
    QUERY q PATTERN SEQ(A a, B b, D d) WITHIN 100 ms
    QUERY r PATTERN SEQ(A a, NOT D n, C c, B b) WITHIN 150 ms
    """,
    drifting(2, seconds=16, phases=[{name: 6 * rate for name, rate in phase.items()} for phase in PHASES]),
)
SELDOM = eager(watching=0.9)  # a look is reckoned to take a millisecond, as about ten steps of DENSE do

WAYS = {
    "rebuild": eager(way="rebuild"),
    "parallel": eager(way="parallel"),
    "chosen": eager(),
    "every condition": eager(k=1_000, distance=0.0, least_gain=0.0),
    "average distance": eager(distance="average"),
    "all conditions": eager(k=None, distance=0.0),
    "likeliest": eager(selection="violation-probability"),
    "threshold": eager("threshold"),
    "amount": eager("threshold", threshold=3.0, threshold_is="amount"),
    "unconditional": eager("unconditional", least_gain=0.0, steps=20),
    "off": eager("off"),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_plan_that_follows_the_drift_finds_what_one_that_stays_finds(name: str) -> None:
    assert expected()["p"]
    stream = run(CASE, WAYS[name])
    assert merged(stream).matches == expected()
    log = remembered(stream)["log"]
    assert (log == []) == (name == "off")


@pytest.mark.parametrize("seed", range(3))
def test_attempts_that_fail_and_processes_that_end_change_nothing(seed: int) -> None:
    calm = remembered(adapted())
    stream = run(CASE, eager(), seed, is_calm=False)
    assert merged(stream).matches == expected()
    assert [one["reason"] for one in remembered(stream)["log"]] == [one["reason"] for one in calm["log"]]


def test_the_log_says_why_and_what_it_gains() -> None:
    stream = adapted()
    log = remembered(stream)["log"]
    assert len(log) >= 2
    assert [one["version"] for one in log] == list(range(1, len(log) + 1))
    for one in log:
        assert one["reason"].startswith("query ")
        assert " costs " in one["reason"]
        assert 0.05 <= one["predicted"] < 1
        assert one["way"] in ("parallel", "rebuild")
    assert any(one["measured"] is not None for one in log[:-1])
    reported = [change for outcome in stream.outcomes for change in outcome.report.changes]
    taken = [one for one in reported if one.kept is None]
    assert [one.version for one in taken if one.measured is None] == [one["version"] for one in log]
    known = {one["version"]: one["measured"] for one in log if one["measured"] is not None}
    assert {one.version: one.measured for one in taken if one.measured is not None} == known


def test_an_alarm_that_changes_nothing_says_why() -> None:
    reported = [change for outcome in adapted().outcomes for change in outcome.report.changes]
    kept = [one for one in reported if one.kept is not None]
    assert kept
    for one in kept:
        assert one.reason.startswith("query ")
        assert one.kept == KEPT_SHARED or "are asked for" in one.kept or "to switch costs more" in one.kept


@pytest.mark.parametrize("is_calm", [True, False])
def test_rates_that_vary_decide_what_is_watched_also_in_shards_that_are_recovered(is_calm: bool) -> None:
    wanted = eager(selection="violation-probability")
    stream = run(CASE, wanted, is_calm=is_calm)
    state = remembered(stream)
    assert [one["step"] for one in state["log"]] == [one["step"] for one in likeliest()["log"]]
    adopted = state["watched"]["components"]
    assert adopted == likeliest()["watched"]["components"]
    (variances,) = (own["variances"] for own in adopted.values())
    assert len(variances) == len({ItemKey(name) for name in PHASES[0]})
    assert all(variance > 0 for variance in variances)


@lru_cache(maxsize=1)
def likeliest() -> dict[str, Any]:
    return remembered(run(CASE, eager(selection="violation-probability")))


def test_what_is_watched_is_said() -> None:
    first, second, *watched = adapter_of(CASE, Adaptation(k=2, distance=0.25)).lines()
    assert first == (
        "Planned anew when one of the 2 tightest conditions of a part is violated by more than 25%."
    )
    assert second == "Watched, in nanoseconds for a second of events:"
    assert all(" costs " in line and ", another one " in line for line in watched)
    (alone,) = adapter_of(CASE, Adaptation("threshold", threshold=4.0, threshold_is="amount")).lines()
    assert alone.startswith("Planned anew when a statistic is more than 4 away from")


def test_a_steady_stream_keeps_its_plan() -> None:
    dice = random.Random(3)
    drawn = sorted(
        (dice.randrange(60 * SECOND), name) for name, rate in PHASES[0].items() for _ in range(rate * 60)
    )
    case = Case(TEXT, tuple(event(row, name, time) for row, (time, name) in enumerate(drawn)))
    assert remembered(run(case, eager()))["log"] == []


def test_what_is_remembered_stays_small() -> None:
    stream = adapted()
    assert stream.store.text is not None
    assert len(stream.store.text) < 60_000


def test_where_there_is_less_work_than_planning_takes_nothing_is_planned() -> None:
    """A few events a second are cheaper than any search, whatever the plan."""
    stream = run(CASE, Adaptation("threshold", threshold=0.0, least_gain=0.0, watching=1.0))
    assert remembered(stream)["log"] == []
    (said,) = [change for outcome in stream.outcomes for change in outcome.report.changes]
    assert said.kept == "planning takes more than all work of 4 sliding windows"
    assert said.queries == ("p", "q", "r")
    assert remembered(stream)["idle"] == ["p"]
    assert merged(stream).matches == expected()


def test_a_plan_that_is_made_unconditionally_is_made_in_every_step() -> None:
    stream = run(CASE, Adaptation("unconditional"))
    answered = {change.step for outcome in stream.outcomes for change in outcome.report.changes}
    with_events = [outcome for outcome in stream.outcomes if outcome.report.events]
    assert len(answered) == len(with_events) > 20
    assert merged(stream).matches == expected()


def test_work_that_grew_is_worth_planning_though_it_was_not_in_the_beginning() -> None:
    """The rates of the middle make the first plan eighty times as dear."""
    adapter = adapter_of(CASE, Adaptation("unconditional", watching=1.0))
    (watched,) = adapter.reader.first.components
    later = Statistics(rates={ItemKey(name): 100.0 for name in PHASES[0]})
    assert watched.cost_under(watched.statistics) >= watched.cost, "sharing is not counted"
    assert watched.cost_under(later) > 80 * watched.cost


@pytest.mark.parametrize("is_calm", [True, False])
def test_where_few_steps_are_watched_plans_follow_too(is_calm: bool) -> None:
    stream = run(DENSE, SELDOM, is_calm=is_calm)
    assert merged(stream).matches == merged(run(DENSE, None)).matches
    state = remembered(stream)
    assert len(state["log"]) == 2
    assert [one["version"] for one in state["log"]] == [1, 2]
    assert 5 <= state["live"]["step"] <= state["step"] / 6, "the first step is watched, and few after it"


def test_what_costs_little_is_not_watched_but_counted() -> None:
    stream = run(CASE, Adaptation(planning=0.0))
    assert remembered(stream)["log"] == []
    counts, n_events, since, until, cost = remembered(stream)["unwatched"]
    first = stream.outcomes[0].report.events
    assert n_events == len(CASE.events) - first
    assert sum(counts.values()) == n_events
    assert until - since > 50 * SECOND
    assert cost >= PER_EVENT * n_events


def test_work_that_is_counted_makes_a_step_due_at_once() -> None:
    """The cost model expects next to nothing of these rates; the rows that were examined say otherwise."""
    adapter = adapter_of(CASE, Adaptation(planning=0.0))
    table, layout = arrow_events(CASE)
    events = ingest(table, layout)
    executor = MigratingExecutor(
        choose_plan(CASE.queries, derived_schema(CASE), Planning(cost="partial-matches")).plan, Budget()
    )
    first = adapter.observe(None, executor, events, int(events.times[-1])).state
    for n_examined, is_watched in ((10, False), (10**12, True)):
        executor.meter.count(executor.plan.outputs[0].branches[0].node, examined=n_examined, built=0)
        state = adapter.observe(first, executor, events, int(events.times[-1])).state
        assert (state.passing["unwatched"][1] == 0) == is_watched


@pytest.mark.parametrize("way", ["rebuild", "parallel"])
def test_what_is_counted_is_the_same_in_shards_that_are_recovered(way: Way) -> None:
    wanted = replace(SELDOM, way=way)
    calm = remembered(run(DENSE, wanted))
    assert calm["log"]
    assert calm["unwatched"][1] > 0
    for seed in range(3):
        disturbed = remembered(run(DENSE, wanted, seed, is_calm=False))
        assert disturbed["unwatched"] == calm["unwatched"]
        assert [one["step"] for one in disturbed["log"]] == [one["step"] for one in calm["log"]]


def batches_of(case: Case) -> Iterator[Events]:
    table, layout = arrow_events(case)
    events = ingest(table, layout)
    for start in range(0, events.n_events, 100):
        yield events.take(slice(start, start + 100))


def states(case: Case, adapter: StreamAdapter) -> Iterator[tuple[ShardState, tuple[PlanChange, ...]]]:
    """Yield what an adapter has at hand after each step, and the changes of the step."""
    executor = MigratingExecutor(run_plan(case), Budget())
    state = None
    for events in batches_of(case):
        observed = adapter.observe(state, executor, events, int(events.times[-1]))
        state = observed.state
        yield adapter._known[state.token], observed.changes


def test_plans_that_are_not_worth_it_teach_the_distance() -> None:
    """No plan gains nine tenths, so each alarm makes the decision function of its query less sensitive."""
    distances = [
        list(adapter.reader.watched(state).distances)
        for adapter in [adapter_of(CASE, eager(least_gain=0.9, distance="tuned"))]
        for state, _ in states(CASE, adapter)
    ]
    assert set(distances[0]) == {0.9}
    assert distances[-1] != distances[0]
    assert max(distances[-1]) == FARTHEST


def test_an_alarm_resets_the_statistics_that_later_ones_are_compared_with() -> None:
    """Whether or not a new plan is taken: what was known then is the new beginning."""
    for wanted, is_changed in ((eager(), True), (eager(least_gain=0.9), False)):
        adapter, before, n_resets = adapter_of(CASE, wanted), None, 0
        for state, changes in states(CASE, adapter):
            (component,) = adapter.reader.watched(state).components
            answers = [one for one in changes if one.measured is None]
            assert bool(answers) == (before is not None and component.statistics is not before)
            if answers:
                n_resets += 1
                assert component.statistics == state.live.statistics()
                assert (answers[-1].kept is None) <= is_changed
            before = component.statistics
        assert n_resets >= 2


def test_a_state_does_not_change_with_later_steps() -> None:
    """So that a step can be repeated from it, also within one process."""
    adapter, executor = adapter_of(CASE, SELDOM), MigratingExecutor(run_plan(), Budget())
    state, kept = None, []
    for events in batches_of(CASE):
        state = adapter.observe(state, executor, events, int(events.times[-1])).state
        kept.append((state, written(state)))
    assert [written(own) for own, _ in kept] == [text for _, text in kept]
    for (before, _), (_, text), events in zip(kept, kept[1:], list(batches_of(CASE))[1:], strict=False):
        assert written(adapter.observe(before, executor, events, int(events.times[-1])).state) == text


def written(state: AdapterState) -> str:
    return json.dumps({**state.passing, "token": None}) + state.text()


def run_plan(case: Case = CASE) -> Plan:
    return choose_plan(case.queries, derived_schema(case), Planning(cost="partial-matches")).plan


def test_queries_in_another_order_go_on_from_the_same_state() -> None:
    adapter = adapter_of(CASE, eager(least_gain=0.9, distance="tuned"))
    (*_, (known, _)) = states(CASE, adapter)
    turned = Case("\n".join(reversed(CASE.text.strip().splitlines())), CASE.events)
    reader = adapter_of(turned, adapter.adaptation).reader
    again = reader.watched(reader.read(AdapterState(known.passing("t"), lambda: known.text)))
    before = adapter.reader.watched(known)
    assert [query.name for query in again.queries] == ["r", "q", "p"]
    assert len(set(before.distances)) > 1
    assert again.distances == before.distances
    for name in PHASES[0]:
        (now,), (then,) = (one.components for one in (again, before))
        assert now.statistics.rate(ItemKey(name)) == then.statistics.rate(ItemKey(name))


LONE = """
QUERY p PATTERN SEQ(A a, B b, C c, D d) WITHIN 2 seconds
QUERY q PATTERN SEQ(E e, F f, G g, H h) WITHIN 2 seconds
"""
TWO_PHASES = tuple(
    dict(zip("ABCDEFGH", [*rates, *rates], strict=True)) for rates in ((1, 2, 12, 12), (12, 12, 2, 1))
)


@lru_cache(maxsize=2)
def lone(text: str) -> Case:
    return Case(text, drifting(5, seconds=20, phases=TWO_PHASES))


@pytest.mark.parametrize("distance", [0.0, "tuned"])
@pytest.mark.parametrize("text", [LONE, LONE.strip().splitlines()[0]], ids=["unshared pair", "lone query"])
def test_queries_that_share_nothing_are_planned_anew_too(
    text: str, distance: float | Literal["tuned"]
) -> None:
    """Both at once where both have an alarm: an answer to one does not make the other's unheard."""
    case = lone(text)
    adapter = adapter_of(case, eager(distance=distance, steps=50), TWO_PHASES[0])
    told = [change for _, own in states(case, adapter) for change in own]
    assert all(one.predicted > 0 for one in told), "an alarm of a lone query means a cheaper plan"
    (change,) = [one for one in told if one.kept is None and one.measured is None]
    assert change.queries == tuple(query.name for query in case.queries)
    assert change.predicted >= 0.05
    assert change.reason.startswith("query p: ")
    assert ("; query q: " in change.reason) == ("q" in change.queries)


def test_nothing_is_parsed_where_a_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is read after a restart, and not before."""
    n_read = 0
    read = StateReader.read

    def counted(self: StateReader, given: AdapterState) -> ShardState:
        nonlocal n_read
        n_read += 1
        return read(self, given)

    monkeypatch.setattr(StateReader, "read", counted)
    assert len(run(CASE, eager()).outcomes) > 20
    assert n_read == 0
    run(CASE, eager(), is_calm=False)
    assert n_read > 0
