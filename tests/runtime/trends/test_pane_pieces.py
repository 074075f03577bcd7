"""What panes do, through a store: keys of any type, values of any size, processes that know nothing else."""

import math
import random
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.streams import Stream, program_of

from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.pane_log import MOST_PIECES, PANES
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_executor import FoundTrends
from weft.runtime.state.journal import Journal
from weft.runtime.trends.emit import BEYOND, WINDOW_START, emit_trends, result_type, trend_schema
from weft.runtime.trends.executor import TrendPlan
from weft.runtime.trends.numbers import Rounded
from weft.schema import DOUBLE, LONG, STRING, Schema, Type

KINDS: dict[str, Type] = {"name": STRING, "y": DOUBLE, "x": LONG}
ARROW = {"name": pa.string(), "y": pa.float64(), "x": pa.int64()}
LAYOUT = Layout(
    time="__time",
    type="__type",
    id="__id",
    content=None,
    tie=None,
    attributes={name: (name, kind) for name, kind in KINDS.items()},
    type_names=("A", "B", "C"),
)
SHOWN = "COUNT(*) AS n, COUNT(b) AS bs, SUM(b.y) AS y, AVG(b.x) AS x, MIN(b.y) AS least, MAX(b.x) AS most"
QUERIES = f"""
QUERY sliding PATTERN SEQ(A a, B+ b[]) WITHIN 40 ms SLIDE 3 ms GROUP BY name RETURN name, {SHOWN}
QUERY whole PATTERN SEQ(A a, NOT C c, B+ b[]) WITHIN 50 ms GROUP BY name RETURN name, {SHOWN}
QUERY apart PATTERN AND(A+ a[], B+ b[]) WITHIN 20 ms SLIDE 7 ms RETURN {SHOWN}
"""
VALUES: dict[str, Callable[[random.Random, int], float | None]] = {
    "plain": lambda dice, _: dice.choice([0.5, 2.0, 3.25]),
    "finer and finer": lambda dice, step: dice.choice([1.0, 0.1]) * 2.0 ** -(7 * step),
    "larger and larger": lambda dice, step: dice.choice([1.0, -3.0]) * 2.0 ** (9 * step),
    "odd": lambda dice, step: dice.choice([0.0, 1e300, -1e-300, None, math.inf if step > 4 else 2.0]),
}


def table_of(events: list[ReferenceEvent]) -> pa.Table:
    columns = {
        name: pa.array([event.attributes[name] for event in events], kind) for name, kind in ARROW.items()
    }
    columns["__time"] = pa.array([event.time for event in events], pa.int64())
    columns["__type"] = pa.array([next(iter(event.types)) for event in events], pa.string())
    columns["__id"] = pa.array([event.row for event in events], pa.int64())
    return pa.table(columns)


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("is_new_process", [True, False])
def test_pieces_are_put_together_in_any_process(values: str, is_new_process: bool) -> None:
    dice, events = random.Random(values), []
    for step in range(12):
        for _ in range(6):
            row = len(events)
            attributes = {
                "name": f"{dice.choice('pqr')}{step // 5}",
                "y": VALUES[values](dice, step),
                "x": dice.choice([row, -row, None]),
            }
            time = 9_000 * step + 1_000 * dice.randint(0, 8)
            events.append(ReferenceEvent(row, frozenset(dice.choice("AABBBC")), time, attributes=attributes))
    queries = read_queries(QUERIES, Schema(KINDS, time="ts"))
    program = program_of(TrendPlan(tuple(map(template_of, queries))), LAYOUT, delay=0)
    stream = Stream(program, dice, n_workers=1, is_calm=True)
    logged = 0
    for step in range(12):
        stream.deliver(table_of(events[6 * step : 6 * step + 6]))
        text = stream.store.text
        assert text is not None
        logged = max(logged, len(Journal.from_json(text).logs.get(PANES, ())))
        if is_new_process:
            stream.workers = [Memory()]
    stream.finish()
    assert logged > 1
    for query in queries:
        found = [row for one in results_in(stream) if one.query == query.name for row in shown(one)]
        expected = [{"window": start, **own} for (start, _), own in find_trend_results(query, events).items()]
        assert sorted(map(str, found)) == sorted(map(str, expected))
        assert len(expected) > 5
    assert not stream.store.segments


def results_in(stream: Stream) -> list[FoundTrends]:
    results = [one for outcome in stream.outcomes for one in outcome.found]
    assert all(isinstance(one, FoundTrends) for one in results)
    return results  # type: ignore[return-value]


def shown(found: FoundTrends) -> list[dict[str, object]]:
    """Return results as a user gets them, but for their types."""
    template = found.results.template
    columns = {column.column: result_type(column) for column in template.columns}
    batch = emit_trends(found.results, found.events, found.rows, [*columns], trend_schema(columns))
    starts = batch[WINDOW_START].cast(pa.int64()).to_pylist()
    assert batch[BEYOND].null_count == batch.num_rows
    return [
        {"window": start}
        | {name: int(value) if isinstance(value, Decimal) else value for name, value in row.items()}
        for start, row in zip(starts, batch.select([*columns]).to_pylist(), strict=True)
    ]


def test_a_log_of_many_pieces_is_written_anew() -> None:
    text = "QUERY q PATTERN B+ b[] WITHIN 1 hour RETURN COUNT(*) AS n"
    (query,) = read_queries(text, Schema(KINDS, time="ts"))
    program = program_of(TrendPlan((template_of(query),)), LAYOUT, delay=0)
    stream = Stream(program, random.Random(0), n_workers=1, is_calm=True)
    attributes = {"name": "p", "y": 1.0, "x": 1}
    sizes = []
    for step in range(3 * MOST_PIECES):
        event = ReferenceEvent(step, frozenset("B"), 1_000_000 * step, attributes=attributes)
        stream.deliver(table_of([event]))
        assert stream.store.text is not None
        sizes.append(sum(own.n_rows for own in Journal.from_json(stream.store.text).logs.get(PANES, ())))
        if step % 50 == 49:
            stream.workers = [Memory()]
    assert max(sizes) <= MOST_PIECES + 2
    assert np.count_nonzero(np.diff(sizes) < 0) >= 2
    stream.finish()
    (found,) = results_in(stream)
    assert found.results.numbers(0) == [Rounded(0.5, 3 * MOST_PIECES + 1)]
