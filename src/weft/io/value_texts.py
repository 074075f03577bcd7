"""Spell values as Spark does when it turns them into text."""

import pyarrow as pa


def text_of(values: pa.Array) -> pa.Array:
    """Return values as the text that Spark makes of them.

    >>> text_of(pa.array([1.0, 1e10, -0.5, float("inf")])).to_pylist()
    ['1.0', '1.0E10', '-0.5', 'Infinity']
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if pa.types.is_floating(kind) or pa.types.is_nested(kind) or pa.types.is_timestamp(kind):
        once = values.dictionary_encode() if not pa.types.is_nested(kind) else None
        distinct = values if once is None else once.dictionary
        spelled = [None if own is None else _text_of_one(own, kind) for own in distinct.to_pylist()]
        texts = pa.array(spelled, pa.string())
        return texts if once is None else texts.take(once.indices)
    return values.cast(pa.string())


def _text_of_one(value: object, kind: pa.DataType) -> str:
    """Return a number, a time, a list or a struct as the text that Spark makes of it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _text_of_double(value)
    if isinstance(value, dict):
        inside = ", ".join(_text_of_one(own, kind) for own in value.values())
        return "{" + inside + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_text_of_one(own, kind) for own in value) + "]"
    text = str(value)
    if pa.types.is_timestamp(kind):
        text = text.removesuffix("+00:00")
        return text.rstrip("0") if "." in text else text
    return text


def _text_of_double(value: float) -> str:
    """Return a double as Java spells it.

    >>> [_text_of_double(value) for value in (0.001, 123456789.0, -0.00012, 1e7)]
    ['0.001', '1.23456789E8', '-1.2E-4', '1.0E7']
    """
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(value).partition("e")
    sign, digits = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = digits.partition(".")
    place = int(exponent or 0) + len(whole) - 1
    significant = (whole + fraction).lstrip("0")
    place -= len(whole + fraction) - len(significant) if whole.strip("0") == "" else 0
    significant = significant.rstrip("0") or "0"
    return f"{sign}{significant[0]}.{significant[1:] or '0'}E{place}"
