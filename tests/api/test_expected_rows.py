"""How many rows joins are expected to build, of events that come together, and after a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import weft
from weft.explanation.analysis import Analysis
from weft.optimizer.planning import Planning
from weft.plan.nodes import Join, KleeneExpand

SECOND = 1_000_000
BURSTS = """
QUERY short PATTERN SEQ(A a, B b, C c) WITHIN 1 minute
QUERY whole PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < d.x WITHIN 1 minute
QUERY any PATTERN AND(B b, C c, D d) WHERE b.x = c.x WITHIN 1 minute
"""
KEYS = "QUERY keys PATTERN SEQ(A a, B b, C c) WHERE a.x = b.x AND b.y = c.y AND a.z = c.z WITHIN 1 hour"
LISTS = """
QUERY lists PATTERN SEQ(A a, B+ b[], C c) WHERE [x] WITHIN 10 minutes
QUERY absent PATTERN SEQ(A a, B b, NOT D d, C c) WHERE [x] WITHIN 10 minutes
QUERY plain PATTERN SEQ(A a, B b, C c) WHERE [x] WITHIN 10 minutes
"""


def table_of(seconds: np.ndarray, types: np.ndarray, **columns: np.ndarray) -> pa.Table:
    order = np.argsort(seconds, kind="stable")
    times = pa.array((seconds[order] * SECOND).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    named = {name: pa.array(values[order]) for name, values in columns.items()}
    return pa.table({"ts": times, "type": pa.array(types[order]), "id": np.arange(order.size), **named})


def in_bursts(n_bursts: int = 150, per_burst: int = 24) -> pa.Table:
    """Return events of all types that come together, within ten seconds now and then, and single ones."""
    dice = np.random.default_rng(7)
    starts = np.repeat(np.sort(dice.random(n_bursts) * 400_000), per_burst)
    seconds = np.concatenate([starts + dice.random(starts.size) * 10, dice.random(1_000) * 400_000])
    return table_of(
        seconds,
        dice.choice(["A", "B", "C", "D"], seconds.size),
        x=dice.integers(10, size=seconds.size),
    )


def with_keys_that_go_together(n_events: int = 6_000) -> pa.Table:
    """Return events with three keys that are the same thing under three names."""
    dice = np.random.default_rng(8)
    hidden = dice.integers(40, size=n_events)
    seconds = np.arange(n_events) * 10.0
    return table_of(seconds, dice.choice(["A", "B", "C"], n_events), x=hidden, y=hidden + 7, z=hidden * 3)


def prepared(events: pa.Table, text: str, **options: object) -> weft.Detection:
    return weft.prepare(events, text, time="ts", type="type", id="id", notices=False, **options)  # type: ignore[arg-type]


def q_errors(analysis: Analysis, kinds: tuple[type, ...] = (Join,)) -> list[float]:
    """Return how many times too many or too few rows were expected of each join."""
    errors = []
    for plan in analysis.plans:
        assert plan.estimated is not None
        for node, metrics in plan.metrics.items():
            if isinstance(node, kinds):
                least, most = sorted((max(float(metrics.rows), 1.0), max(plan.estimated[node], 1.0)))
                errors.append(most / least)
    return errors


@pytest.mark.parametrize(
    ("events", "text"), [(in_bursts, BURSTS), (with_keys_that_go_together, KEYS)], ids=["bursts", "keys"]
)
def test_what_comes_together_is_expected_to(events: Callable[[], pa.Table], text: str) -> None:
    table = events()
    detection = prepared(table, text)
    assert max(q_errors(detection.analyze())) < 2
    without = replace(detection.statistics, corrections={})
    assert max(q_errors(prepared(table, text, planning=Planning(statistics=without)).analyze())) > 10


def test_a_part_of_the_events_is_enough() -> None:
    """Slices that a look takes of many more events say the same of all of them."""
    table = in_bursts(n_bursts=6_000, per_burst=40).slice(0, 200_000)
    text = BURSTS.split("QUERY any", maxsplit=1)[0]
    detection = prepared(table, text)
    looked = replace(detection.sample_statistics(), duration=detection.statistics.duration)
    assert max(q_errors(prepared(table, text, planning=Planning(statistics=looked)).analyze())) < 2


def test_a_run_teaches_what_its_joins_build() -> None:
    """Nothing is known but how long the events last; after one run, all joins of the next are as expected."""
    table = in_bursts()
    known = weft.Statistics(duration=400_000.0)
    first = prepared(table, BURSTS, planning=Planning(statistics=known))
    analysis = first.analyze()
    assert max(q_errors(analysis)) > 10
    learned = first.learn(analysis)
    stored = Planning(plan=first.plan, statistics=learned)
    assert max(q_errors(prepared(table, BURSTS, planning=stored).analyze())) < 1.01
    chosen_anew = prepared(table, BURSTS, planning=Planning(statistics=learned))
    second = chosen_anew.learn(chosen_anew.analyze())
    third = prepared(table, BURSTS, planning=Planning(plan=chosen_anew.plan, statistics=second))
    assert max(q_errors(third.analyze())) < 1.01


def test_lists_are_learned_too_and_negations_do_not_mislead() -> None:
    table = in_bursts()
    known = weft.Statistics(duration=400_000.0)
    first = prepared(table, LISTS, planning=Planning(statistics=known))
    learned = first.learn(first.analyze())
    stored = Planning(plan=first.plan, statistics=learned)
    analysis = prepared(table, LISTS, planning=stored).analyze()
    (plan,) = analysis.plans
    assert plan.estimated is not None
    lists = [node for node in plan.metrics if isinstance(node, KleeneExpand)]
    assert lists
    for node in lists:
        assert plan.estimated[node] == pytest.approx(plan.metrics[node].rows, rel=0.01)
    plain = next(output for output in plan.plan.outputs if output.query == "plain").branches[0].node
    assert plan.estimated[plain] == pytest.approx(plan.metrics[plain].rows, rel=0.01)


def test_a_query_that_was_stopped_teaches_nothing() -> None:
    table = in_bursts()
    known = weft.Statistics(duration=400_000.0)
    small = weft.Budget(partial_matches=100)
    detection = prepared(table, BURSTS, planning=Planning(statistics=known), budget=small)
    analysis = detection.analyze()
    assert analysis.stopped
    assert detection.learn(analysis) == known


def test_what_was_learned_is_stored_and_used_again(tmp_path: Path) -> None:
    table = in_bursts()
    detection = prepared(table, BURSTS)
    learned = detection.learn(detection.analyze())
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    weft.save_statistics(learned, first)
    loaded = weft.load_statistics(first, detection.source.schema)
    assert loaded == learned
    weft.save_statistics(loaded, second)
    assert second.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")
    entries = json.loads(first.read_text(encoding="utf-8"))["corrections"]
    assert {"pattern", "within", "times"} <= set(entries[0])
    again = prepared(table, BURSTS, planning=Planning(plan=detection.plan, statistics=first))
    assert max(q_errors(again.analyze())) < 1.1
