"""Shards of events that are dealt by keys: what each sees is what it expects, and raises no alarm."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from tests.adaptation.test_adapter import eager
from tests.helpers.engine import arrow_events, derived_schema
from tests.helpers.strategies import Case, event

from weft.adaptation.adapter import StreamAdapter
from weft.adaptation.migration import MigratingExecutor
from weft.adaptation.settings import Adaptation, AdaptedGroup
from weft.adaptation.shard_statistics import shard_statistics
from weft.expressions import Attribute, Comparison
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import Optimized, choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import inquiry_of
from weft.plan.nodes import Plan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.merge import in_pool_of
from weft.runtime.stages.shard_executor import Arrivals, PlanChange
from weft.runtime.state.segments import with_arrival
from weft.statistics.live import LiveStatistics
from weft.statistics.model import GroupKey, ItemKey, Statistics

SECOND = 1_000_000
RATES = {"A": 24, "B": 96, "C": 48, "D": 12}
N_USERS, N_SHARDS = 200, 8
TEXT = """
QUERY p PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 4 seconds
QUERY q PATTERN SEQ(A a, B b, D d) WHERE [k] AND b.x < d.x WITHIN 4 seconds
"""


def drawn(seconds: int, n_users: int) -> tuple[ReferenceEvent, ...]:
    """Return events without drift, of users who are all alike."""
    dice = random.Random(6)
    times = [
        (dice.randrange(seconds * SECOND), name)
        for name, rate in RATES.items()
        for _ in range(rate * seconds)
    ]
    return tuple(
        event(row, name, time, k=dice.randrange(n_users), x=dice.randrange(1_000))
        for row, (time, name) in enumerate(sorted(times))
    )


def shards_of(case: Case, seed: int | None = None) -> list[Events]:
    """Return the events of each shard; with a seed, users are dealt at random."""
    dealt, shards = random.Random(seed), [list[ReferenceEvent]() for _ in range(N_SHARDS)]
    users = sorted({int(str(one.attributes["k"])) for one in case.events})
    places = {user: user % N_SHARDS if seed is None else dealt.randrange(N_SHARDS) for user in users}
    for one in case.events:
        shards[places[int(str(one.attributes["k"]))]].append(one)
    return [ingest(*arrow_events(Case(case.text, tuple(own)))) for own in shards if own]


def counted(case: Case, events: Sequence[Events]) -> Statistics:
    """Return what is known of events once all of them were looked at."""
    live = LiveStatistics(inquiry_of([form for query in case.queries for form in normalize(query)]))
    for part in events:
        live.observe(part, int(part.times[-1]))
    return live.statistics()


def planned(case: Case, known: Statistics) -> Optimized:
    return choose_plan(case.queries, derived_schema(case), Planning(statistics=known, steps=50))


def group_of(case: Case, known: Statistics, n_shards: int, wanted: Adaptation) -> AdaptedGroup:
    chosen = planned(case, known)
    return AdaptedGroup(
        case.queries, derived_schema(case), chosen.stored, known, wanted, {}, chosen.cost, ("k",), n_shards
    )


def told(adapter: StreamAdapter, plan: Plan, events: Events) -> list[PlanChange]:
    """Return what a shard tells of its alarms, in steps of two seconds."""
    executor, state, start = MigratingExecutor(plan, Budget()), None, 0
    changes: list[PlanChange] = []
    for until in range(2 * SECOND, int(events.times[-1]) + 2 * SECOND, 2 * SECOND):
        stop = int(events.times.searchsorted(until))
        part, start = with_arrival(events.take(slice(start, stop)), until), stop
        executor.begin(Budget(), {})
        for _ in executor.step(Arrivals(in_pool_of(executor, part)), until):
            pass
        observed = adapter.observe(state, executor, part, until)
        state = observed.state
        changes += observed.changes
    return changes


CASE = Case(TEXT, drawn(60, N_USERS))


@pytest.mark.parametrize("n_users", [40, N_USERS])
def test_what_a_shard_expects_is_what_it_sees(n_users: int) -> None:
    """On the average of all events, of which large shards have more."""
    case = Case(TEXT, drawn(60, n_users))
    stream = counted(case, [ingest(*arrow_events(case))])
    expected = shard_statistics(stream, ["k"], N_SHARDS)
    seen: Counter[str] = Counter()
    for shard in shards_of(case, seed=2):
        known, share = counted(case, [shard]), shard.n_events / len(case.events)
        seen["k"] += share * known.agreement("k")
        for name in RATES:
            seen[name] += share * known.rate(ItemKey(name))
    for name in RATES:
        assert seen[name] == pytest.approx(expected.rate(ItemKey(name)), rel=0.2)
    assert seen["k"] == pytest.approx(expected.agreement("k"), rel=0.2)
    assert 5 < expected.agreement("k") / stream.agreement("k") <= N_SHARDS


@pytest.mark.parametrize("wanted", [eager(), eager(distance=0.1), eager("threshold", threshold=0.8)])
def test_shards_of_a_stream_without_drift_raise_no_alarm(wanted: Adaptation) -> None:
    """With the statistics of the whole stream, they see an eighth of what they expect."""
    known = counted(CASE, [ingest(*arrow_events(CASE))])
    plan, n_alarms = planned(CASE, known).plan, {N_SHARDS: 0, 1: 0}
    for n_shards in n_alarms:
        adapter = group_of(CASE, known, n_shards, wanted).stream_adapter()
        n_alarms[n_shards] = sum(len(told(adapter, plan, shard)) for shard in shards_of(CASE))
    assert n_alarms[N_SHARDS] == 0
    assert wanted.decide == "invariants" or n_alarms[1] >= N_SHARDS


def test_what_is_not_dealt_by_keys_is_as_it_was() -> None:
    known = Statistics({ItemKey("A"): 8.0}, agreements={"k": 0.1})
    assert shard_statistics(known, [], 8) is shard_statistics(known, ["k"], 1) is known


def test_a_condition_on_the_keys_holds_more_often_within_a_shard() -> None:
    """Users that agree are in one shard whatever their number; other conditions know nothing of that."""
    same = Comparison("=", Attribute("$0", "k"), Attribute("$1", "k"))
    less = Comparison("<", Attribute("$0", "x"), Attribute("$1", "x"))
    pair = (ItemKey("A"), ItemKey("B"))
    known = Statistics(
        {ItemKey("A"): 8.0},
        {GroupKey(pair, (same, less)): 0.005, GroupKey(pair, (less,)): 0.5},
        {"k": 0.01, "d": 0.5},
        total_rate=16.0,
    )
    one = shard_statistics(known, ["k"], 4)
    share = 0.01 + 0.99 / 4
    assert one.selectivity(GroupKey(pair, (same, less))) == pytest.approx(0.005 / share)
    assert one.selectivity(GroupKey(pair, (less,))) == 0.5
    assert one.agreement("k") == pytest.approx(0.01 / share)
    assert one.agreement("d") == 0.5
    assert one.events_per_second == pytest.approx(16.0 * share)
    both = shard_statistics(known, ["k", "d"], 4)
    assert both.selectivity(GroupKey(pair, (same, less))) == 0.005, "one of two keys tells no shard"
    assert 0.01 < both.agreement("k") < one.agreement("k")
    assert 0.5 < both.agreement("d") < 0.52


def test_what_nobody_has_counted_is_asked_of_the_shard() -> None:
    """Agreement on the keys is guessed for the shard as for the stream; where it was counted, that holds."""
    for agreements, is_asked in (({}, True), ({"k": 0.025}, False)):
        known = Statistics({ItemKey(name): float(rate) for name, rate in RATES.items()}, {}, agreements)
        live = group_of(CASE, known, N_SHARDS, eager()).stream_adapter().reader.beginning(0.0).live
        assert live._is_open("k", 0) == is_asked
