"""Results of the local host in the reference's form, and a host to which few events are many."""

import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.helpers.engine import Bindings, Timeouts, bindings_of, plain

from weft.api.detection import Detection
from weft.hosts.local import arrow_events, memory, run, shards
from weft.reference.trends import TrendResults
from weft.reference.values import Value

N_THREADS = 3


def squeeze(monkeypatch: pytest.MonkeyPatch, dice: random.Random) -> None:
    """Have a few rows spill from memory to files, go to many piles, and keep several threads busy."""
    limit = dice.choice([0, 200, 2_000, 20_000])
    monkeypatch.setattr(memory, "LEAST", limit)
    monkeypatch.setattr(memory, "MOST", limit)
    monkeypatch.setattr(arrow_events, "BATCH_ROWS", dice.choice([1, 3, 7]))
    monkeypatch.setattr(shards, "MANY_ROWS", dice.choice([1, 5]))
    monkeypatch.setattr(run, "LITTLE", 0)
    monkeypatch.setattr(run, "PILES", dice.choice([2, 3, 8]))
    monkeypatch.setattr(run, "MOST_PILES", 16)
    monkeypatch.setattr(run, "n_threads", lambda: N_THREADS)


def plain_rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a table, times as microseconds."""
    table = frame.arrow
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def values_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, object]:
    return {name: plain(row[column]) for name, column in columns.items()}


def matches_of(detection: Detection) -> dict[str, dict[Bindings, dict[str, object]]]:
    """Return the matches of each query; one that comes twice is an error."""
    found: dict[str, dict[Bindings, dict[str, object]]] = {query.name: {} for query in detection.queries}
    for row in plain_rows(detection.matches):
        own, bindings = found[row["query"]], bindings_of(row["events"])
        assert bindings not in own, "a match was emitted twice"
        own[bindings] = values_of(row, detection.return_columns[row["query"]])
    return found


def timeouts_of(detection: Detection) -> dict[str, Timeouts]:
    """Return the timeouts of each query that has any; one that comes twice is an error."""
    found: dict[str, Timeouts] = {}
    for row in plain_rows(detection.timeouts):
        own, chain = found.setdefault(row["query"], {}), (bindings_of(row["events"]), row["missing"])
        assert chain not in own, "a timeout was emitted twice"
        own[chain] = values_of(row, detection.return_columns[row["query"]])
    return found


def trends_of(detection: Detection) -> dict[str, TrendResults]:
    """Return the results of each trend query; one that comes twice is an error."""
    found: dict[str, TrendResults] = {query.name: {} for query in detection.trend_queries}
    returned = {own.name: {column.name for column in own.returns} for own in detection.trend_queries}
    for row in plain_rows(detection.trends):
        names, own = detection.trend_names[row["query"]], found[row["query"]]
        place = (row["window_start"], tuple(row[column] for column in names.group.values()))
        assert place not in own, "a result was emitted twice"
        own[place] = {
            name: _whole(row[column])
            for name, column in {**names.group, **names.aggregates}.items()
            if name in returned[row["query"]]
        }
    return found


def _whole(value: Value) -> Value:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value
