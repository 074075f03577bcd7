"""Walk and rebuild trees of frozen dataclasses, written once for every intermediate form."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

Node = TypeVar("Node")


class _FieldsByClass(dict[type, tuple[str, ...] | None]):
    """The fields that make a node what it is, or None for a class that is no node."""

    def __missing__(self, kind: type) -> tuple[str, ...] | None:
        names = None
        if dataclasses.is_dataclass(kind):
            names = tuple(field.name for field in dataclasses.fields(kind) if field.compare)
        return self.setdefault(kind, names)


_FIELDS = _FieldsByClass()


def _is_node(value: object) -> bool:
    return _FIELDS[type(value)] is not None


def children(node: object) -> list[object]:
    """Return the direct sub-nodes of a node: dataclass fields, and members of tuple fields.

    >>> from weft.expressions import Literal, Not
    >>> from weft.schema import BOOLEAN
    >>> children(Not(Literal(True, BOOLEAN)))
    [Literal(value=True, type=Type(kind='boolean', scale=0))]
    """
    nodes: list[object] = []
    for name in _FIELDS[type(node)] or ():
        value = getattr(node, name)
        if isinstance(value, tuple):
            nodes += [member for member in value if _FIELDS[type(member)] is not None]
        elif _FIELDS[type(value)] is not None:
            nodes.append(value)
    return nodes


def walk(node: object) -> Iterator[object]:
    """Yield a node and everything below it, parents first; no depth of the tree exhausts the stack."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)[::-1]


def find(node: object, kind: type[Node]) -> Iterator[Node]:
    """Yield every node of one class in a tree, parents first."""
    return (member for member in walk(node) if isinstance(member, kind))


def transform_up(node: Node, change: Callable[[Any], Any]) -> Node:
    """Rebuild a tree from the leaves, passing each rebuilt node through `change`.

    A node none of whose children changed is kept as the same object.
    """
    changes: dict[str, object] = {}
    for name in _FIELDS[type(node)] or ():
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
