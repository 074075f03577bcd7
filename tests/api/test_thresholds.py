"""HAVING and calculated columns without Spark: numbers of any size, what is counted, explained and told."""

import math
from typing import Any

import pyarrow as pa
import pytest

import weft
from weft.errors import WeftError
from weft.hosts.spark.stream import fingerprint
from weft.language.parser import parse

OPTIONS = {"time": "ts", "type": "kind", "id": "id"}
ALL = "WITHIN 10 days"


def events(n_events: int) -> pa.Table:
    """Return events of one window, a second after each other, with a text, a decimal and a double."""
    times = pa.array([1_767_225_600_000_000 + 1_000_000 * n for n in range(n_events)])
    return pa.table(
        {
            "ts": times.view(pa.timestamp("us", "UTC")),
            "kind": ["A"] * n_events,
            "id": list(range(n_events)),
            "site": ["north" if n % 3 else "south" for n in range(n_events)],
            "amount": pa.array(range(n_events)).cast(pa.decimal128(38, 0)).cast(pa.decimal128(18, 2)),
            "y": [1e308] * n_events,
        }
    )


def found(text: str, n_events: int) -> list[dict[str, Any]]:
    """Return the results of the query q, what is beyond as a mapping."""
    rows = weft.prepare(events(n_events), f"QUERY q {text}", **OPTIONS).trends.arrow.to_pylist()
    return [{**row, "beyond": dict(row["beyond"] or [])} for row in rows]


@pytest.mark.parametrize(
    ("n_events", "condition", "is_found"),
    [
        (62, "COUNT(*) = 4611686018427387903", True),
        (62, "COUNT(*) = 4611686018427387904", False),
        (64, "COUNT(*) > 9223372036854775807", True),
        (64, "COUNT(*) = 18446744073709551616.0", True),  # the double nearest to 2**64 - 1
        (200, "COUNT(*) > 1e60 AND COUNT(*) < 2e60 AND COUNT(a) > 99 * COUNT(*)", True),
        (2000, "COUNT(*) > 1e308 AND COUNT(*) / 2 = COUNT(*)", True),  # infinite
        (2000, "COUNT(*) - COUNT(*) = 0", False),  # NaN
        (9, "SUM(a.y) > 1e308 AND AVG(a.y) = 1e308 AND SUM(a.y) - SUM(a.y) != 0", True),
    ],
)
def test_numbers_of_any_size_are_compared(n_events: int, condition: str, is_found: bool) -> None:
    assert len(found(f"PATTERN A+ a {ALL} HAVING {condition} RETURN COUNT(*)", n_events)) == is_found


def test_what_does_not_fit_a_column_is_beyond() -> None:
    shown = "RETURN COUNT(*) + 1 AS more, COUNT(*) / 2 AS half, -SUM(a.amount) AS less, COUNT(*) * 0 AS zero"
    (few,) = found(f"PATTERN A+ a {ALL} {shown}", 10)
    assert (few["more"], few["half"], str(few["less"]), few["beyond"]) == (1024, 511.5, "-23040.00", {})
    (many,) = found(f"PATTERN A+ a {ALL} {shown}", 100)
    assert (many["more"], many["half"]) == (None, float(2**100 - 1) / 2)
    assert many["beyond"] == {
        "more": "1.2676506002e+30",
        "less": f"-{99 * 50 * 2**99:.10e}",
        "zero": "0.0000000000e+00",
    }
    (huge,) = found(f"PATTERN A+ a {ALL} {shown}", 2000)
    assert math.isinf(huge["half"])
    assert huge["beyond"] == {"more": "Infinity", "less": "-Infinity", "zero": "NaN"}


def test_texts_of_the_group() -> None:
    text = f"PATTERN A a {ALL} GROUP BY site HAVING a.site LIKE 'n%' AND site != 'x' RETURN COUNT(*) AS n"
    assert [(row["site"], row["n"]) for row in found(text, 9)] == [("north", 6)]


def test_single_events() -> None:
    shown = "COUNT(DISTINCT a.site) AS sites, STDDEV(a.amount) AS spread"
    (row,) = found(f"PATTERN A a {ALL} HAVING COUNT(DISTINCT a.amount) = 9 RETURN COUNT(*), {shown}", 9)
    assert (row["sites"], row["spread"]) == (2, math.sqrt(7.5))


def test_only_results_are_counted() -> None:
    text = f"QUERY q PATTERN A a {ALL} GROUP BY site HAVING COUNT(*) > 3 RETURN COUNT(*) AS n"
    detection = weft.prepare(events(9), text, **OPTIONS)
    assert detection.analyze().counts == {"q": 1}
    assert "having  COUNT(*) > 3" in detection.explain()
    quiet = weft.prepare(events(9), text.replace("HAVING", "SUPPRESS 1 hour HAVING"), **OPTIONS)
    assert "quiet   1 hour per site" in quiet.explain()
    assert detection.trend_names["q"].aggregates == {"n": "n"}


def test_a_change_of_what_is_shown_goes_on() -> None:
    (one,) = parse(f"PATTERN A a {ALL} RETURN COUNT(*)")
    (other,) = parse(f"PATTERN A a {ALL} HAVING COUNT(*) > 3 RETURN COUNT(*) / 2 AS n")
    assert fingerprint(one) == fingerprint(other)


def test_mistakes_have_their_places() -> None:
    with pytest.raises(WeftError, match=r"a\.id stands in HAVING") as raised:
        found("PATTERN A a WITHIN 1 s HAVING COUNT(*) > a.id", 3)
    assert "^^^^" in str(raised.value)
