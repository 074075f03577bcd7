"""Values spelled as Spark spells them."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from weft.io.value_texts import text_of


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0, -0.0, 1.0, 0.001, 9999999.0], ["0.0", "-0.0", "1.0", "0.001", "9999999.0"]),
        ([1e7, 123456789.125, 1.5e300], ["1.0E7", "1.23456789125E8", "1.5E300"]),
        ([0.00099, -1.2e-5, 5e-300], ["9.9E-4", "-1.2E-5", "5.0E-300"]),
        ([float("nan"), float("inf"), float("-inf"), None], ["NaN", "Infinity", "-Infinity", None]),
        ([True, False, None], ["true", "false", None]),
        ([7, -7], ["7", "-7"]),
        ([Decimal("1.50")], ["1.50"]),
        ([date(2026, 1, 31)], ["2026-01-31"]),
        (
            [datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 1, 31, 0, 0, 0, 250_000, tzinfo=UTC)],
            ["2026-01-31 12:00:00", "2026-01-31 00:00:00.25"],
        ),
        ([{"x": 1, "y": [1.5, None]}, None], ["{1, [1.5, null]}", None]),
    ],
)
def test_spelling(values: list[object], texts: list[str | None]) -> None:
    assert text_of(pa.array(values)).to_pylist() == texts


def test_encoded_texts_are_plain() -> None:
    assert text_of(pa.array(["b", None, "a"]).dictionary_encode()).equals(pa.array(["b", None, "a"]))
