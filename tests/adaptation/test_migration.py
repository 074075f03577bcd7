"""A plan changes for another while a stream runs: the reference's matches, each once, whatever the moment."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.engine import arrow_events, expected_outcome, expected_timeouts, outcome_of
from tests.helpers.random_plans import random_plan
from tests.helpers.random_policies import policy_stream
from tests.helpers.strategies import FEWEST_MATCHES, Case, event, matching_case
from tests.helpers.streams import (
    Stream,
    counted,
    cut,
    deliveries,
    merged,
    never_settled,
    plans_of,
    program_of,
)
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.timeout_cases import filled, timeout_case

from weft.adaptation.migration import MigratingExecutor, Way
from weft.adaptation.plan_tenure import leading_types
from weft.codec import from_json, to_json
from weft.errors import BudgetError
from weft.plan.nodes import Plan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.stages.shard_executor import AdapterState, Arrivals, Observation, ShardExecutor
from weft.runtime.state.journal import Journal
from weft.runtime.state.segments import with_arrival

WAYS: tuple[Way, ...] = ("parallel", "rebuild")


@dataclass(frozen=True)
class Drawn:
    """Changes to a plan drawn at random, as it will again when a step is repeated."""

    plans: Sequence[Plan]
    chance: float
    ways: Sequence[Way]
    seed: int

    def plan(self, state: AdapterState | None, given: Plan) -> Plan:
        return from_json("plan", state.text()) if state and state.passing else given

    def executor(self, plan: Plan, budget: Budget) -> MigratingExecutor:
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, state: AdapterState | None) -> None:
        assert isinstance(executor, MigratingExecutor)
        assert state is not None
        executor.switch(plan, state.passing["way"])

    def observe(
        self, state: AdapterState | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        assert isinstance(executor, MigratingExecutor)
        known = [identity for part in executor.known for identity in part.ids.to_pylist()]
        assert len(set(known)) == len(known), "an event is kept twice"
        dice = random.Random(f"{self.seed} {frontier} {events.ids.to_pylist()}")
        if dice.random() >= self.chance:
            return Observation(state or AdapterState({}, str), is_rewritten=False)
        text = to_json("plan", dice.choice(self.plans))
        state = AdapterState({"way": dice.choice(self.ways)}, lambda: text)
        return Observation(state, is_rewritten=True)


@dataclass(frozen=True)
class Run:
    """A stream whose plan changes, and one of the same events whose plan does not."""

    changing: Stream
    static: Stream


def run_migrating(case: Case, plans: Sequence[Plan], seed: int) -> Run:
    """Run a case as a stream whose plan changes; everything about it is drawn from the seed."""
    dice = random.Random(seed)
    delay = dice.choice([0, 1_000_000, 3_000_000])
    table, layout = arrow_events(case)
    ways = dice.choice([WAYS, WAYS, WAYS[:1], WAYS[1:]])
    adapter = Drawn(plans, dice.choice([0.2, 0.5, 1.0]), ways, seed)
    static = program_of(plans[0], layout, delay=delay)
    work = replace(static, plan=dice.choice(plans), adapter=adapter)
    batches = list(cut(deliveries(case.events, dice, delay), dice, dice.choice([dice.randint(2, 8), 20])))
    changing = Stream(work, dice, n_workers=dice.choice([1, 1, 2, 3]), is_calm=dice.random() < 0.5)
    run = Run(changing, Stream(static, dice, n_workers=1, is_calm=True))
    for stream in (run.changing, run.static):
        for rows in batches:
            stream.deliver(table.take(pa.array(rows, pa.int64())))
        stream.finish()
    return run


def various_plans(case: Case, seed: int) -> list[Plan]:
    """Return plans of some strategies, and some with random trees."""
    return [*plans_of(case), *(random_plan(case, 10 * seed + number) for number in range(3))]


def check(case: Case, plans: Sequence[Plan], seed: int, n_runs: int = 1) -> int:
    """Compare with the reference; what time alone does not settle, with a plan that does not change.

    Return how many matches came out, of all runs.
    """
    waiting, expected, n_matches = never_settled(case), expected_outcome(case), 0
    for number in range(n_runs):
        run = run_migrating(case, plans, n_runs * seed + number)
        found, unchanged = (merged(stream).matches for stream in (run.changing, run.static))
        for name, matches in expected.items():
            assert found.get(name, {}) == (unchanged.get(name, {}) if name in waiting else matches)
        assert run.changing.late == 0
        assert counted(run.changing) == {name: len(own) for name, own in found.items() if own}
        n_matches += sum(map(len, found.values()))
    return n_matches


@pytest.mark.parametrize("seeds", seed_blocks(20_000, 10, block=5))
def test_plans_that_change_find_what_the_reference_finds(seeds: range, count: Count) -> None:
    """Of cases with at least three matches each, most have matches that time settles, so they come out."""
    found = []
    for seed in seeds:
        case = matching_case(seed)
        found.append(check(case, various_plans(case, seed), seed, n_runs=2))
    count(cases=len(found), matches=sum(found))
    assert sum(n_matches > 0 for n_matches in found) >= 0.8 * len(found)


@pytest.mark.parametrize("seeds", seed_blocks(21_000, 10, block=5))
def test_walks_go_on_when_plans_change(seeds: range, count: Count) -> None:
    """Of all matches, whichever plan found them, the same ones count."""
    found = []
    for seed in seeds:
        case = policy_stream(seed)
        found.append(check(case, various_plans(case, seed), seed))
    count(cases=len(found), matches=sum(found))
    assert sum(n_matches > 0 for n_matches in found) >= 0.5 * len(found)


@pytest.mark.parametrize("seeds", seed_blocks(22_000, 20, block=5))
def test_timeouts_come_once_when_plans_change(seeds: range, count: Count) -> None:
    """Whichever plan a first event belongs to, all that begins with it decides."""
    n_timeouts = 0
    for seed in seeds:
        case = timeout_case(seed)
        found = merged(run_migrating(case, various_plans(case, seed), seed).changing).timeouts
        assert filled(found) == filled(expected_timeouts(case)), (seed, case)
        n_timeouts += sum(map(len, found.values()))
    count(cases=len(seeds), timeouts=n_timeouts)


QUERIES = {
    "sequence": "SEQ(A a, B b, C c) WHERE a.x <= c.x WITHIN 2 seconds",
    "any order": "AND(A a, B b, SEQ(C c, D d)) WITHIN 1 seconds",
    "list": "SEQ(A a, B+ b[], C c) WITHIN 2 seconds",
    "leading list": "SEQ(A+ a[], B b, C c) WITHIN 2 seconds",
    "one type twice": "SEQ(A a, B b, A c) WITHIN 3 seconds",
    "alternatives": "SEQ(A a, OR(B b, D d), C c) WITHIN 2 seconds",
    "negated within": "SEQ(A a, NOT B b, C c, D d) WITHIN 3 seconds",
    "negated before": "SEQ(NOT B b, A a, C c) WITHIN 2 seconds",
    "negated after": "SEQ(A a, C c, NOT B b) WITHIN 2 seconds",
    "negated beside": "AND(A a, C c, NOT B b) WITHIN 2 seconds",
    "negated sequence": "SEQ(A a, NOT SEQ(B b, D d), C c) WITHIN 3 seconds",
    "negated and bound": "SEQ(A a, NOT B b, C c, B e) WITHIN 3 seconds",
    "negated twice": "SEQ(A a, NOT SEQ(B b, NOT D d, A e), C c) WITHIN 3 seconds",
    "of some events": "SEQ(A a, B b, C c) WITHIN 9 EVENTS",
    "of some events, by key": "SEQ(A a, B b, C c) PARTITION BY k WITHIN 6 EVENTS",
    "of some events, negated": "SEQ(A a, NOT B b, C c, D d) WITHIN 12 EVENTS",
}
EVENTS = tuple(event(row, "ABCDE"[row % 5], row) for row in range(5))  # of every type


@cache
def plans_for(text: str) -> list[Plan]:
    return various_plans(Case(text, EVENTS), 0)


def random_events(dice: random.Random, n_events: int) -> tuple[ReferenceEvent, ...]:
    """Return events of ten seconds, some of them at the same time."""
    times = [100_000 * dice.randrange(100) for _ in range(n_events)]
    return tuple(
        event(row, dice.choice("AABBCCDDE"), time, k=dice.randint(1, 2), x=dice.randint(0, 3))
        for row, time in enumerate(times)
    )


@pytest.mark.parametrize("name", QUERIES)
def test_every_kind_of_pattern_survives_changes(name: str, count: Count) -> None:
    """Every stream is drawn until it has matches, which all come out."""
    n_matches = 0
    for seed in range(3):
        dice = random.Random(f"{name} {seed}")
        case = Case(f"QUERY q PATTERN {QUERIES[name]}", random_events(dice, 40))
        while case.n_matches < FEWEST_MATCHES:
            case = replace(case, events=random_events(dice, 40))
        n_found = check(case, plans_for(case.text), seed)
        assert n_found > 0
        n_matches += n_found
    count(cases=3, matches=n_matches)


class Fed:
    """An executor fed by hand: events are written as a type and a second, and known by their places."""

    def __init__(self, pattern: str, events: str) -> None:
        given = [(one[0], int(1e6 * float(one[1:]))) for one in events.split()]
        case = Case(f"QUERY q PATTERN {pattern}", tuple(event(row, *one) for row, one in enumerate(given)))
        table, layout = arrow_events(case)
        self.events = ingest(table, layout)
        self.plans = list(dict.fromkeys([*plans_for(case.text), *(random_plan(case, n) for n in range(9))]))
        self.executor = MigratingExecutor(self.plans[0], Budget())
        self.steps = 0

    def step(self, places: Sequence[int], frontier: float) -> set[tuple[int, ...]]:
        """Take the events of a step; return the events of the matches that came out."""
        self.steps += 1
        is_new = np.isin(self.events.ids.to_numpy(), places)
        new = with_arrival(self.events.take(np.flatnonzero(is_new)), self.steps)
        self.executor.begin(Budget(), {"q": 0})
        matches = self.executor.step(Arrivals(new), int(1e6 * frontier))
        found = outcome_of(self.executor.plan, matches).matches["q"]
        return {tuple(sorted(one for _, ids in match for one in ids)) for match in found}

    def switch(self, way: Way) -> None:
        """Go on with another plan."""
        place = self.plans.index(self.executor.plan)
        self.executor.switch(self.plans[(place + 1) % len(self.plans)], way)
        assert self.executor.plan != self.plans[place]


@pytest.mark.parametrize("way", WAYS)
def test_new_is_what_arrives_after_the_switch_whatever_its_time(way: Way) -> None:
    fed = Fed("SEQ(A a, B b) WITHIN 10 seconds", "A1 A0.5 B2")
    assert fed.step([0], 0) == set()
    fed.switch(way)
    assert fed.step([1], 0) == set()
    assert fed.step([2], 0) == {(0, 2), (1, 2)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("pattern", "events", "found"),
    [
        ("SEQ(NOT B b, A a, C c) WITHIN 10 seconds", "B1 A2 C3", set()),
        ("SEQ(NOT B b, A a, C c) WITHIN 10 seconds", "B2.5 A2 C3", {(1, 2)}),
        ("SEQ(A a, NOT B b, C c) WITHIN 10 seconds", "B2 A1 C3", set()),
        ("SEQ(A a, NOT B b, C c) WITHIN 10 seconds", "B0.5 A1 C3", {(1, 2)}),
        ("SEQ(A a, C c, NOT B b) WITHIN 10 seconds", "B5 A1 C3", set()),
        ("SEQ(A a, C c, NOT B b) WITHIN 10 seconds", "B2 A1 C3", {(1, 2)}),
        ("SEQ(A a, NOT SEQ(B b, D d), C c) WITHIN 10 seconds", "B2 A1 D2.5 C3", set()),
        ("SEQ(A a, C c) WITHIN 2 EVENTS", "E2 A1 C3", set()),
        ("SEQ(A a, C c) WITHIN 2 EVENTS", "E0 A1 C3", {(1, 2)}),
        ("SEQ(A a, C c) WITHIN 3 EVENTS", "E2 A1 C3", {(1, 2)}),
    ],
)
def test_old_events_negate_and_count_in_matches_of_new_ones(
    pattern: str, events: str, found: set[tuple[int, ...]], way: Way
) -> None:
    """The first event came before the switch, the others after it."""
    fed = Fed(pattern, events)
    assert fed.step([0], 0) == set()
    fed.switch(way)
    assert fed.step(range(1, len(events.split())), 0) | fed.step([], 60) == found


@pytest.mark.parametrize("ways", [(a, b) for a in WAYS for b in WAYS])
def test_a_match_that_waits_for_the_end_of_its_window_comes_once(ways: Sequence[Way]) -> None:
    fed = Fed("SEQ(A a, C c, NOT B b) WITHIN 5 seconds", "A1 C2 A3 C4 B7")
    assert fed.step([0, 1], 2) == set()
    fed.switch(ways[0])
    assert fed.step([2, 3], 4) == set()
    fed.switch(ways[1])
    assert fed.step([], 6.5) == {(0, 1), (0, 3)}
    assert fed.step([4], 8.5) == set()
    assert fed.step([], 60) == set()


def test_old_plans_go_when_their_events_do() -> None:
    fed = Fed("SEQ(A a, B b, C c) WITHIN 5 seconds", "A1 A2 A3 B4 C4.5 B10 C11")
    for place in range(3):
        assert fed.step([place], place + 1) == set()
        fed.switch("parallel")
        fed.switch("parallel")  # a plan that has seen no event of its own goes at once
        assert fed.executor.n_plans == place + 2
    assert fed.step([3, 4], 5) == {(0, 3, 4), (1, 3, 4), (2, 3, 4)}
    assert fed.step([], 6.5) == set()
    assert fed.executor.n_plans == 3
    assert fed.step([], 8.5) == set()
    assert fed.executor.n_plans == 1
    assert fed.step([5, 6], 12) == set()


def test_rebuilding_ends_all_old_plans() -> None:
    fed = Fed("SEQ(A a, B b, C c) WITHIN 5 seconds", "A1 A2 B3 C4")
    for place in range(2):
        fed.step([place], place + 1)
        fed.switch("parallel")
    assert fed.executor.n_plans == 3
    fed.switch("rebuild")
    assert fed.executor.n_plans == 1
    assert fed.step([2, 3], 4) == {(0, 2, 3), (1, 2, 3)}


def test_without_events_a_plan_is_just_exchanged() -> None:
    fed = Fed("SEQ(A a, B b, C c) WITHIN 5 seconds", "A1 B2 C3")
    fed.switch("parallel")
    assert fed.executor.n_plans == 1
    assert fed.step([0, 1, 2], 4) == {(0, 1, 2)}


def test_an_old_plan_builds_nothing_on_what_new_events_begin() -> None:
    fed = Fed(
        "SEQ(A a, B b, C c) WITHIN 50 seconds", "A1 " + " ".join(f"A{n}" for n in range(2, 12)) + " B12"
    )
    fed.step([0], 1)
    fed.switch("parallel")
    fed.step(range(1, 12), 12)
    assert fed.executor.n_plans == 2
    assert fed.executor.holdings.events["q"] <= 1 + 10 + 2  # each A once, B twice at most


LEADING = {
    "sequence": "A",
    "any order": "",
    "list": "A",
    "leading list": "",
    "one type twice": "",
    "negated after": "A",
}


@pytest.mark.parametrize("name", LEADING)
def test_types_that_only_begin_matches(name: str) -> None:
    for plan in plans_for(f"QUERY q PATTERN {QUERIES[name]}"):
        assert leading_types(plan) == set(LEADING[name])


def test_a_plan_that_exceeds_the_budget_when_it_is_rebuilt_does_not_run() -> None:
    fed = Fed("SEQ(A a, B b, C c) WITHIN 50 seconds", "A1 A2 B3 B4 C5")
    fed.step(range(4), 1)
    before = fed.executor.plan
    fed.executor.begin(Budget(held=1), {"q": 0})
    with pytest.raises(BudgetError):
        fed.switch("rebuild")
    assert fed.executor.plan == before
    assert len(fed.step([4], 1)) == 4


def test_a_plan_of_other_queries_is_refused() -> None:
    fed = Fed("SEQ(A a, B b, C c) WITHIN 5 seconds", "A1")
    with pytest.raises(ValueError, match=r"new plan answers nothing, the old one q; .*same queries"):
        fed.executor.switch(Plan(()), "parallel")


def test_a_changed_workload_forgets_the_plan_that_was_adapted() -> None:
    """So does a stream that is no longer adapted; its own plan goes on from the same events."""
    case = Case(f"QUERY q PATTERN {QUERIES['sequence']}", random_events(random.Random(1), 40))
    plans = plans_for(case.text)
    table, layout = arrow_events(case)
    own = program_of(plans[0], layout, delay=0)
    adapted = replace(own, adapter=Drawn(plans[-1:], 1.0, WAYS, 1))
    stream = Stream(adapted, random.Random(2), n_workers=1, is_calm=True)
    ordered = table.sort_by("__time")
    stream.deliver(ordered.slice(0, 10))
    assert journal_of(stream).adaptation
    stream.program = replace(own, fingerprints={"q": "another"}, adapter=Drawn(plans, 0.0, WAYS, 1))
    stream.deliver(ordered.slice(10, 10))
    assert not journal_of(stream).adaptation
    stream.program = replace(adapted, fingerprints={"q": "another"})
    stream.deliver(ordered.slice(20, 10))
    assert journal_of(stream).adaptation
    stream.program = replace(own, fingerprints={"q": "another"})
    stream.deliver(ordered.slice(30))
    assert not journal_of(stream).adaptation
    assert [outcome.report.started for outcome in stream.outcomes] == [(), ["q"], (), ()]


def journal_of(stream: Stream) -> Journal:
    text = stream.store.journal()
    assert text is not None
    return Journal.from_json(text)


def test_a_journal_carries_the_state_of_an_adapter_as_it_is() -> None:
    journal = Journal("1 shards", adaptation={"plan": "é", "numbers": [1, 0.5, None]})
    assert Journal.from_json(journal.to_json()) == journal
