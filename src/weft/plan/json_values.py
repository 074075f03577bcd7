"""Frozen dataclasses as values of JSON and back: only known classes, doubles and decimals exact."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from weft import expressions, schema


def by_name(*kinds: type[Any]) -> dict[str, type[Any]]:
    """Return classes by the names they have in JSON."""
    return {kind.__name__: kind for kind in kinds}


EXPRESSIONS = by_name(
    schema.Type,
    expressions.Literal,
    expressions.Attribute,
    expressions.Aggregate,
    expressions.Cast,
    expressions.Negate,
    expressions.Absolute,
    expressions.Arithmetic,
    expressions.Comparison,
    expressions.And,
    expressions.Or,
    expressions.Not,
    expressions.IsNull,
    expressions.InList,
    expressions.Like,
)


def encode(value: object, encode_member: Callable[[object], object]) -> object:
    """Return a value for JSON, its members encoded by the given function.

    >>> encode(schema.decimal(2), lambda member: member)
    {'$class': 'Type', 'kind': 'decimal', 'scale': 2}
    """
    if dataclasses.is_dataclass(value):
        fields = {
            field.name: encode_member(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.compare
        }
        return {"$class": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [encode_member(member) for member in value]
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": repr(value)}
    return value


def decode(value: Any, decode_member: Callable[[Any], Any], classes: Mapping[str, type[Any]]) -> Any:
    """Return the value that `encode` wrote, its members decoded by the given function.

    >>> decode({"$class": "Type", "kind": "long", "scale": 0}, lambda member: member, EXPRESSIONS)
    Type(kind='long', scale=0)
    """
    if isinstance(value, list):
        return tuple(decode_member(member) for member in value)
    if not isinstance(value, dict):
        return value
    if "$decimal" in value:
        return Decimal(value["$decimal"])
    if "$double" in value:
        return float(value["$double"])
    fields = {name: decode_member(member) for name, member in value.items() if name != "$class"}
    return classes[value["$class"]](**fields)
