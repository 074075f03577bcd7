"""Find the type that columns of text hold, by the rules of Spark for CSV, and turn text into it."""

from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from weft.io.time_texts import UTC_TIME, times_of_text
from weft.io.value_texts import text_of

MAX_DIGITS = 38
_INTS = -(1 << 31), (1 << 31) - 1
_LONGS = -(1 << 63), (1 << 63) - 1
_PAD = r"[\x00-\x20]*"
_WHOLE = r"^[+-]?[0-9]+$"
_UNSCALED = r"^[+-]?[0-9]+\.?$"  # what Java's BigDecimal takes without a fraction or an exponent
_DOUBLE = (
    rf"^{_PAD}[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?){_PAD}$|^-?Inf$|^NaN$"
)
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_BOOLEAN = r"^(?i:true|false)$"


def narrow(texts: pa.Array, so_far: pa.DataType) -> pa.DataType:
    """Return the type that holds some text and all that came before it; that of nothing is null.

    >>> narrow(pa.array(["1", None, "2.5"]), pa.null()), narrow(pa.array(["2026-01-31"]), pa.int32())
    (DataType(double), DataType(string))
    """
    values = texts.drop_null()
    if pa.types.is_string(so_far) or not len(values):
        return so_far
    if pa.types.is_null(so_far):
        first = values[:1]
        if _all_match(first, _DOUBLE):
            return _narrow_numbers(values, so_far)
        if times_of_text(first).null_count == 0:
            return _narrow_times(values, pa.date32())
        return _narrow_booleans(values)
    if pa.types.is_temporal(so_far):
        return _narrow_times(values, so_far)
    return _narrow_booleans(values) if pa.types.is_boolean(so_far) else _narrow_numbers(values, so_far)


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False)


def _narrow_booleans(values: pa.Array) -> pa.DataType:
    return pa.bool_() if _all_match(values, _BOOLEAN) else pa.string()


def _narrow_times(values: pa.Array, so_far: pa.DataType) -> pa.DataType:
    if pa.types.is_date(so_far) and _all_match(values, _DATE) and _dates(values).null_count == 0:
        return so_far
    return UTC_TIME if times_of_text(values).null_count == 0 else pa.string()


def _narrow_numbers(values: pa.Array, so_far: pa.DataType) -> pa.DataType:
    longs = _plain_longs(values)
    if longs is not None and not pa.types.is_decimal(so_far):
        bounds = pc.min_max(longs).as_py()
        is_int = _INTS[0] <= bounds["min"] and bounds["max"] <= _INTS[1]
        return wider(so_far, pa.int32() if is_int else pa.int64())
    if not _all_match(values, _DOUBLE):
        return pa.string()
    if pa.types.is_floating(so_far) or not _all_match(values, _UNSCALED):
        return pa.float64()
    is_long = _is_long(values)
    if pa.types.is_decimal(so_far):
        return wider(so_far, _decimal_of(values))
    n_longs = pc.index(is_long, pa.scalar(value=False)).as_py()
    n_longs = len(values) if n_longs < 0 else n_longs
    if n_longs:
        so_far = _narrow_numbers(pc.replace_substring_regex(values[:n_longs], r"^\+", ""), so_far)
    return wider(so_far, _decimal_of(values[n_longs:])) if n_longs < len(values) else so_far


