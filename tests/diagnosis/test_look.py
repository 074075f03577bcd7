"""Which of the events are looked at, and how wrong wishes are refused."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from tests.helpers.asked_why import ROWS, left, why
from tests.helpers.local_cases import detection_on

from weft.diagnosis.look import look_at
from weft.errors import WeftError
from weft.pattern.nodes import Event, Query
from weft.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Schema, decimal


def test_a_key_is_looked_at_alone() -> None:
    text = "PATTERN SEQ(A a, NOT C c, B b) WHERE b.x > 14 WITHIN 1 minute"
    assert [count for _, count in left(why(ROWS, text))] == [2, 3, 3, 6, 4, 4]
    told = why(ROWS, text, key={"k": 1})
    assert [count for _, count in left(told)] == [1, 2, 2, 2, 1, 1]
    assert told.looked_at == "k=1"
    assert told.verdict == "rule q: 1 match (of events with k=1)"


def test_a_time_is_looked_at_with_a_window_before_and_after_it() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 seconds"
    told = why(ROWS, text, at="1970-01-01T00:00:20")
    assert [count for _, count in left(told)] == [1, 2, 1, 0]
    assert told.looked_at == "from 1970-01-01 00:00:10 to 1970-01-01 00:00:30"
    assert why(ROWS, text, at=datetime(1970, 1, 1, 0, 0, 20, tzinfo=UTC)) == told


def test_mistakes() -> None:
    detection = detection_on(ROWS, "QUERY large PATTERN SEQ(A a, B b) WITHIN 1 minute QUERY any PATTERN A a")
    with pytest.raises(WeftError, match="no query named 'lagre'; did you mean 'large'"):
        detection.why("lagre")
    with pytest.raises(WeftError, match=r"by 'idx': there is no such column\n  hint: did you mean 'id'\?"):
        detection.why("large", key={"idx": 1})
    with pytest.raises(WeftError, match=r"with k=one: k is long\n  hint: give a value of that type"):
        detection.why("large", key={"k": "one"})
    with pytest.raises(WeftError, match=r"'noon' is no time\n  hint: write it in ISO 8601"):
        detection.why("large", at="noon")
    with pytest.raises(
        WeftError, match=r"rule any has no WITHIN of a length of time.*\n  hint: leave the time out"
    ):
        detection.why("any", at="1970-01-01")


def test_values_have_the_type_of_their_column() -> None:
    kinds = {
        "n": LONG,
        "y": DOUBLE,
        "name": STRING,
        "flag": BOOLEAN,
        "amount": decimal(2),
        "day": DATE,
        "ts": TIMESTAMP,
    }
    schema = Schema(kinds, time="ts", unusable={"blob": "binary is not a type Weft computes with"})
    rule = Query("q", Event("A", "a"))
    given = {
        "n": 7,
        "y": "0.5",
        "name": "ann",
        "flag": "TRUE",
        "amount": "1.5",
        "day": "1970-02-01",
        "ts": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
    }
    found = {name: literal.value for name, literal in look_at(schema, rule, given, None).values}
    assert found == {
        "n": 7,
        "y": 0.5,
        "name": "ann",
        "flag": True,
        "amount": Decimal("1.50"),
        "day": 31,
        "ts": 1_000_000,
    }
    for name, value in {"flag": "maybe", "amount": "1.555", "day": "soon", "ts": "later", "n": "1.5"}.items():
        with pytest.raises(WeftError, match=f"with {name}={value}: {name} is "):
            look_at(schema, rule, {name: value}, None)
    with pytest.raises(WeftError, match="by 'blob': the column is binary is not a type"):
        look_at(schema, rule, {"blob": 1}, None)
