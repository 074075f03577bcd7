"""What may be given as events without Spark, and what can be done with a result: always the same rows."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import weft
from weft.errors import DataError
from weft.hosts.local.result_table import ResultTable

QUERY = """
QUERY pair PATTERN SEQ(A a, NOT C c, B b) WHERE [k] AND a.x < b.x WITHIN 3 seconds
           RETURN a.name AS name, b.x - a.x AS more, b.ts - a.ts AS took
QUERY each PATTERN C c WHERE c.name = 'ann' RETURN c.x AS more
"""
N_EVENTS = 60
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
TIMES = pa.array(
    [START + dt.timedelta(milliseconds=700 * n) for n in range(N_EVENTS)], pa.timestamp("us", "UTC")
)
EVENTS = pa.table(
    {
        "ts": TIMES,
        "type": ["ABACAB"[n % 6] for n in range(N_EVENTS)],
        "id": pa.array(range(N_EVENTS), pa.int64()),
        "k": pa.array([n % 3 for n in range(N_EVENTS)], pa.int64()),
        "x": pa.array([n * n % 11 for n in range(N_EVENTS)], pa.int64()),
        "name": [["ann", "bob", "zoé", None, "ann"][n % 5] for n in range(N_EVENTS)],
    }
)


def cast(name: str, kind: pa.DataType) -> pa.Table:
    return EVENTS.set_column(EVENTS.schema.get_field_index(name), name, EVENTS[name].cast(kind))


def in_pieces(table: pa.Table) -> pa.Table:
    """Return a table in chunks of different lengths, one of them empty."""
    bounds = [0, 1, 1, 20, 57, N_EVENTS]
    pieces = [table.slice(start, stop - start) for start, stop in zip(bounds, bounds[1:], strict=False)]
    return pa.concat_tables(pieces)


def in_runs() -> pa.Table:
    """Return events sorted by type, and each run of equal types once."""
    table = EVENTS.sort_by("type")
    for name in ("type", "ts"):
        encoded = pc.run_end_encode(table[name].combine_chunks())
        table = table.set_column(table.schema.get_field_index(name), name, encoded)
    return table


def reader() -> pa.RecordBatchReader:
    return in_pieces(EVENTS).to_reader()


def pandas_frame() -> pd.DataFrame:
    frame = EVENTS.to_pandas()
    frame["ts"] = frame["ts"].astype("datetime64[ns, UTC]")
    return frame


class OnlyAnArray:
    """Has the interface of one record batch."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return EVENTS.combine_chunks().to_batches()[0].__arrow_c_array__(requested_schema)


INPUTS: dict[str, Callable[[], Any]] = {
    "a table in pieces": lambda: in_pieces(EVENTS),
    "a batch": lambda: EVENTS.to_batches()[0],
    "a slice": lambda: pa.concat_tables([EVENTS, EVENTS]).slice(N_EVENTS),
    "a reader, once": reader,
    "an array capsule": OnlyAnArray,
    "pandas": pandas_frame,
    "polars": lambda: polars.from_arrow(EVENTS),
    "duckdb": lambda: duckdb.from_arrow(EVENTS).order("id DESC"),
    "a result": lambda: ResultTable(EVENTS),
    "large strings": lambda: cast("type", pa.large_string()),
    "string views": lambda: cast("name", pa.string_view()),
    "a dictionary": lambda: cast("type", pa.dictionary(pa.int8(), pa.string())),
    "a dictionary in pieces": lambda: in_pieces(cast("name", pa.dictionary(pa.int32(), pa.large_string()))),
    "times in a dictionary": lambda: EVENTS.set_column(0, "ts", EVENTS["ts"].dictionary_encode()),
    "runs": in_runs,
    "small numbers": lambda: cast("x", pa.uint8()),
    "nanoseconds": lambda: cast("ts", pa.timestamp("ns", "UTC")),
    "milliseconds": lambda: cast("ts", pa.timestamp("ms", "UTC")),
    "another zone": lambda: cast("ts", pa.timestamp("us", "America/New_York")),
    "without a zone": lambda: cast("ts", pa.timestamp("us")),
}


def found(events: Any, **options: Any) -> list[dict[str, Any]]:
    matches = weft.detect(events, QUERY, **{"time": "ts", "type": "type", "id": "id", **options})
    return sorted(matches.to_pylist(), key=lambda row: str(row["match_id"]))


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    rows = found(EVENTS)
    assert {row["query"] for row in rows} == {"pair", "each"}
    return rows


@pytest.mark.parametrize("given", [pytest.param(make, id=name) for name, make in INPUTS.items()])
def test_any_form_of_the_same_events(given: Callable[[], Any], expected: list[dict[str, Any]]) -> None:
    assert found(given()) == expected


