"""The answer as text and as JSON."""

import json

from tests.helpers.asked_why import ROWS, why

import weft


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
