"""What a person should know: notices as text, as JSON and as warnings, and those of runs."""

import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.helpers.local_cases import SECOND, table_of

import weft
from weft.api.run_notices import run_notices
from weft.hosts.host import InputCounts
from weft.language.parser import parse
from weft.notices import Notice, NoticeKind, warn_of

PAIR = "QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s"
START = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
ROWS = [(START + 1, "A", 1), (START + 2, "B", 2), (START + 3, "C", 3)]
SPELLED = "\n  hint: types are spelled as in the events, case included"
TOLD = Notice(kind="caution", reason="this is long", remedy="make it short", query="q")


def told(rows: list[tuple[object, ...]], text: str, kind: NoticeKind, **options: object) -> list[str]:
    """Return the notices of a kind after a run without Spark."""
    detection = weft.prepare(table_of(rows), text, time="ts", type="type", id="id", **options)  # type: ignore[arg-type]
    detection.run()
    return [str(notice) for notice in detection.notices if notice.kind == kind]


def test_a_notice_names_its_query_and_its_remedy_if_it_has_them() -> None:
    assert str(TOLD) == "query q: this is long\n  hint: make it short"
    assert TOLD.text == "this is long\n  hint: make it short"
    assert str(Notice(kind="stream", reason="plain")) == "plain"


def test_a_notice_as_a_dictionary_has_what_there_is() -> None:
    assert TOLD.to_dict() == {
        "kind": "caution",
        "query": "q",
        "reason": "this is long",
        "remedy": "make it short",
    }
    assert Notice(kind="stream", reason="plain", batch=0).to_dict() == {
        "kind": "stream",
        "batch": 0,
        "reason": "plain",
    }


def test_equal_notices_are_one() -> None:
    assert len({TOLD, Notice(kind="caution", reason="this is long", remedy="make it short", query="q")}) == 1


def test_each_notice_is_a_warning_at_the_line_of_the_caller() -> None:
    with pytest.warns(weft.NoticeWarning) as caught:
        warn_of([TOLD, Notice(kind="stream", reason="plain")])
    assert [str(warning.message) for warning in caught] == [str(TOLD), "plain"]
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of([])


@pytest.mark.parametrize("name", ["run", "matches", "analyze"])
def test_what_runs_late_warns_at_the_line_that_asked(name: str) -> None:
    """However many properties that are computed once lie between."""
    detection = weft.prepare(table_of(ROWS), "PATTERN SEQ(A a, D d)", time="ts", type="type", id="id")
    with pytest.warns(weft.NoticeWarning, match="no event is a D") as caught:
        found(detection, name)
    assert {warning.filename for warning in caught} == {__file__}


def found(detection: weft.Detection, name: str) -> object:
    own = getattr(detection, name)
    return own() if callable(own) else own


def test_what_detects_at_once_warns_at_the_line_that_asked() -> None:
    with pytest.warns(weft.NoticeWarning, match="no event is a D") as caught:
        weft.detect(table_of(ROWS), "PATTERN SEQ(A a, D d)", time="ts", type="type", id="id")
    assert {warning.filename for warning in caught} == {__file__}


def test_a_script_is_shown_its_own_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import pyarrow as pa, weft\n"
        "events = pa.table({'ts': pa.array([10**15], pa.timestamp('us')), 'type': ['A']})\n"
        "weft.detect(events, 'PATTERN Aa a', time='ts', type='type')\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert "script.py:3: NoticeWarning: no event is a Aa" in done.stderr


def test_a_warning_may_be_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", weft.NoticeWarning)
        with pytest.raises(weft.NoticeWarning, match="no event is a D"):
            weft.detect(table_of(ROWS), "PATTERN D d", time="ts", type="type", id="id")


def test_a_notice_is_told_once_however_often_it_is_true() -> None:
    detection = weft.prepare(table_of(ROWS), "PATTERN D d", time="ts", type="type", id="id")
    with pytest.warns(weft.NoticeWarning) as caught:
        detection.run()
    assert [str(warning.message) for warning in caught] == [str(notice) for notice in detection.notices]
    assert [notice.kind for notice in detection.notices] == ["unknown type", "no matches"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detection.run()
        _ = detection.matches
    assert len(detection.notices) == 2


def test_quiet_notices_are_still_to_be_had() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert told(ROWS, "PATTERN D d", "unknown type", notices=False)
        assert weft.detect(table_of(ROWS), "PATTERN D d", time="ts", type="type", notices=False).num_rows == 0


def test_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detection = weft.prepare(table_of(ROWS), PAIR, time="ts", type="type", id="id")
        assert detection.run().counts == {"q": 1}
    assert detection.notices == ()


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("A a, Bb b", "no event is a Bb, which query q asks for\n  hint: did you mean B?"),
        ("A a, Other b", f"no event is a Other, which query q asks for{SPELLED}"),
        (
            "A a, NOT Other o, B b",
            f"no event is a Other, which query q asks for in NOT: it never rejects a match{SPELLED}",
        ),
    ],
)
def test_a_type_that_no_event_has(items: str, said: str) -> None:
    assert told(ROWS, f"QUERY q PATTERN SEQ({items})", "unknown type") == [said]


