"""Walk and rebuild trees of frozen dataclasses, written once for every intermediate form."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

Node = TypeVar("Node")

_fields_of_class: dict[type, tuple[str, ...] | None] = {}


def _compared_fields(kind: type) -> tuple[str, ...] | None:
    """Return the fields that make a node what it is, or None for a class that is no node."""
    if kind not in _fields_of_class:
        is_node = dataclasses.is_dataclass(kind)
        fields = dataclasses.fields(cast(Any, kind)) if is_node else ()
        names = tuple(field.name for field in fields if field.compare)
        _fields_of_class[kind] = names if is_node else None
    return _fields_of_class[kind]


def _is_node(value: object) -> bool:
    return _compared_fields(type(value)) is not None


def children(node: object) -> list[object]:
    """Return the direct sub-nodes of a node: dataclass fields, and members of tuple fields.

    >>> from weft.expressions import Literal, Not
    >>> from weft.schema import BOOLEAN
    >>> children(Not(Literal(True, BOOLEAN)))
    [Literal(value=True, type=Type(kind='boolean', scale=0))]
    """
    nodes: list[object] = []
    for name in _compared_fields(type(node)) or ():
        value = getattr(node, name)
        if isinstance(value, tuple):
            nodes += filter(_is_node, value)
        elif _is_node(value):
            nodes.append(value)
    return nodes


def walk(node: object) -> Iterator[object]:
    """Yield a node and everything below it, parents first; no depth of the tree exhausts the stack."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def find(node: object, kind: type[Node]) -> Iterator[Node]:
    """Yield every node of one class in a tree, parents first."""
    return (member for member in walk(node) if isinstance(member, kind))


def transform_up(node: Node, change: Callable[[Any], Any]) -> Node:
    """Rebuild a tree from the leaves, passing each rebuilt node through `change`.

    A node none of whose children changed is kept as the same object.
    """
    changes: dict[str, object] = {}
    for name in _compared_fields(type(node)) or ():
        value = getattr(node, name)
        if isinstance(value, tuple):
            rebuilt: object = tuple(
                transform_up(member, change) if _is_node(member) else member for member in value
            )
            same = all(new is old for new, old in zip(cast(tuple[object, ...], rebuilt), value, strict=True))
        elif _is_node(value):
            rebuilt = transform_up(value, change)
            same = rebuilt is value
        else:
            continue
        if not same:
            changes[name] = rebuilt
    return cast(Node, change(dataclasses.replace(cast(Any, node), **changes) if changes else node))
