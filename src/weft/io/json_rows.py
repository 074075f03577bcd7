"""Read lines of JSON one by one, as leniently as Spark does: those that no strict reader takes at once.

A value keeps its text: where the values of a column are of several kinds, each stands for itself as written.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from json import JSONDecodeError, JSONDecoder
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from weft.errors import DataError
from weft.io.json_types import common_type

CORRUPT = "_corrupt_record"  # where Spark puts the text of a line that it cannot read
Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "null", "object", "array"]

_DECODER = JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|NaN|[+-]?(?:INF|Infinity)")
_SINGLE = re.compile(r"'((?:[^'\\\x00-\x1f]|\\.)*)'")
_LONG_DIGITS, _LONG = 38, 1 << 63


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value of a line, and how it is written."""

    kind: Kind
    value: Any
    text: str


class MalformedLineError(ValueError):
    """A line that holds no JSON object."""


def parse_line(line: str) -> list[JsonValue]:
    """Return the objects of a line: one, none if it is blank, or those of an array.

    What follows the first value is ignored.

    >>> [own.value["a"].text for own in parse_line('{"a": 1.50} and more')]
    ['1.50']
    """
    place = _skip(line, 0)
    if place == len(line):
        return []
    try:
        value, _ = _parse(line, place)
    except (JSONDecodeError, IndexError, RecursionError) as error:
        raise MalformedLineError(str(error)) from None
    own = value.value if value.kind == "array" else [value]
    if any(one.kind != "object" for one in own):
        raise MalformedLineError("no object")
    return list(own)


def is_empty(line: str) -> bool:
    """Return whether a line is a NULL and nothing else: it cannot be read, but is not malformed either."""
    return line.strip() == "null"


def type_of_rows(rows: Sequence[JsonValue]) -> pa.DataType:
    """Return the type of some values; where they hold no values at all it is null.

    >>> type_of_rows(parse_line('[{"a": 1, "b": [""]}, {"a": 2.5}]'))
    StructType(struct<a: double, b: list<element: null>>)
    """
    kind = pa.null()
    for row in rows:
        kind = common_type(kind, _type_of(row))
    return kind


def column_of_rows(rows: Sequence[JsonValue | None], name: str, kind: pa.DataType) -> pa.Array:
    """Return one column of rows; NULLs for rows that are None, whose lines are malformed."""
    values = [
        None if row is None or name not in row.value else _convert(row.value[name], kind) for row in rows
    ]
    return pa.array(values, kind)


def _skip(line: str, place: int) -> int:
    found = _SPACE.match(line, place)
    return place if found is None else found.end()


def _parse(line: str, place: int) -> tuple[JsonValue, int]:
    first = line[place]
    if first in "\"'":
        text, end = _parse_text(line, place)
        return JsonValue("string", text, text), end
    if first == "{":
        return _parse_object(line, place)
    if first == "[":
        return _parse_array(line, place)
    number = _NUMBER.match(line, place)
    word = _WORD.match(line, place)
    if word is not None:
        return _word_value(word[0]), word.end()
    if number is None or number.end() < len(line) and line[number.end()] not in " \t\r\n,]}":
        raise JSONDecodeError("no value", line, place)
    kind: Kind = "number" if number[1] or number[2] else "integer"
    return JsonValue(kind, None, number[0]), number.end()


def _word_value(word: str) -> JsonValue:
    if word == "null":
        return JsonValue("null", None, word)
    if word in ("true", "false"):
        return JsonValue("boolean", word == "true", word)
    return JsonValue("number", None, word.replace("INF", "Infinity"))


def _parse_text(line: str, place: int) -> tuple[str, int]:
    if line[place] == '"':
        text, end = _DECODER.raw_decode(line, place)
    else:
        found = _SINGLE.match(line, place)
        if found is None:
            raise JSONDecodeError("no text", line, place)
        inside = found[1].replace(r"\'", "'").replace('"', r"\"")
        text, _ = _DECODER.raw_decode(f'"{inside}"')
        end = found.end()
    return text.encode("utf-8", "replace").decode(), end  # half a surrogate pair is no character


def _parse_object(line: str, start: int) -> tuple[JsonValue, int]:
    fields: dict[str, JsonValue] = {}
    place = _skip(line, start + 1)
    while line[place] != "}":
        if line[place] not in "\"'":
            raise JSONDecodeError("no name", line, place)
        name, place = _parse_text(line, place)
        place = _skip(line, place)
        if line[place] != ":":
            raise JSONDecodeError("no colon", line, place)
        value, place = _parse(line, _skip(line, place + 1))
        if name in fields:
            raise DataError(
                f"the JSON object {line[start : start + 100]} has the field `{name}` twice\n"
                "  hint: rename one of them"
            )
        fields[name] = value
        place = _next_item(line, place, "}")
    return JsonValue("object", fields, line[start : place + 1]), place + 1


def _parse_array(line: str, start: int) -> tuple[JsonValue, int]:
    items: list[JsonValue] = []
    place = _skip(line, start + 1)
    while line[place] != "]":
        value, place = _parse(line, place)
        items.append(value)
        place = _next_item(line, place, "]")
    return JsonValue("array", items, line[start : place + 1]), place + 1


def _next_item(line: str, place: int, closing: str) -> int:
    place = _skip(line, place)
    if line[place] == closing:
        return place
    if line[place] != ",":
        raise JSONDecodeError("no comma", line, place)
    place = _skip(line, place + 1)
    if line[place] == closing:
        raise JSONDecodeError("no value", line, place)
    return place


def _type_of(own: JsonValue) -> pa.DataType:
    match own.kind:
        case "string":
            return pa.string() if own.value else pa.null()
        case "boolean":
            return pa.bool_()
        case "number":
            return pa.float64()
        case "integer":
            return _type_of_integer(own.text)
        case "array":
            return pa.list_(pa.field("element", type_of_rows(own.value)))
        case "object":
            return pa.struct([(name, _type_of(own.value[name])) for name in sorted(own.value) if name])
        case _:
            return pa.null()


def _type_of_integer(text: str) -> pa.DataType:
    if -_LONG <= int(text) < _LONG:
        return pa.int64()
    n_digits = len(text.lstrip("-"))
    return pa.decimal128(n_digits, 0) if n_digits <= _LONG_DIGITS else pa.float64()


def _convert(own: JsonValue, kind: pa.DataType) -> Any:
    """Return a value as one of a type that `type_of_rows` gave for its column, None where it is no such."""
    if own.kind == "null":
        return None
    if pa.types.is_string(kind):
        return own.text
    if own.kind == "object" and pa.types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return {
            field.name: _convert(own.value[field.name], field.type) if field.name in own.value else None
            for field in fields
        }
    if own.kind == "array" and pa.types.is_list(kind):
        return [_convert(item, kind.value_type) for item in own.value]
    if own.kind == "boolean" and pa.types.is_boolean(kind):
        return own.value
    if own.kind in ("integer", "number"):
        return _number(own, kind)
    return None


def _number(own: JsonValue, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return float(own.text)
    if own.kind != "integer":
        return None
    if pa.types.is_decimal(kind):
        return Decimal(own.text)
    return int(own.text) if pa.types.is_integer(kind) else None
