"""Conditions that derive types: bound for single events, and what is wrong with them."""

import pytest

from weft.errors import QueryError
from weft.expressions import Attribute
from weft.language.conditions import CONDITION_VARIABLE, parse_condition
from weft.schema import BOOLEAN, DATE, DOUBLE, LONG, STRING, TIMESTAMP, Schema, decimal
from weft.tree import find

SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "volume": LONG,
        "price": decimal(2),
        "up": BOOLEAN,
        "kind": STRING,
        "day": DATE,
        "odd name": DOUBLE,
    },
    time="ts",
    unusable={"tags": "its type is array<string>"},
)


def message_of(text: str) -> str:
    with pytest.raises(QueryError) as raised:
        parse_condition(text, SCHEMA, origin="type Big")
    return str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "volume > 10000",
        "up",
        "NOT up OR volume BETWEEN 1 AND 5 AND kind NOT LIKE 'B%'",
        "kind IN ('buy', 'sell') AND \"odd name\" IS NOT NULL",
        "time > '2026-03-01' AND ts < TIMESTAMP '2026-04-01'",
        "price * 2 > volume AND ABS(volume) % 2 = 1 AND day = '2026-03-01'",
    ],
)
def test_attributes_are_those_of_one_event(text: str) -> None:
    attributes = list(find(parse_condition(text, SCHEMA, origin="type Big"), Attribute))
    assert {own.variable for own in attributes} == {CONDITION_VARIABLE}
    assert all(own.type == SCHEMA.attributes[own.name] for own in attributes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "type Big: found the end of the text, expected a predicate or a value"),
        ("volume >", "type Big:1:9: found the end of the text"),
        (
            "volum > 3",
            "type Big:1:1: unknown attribute volum\n  volum > 3\n  ^^^^^\n  hint: did you mean volume?",
        ),
        ("volume > 'x'", "cannot compare volume (long) with 'x' (string)"),
        ("volume", "expected a predicate, found volume (long)"),
        ("tags = 'x'", "the attribute tags cannot be used"),
        (
            "a.volume > 3",
            "speaks of one event, not of a\n  a.volume > 3\n  ^^^^^^^^\n  hint: leave out the variable",
        ),
        ("COUNT(volume) > 3", "speaks of one event, COUNT(volume) of several"),
        ("[kind]", "speaks of one event, [kind] of several"),
        ("volume > 3 WITHIN 5 minutes", "type Big:1:12: found WITHIN, expected"),
        ("volume > 3 && up", "type Big:1:12: unexpected character '&'"),
        ("kind = Pool", "unknown attribute Pool"),
    ],
)
def test_mistakes_name_the_type_and_the_place(text: str, said: str) -> None:
    assert said in message_of(text)
