"""What is told of queries when a detection is made, and types that are derived, without Spark."""

import re
import warnings
from datetime import UTC, datetime

import pyarrow as pa
import pytest

import weft
from weft.errors import DataError, QueryError

TWO = """QUERY never PATTERN SEQ(A a, B b) WHERE a.x > 5 AND a.x < 3 RETURN a.x AS v
QUERY fine PATTERN SEQ(A a, B b) WHERE a.x < 3 RETURN a.kind AS v"""


def table() -> pa.Table:
    times = [datetime(2026, 3, 1, 10, minute, tzinfo=UTC) for minute in range(4)]
    return pa.table({"ts": times, "kind": ["A", "B", "A", "B"], "x": [1, 2, 3, None], "id": [1, 2, 3, 4]})


def test_contradictions_and_renamed_columns_are_told_once() -> None:
    with pytest.warns(weft.NoticeWarning) as caught:
        detection = weft.prepare(table(), TWO, time="ts", type="kind", id="id")
    told = {notice.kind: notice for notice in detection.notices}
    assert told["contradiction"].query == "never"
    assert told["contradiction"].reason == "no event can satisfy a.x > 5 and a.x < 3"
    assert told["renamed columns"].reason == (
        "the column v is long in query never and string in fine: "
        "the columns of the results are never_v and fine_v"
    )
    shown = [str(warning.message) for warning in caught]
    assert sum("no event can satisfy" in text for text in shown) == 1
    assert caught[0].filename == __file__
    assert [row["query"] for row in detection.matches.to_pylist()] == ["fine", "fine"]


@pytest.mark.parametrize("name", ["matches", "outcomes", "run"])
def test_a_warning_of_a_run_is_at_the_line_that_asked_for_it(name: str) -> None:
    detection = weft.prepare(table(), "QUERY q PATTERN C c", time="ts", type="kind", id="id")
    with pytest.warns(weft.NoticeWarning, match="query q: no match in 4 events") as caught:
        detection.run() if name == "run" else getattr(detection, name)
    assert {warning.filename for warning in caught} == {__file__}


def test_notices_may_be_kept_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detection = weft.prepare(table(), TWO, time="ts", type="kind", id="id", notices=False)
    assert "contradiction" in {notice.kind for notice in detection.notices}


def test_types_are_conditions_of_our_language() -> None:
    late = "time > '2026-03-01 10:02:00'"
    types = {"Low": "x < 2 OR x IS NULL", "High": "x >= 2 AND kind = 'B'", "Late": late}
    found = weft.detect(
        table(), "PATTERN SEQ(Low l, High h)", time="ts", id="id", columns=weft.Columns(types=types)
    )
    bound = [[event["id"] for event in row["events"]] for row in found.to_pylist()]
    assert bound == [[1, 2]]
    found = weft.detect(table(), "PATTERN Late l", time="ts", id="id", columns=weft.Columns(types=types))
    assert [row["events"][0]["id"] for row in found.to_pylist()] == [4]


def test_a_condition_that_cannot_be_read_names_its_type() -> None:
    columns = weft.Columns(types={"Big": "volume > 3"})
    with pytest.raises(QueryError, match=r"^type Big:1:1: unknown attribute volume\n  volume > 3\n  \^"):
        weft.detect(table(), "PATTERN Big b", time="ts", columns=columns)


def test_columns_of_one_name_are_refused() -> None:
    twice = table().append_column("x", pa.array([1, 2, 3, 4]))
    with pytest.raises(DataError, match=r"the events have several columns 'x'\n  hint: rename or drop"):
        weft.detect(twice, "PATTERN A a", time="ts", type="kind")


def test_a_missing_column_suggests_only_what_is_near() -> None:
    events = table().drop_columns(["kind"])
    with pytest.raises(DataError) as raised:
        weft.detect(events, "PATTERN A a", time="ts", type="kind", id="id")
    assert "did you mean" not in str(raised.value)
    assert "ts, x, id" in str(raised.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"planning": "mcep"}, "planning is 'mcep'; expected a weft.Planning, such as weft.Planning(plan="),
        ({"columns": {"order_by": "id"}}, "columns is {'order_by': 'id'}; expected a weft.Columns, such as"),
        ({"budget": 5}, "budget is 5; expected a weft.Budget, such as weft.Budget(partial_matches="),
        ({"sites": "plant"}, "sites is 'plant'; expected a weft.Sites, such as weft.Sites(column="),
        ({"streaming": True}, "streaming is True; expected a weft.Streaming, such as weft.Streaming("),
    ],
)
def test_options_that_are_no_objects_are_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(weft.WeftError, match=re.escape(told)):
        weft.prepare(table(), TWO, time="ts", type="kind", id="id", **options)  # type: ignore[arg-type]


def test_types_and_keys_are_told_how_they_are_written() -> None:
    with pytest.raises(weft.WeftError, match="expected conditions by the names of types, such as"):
        weft.Columns(types=["BigTrade"])  # type: ignore[arg-type]
    detection = weft.prepare(table(), TWO, time="ts", type="kind", id="id", notices=False)
    with pytest.raises(weft.WeftError, match="key is 'x=1'; expected values by the names of attributes"):
        detection.why("fine", key="x=1")  # type: ignore[arg-type]
