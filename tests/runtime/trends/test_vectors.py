"""Worked examples of the HAMLET paper, and others of its kind, in every mode of the engine."""

import numpy as np
import pyarrow as pa
import pytest

from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.plan.trend_sets import Sharing
from weft.runtime.columns.events import Column, Events, StringPool
from weft.runtime.trends.aggregate import aggregate_workload
from weft.runtime.trends.emit import emit_trends, result_type, trend_schema
from weft.schema import LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "type": STRING, "v": LONG}, time="ts")
MODES: tuple[Sharing, ...] = ("dynamic", "static", "none")

FIGURE_4 = "A1 A2 C3 B4 B5 B6 B7 A8 A9 C10 C11 C12 B13 B14"
FIGURE_6 = "A1 A2 C3 " + " ".join(f"B{time}" for time in range(4, 12))
THREE_BURSTS = "A1 A2 C3 " + " ".join(f"B{time}" for time in range(4, 16))
SHAPES = "A1 B2 B3 C4 B5 A6 B7 C8 C9 B10"
VALUES = "A1=5 B2=3 B3=7 A4=1 B5=4 C6=9 B7=2"
WINDOWS = "A0 B1 C2 B4 A5 B6 B8 C11 B13"
TIES = "A1 B2 B2 B3"


def events_of(text: str) -> Events:
    """Return events written as type, time in seconds and, after an equals sign, a value."""
    times, codes, values = [], [], []
    for word in text.split():
        name, _, value = word.partition("=")
        codes.append("ABC".index(name[0]))
        times.append(int(name[1:]) * 1_000_000)
        values.append(int(value or 0))
    return Events(
        times=np.array(times, np.int64),
        type_codes=np.array(codes, np.int64),
        type_names=("A", "B", "C"),
        columns={"v": Column(LONG, np.array(values, np.int64))},
        ids=pa.array(range(len(times))),
        strings=StringPool(pa.array([], pa.string())),
    )


def results(queries: str, text: str, sharing: Sharing) -> dict[str, list[dict[str, object]]]:
    """Return the rows of each query, without what all rows have."""
    templates = [template_of(query, SCHEMA) for query in read_queries(queries, SCHEMA)]
    events = events_of(text)
    found, _ = aggregate_workload(templates, events, sharing)
    rows = {}
    for one, template in zip(found, templates, strict=True):
        schema = trend_schema({column.column: result_type(column) for column in template.columns})
        names = [column.column for column in template.columns]
        rows[template.query] = emit_trends(one, events, np.arange(one.n_rows), names, schema).to_pylist()
    return rows


def counts(queries: str, text: str, sharing: Sharing) -> dict[str, int]:
    found = results(queries, text, sharing)
    return {name: int(str(rows[0]["COUNT(*)"])) if rows else 0 for name, rows in found.items()}


TWO = "QUERY q1 PATTERN SEQ(A, B+) RETURN COUNT(*) QUERY q2 PATTERN SEQ(C, B+) RETURN COUNT(*)"


@pytest.mark.parametrize("sharing", MODES)
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(FIGURE_4, {"q1": 132, "q2": 72}, id="figures 4 and 5"),
        pytest.param(FIGURE_6, {"q1": 510, "q2": 255}, id="figure 6, two bursts"),
        pytest.param(THREE_BURSTS, {"q1": 8190, "q2": 4095}, id="figure 6, three bursts"),
    ],
)
def test_two_queries_that_share_a_repetition(sharing: Sharing, events: str, expected: dict[str, int]) -> None:
    assert counts(TWO, events, sharing) == expected


@pytest.mark.parametrize("sharing", MODES)
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("B+", 31),
        ("SEQ(A, B+)", 34),
        ("SEQ(B+, C)", 33),
        ("SEQ(A, B+, C)", 35),
        ("(SEQ(A, B+))+", 55),
        ("(SEQ(A, B+, C))+", 41),
        ("SEQ(A+, B+)", 37),
        ("SEQ(A, B+, NOT C)", 18),
        ("SEQ(A, NOT C, B+)", 26),
    ],
)
def test_shapes(sharing: Sharing, pattern: str, expected: int) -> None:
    assert counts(f"QUERY q PATTERN {pattern} RETURN COUNT(*)", SHAPES, sharing) == {"q": expected}


@pytest.mark.parametrize("sharing", MODES)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SEQ(A, B+)", (18, 36, 140, 140 / 36, 2, 7)),
        ("SEQ(A, B+, C)", (8, 13, 60, 60 / 13, 3, 7)),
        ("SEQ(A, B+) WHERE B.v > 2", (8, 13, 60, 60 / 13, 3, 7)),
        ("SEQ(A, B+ B[]) WHERE B[i-1].v < B[i].v", (8, 10, 39, 3.9, 2, 7)),
    ],
)
def test_aggregates(sharing: Sharing, query: str, expected: tuple[float, ...]) -> None:
    shown = "COUNT(*), COUNT(B), SUM(B.v), AVG(B.v), MIN(B.v), MAX(B.v)"
    (row,) = results(f"QUERY q PATTERN {query} RETURN {shown}", VALUES, sharing)["q"]
    assert tuple(float(str(row[name])) for name in shown.split(", ")) == expected


@pytest.mark.parametrize("sharing", MODES)
def test_windows_of_different_lengths_share_panes(sharing: Sharing) -> None:
    queries = """
        QUERY q1 PATTERN SEQ(A, B+) WITHIN 10 seconds SLIDE 5 seconds RETURN COUNT(*)
        QUERY q2 PATTERN SEQ(C, B+) WITHIN 15 seconds SLIDE 5 seconds RETURN COUNT(*)
    """
    found = {
        name: {row["window_start"].timestamp(): int(row["COUNT(*)"]) for row in rows}
        for name, rows in results(queries, WINDOWS, sharing).items()
    }
    assert {start: found["q1"].get(start, 0) for start in (0, 5, 10)} == {0: 18, 5: 7, 10: 0}
    assert {start: found["q2"].get(start, 0) for start in (0, 5)} == {0: 16, 5: 1}


@pytest.mark.parametrize("sharing", MODES)
def test_events_of_one_time_do_not_follow_each_other(sharing: Sharing) -> None:
    assert counts("QUERY q PATTERN SEQ(A, B+) RETURN COUNT(*)", TIES, sharing) == {"q": 5}
