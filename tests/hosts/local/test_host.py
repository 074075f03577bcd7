"""The local host as detections use it: what it counts, rejects, and gives of single queries."""

import pyarrow as pa
import pytest
from tests.helpers.local_cases import detection_on, local_events, table_of

import weft
from weft.errors import WeftError
from weft.hosts.local.host import LocalHost
from weft.hosts.local.result_table import ResultTable
from weft.hosts.results import TrendNames

PAIR = "QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s RETURN a.x AS x, b.x - a.x AS more"
TREND = "QUERY t PATTERN SEQ(A a, B+ b) WITHIN 10 s SLIDE 10 s RETURN k, COUNT(*) AS n GROUP BY k"
ROWS = [
    (1, "A", 1, 0, 1),
    (2, "B", 2, 0, 5),
    (3, "A", 3, 1, 2),
    (3, "B", 2, 0, 5),
    (4, "B", 4, 1, 2),
    (5, None, 5),
    (6, "C", None),
]


def test_rows_are_counted_before_a_run_as_after_it() -> None:
    before = detection_on(ROWS, PAIR, notices=False)
    after = detection_on(ROWS, PAIR, notices=False)
    after.run()
    assert before.input_counts() == after.input_counts() == (5, 2)
    types = ["A", "B", "C", "Bb"]
    assert before.host.count_rows(types) == after.host.count_rows(types)
    counted = before.host.count_rows(types)
    assert counted.absent == {"Bb": "B", "C": None}  # the only C has no id, so it is no event
    assert (counted.earliest, counted.latest) == (1_000_000, 4_000_000)


def test_derived_types_that_any_run_knew_stay_known() -> None:
    types = {"Low": "x < 4", "High": "x >= 4", "Never": "x > 100"}
    text = f"QUERY m PATTERN SEQ(Low a, Never b)\n{TREND.replace('A a', 'Low a').replace('B+', 'High+')}"
    columns = weft.Columns(types=types)
    detection = weft.prepare(table_of(ROWS), text, time="ts", id="id", columns=columns, notices=False)
    detection.run()
    assert detection.host.count_rows(["Low", "Never", "High"]).absent == {"Never": None}
    assert "no event is a Never" in {notice.reason.split(",")[0] for notice in detection.notices}


def test_rejected_rows_are_as_given_with_the_first_reason() -> None:
    rejected = detection_on(ROWS, PAIR, notices=False).rejected
    assert rejected.column_names == [*table_of(ROWS).column_names, "reason"]  # type: ignore[attr-defined]
    rows = rejected.select(["type", "id", "reason"]).to_pylist()  # type: ignore[attr-defined]
    assert rows == [
        {"type": None, "id": 5, "reason": "type is NULL"},
        {"type": "C", "id": None, "reason": "id is NULL"},
    ]
    both = pa.table({"ts": pa.nulls(1, pa.timestamp("us")), "type": pa.nulls(1, pa.string())})
    assert LocalHost(local_events(both, type="type")).rejected["reason"].to_pylist() == ["ts is not a time"]


def test_events_of_a_type_are_counted_once() -> None:
    """An id that comes again at the same time is the same event; B 2 comes again at another time."""
    again = [*ROWS, (1, "A", 1, 0, 1)]
    assert LocalHost(local_events(table_of(again), type="type", id="id")).count_types() == {"A": 2, "B": 3}
    assert LocalHost(local_events(table_of(again), type="type")).count_types() == {"A": 3, "B": 3, "C": 1}


def test_the_matches_of_one_query_have_its_own_columns() -> None:
    other = "QUERY r PATTERN A a RETURN 'text' AS x"
    detection = detection_on(ROWS, f"{PAIR}\n{other}", notices=False)
    columns = detection.return_columns["q"]
    assert columns["x"] != "x"  # the other query returns an x of another type
    found = detection.host.select_matches(detection.matches, "q", columns)
    assert found.column_names[-2:] == ["x", "more"]  # type: ignore[attr-defined]
    rows = sorted((row["x"], row["more"]) for row in found.to_pylist())  # type: ignore[attr-defined]
    assert rows == [(1, 1), (1, 4), (1, 4), (2, 0)]


def test_the_closest_matches_are_the_smallest_then_the_shortest_then_the_first() -> None:
    detection = detection_on(ROWS, PAIR, notices=False)

    def closest(by: str | None, most: int) -> list[list[object]]:
        columns = detection.return_columns["q"]
        rows = detection.host.closest_matches(detection.matches, "q", columns, by=by, most=most)
        return [[row["more"], row["start"].second, row["end"].second] for row in rows]

    assert closest("more", 3) == [[0, 3, 4], [1, 1, 4], [4, 1, 2]]
    assert closest(None, 9) == [[4, 1, 2], [0, 3, 4], [4, 1, 3], [1, 1, 4]]
    assert detection.host.closest_matches(detection.matches, "nobody", {}, by=None, most=1) == []


def test_the_results_of_one_trend_query_have_its_own_columns() -> None:
    detection = detection_on(ROWS, TREND, notices=False)
    names = detection.trend_names["t"]
    found = detection.host.select_trends(detection.trends, "t", names)
    assert found.column_names[-3:] == ["k", "n", "beyond"]  # type: ignore[attr-defined]
    assert {row["k"] for row in found.to_pylist()} == {0, 1}  # type: ignore[attr-defined]


def test_digits_beyond_a_column_are_known_by_the_name_of_the_query() -> None:
    host = LocalHost(local_events(table_of(ROWS), type="type"))
    kind = pa.map_(pa.string(), pa.string())
    trends = pa.table(
        {
            "query": ["t", "u", "t", "t"],
            "window_start": pa.nulls(4, pa.timestamp("us", "UTC")),
            "window_end": pa.nulls(4, pa.timestamp("us", "UTC")),
            "t_n": [None, 7, 1, 2],
            "m": [1, 2, 3, 4],
            "beyond": pa.array([[("t_n", "9" * 30)], None, None, [("t_n", "8"), ("m", "5")]], kind),
        }
    )
    found = host.select_trends(ResultTable(trends), "t", TrendNames({}, {"n": "t_n", "m": "m"}))
    assert found["n"].to_pylist() == [None, 1, 2]
    assert found["beyond"].to_pylist() == [[("n", "9" * 30)], None, [("n", "8"), ("m", "5")]]


def test_what_is_of_spark_alone_is_refused_with_a_remedy() -> None:
    with pytest.raises(WeftError, match="an observation is for Spark's DataFrames\n  hint: leave it out"):
        weft.detect(table_of(ROWS), PAIR, time="ts", type="type", observation=object())  # type: ignore[arg-type]


def test_results_of_a_kind_that_no_query_has_are_empty_or_refused() -> None:
    detection = detection_on(ROWS, PAIR, notices=False)
    assert detection.trends.num_rows == 0  # type: ignore[attr-defined]
    assert "window_start" in detection.trends.column_names  # type: ignore[attr-defined]
    with pytest.raises(WeftError, match="none of the queries asks for timeouts\n  hint: add TIMEOUTS"):
        _ = detection.timeouts
    assert detection_on(ROWS, TREND, notices=False).matches.num_rows == 0  # type: ignore[attr-defined]
