"""The difference between results of trend queries that are expected and those that are found."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from weft.language.literals import format_timestamp
from weft.testing.expectation import WINDOWS, TrendRow
from weft.testing.given_value import NONE_WORDS
from weft.testing.moments import DAY, microseconds_since_epoch, parse_moment, start_of
from weft.testing.rule_results import TrendResults

DIGITS = 9  # of doubles that are compared
START = start_of(DAY) or 0
_DAY = 86_400_000_000


def trend_lines(
    rule: str, expected: Sequence[TrendRow], found: TrendResults, start: int | None = None
) -> Iterator[str]:
    """Yield the difference, in the columns that are expected; those of a window, where none is.

    `start` is a time of the day to which clock times and offsets belong, if it is not the usual one.

    >>> import pyarrow as pa
    >>> found = TrendResults(({"window_start": None, "n": 3},), {"n": pa.int64()})
    >>> list(trend_lines("q", [{"n": "2"}], found))
    ['rule q: 1 result missing, 1 result not expected', '    - n=2', '    + n=3']
    """
    names = list(expected[0]) if expected else [*WINDOWS, *(own for own in found.types if own not in WINDOWS)]
    names = [name for name in names if name in found.types or expected]
    day = START if start is None else start - start % _DAY
    wanted = Counter(
        tuple(_comparable_text(row[name], found.types.get(name), day) for name in names) for row in expected
    )
    results = Counter(tuple(_comparable(row.get(name)) for name in names) for row in found.rows)
    missing, unexpected = list((wanted - results).elements()), list((results - wanted).elements())
    if missing or unexpected:
        counts = []
        for number, what in ((len(missing), "missing"), (len(unexpected), "not expected")):
            counts += [f"{number} {'result' if number == 1 else 'results'} {what}"] if number else []
        yield f"rule {rule}: {', '.join(counts)}"
    for sign, rows in (("-", missing), ("+", unexpected)):
        for row in rows:
            values = zip(names, row, strict=True)
            yield f"    {sign} {'  '.join(f'{name}={_shown(value)}' for name, value in values)}"


def _comparable(value: Any) -> Any:
    """Return a value found as one that is equal where an expected one means the same."""
    moment = microseconds_since_epoch(value)
    if moment is not None:
        return ("time", moment)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return _number(value)
    return value.isoformat() if isinstance(value, date) else value


def _number(value: float | Decimal) -> Any:
    if not math.isfinite(value):
        return str(float(value))
    exact = Decimal(f"{value:.{DIGITS}g}") if isinstance(value, float) else Decimal(value)
    return exact.normalize() if exact.adjusted() < 27 else exact


def _comparable_text(text: str, kind: pa.DataType | None, day: int) -> Any:
    """Return an expected value, written for a column of a type."""
    if text.strip().lower() in NONE_WORDS:
        return None
    if kind is None or pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_date(kind):
        return text
    if pa.types.is_timestamp(kind):
        moment = parse_moment(text, day)
        return text if moment is None else ("time", moment)
    if pa.types.is_boolean(kind):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return _number(float(text) if pa.types.is_floating(kind) else Decimal(text))
    except (InvalidOperation, ValueError):
        return text


def _shown(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case ("time", moment):
            return format_timestamp(moment)
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)