def _decimal_of(values: pa.Array) -> pa.DataType:
    if not len(values):
        return pa.null()
    digits = pc.replace_substring_regex(pc.replace_substring_regex(values, r"[.+-]", ""), "^0+", "")
    n_digits = max(pc.max(pc.utf8_length(digits)).as_py(), 1)
    return pa.decimal128(n_digits, 0) if n_digits <= MAX_DIGITS else pa.float64()


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the values of two, both of numbers, both of times, or one of nothing.

    >>> wider(pa.int32(), pa.decimal128(5, 0)), wider(pa.bool_(), pa.int64())
    (Decimal128Type(decimal128(10, 0)), DataType(string))
    """
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_temporal(one) and pa.types.is_temporal(other):
        return UTC_TIME
    if not (_is_number(one) and _is_number(other)):
        return pa.string()
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        return pa.float64()
    if pa.types.is_decimal(one) or pa.types.is_decimal(other):
        return pa.decimal128(max(_digits_of(one), _digits_of(other)), 0)
    return pa.int64()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _digits_of(kind: pa.DataType) -> int:
    if pa.types.is_decimal(kind):
        return int(kind.precision)
    return 10 if kind.bit_width == 32 else 20


def read_text(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return text as values of a type that `narrow` gives, NULL where it holds none.

    >>> read_text(pa.array(["+5", "many", None]), pa.int32()).to_pylist()
    [5, None, None]
    """
    if pa.types.is_string(kind) or pa.types.is_null(kind):
        return texts.cast(pa.string())
    if pa.types.is_integer(kind):
        longs = _plain_longs(texts)
        if longs is None:
            whole = pc.if_else(_is_long(texts), texts, None)
            longs = pc.replace_substring_regex(whole, r"^\+", "").cast(pa.int64())
        fits = pc.and_(pc.greater_equal(longs, _INTS[0]), pc.less_equal(longs, _INTS[1]))
        return longs if kind.bit_width == 64 else pc.if_else(fits, longs, None).cast(kind)
    if pa.types.is_floating(kind):
        return _doubles(texts)
    if pa.types.is_decimal(kind):
        unscaled = pc.if_else(pc.match_substring_regex(texts, _UNSCALED), texts, None)
        return pc.replace_substring_regex(unscaled, "[+.]", "").cast(kind)
    if pa.types.is_boolean(kind):
        known = pc.if_else(pc.match_substring_regex(texts, _BOOLEAN), texts, None)
        return pc.equal(pc.utf8_lower(known), "true")
    return _dates(texts) if pa.types.is_date(kind) else times_of_text(texts)


def _plain_longs(texts: pa.Array) -> pa.Array | None:
    """Return text as longs when all of it is spelled plainly, which is fast to tell; otherwise None."""
    try:
        longs = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    has_other = (
        pc.any(pc.match_substring(texts, "x")).as_py() or pc.any(pc.match_substring(texts, "X")).as_py()
    )
    return None if has_other else longs  # Arrow reads 0x1F too


def _is_long(texts: pa.Array) -> pa.Array:
    """Say of each text whether it is a whole number of 64 bits."""
    is_short = pc.match_substring_regex(texts, r"^[+-]?0*[0-9]{1,18}$")
    if pc.all(is_short).as_py():
        return is_short
    digits = pc.if_else(pc.match_substring_regex(texts, r"^[+-]?0*[0-9]{19}$"), texts, None)
    wide = pc.replace_substring_regex(digits, r"^\+", "").cast(pa.decimal128(MAX_DIGITS, 0))
    fits = pc.and_(pc.greater_equal(wide, _LONGS[0]), pc.less_equal(wide, _LONGS[1]))
    return pc.or_(is_short, pc.fill_null(fits, pa.scalar(value=False)))


def _doubles(texts: pa.Array) -> pa.Array:
    try:
        numbers = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is not None and not pc.any(pc.match_substring_regex(texts, "[^0-9.eE+-]")).as_py():
        return numbers
    known = pc.if_else(pc.match_substring_regex(texts, _DOUBLE), texts, None)
    for pattern, replacement in (
        (rf"^{_PAD}\+?", ""),
        (_PAD + "$", ""),
        ("([0-9.])[fFdD]$", r"\1"),
        (r"^(-?)Inf$", r"\1Infinity"),
    ):
        known = pc.replace_substring_regex(known, pattern, replacement)
    return known.cast(pa.float64())


def _dates(texts: pa.Array) -> pa.Array:
    known = pc.if_else(pc.match_substring_regex(texts, _DATE), texts, None)
    try:
        return known.cast(pa.date32())
    except pa.ArrowInvalid:
        return times_of_text(known).cast(pa.timestamp("us")).cast(pa.date32(), safe=False)


def all_spelled_alike(texts: pa.Array, kind: pa.DataType) -> bool:
    """Return whether Spark spells the values that text holds just as it stands there.

    >>> all_spelled_alike(pa.array(["7", "12"]), pa.int32()), all_spelled_alike(pa.array(["007"]), pa.int32())
    (True, False)
    """
    if pa.types.is_string(kind) or pa.types.is_null(kind):
        return True
    spelled = text_of(read_text(texts, kind))
    return bool(pc.all(pc.fill_null(pc.equal(spelled, texts), texts.is_null())).as_py() is not False)


def widest(kinds: list[pa.DataType]) -> pa.DataType:
    """Return the type that holds the values of several."""
    return reduce(wider, kinds, pa.null())
