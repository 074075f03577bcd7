"""Plans as JSON and back: only known classes, every shared node written once."""

import json
from typing import Any

from weft.plan import nodes
from weft.plan.dag import topological_order
from weft.plan.json_values import EXPRESSIONS, by_name, decode, encode
from weft.plan.nodes import Plan

VERSION = 1

_CLASSES = EXPRESSIONS | by_name(
    nodes.Extent,
    nodes.Scan,
    nodes.Filter,
    nodes.Join,
    nodes.KleeneExpand,
    nodes.Absence,
    nodes.NegationCheck,
    nodes.Project,
    nodes.DistinctUnion,
    nodes.Await,
    nodes.Branch,
    nodes.ReturnedColumn,
    nodes.Output,
)


def to_json(plan: Plan) -> str:
    """Return a plan as JSON text.

    >>> from weft.plan.nodes import Branch, Output, Scan
    >>> plan = Plan((Output("q", (), (Branch(Scan("A"), ("a",), ()),)),))
    >>> from_json(to_json(plan)) == plan
    True
    """
    numbers = {node: number for number, node in enumerate(topological_order(plan))}

    def encode_member(value: object) -> object:
        if isinstance(value, nodes.Node) and value in numbers:
            return {"$node": numbers[value]}
        return encode(value, encode_member)

    return json.dumps(
        {
            "version": VERSION,
            "nodes": [encode(node, encode_member) for node in numbers],
            "outputs": [encode(output, encode_member) for output in plan.outputs],
        },
        allow_nan=False,
    )


def from_json(text: str) -> Plan:
    """Return the plan written by `to_json`."""
    document = json.loads(text)
    if document.get("version") != VERSION:
        raise ValueError(f"plan version {document.get('version')!r} found, {VERSION} expected")
    decoded: list[Any] = []

    def decode_member(value: Any) -> Any:
        if isinstance(value, dict) and "$node" in value:
            return decoded[value["$node"]]
        return decode(value, decode_member, _CLASSES)

    for node in document["nodes"]:
        decoded.append(decode_member(node))
    return Plan(tuple(decode_member(output) for output in document["outputs"]))
