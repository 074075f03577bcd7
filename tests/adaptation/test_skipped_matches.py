"""What matches have skipped is of no use to any plan: adapted streams keep as little as others."""

import random
from dataclasses import dataclass, replace
from functools import lru_cache

import pytest
from tests.helpers.engine import Bindings, arrow_events, derived_schema, expected_outcome, outcome_of
from tests.helpers.random_plans import random_plan
from tests.helpers.strategies import Case, event
from tests.helpers.streams import Stream, merged, plans_of, program_of

from weft.adaptation.migration import MigratingExecutor, Way
from weft.codec import from_json, to_json
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.stored_plan import StoredPlan
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.merge import in_pool_of
from weft.runtime.matches.execute import Found
from weft.runtime.matches.walk import new_walker
from weft.runtime.stages.shard_executor import AdapterState, Arrivals, Observation, ShardExecutor
from weft.runtime.state.segments import with_arrival

SECOND = 1_000_000
PATTERNS = {"p": "SEQ(A a, B b, C c)", "q": "SEQ(A a, B b, C c, A d)", "r": "SEQ(B b, NOT A n, C c, A a)"}
SKIP = "AFTER MATCH SKIP PAST LAST"
N_EVENTS, ROWS = 300, 10
BETWEEN = 4  # steps from one change to the next: less than a window
WAYS: tuple[Way, ...] = ("rebuild", "parallel")


def case_of(clause: str) -> Case:
    dice = random.Random(4)
    rest = f"WHERE [k] WITHIN 60 seconds {clause}"
    queries = (f"QUERY {name} PATTERN {pattern} {rest}" for name, pattern in PATTERNS.items())
    drawn = ((dice.choice("ABC"), dice.randint(1, 2)) for _ in range(N_EVENTS))
    events = tuple(event(row, kind, row * SECOND, k=k) for row, (kind, k) in enumerate(drawn))
    return Case("\n".join(queries), events)


@dataclass(frozen=True)
class Alternating:
    """One plan after the other, for a few steps each."""

    plans: tuple[Plan, ...]
    way: Way

    def plan(self, state: AdapterState | None, given: Plan) -> Plan:
        return from_json("plan", state.text()) if state else given

    def executor(self, plan: Plan, budget: Budget) -> MigratingExecutor:
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, _state: AdapterState | None) -> None:
        assert isinstance(executor, MigratingExecutor)
        executor.switch(plan, self.way)

    def observe(
        self, state: AdapterState | None, executor: ShardExecutor, _events: Events, _frontier: int
    ) -> Observation:
        assert isinstance(executor, MigratingExecutor)
        step = 1 + (state.passing["step"] if state else 0)
        text = to_json("plan", self.plans[step // BETWEEN % len(self.plans)])
        known = AdapterState({"step": step, "n_plans": executor.n_plans}, lambda: text)
        return Observation(known, is_rewritten=True)


def run(case: Case, plan: Plan, adapter: Alternating | None = None, *, is_calm: bool = True) -> Stream:
    table, layout = arrow_events(case)
    work = replace(program_of(plan, layout, delay=0), adapter=adapter)
    stream = Stream(work, random.Random(0), n_workers=1 if is_calm else 2, is_calm=is_calm)
    for start in range(0, N_EVENTS, ROWS):
        stream.deliver(table.slice(start, ROWS))
    stream.finish()
    return stream


@lru_cache(maxsize=2)
def plans_for(clause: str) -> tuple[Plan, ...]:
    """Return the plan that joins in the order of the patterns, which keeps most, and others."""
    case = case_of(clause)
    return (plans_of(case)[0], *(random_plan(case, seed) for seed in range(2)))


@lru_cache(maxsize=8)
def static(clause: str, number: int = 0) -> Stream:
    return run(case_of(clause), plans_for(clause)[number])


@lru_cache(maxsize=1)
def expected() -> dict[str, dict[Bindings, dict[str, object]]]:
    return expected_outcome(case_of(SKIP))


def kept(stream: Stream) -> list[int]:
    """Return how many partial matches a stream kept after each step."""
    return [sum(outcome.report.partial_matches.values()) for outcome in stream.outcomes]


def buffered(stream: Stream) -> list[int]:
    return [outcome.report.buffered for outcome in stream.outcomes]


def test_to_skip_is_to_keep_little() -> None:
    """Otherwise the tests below would say nothing."""
    assert sum(kept(static(SKIP))) < 0.2 * sum(kept(static("")))
    assert sum(buffered(static(SKIP))) < 0.8 * sum(buffered(static("")))


@pytest.mark.parametrize("number", range(3))
def test_a_stream_that_may_change_its_plan_and_does_not_keeps_what_a_static_one_keeps(number: int) -> None:
    plan = plans_for(SKIP)[number]
    stream = run(case_of(SKIP), plan, Alternating((plan,), "rebuild"))
    assert kept(stream) == kept(static(SKIP, number))
    assert buffered(stream) == buffered(static(SKIP, number))
    assert merged(stream).matches == merged(static(SKIP, number)).matches == expected()


@pytest.mark.parametrize("is_calm", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_plans_that_change_keep_no_more_than_the_greediest_of_them(way: Way, is_calm: bool) -> None:
    """Side by side, two plans may each keep what the other one does."""
    stream = run(case_of(SKIP), plans_for(SKIP)[0], Alternating(plans_for(SKIP), way), is_calm=is_calm)
    assert merged(stream).matches == expected()
    each = [kept(static(SKIP, number)) for number in range(3)]
    n_plans = 1 if way == "rebuild" else 3
    for now, *others in zip(kept(stream), *each, strict=True):
        assert now <= n_plans * max(others)
    assert sum(buffered(stream)) <= 1.1 * sum(buffered(static(SKIP)))


PAIR = """
QUERY p PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 1000 seconds AFTER MATCH SKIP PAST LAST
QUERY q PATTERN SEQ(A a, D d, E e) WHERE [k] WITHIN 50 seconds AFTER MATCH SKIP PAST LAST
"""


def test_a_plan_that_takes_over_what_another_has_takes_what_any_query_needs() -> None:
    """Of events that both queries have, one lacks those that it skipped, the other those that are old."""
    dealt = [
        ("A", 1),
        *(("ABCDE"[place % 5], 2) for place in range(60)),
        *(("A", 2),) * 9,
        ("B", 1),
        ("C", 1),
    ]
    case = Case(PAIR, tuple(event(row, kind, row * SECOND, k=k) for row, (kind, k) in enumerate(dealt)))
    plans = []
    for tree in (["a", ["d", "e"]], ["a", ["d", "e"]], [["a", "d"], "e"]):
        stored = StoredPlan({"p": ([["a", "b"], "c"],), "q": (tree,)})
        plans.append(choose_plan(case.queries, derived_schema(case), Planning(plan=stored)).plan)
    table, layout = arrow_events(case)
    events = with_arrival(ingest(table, layout), 1)
    walker, executor = new_walker(), MigratingExecutor(plans[0], Budget())
    executor.skipped = walker.skipped
    found: list[Found] = []
    for plan, start, stop in zip(plans, (0, 50, 70), (50, 70, len(dealt)), strict=True):
        executor.switch(plan, "rebuild")
        new = in_pool_of(executor, events.take(slice(start, stop)))
        frontier = int(new.times[-1]) + 1
        found += walker.walk_found([*executor.step(Arrivals(new), frontier)])
    assert outcome_of(plans[-1], found).matches == expected_outcome(case)
