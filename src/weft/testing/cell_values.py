"""Values of cells: the types that columns may be said to have, and the ones that are told by the cells."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from weft.language.literals import EPOCH, INT64_MAX, INT64_MIN, fits_decimal, parse_date
from weft.schema import MAX_DECIMAL_DIGITS
from weft.testing import moments
from weft.testing.text_table import Cell

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """A type of values: that of Arrow, how a text is read, None if it is no value, and what is expected."""

    type: pa.DataType
    read: Callable[[str], Any]
    expected: str


def _whole(text: str) -> int | None:
    value = int(text) if _WHOLE.fullmatch(text) and len(text) < 25 else None
    return value if value is not None and INT64_MIN <= value <= INT64_MAX else None


def _real(text: str) -> float | None:
    value = float(text) if _REAL.fullmatch(text) else None
    is_too_large = value is not None and math.isinf(value) and "inf" not in text.lower()
    return None if is_too_large else value


def _date(text: str) -> Any:
    days = parse_date(text)
    return None if days is None else (EPOCH + timedelta(days=days)).date()


WHOLE = ColumnKind(pa.int64(), _whole, "expected a whole number")
REAL = ColumnKind(pa.float64(), _real, "expected a number")
TRUTH = ColumnKind(pa.bool_(), lambda text: _TRUTH.get(text.lower()), "expected true or false")
TEXT = ColumnKind(pa.string(), lambda text: text, "expected a text")
DATE = ColumnKind(pa.date32(), _date, "expected a date such as 2026-01-01")

KINDS = {
    **dict.fromkeys(("long", "int", "integer", "bigint"), WHOLE),
    **dict.fromkeys(("double", "float"), REAL),
    **dict.fromkeys(("boolean", "bool"), TRUTH),
    **dict.fromkeys(("string", "text"), TEXT),
    "date": DATE,
}
KIND_NAMES = ("long", "double", "boolean", "string", "timestamp", "date", "decimal(18,2)")


def time_kind(read: Callable[[str], int | None]) -> ColumnKind:
    """Return the type of times, given how one is read."""
    return ColumnKind(pa.timestamp("us", "UTC"), read, moments.EXPECTED)


def kind_named(name: str, times: ColumnKind) -> ColumnKind | None:
    """Return the type of a name, None if there is none; `times` is that of timestamps.

    >>> kind_named("Decimal(9,2)", TEXT).read("1.25")
    Decimal('1.25')
    """
    folded = name.strip().lower()
    if folded == "timestamp":
        return times
    found = _DECIMAL.fullmatch(folded)
    if found is None:
        return KINDS.get(folded)
    digits, scale = int(found[1]), int(found[2])
    return _decimal(digits, scale) if scale <= digits <= MAX_DECIMAL_DIGITS and digits else None


def _decimal(digits: int, scale: int) -> ColumnKind:
    def read(text: str) -> Decimal | None:
        try:
            value = Decimal(text)
        except InvalidOperation:
            return None
        fits = value.is_finite() and fits_decimal(value, scale) and value.adjusted() < digits - scale
        return value if fits else None

    return ColumnKind(pa.decimal128(digits, scale), read, f"expected a decimal({digits},{scale})")


def kind_of(cells: Sequence[Cell]) -> ColumnKind:
    """Return the type that all cells of a column have: whole numbers, numbers, true and false, or texts.

    >>> from weft.errors import Span
    >>> kind_of([Cell("1", Span(0, 1)), Cell("2.5", Span(2, 5)), Cell("-", Span(6, 7))]).type
    DataType(double)
    """
    written = [cell for cell in cells if not cell.is_null]
    if not written or any(cell.is_quoted for cell in written):
        return TEXT
    for kind in (WHOLE, REAL, TRUTH):
        if all(kind.read(cell.text) is not None for cell in written):
            return kind
    return TEXT
