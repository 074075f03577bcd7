"""Trend queries on a stream to one shard: events as tables, and results in the reference's form."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from tests.helpers.random_trends import INTEGERS, TYPES, results_of
from tests.helpers.streams import MILLISECOND, Stream

from weft.pattern.nodes import Query, TimeWindow
from weft.reference.events import ReferenceEvent
from weft.reference.trends import TrendResults
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.shard_executor import FoundTrends
from weft.schema import DOUBLE, LONG

LAYOUT = Layout(
    time="__time",
    type="__type",
    id="__id",
    content=None,
    tie=None,
    attributes={"y": ("y", DOUBLE)} | {name: (name, LONG) for name in INTEGERS},
    type_names=TYPES,
)


def table_of(events: Sequence[ReferenceEvent]) -> pa.Table:
    """Return events as the shard gets them."""
    columns = {
        name: pa.array(
            [event.attributes[name] for event in events], pa.float64() if name == "y" else pa.int64()
        )
        for name in LAYOUT.attributes
    }
    columns["__time"] = pa.array([event.time for event in events], pa.int64())
    columns["__type"] = pa.array([next(iter(event.types)) for event in events], pa.string())
    columns["__id"] = pa.array([event.row for event in events], pa.int64())
    return pa.table(columns)


def in_milliseconds(events: Sequence[ReferenceEvent]) -> list[ReferenceEvent]:
    """Return events whose times are milliseconds, as watermarks are."""
    return [replace(event, time=event.time * MILLISECOND) for event in events]


def with_window(query: Query) -> Query:
    """Return a query with a window, as a stream wants it, and its lengths in milliseconds."""
    length = query.window.length if isinstance(query.window, TimeWindow) else 4
    slide = None if query.slide is None else query.slide * MILLISECOND
    return replace(query, window=TimeWindow(length * MILLISECOND), slide=slide)


def trends_of(stream: Stream) -> dict[str, TrendResults]:
    """Return all results of the steps of a stream; none may come twice."""
    results: dict[str, TrendResults] = {}
    for outcome in stream.outcomes:
        for found in outcome.found:
            assert isinstance(found, FoundTrends)
            known = results.setdefault(found.query, {})
            own = results_of(found.results, found.events)
            assert not known.keys() & own.keys(), "a window and group was emitted twice"
            known.update(own)  # type: ignore[arg-type]
    return results
