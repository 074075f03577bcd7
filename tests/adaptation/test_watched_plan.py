"""Alarms mean cheaper trees, and components are watched by themselves."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.adaptation.test_adapter import (
    LONE,
    TWO_PHASES,
    adapter_of,
    drifting,
    eager,
    remembered,
    run,
    states,
)
from tests.helpers.engine import Bindings, arrow_events, derived_schema, expected_outcome, outcome_of
from tests.helpers.strategies import Case
from tests.helpers.streams import merged

from weft.adaptation.decisions import Invariants
from weft.adaptation.watched_component import Watch, WatchedComponent
from weft.adaptation.watched_plan import components_of
from weft.cost.measured import Measured
from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import inquiry_of
from weft.optimizer.sharing.limits import Limit
from weft.plan.nodes import Plan
from weft.reference.events import ReferenceEvent
from weft.runtime.budget import Budget
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Found
from weft.runtime.matches.executor import MatchExecutor
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.stages.shard_executor import Arrivals, PlanChange
from weft.runtime.state.segments import with_arrival
from weft.schema import DOUBLE, TIMESTAMP, Schema
from weft.statistics.model import Inquiry, Statistics

SCHEMA = Schema({"ts": TIMESTAMP, "x": DOUBLE, "y": DOUBLE}, time="ts")
SINGLE = (
    "SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND b.x < c.y AND c.x < d.x WITHIN 2 seconds",
    "AND(A a, B b, C c, D d) WHERE a.x < d.x AND b.y < c.y WITHIN 2 seconds",
    "SEQ(A a, NOT E e, AND(B b, C c), D d) WHERE a.x < c.x AND b.x < d.y WITHIN 2 seconds",
    "SEQ(A a, B b+, C c, D d) WHERE a.x < c.x WITHIN 2 seconds",
    "SEQ(A a, AND(B b, C c), AND(D d, E e)) WHERE a.x < e.x AND b.y < d.y WITHIN 2 seconds",
)
PAIR = """
QUERY p PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 2 seconds
QUERY q PATTERN SEQ(A a, B b, C c, E e) WHERE a.x < b.x AND b.x < e.x WITHIN 2 seconds
"""


def drawn_statistics(inquiry: Inquiry, dice: random.Random) -> Statistics:
    """Return rates over two orders of magnitude, and selectivities over one."""
    return Statistics(
        {item: 10 ** dice.uniform(-0.5, 1.5) for item in inquiry.items},
        {question.group: 10 ** dice.uniform(-1, 0) for question in inquiry.questions},
    )


def shifted(known: Statistics, dice: random.Random) -> Statistics:
    """Return statistics of which each has changed a little."""
    rates = {item: rate * 2 ** dice.gauss(0, 0.5) for item, rate in known.rates.items()}
    shares = {group: share * 2 ** dice.gauss(0, 0.3) for group, share in known.selectivities.items()}
    return replace(known, rates=rates, selectivities={group: min(1.0, own) for group, own in shares.items()})


def component_of(text: str, dice: random.Random) -> WatchedComponent:
    """Return queries with the best plan that is found; all conditions are watched, with no distance."""
    queries = read_queries(text, SCHEMA)
    inquiry = inquiry_of([form for query in queries for form in normalize(query)])
    known, model = drawn_statistics(inquiry, dice), Measured()
    chosen = choose_plan(queries, SCHEMA, Planning(statistics=known, cost=model, steps=10))
    watch = Watch(SCHEMA, model, lambda: Invariants(model, None, 0.0), is_shared=True, planning=Planning())
    return WatchedComponent(queries, watch, chosen.stored.trees, known, {})


@pytest.mark.parametrize("pattern", SINGLE)
def test_an_alarm_of_a_single_query_means_a_different_and_cheaper_tree(pattern: str) -> None:
    """Theorem 1, with all conditions and no distance; also where the trees that were found were not taken."""
    n_alarms = n_kept = 0
    for seed in range(8):
        dice = random.Random(seed)
        component = component_of(f"QUERY q PATTERN {pattern}", dice)
        known = component.statistics
        for _ in range(12):
            known = shifted(known, dice)
            alarm = component.alarm(known)
            if alarm is None:
                continue
            replan = component.replan(alarm, known, Limit(steps=20))
            assert replan.trees != component.trees
            assert replan.cost_after < replan.cost_before
            is_taken = dice.random() < 0.7
            component = component.adopt(replan, is_taken=is_taken, statistics=known, variances={})
            assert (component.trees == replan.trees) == is_taken
            n_alarms, n_kept = n_alarms + 1, n_kept + (not is_taken)
    assert n_alarms > 10
    assert n_kept > 2


def test_a_plan_that_is_shared_is_never_dearer_after_an_alarm() -> None:
    n_alarms = n_cheaper = 0
    for seed in range(10):
        dice = random.Random(seed)
        component = component_of(PAIR, dice)
        known = component.statistics
        for _ in range(20):
            known = shifted(known, dice)
            alarm = component.alarm(known)
            if alarm is not None:
                replan = component.replan(alarm, known, Limit(steps=20))
                is_other = replan.trees != component.trees
                assert (replan.cost_after < replan.cost_before) == is_other
                n_alarms, n_cheaper = n_alarms + 1, n_cheaper + is_other
                component = component.adopt(replan, is_taken=is_other, statistics=known, variances={})
    assert n_alarms > 20
    assert n_cheaper > 0.7 * n_alarms, f"{n_cheaper} of {n_alarms}"


def test_queries_that_share_nothing_are_components() -> None:
    text = f"{PAIR}QUERY r PATTERN SEQ(F f, G g) WITHIN 2 seconds\n"
    queries = read_queries(text, SCHEMA)
    names = [[query.name for query in component] for component in components_of(queries, SCHEMA)]
    assert names == [["p", "q"], ["r"]]


THREE = f"{LONE}QUERY r PATTERN SEQ(I i, J j, K k) WITHIN 2 seconds\n"
STEADY = {"I": 1, "J": 4, "K": 8}
FIRST, SECOND = (dict(list(rates.items())) for rates in TWO_PHASES)


def apart(seed: int = 9, seconds: int = 20) -> tuple[ReferenceEvent, ...]:
    """Return events of three components: one drifts after a third, one after two thirds, one never."""
    halves = [[{n: p[n] for n in names} for p in (FIRST, SECOND)] for names in ("ABCD", "EFGH")]
    (first, other), (third, fourth) = halves
    phases = [
        {**first, **third, **STEADY},
        {**other, **third, **STEADY},
        {**other, **fourth, **STEADY},
    ]
    return drifting(seed, seconds=seconds, phases=phases)


def test_components_that_drift_at_different_times_both_change_and_others_stay() -> None:
    case = Case(THREE, apart())
    first = {**FIRST, **STEADY}
    adapter = adapter_of(case, eager(distance=0.1, steps=50), first)
    changes: list[PlanChange] = []
    adopted = []
    for state, own in states(case, adapter):
        changes += [one for one in own if one.kept is None and one.measured is None]
        adopted.append([component.statistics for component in adapter.reader.watched(state).components])
    assert {one.queries for one in changes} == {("p",), ("q",)}
    assert changes[0].queries == ("p",)
    before, after = (adapter.reader.first, adapter.reader.watched(state))
    assert [before.trees[name] == after.trees[name] for name in "pqr"] == [False, False, True]
    n_events = len(case.events)
    until = next(n for n, known in enumerate(adopted) if known[1] is not adopted[0][1])
    assert until * 100 > n_events / 3, "the second component keeps what it was chosen with until it drifts"


def test_a_component_that_changes_leaves_what_others_have_computed() -> None:
    """What they keep is not run again, and all matches come once."""
    text = f"{THREE}QUERY s PATTERN SEQ(A a, NOT I n, K k) WITHIN 3 seconds\n"
    case = Case(text, apart(seconds=6))
    table, layout = arrow_events(case)
    old, new = (
        choose_plan(case.queries, derived_schema(case), Planning(plan=name, cost="partial-matches")).plan
        for name in ("trivial", "reorder")
    )
    changed = Plan(tuple(new.outputs[n] if n == 1 else output for n, output in enumerate(old.outputs)))
    assert [a == b for a, b in zip(old.outputs, changed.outputs, strict=True)] == [True, False, True, True]
    events, found = with_arrival(ingest(table, layout), 1), []
    executor = MatchExecutor(old, Budget())
    for start in range(0, events.n_events, 50):
        batch = events.take(slice(start, start + 50))
        executor.begin(Budget(), {})
        found += list(executor.step(Arrivals(batch), int(batch.times[-1])))
        if start // 50 % 3 == 0:
            rebuilt = executor.rebuilt(old if executor.plan == changed else changed, int(batch.times[-1]))
            assert rebuilt is not None
            executor = rebuilt
    found += list(executor.step(Arrivals(events.take(slice(0, 0))), END_OF_TIME))
    matches = [Counter(bindings(found, name)) for name in "pqrs"]
    expected = expected_outcome(case)
    assert [set(own) for own in matches] == [set(expected[name]) for name in "pqrs"]
    assert all(own and max(own.values()) == 1 for own in matches)


def bindings(found: Sequence[Found], name: str) -> list[Bindings]:
    """Return the matches of a query, as often as they came."""
    own = [one for one in found if one.query == name]
    return [match for one in own for match in outcome_of(Plan((one.output,)), [one]).matches[name]]


def test_components_find_what_a_plan_that_stays_finds() -> None:
    case = Case(THREE, apart())
    for seed, is_calm in ((0, True), (1, False)):
        stream = run(case, eager(distance=0.1), seed, is_calm=is_calm)
        assert {tuple(one["queries"]) for one in remembered(stream)["log"]} >= {("p",), ("q",)}
        assert merged(stream).matches == merged(run(case, None)).matches