def test_a_type_that_no_event_has_is_told_once_for_all_queries() -> None:
    text = "\n".join(f"QUERY q{number} PATTERN SEQ(A a, Bb b)" for number in range(7))
    (said,) = told(ROWS, text, "unknown type")
    assert said.startswith("no event is a Bb, which q0, q1, q2, q3, q4 and 2 more ask for\n")
    negated = "QUERY n PATTERN SEQ(A a, NOT Bb x, B b)\nQUERY p PATTERN SEQ(A a, Bb b)"
    assert told(ROWS, negated, "unknown type")[0].startswith("no event is a Bb, which query p asks for\n")


@pytest.mark.parametrize("names", [("matches", "trends"), ("trends", "matches"), ("run",)])
def test_types_are_told_with_the_results_of_the_queries_that_ask_for_them(names: tuple[str, ...]) -> None:
    """Derived types too, which are counted where a query asks for them."""
    text = (
        "QUERY m PATTERN SEQ(Low a, Nope b)\n"
        "QUERY t PATTERN SEQ(Low a, Never+ b) WITHIN 5 s RETURN COUNT(*) AS n"
    )
    columns = weft.Columns(types={"Low": "id < 9", "Nope": "id < 0", "Never": "id > 9"})
    events = table_of(ROWS)
    detection = weft.prepare(events, text, time="ts", id="id", columns=columns, notices=False)
    for name in names:
        found(detection, name)
    said = {str(own) for own in detection.notices if own.kind == "unknown type"}
    assert said == {
        "no event is a Nope, which query m asks for\n  hint: no event satisfies its condition: id < 0",
        "no event is a Never, which query t asks for\n  hint: no event satisfies its condition: id > 9",
    }


def test_rows_that_are_no_events() -> None:
    rows = [*ROWS, (START, None, 4), (START, "A", None)]
    assert told(rows, PAIR, "rejected rows") == [
        "2 of 5 rows are no events, and left out\n  hint: detection.rejected has them, each with the reason"
    ]
    assert told(rows[:4], PAIR, "rejected rows")[0].startswith("1 of 4 rows is no event, and left out")
    said = told(rows[3:], PAIR, "rejected rows")[0]
    assert said.endswith(
        "; is the time the right column, in its unit (time_unit, --time-unit) or as ISO 8601?"
    )
    assert told(ROWS, PAIR, "rejected rows") == []


@pytest.mark.parametrize(
    ("seconds", "is_odd"),
    [(0, True), (946_684_799, True), (946_684_800, False), (4_102_444_800, False), (4_102_444_801, True)],
)
def test_times_outside_of_this_century(seconds: int, is_odd: bool) -> None:
    said = told([(START, "A", 0), (seconds, "A", 1)], PAIR, "odd times")
    assert len(said) == is_odd
    if is_odd:
        assert "there are events from" in said[0]
        assert f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}" in said[0]


def test_times_beyond_any_calendar_are_told_too() -> None:
    times = pa.array([0, 2**62], pa.timestamp("us"))
    events = pa.table({"ts": times, "type": ["A", "B"]})
    detection = weft.prepare(events, PAIR, time="ts", type="type", notices=False)
    detection.run()
    (odd,) = (notice for notice in detection.notices if notice.kind == "odd times")
    assert odd.reason == "there are events from 1970-01-01 00:00:00 to 148108-07-06 14:00:27"


def test_one_notice_for_many_queries_without_matches() -> None:
    text = "\n".join(f"QUERY q{number} PATTERN SEQ(B a, A b)" for number in range(8))
    assert told(ROWS, f"{text}\n{PAIR}", "no matches") == [
        "8 of 9 queries have no match in 3 events: q0, q1, q2, q3, q4 and 3 more\n"
        "  hint: weft why, or detection.why(name), tells how far one gets"
    ]
    assert told(ROWS[:1], PAIR, "no matches") == [
        'query q: no match in 1 event\n  hint: weft why, or detection.why("q"), tells how far it gets'
    ]


def test_without_events_nothing_is_said_of_queries() -> None:
    nobody: list[tuple[object, ...]] = [(START, None, 1)]
    detection = weft.prepare(table_of(nobody), PAIR, time="ts", type="type", id="id")
    detection.run()
    assert [notice.kind for notice in detection.notices] == ["rejected rows"]
    (empty,) = run_notices(parse(PAIR), {}, InputCounts(0, 0, {"A": None}))
    assert empty.kind == "no events"


def test_odd_times_alone_are_no_fault_of_the_queries() -> None:
    counts = InputCounts(2, 0, {}, 0, 5 * SECOND)
    (notice,) = run_notices(parse(PAIR), {"q": 1}, counts)
    assert notice.reason == "there are events from 1970-01-01 00:00:00 to 1970-01-01 00:00:05"
