"""The answer as text and as JSON."""

import json

from tests.helpers.asked_why import ROWS, why

import weft
from weft.cli.why import tables


def test_as_json() -> None:
    told = why(ROWS, "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 60 WITHIN 1 minute")
    shown = json.loads(told.to_json())
    assert shown == told.as_dict()
    assert shown["rule"] == "q"
    assert shown["matches"] == 0
    assert shown["alternatives"][0]["steps"][2] == {
        "kind": "condition",
        "text": "b.x > 60",
        "item": "b",
        "count": 0,
        "note": "",
    }
    assert shown["closest_miss"]["events"][1] == {
        "variable": "b",
        "type": "B",
        "time": "1970-01-01T00:00:20+00:00",
        "id": 3,
        "attributes": {"k": 1, "x": 15},
        "forbidden": False,
    }


def test_public_name() -> None:
    assert hasattr(weft.Detection, "why")


def test_of_many_alternatives_those_are_shown_that_get_furthest() -> None:
    optional = ", ".join(f"{name}? {name.lower()}" for name in "BCDE")
    told = why([(0, "A", 1), (1, "E", 2), (2, "F", 3)], f"PATTERN SEQ(A a, {optional}, F f) WITHIN 1 minute")
    assert len(told.funnels) == len(told.as_dict()["alternatives"]) == 16
    text = str(told)
    assert "\nSEQ(A a, E{1} e[], F f)\n" in text
    assert "\nand 8 more alternatives, which get no further\n" in text
    assert text.count("\n  A a ") == 8
    assert len(tables(told)) == 10
