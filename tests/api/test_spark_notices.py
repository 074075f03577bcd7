"""What `weft.detect` on Spark tells of types that no event has, before there is an action on the frame."""

import warnings

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.frames import events_frame

import weft

PAIR = "QUERY q PATTERN SEQ(Tranfser a, Login b) WITHIN 10 seconds"
ANY = "types are spelled as in the events, case included"
ROWS = [(1, "Transfer", 7), (2, "Login", 8)]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return events_frame(spark, ROWS, "at int, kind string, n long")


def told(events: DataFrame, queries: str, **options: object) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        weft.detect(events, queries, time="ts", id="n", **options)  # type: ignore[arg-type]
    own = [warning for warning in caught if warning.category is weft.NoticeWarning]
    assert {warning.filename for warning in own} <= {__file__}
    return [str(warning.message) for warning in own]


def test_a_type_that_no_event_has(events: DataFrame) -> None:
    message = "no event is a Tranfser, which query q asks for\n  hint: did you mean Transfer?"
    assert told(events, PAIR, type="kind") == [message]
    assert told(events, PAIR, type="kind", notices=False) == []
    assert told(events, PAIR.replace("fs", "sf"), type="kind") == []


def test_types_none_of_which_an_event_has(events: DataFrame) -> None:
    assert told(events, "QUERY q PATTERN SEQ(Tranfser a, Logout b) WITHIN 10 seconds", type="kind") == [
        f"no event is a Logout, which query q asks for\n  hint: {ANY}",
        "no event is a Tranfser, which query q asks for\n  hint: did you mean Transfer?",
    ]


def test_a_derived_type_is_told_with_its_condition(events: DataFrame) -> None:
    columns = weft.Columns(types={"Few": "n < 8", "Many": "n > 100"})
    message = "no event is a Many, which query q asks for\n  hint: no event satisfies its condition"
    assert told(events, "QUERY q PATTERN SEQ(Few a, Many b) WITHIN 9 seconds", columns=columns) == [message]


def test_without_events_no_type_is_missed(events: DataFrame) -> None:
    assert told(events.where("false"), PAIR, type="kind") == []


def prepared_and_run(events: DataFrame) -> weft.Detection:
    detection = weft.prepare(events, PAIR, time="ts", type="kind", id="n")
    detection.run()
    return detection


def test_a_run_does_not_tell_it_again(events: DataFrame) -> None:
    with pytest.warns(weft.NoticeWarning) as caught:
        detection = prepared_and_run(events)
    assert [notice.kind for notice in detection.notices] == ["unknown type", "odd times", "no matches"]
    assert len([warning for warning in caught if warning.category is weft.NoticeWarning]) == 3


def test_many_rows_are_not_looked_through(spark: SparkSession) -> None:
    rows = spark.range(10_001).selectExpr("timestamp_seconds(id) AS ts", "'Transfer' AS kind", "id AS n")
    assert told(rows, PAIR, type="kind") == []
    assert len(told(rows.limit(10_000), PAIR, type="kind")) == 2