@pytest.mark.parametrize("name", ["type", "name"])
def test_the_content_of_an_event_does_not_depend_on_its_form(name: str) -> None:
    """Without an id, the hash of all columns is the identity."""
    plain = found(EVENTS, id=None)
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())):
        assert found(cast(name, kind), id=None) == plain


def test_a_reader_that_can_be_read_once_serves_a_whole_detection(expected: list[dict[str, Any]]) -> None:
    detection = weft.prepare(reader(), QUERY, time="ts", type="type", id="id")
    assert detection.input_counts()[:2] == (N_EVENTS, 0)
    assert sum(detection.run().counts.values()) == len(expected)
    assert detection.matches.num_rows == len(expected)
    assert "Shared plan" in detection.explain()


def test_no_rows() -> None:
    for events in (EVENTS.slice(0, 0), EVENTS.schema.empty_table(), EVENTS.slice(0, 0).to_reader()):
        detection = weft.prepare(events, QUERY, time="ts", type="type", id="id")
        assert detection.matches.num_rows == 0
        assert detection.matches.schema == weft.detect(EVENTS, QUERY, time="ts", type="type", id="id").schema
        assert detection.input_counts()[:2] == (0, 0)
        assert detection.run().counts == {}
        assert detection.rejected.num_rows == 0


def test_nothing_but_a_time_and_a_type() -> None:
    events = EVENTS.select(["ts", "type"])
    text = "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 second RETURN b.ts - a.ts AS took"
    assert weft.detect(events, text, time="ts", type="type").num_rows == 20


def test_nulls_everywhere() -> None:
    """Of every column some values, or all of them."""
    counts = {"ts": 30, "type": 30, "id": 30, "k": 0, "x": 0, "name": 0}
    for name, n_rejected in counts.items():
        place = EVENTS.schema.get_field_index(name)
        some = pa.array([None if n % 2 else value for n, value in enumerate(EVENTS[name].to_pylist())])
        half = EVENTS.set_column(place, name, some.cast(EVENTS[name].type))
        detection = weft.prepare(half, QUERY, time="ts", type="type", id="id")
        assert detection.input_counts()[:2] == (N_EVENTS - n_rejected, n_rejected)
        assert len(detection.rejected) == n_rejected
        reasons = set(detection.rejected["reason"].to_pylist())
        assert reasons == (
            {f"{name} is not a time" if name == "ts" else f"{name} is NULL"} if n_rejected else set()
        )
        none = EVENTS.set_column(place, name, pa.nulls(N_EVENTS, EVENTS[name].type))
        assert found(none) == [] or name in ("x", "name", "k")


def test_what_is_no_events_is_refused() -> None:
    with pytest.raises(DataError, match="events"):
        weft.detect(object(), QUERY, time="ts", type="type")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no column 'tss' for the event time; did you mean 'ts'"):
        weft.detect(EVENTS, QUERY, time="tss", type="type")
    with pytest.raises(DataError, match="the time column 'x' is long, expected timestamp"):
        weft.detect(EVENTS, QUERY, time="x", type="type")


def test_a_result_in_other_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    result = weft.detect(EVENTS, QUERY, time="ts", type="type", id="id")
    n_rows = len(result)
    assert n_rows == result.num_rows == result.arrow.num_rows > 10
    frame = result.to_pandas()
    assert list(frame["match_id"]) == result["match_id"].to_pylist()
    assert frame["events"][0][0].keys() == {"variable", "type", "ts", "id"}
    assert pa.table(result).equals(result.arrow)
    assert np.array_equal(pd.DataFrame.from_records(result.to_pylist())["match_id"], frame["match_id"])
    assert repr(result).startswith(f"<ResultTable of {n_rows:,} rows: query, match_id, start, end, events")
    result.show(2)
    shown = capsys.readouterr().out
    assert shown.count("match_id=") == 2
    assert f"... and {n_rows - 2:,} more" in shown


def test_a_result_in_polars() -> None:
    result = weft.detect(EVENTS, QUERY, time="ts", type="type", id="id")
    frame = result.to_polars()
    assert isinstance(frame, polars.DataFrame)
    assert frame["match_id"].to_list() == result["match_id"].to_pylist()
    assert polars.DataFrame(result).equals(frame)


def test_a_result_in_duckdb() -> None:
    result = weft.detect(EVENTS, QUERY, time="ts", type="type", id="id")
    counted = duckdb.sql("SELECT count(*), count(DISTINCT match_id) FROM result").fetchall()
    assert counted == [(len(result), len(result))]
