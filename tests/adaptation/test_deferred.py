"""A stream is looked at once it has run for a while; until then its events are counted, restarts or not."""

import random
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa
import pytest
from tests.adaptation.test_adapter import CASE, PHASES, batches_of, eager, expected, remembered, run_plan
from tests.helpers.engine import arrow_events, derived_schema
from tests.helpers.streams import Stream, cut, merged, program_of

from weft.adaptation.adapter import StreamAdapter
from weft.adaptation.deferred import FIRST_LOOK, DeferredAdapter
from weft.adaptation.migration import MigratingExecutor
from weft.adaptation.reckoning import PER_EVENT
from weft.adaptation.settings import Adaptation, AdaptedGroup
from weft.adaptation.shard_state import ShardState
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.runtime.budget import Budget
from weft.runtime.state.journal import Journal
from weft.statistics.model import ItemKey, Statistics

DEAR = 1e9  # nanoseconds for a second of events: then a look is due after ten of them


def adapter_of(cost: float | None, watching: float = 0.01) -> DeferredAdapter:
    """Return an adapter that watches every step from its first look on."""
    known = Statistics(rates={ItemKey(name): float(rate) for name, rate in PHASES[0].items()})
    schema = derived_schema(CASE)
    chosen = choose_plan(CASE.queries, schema, Planning(statistics=known, steps=50, cost="partial-matches"))
    group = AdaptedGroup(CASE.queries, schema, chosen.stored, known, eager(), {})
    return DeferredAdapter(Adaptation(watching=watching), cost, group.stream_adapter)


def run(adapter: DeferredAdapter | None, seed: int = 0, *, is_calm: bool = True, n_static: int = 0) -> Stream:
    """Run the stream in steps of about a second; the first ones may be run without an adapter."""
    table, layout = arrow_events(CASE)
    plan = choose_plan(CASE.queries, derived_schema(CASE), Planning(plan="trivial")).plan
    static = program_of(plan, layout, delay=0)
    stream = Stream(static, random.Random(seed), n_workers=1 if is_calm else 3, is_calm=is_calm)
    for number, rows in enumerate(cut(list(range(len(CASE.events))), random.Random(7), 60)):
        stream.program = static if number < n_static else replace(static, adapter=adapter)
        stream.deliver(table.take(pa.array(rows, pa.int64())))
    stream.finish()
    return stream


def is_made(adapter: DeferredAdapter) -> bool:
    """Say whether what watches and plans is there."""
    return "_made" in vars(adapter)


def known_states(adapter: DeferredAdapter) -> dict[str, ShardState]:
    made = adapter._made
    assert isinstance(made, StreamAdapter)
    return made._known


@lru_cache(maxsize=1)
def dear() -> Stream:
    return run(adapter_of(DEAR))


@pytest.mark.parametrize("is_calm", [True, False])
def test_a_short_stream_is_counted_and_not_looked_at(is_calm: bool) -> None:
    adapter = adapter_of(1e3)
    stream = run(adapter, is_calm=is_calm)
    assert merged(stream).matches == expected()
    assert not is_made(adapter)
    journal = Journal.from_json(stream.store.text or "")
    assert journal.adapted is None
    assert journal.adaptation is not None
    counts, n_events, since, until, cost = journal.adaptation["unwatched"]
    assert n_events == sum(counts.values()) == len(CASE.events)
    assert until - since > 60e6
    assert PER_EVENT * n_events <= cost < FIRST_LOOK


def test_a_stream_that_has_run_for_a_while_is_looked_at_and_what_it_had_is_known() -> None:
    adapter, executor, state = adapter_of(DEAR), MigratingExecutor(run_plan(), Budget()), None
    n_events, n_steps = 0, 0
    for events in batches_of(CASE):
        state = adapter.observe(state, executor, events, int(events.times[-1])).state
        n_events, n_steps = n_events + events.n_events, n_steps + 1
        if is_made(adapter):
            break
    seconds = int(events.times[-1]) / 1e6
    assert 0.01 * DEAR * seconds >= FIRST_LOOK
    assert 9 < seconds < 15
    assert state is not None
    assert state.passing["step"] == n_steps
    known = known_states(adapter)[state.token].live.statistics()
    assert known.total_rate == pytest.approx(n_events / seconds, rel=0.1)
    assert known.rate(ItemKey("B")) == pytest.approx(PHASES[0]["B"], rel=0.2)


def test_from_then_on_the_plan_follows_the_drift() -> None:
    log = remembered(dear())["log"]
    assert log
    assert merged(dear()).matches == expected()


@pytest.mark.parametrize("seed", range(3))
def test_attempts_that_fail_and_processes_that_end_change_nothing(seed: int) -> None:
    stream = run(adapter_of(DEAR), seed, is_calm=False)
    assert merged(stream).matches == expected()
    steps, calm = ([one["step"] for one in remembered(own)["log"]] for own in (stream, dear()))
    assert steps == calm


def test_a_stream_that_began_without_goes_on_with_it_and_back() -> None:
    """What an adapter remembers begins with it; of a stream without one it is given up."""
    stream = run(adapter_of(DEAR), n_static=20)
    assert merged(stream).matches == expected()
    assert remembered(stream)["log"]
    stream.program = replace(stream.program, adapter=None)
    table, _ = arrow_events(CASE)
    stream.deliver(table.slice(0, 1))
    journal = Journal.from_json(stream.store.text or "")
    assert journal.adaptation is journal.adapted is None


def test_where_all_steps_are_to_be_watched_the_first_one_is() -> None:
    adapter = adapter_of(None, watching=1.0)
    events = next(batches_of(CASE))
    executor = MigratingExecutor(run_plan(), Budget())
    assert adapter.observe(None, executor, events, 0).is_rewritten
