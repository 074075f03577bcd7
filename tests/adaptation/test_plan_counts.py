"""What a plan counts is what is true of its events, and saves drawing tuples."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pytest
from tests.adaptation.test_adapter import LONE, TWO_PHASES, adapter_of, drifting, eager, remembered, run
from tests.helpers.engine import arrow_events, expected_outcome
from tests.helpers.strategies import Case
from tests.helpers.streams import Kept, Stream, merged, program_of

from weft.adaptation.plan_counts import PlanCounts
from weft.adaptation.settings import Adaptation
from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import inquiry_of
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.executor import MatchExecutor
from weft.runtime.stages.shard_executor import Arrivals
from weft.runtime.state.segments import with_arrival
from weft.schema import DOUBLE, TIMESTAMP, Schema
from weft.statistics.counted_step import CountedStep
from weft.statistics.live import LiveStatistics
from weft.statistics.model import Inquiry, ItemKey, Statistics

SCHEMA = Schema({"ts": TIMESTAMP, "x": DOUBLE}, time="ts")
TEXT = "QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x + 0.5 < c.x AND c.x > 0.2 WITHIN 2 seconds"
SECOND = 1_000_000


def inquiry() -> Inquiry:
    return inquiry_of([form for query in read_queries(TEXT, SCHEMA) for form in normalize(query)])


def plan_of(text: str = TEXT) -> Plan:
    known = Statistics(rates={ItemKey("A"): 1.0, ItemKey("B"): 2.0, ItemKey("C"): 90.0})
    return choose_plan(read_queries(text, SCHEMA), SCHEMA, Planning(statistics=known, steps=5)).plan


def drawn_events(rates: dict[str, float], seconds: float, later: dict[str, float] | None = None) -> Events:
    """Return events at random, and of as many seconds more with other rates."""
    dice, times, types = np.random.default_rng(3), [], []
    for phase, own in enumerate([rates] if later is None else [rates, later]):
        kinds = np.concatenate([np.repeat(name, round(rate * seconds)) for name, rate in own.items()])
        types.append(dice.permutation(kinds))
        times.append(np.sort(dice.random(kinds.size) + phase) * seconds)
    moments, kinds = np.concatenate(times), np.concatenate(types)
    table = pa.table({"ts": (moments * SECOND).astype(np.int64), "type": kinds, "x": dice.random(kinds.size)})
    layout = Layout("ts", "type", None, None, None, {"x": ("x", DOUBLE)}, type_names=("A", "B", "C"))
    return ingest(table, layout)


def steps_of(events: Events, plan: Plan, seconds: float) -> Iterator[tuple[Events, CountedStep]]:
    """Run a plan step by step, and yield the events of each with what was counted."""
    executor, counts = MatchExecutor(plan, Budget()), PlanCounts(plan, inquiry().questions)
    numbers = events.times // round(seconds * SECOND)
    for number in range(int(numbers[-1]) + 1):
        start, stop = np.searchsorted(numbers, [number, number + 1])
        batch = events.take(slice(int(start), int(stop)))
        executor.begin(Budget(), {"q": 0})
        list(executor.step(Arrivals(with_arrival(batch, number)), (number + 1) * round(seconds * SECOND)))
        yield batch, counts.of_step(executor.meter)


def test_counted_shares_are_those_of_all_pairs() -> None:
    """A and B are joined first; how often the filter of C holds is exact, too."""
    events = drawn_events({"A": 20.0, "B": 30.0, "C": 40.0}, 20.0)
    plan = plan_of()
    looked = held = 0
    passed = np.zeros(2, np.int64)
    for _, counted in steps_of(events, plan, 0.7):
        ((n_looked, n_held),) = counted.shares.values()
        looked, held = looked + n_looked, held + n_held
        passed += next(own for item, own in counted.items.items() if item.predicates)
    a, b, c = (events.rows_of_type(name) for name in "ABC")
    apart = events.times[b][None, :] - events.times[a][:, None]
    is_pair, x = (apart >= 0) & (apart <= 2 * SECOND), events.columns["x"].values
    assert looked == int(is_pair.sum())
    assert held == int((is_pair & (x[a][:, None] < x[b][None, :])).sum())
    assert passed.tolist() == [c.size, int((x[c] > 0.2).sum())]


def test_joins_by_equality_answer_nothing_but_are_watched() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x WITHIN 2 seconds")
    counts = PlanCounts(plan, inquiry().questions)
    assert not counts.digests
    (_, counted), *_ = steps_of(drawn_events({"A": 9.0, "B": 9.0, "C": 9.0}, 2.0), plan, 1.0)
    assert len(counted.joins) == 2


@pytest.mark.parametrize("moves", [False, True])
def test_tuples_are_drawn_when_a_counter_moves_and_not_before(moves: bool) -> None:
    rates = {"A": 20.0, "B": 30.0, "C": 40.0}
    asked = inquiry()
    known = Statistics(
        {item: 0.8 * rates["C"] if item.predicates else rates[item.type] for item in asked.every_item},
        {question.group: 0.3 for question in asked.questions},
        total_rate=90.0,
    )
    live, n_tuples = LiveStatistics(asked, initial=known), []
    later = {**rates, "A": 60.0} if moves else rates
    for events, counted in steps_of(drawn_events(rates, 30.0, later), plan_of(), 1.0):
        live.observe(events, int(events.times[-1]), counted)
        n_tuples.append(live.n_tuples)
    assert n_tuples[29] <= 1_024, "what is not counted is known: one look, where all windows had two"
    assert (n_tuples[-1] > n_tuples[29]) == moves
    shares = live.statistics().selectivities.values()
    assert any(share == pytest.approx(0.5, abs=0.1) for share in shares), "of A and B, which are joined"


@dataclass
class Counted(Kept):
    """A store that counts what is read of it."""

    read: list[int] = field(default_factory=list)

    def segment(self, number: int) -> bytes:
        self.read.append(number)
        return super().segment(number)


def test_what_few_steps_change_is_neither_read_nor_written_by_the_others() -> None:
    case = Case(LONE, drifting(5, seconds=3, phases=TWO_PHASES))
    table, layout = arrow_events(case)
    adapter = adapter_of(case, Adaptation(planning=0.0), TWO_PHASES[0])  # after the first, no step is watched
    program = replace(program_of(run_plan(case), layout, delay=0), adapter=adapter)
    store = Counted()
    stream = Stream(program, dice=random.Random(1), n_workers=1, is_calm=True, store=store)
    for start in range(0, table.num_rows, 20):
        stream.deliver(table.slice(start, 20))
    assert not store.read, "one process remembers it all"
    assert remembered(stream)["step"] == len(stream.outcomes) > 10
    assert all(outcome.report.adapting > 0 for outcome in stream.outcomes)
    assert len(store.text or "") < 6_000


def run_plan(case: Case) -> Plan:
    return choose_plan(case.queries, SCHEMA, Planning(plan="trivial", cost="partial-matches")).plan


def test_a_query_whose_rates_flip_changes_its_plan_and_finds_what_the_reference_finds() -> None:
    text = "QUERY p PATTERN SEQ(A a, B b, C c, D d) WITHIN 500 ms"
    phases = [{name: rates[name] for name in "ABCD"} for rates in TWO_PHASES]
    case = Case(text, drifting(5, seconds=8, phases=phases))
    for is_calm in (True, False):
        stream = run(case, eager(), seed=2, is_calm=is_calm)
        assert {tuple(one["queries"]) for one in remembered(stream)["log"]} == {("p",)}
        assert merged(stream).matches == expected_outcome(case) != {"p": {}}
