"""Plans as JSON and back: only known classes, every shared node written once."""

import dataclasses
import json
import math
from decimal import Decimal
from typing import Any

from weft import expressions, schema
from weft.plan import nodes
from weft.plan.dag import topological_order
from weft.plan.nodes import Plan

VERSION = 1

_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
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
        nodes.Extent,
        nodes.Scan,
        nodes.Filter,
        nodes.Join,
        nodes.KleeneExpand,
        nodes.Absence,
        nodes.NegationCheck,
        nodes.Project,
        nodes.DistinctUnion,
        nodes.Branch,
        nodes.ReturnedColumn,
        nodes.Output,
    )
}


def to_json(plan: Plan) -> str:
    """Return a plan as JSON text.

    >>> from weft.plan.nodes import Branch, Output, Scan
    >>> plan = Plan((Output("q", (), (Branch(Scan("A"), ("a",), ()),)),))
    >>> from_json(to_json(plan)) == plan
    True
    """
    numbers = {node: number for number, node in enumerate(topological_order(plan))}

    def encode(value: object, *, as_reference: bool = True) -> object:
        if as_reference and isinstance(value, nodes.Node) and value in numbers:
            return {"$node": numbers[value]}
        if dataclasses.is_dataclass(value):
            fields = {
                field.name: encode(getattr(value, field.name))
                for field in dataclasses.fields(value)
                if field.compare
            }
            return {"$class": type(value).__name__, **fields}
        if isinstance(value, tuple):
            return [encode(member) for member in value]
        if isinstance(value, Decimal):
            return {"$decimal": str(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"$double": repr(value)}
        return value

    return json.dumps(
        {
            "version": VERSION,
            "nodes": [encode(node, as_reference=False) for node in numbers],
            "outputs": [encode(output) for output in plan.outputs],
        },
        allow_nan=False,
    )


def from_json(text: str) -> Plan:
    """Return the plan written by `to_json`."""
    document = json.loads(text)
    if document.get("version") != VERSION:
        raise ValueError(f"plan version {document.get('version')!r} found, {VERSION} expected")
    decoded: list[Any] = []

    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(decode(member) for member in value)
        if not isinstance(value, dict):
            return value
        if "$node" in value:
            return decoded[value["$node"]]
        if "$decimal" in value:
            return Decimal(value["$decimal"])
        if "$double" in value:
            return float(value["$double"])
        fields = {name: decode(member) for name, member in value.items() if name != "$class"}
        return _CLASSES[value["$class"]](**fields)

    for node in document["nodes"]:
        decoded.append(decode(node))
    return Plan(tuple(decode(output) for output in document["outputs"]))
