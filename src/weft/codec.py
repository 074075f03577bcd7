"""Values as JSON text and back: one format with one version number for all that Weft stores or sends.

A value is a tree of dataclasses that are `stored`, tuples, mappings with texts as keys, numbers and texts.
Reading makes known classes only; nothing is ever evaluated or imported because a text says so. Nodes that are
`Shared` are written once, however many readers they have. A text is written to a file here, too.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar, cast, dataclass_transform

from weft.errors import DataError

VERSION = 4
REMEDY = "it was written by another version of Weft: go on with that one, or start anew"

Class = TypeVar("Class", bound=type)

_classes: dict[str, type[Any]] = {}


class Shared:
    """A node with many readers: it is written once, and remembers its hash, as everything looks it up."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            values = (getattr(self, field.name) for field in dataclasses.fields(cast(Any, self)))
            object.__setattr__(self, "_hash", hash((type(self).__name__, *values)))
            return self._hash


def storable(kind: Class) -> Class:
    """Let values of a dataclass be written and read, under the name of the class."""
    if _classes.setdefault(kind.__name__, kind) is not kind:
        raise TypeError(f"two classes that are stored have the name {kind.__name__}")
    return kind


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def stored(kind: Class) -> Class:
    """Make a class of frozen values that are storable: a frozen dataclass with slots."""
    made: Any = dataclasses.dataclass(frozen=True, slots=True)(kind)
    if issubclass(made, Shared):
        made.__hash__ = Shared.__hash__  # not that of the dataclass
    return cast(Class, storable(made))


def to_json(kind: str, value: object) -> str:
    """Return a value as text; `kind` says what it is.

    >>> text = to_json("limits", {"rate": float("inf"), "sizes": (1, 2)})
    >>> text
    '{"version": 4, "kind": "limits", "value": {"rate": {"$double": "inf"}, "sizes": [1, 2]}}'
    >>> from_json("limits", text)
    {'rate': inf, 'sizes': (1, 2)}
    """
    writer = _Encoder()
    document = {"version": VERSION, "kind": kind, "value": writer.encode(value)}
    if writer.nodes:
        document["nodes"] = writer.nodes
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def from_json(kind: str, text: str, origin: str | None = None) -> Any:
    """Return the value that `to_json` wrote; `origin` says in errors where the text is from."""
    place = origin or f"a stored {kind}"
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON: {error}") from None
    check_version(document, place)
    if document.get("kind") != kind:
        raise DataError(f"{place} is a {document.get('kind')!r}, expected a {kind!r}")
    try:
        reader = _Decoder()
        for node in document.get("nodes", ()):
            reader.nodes.append(reader.decode(node))
        return reader.decode(document["value"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"{place} is damaged ({type(error).__name__}: {error})") from None


def check_version(document: Any, origin: str) -> None:
    """Raise unless a document of JSON is an object of the version that is read here."""
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version != VERSION:
        raise DataError(f"{origin}: version {version!r} found, {VERSION} expected; {REMEDY}")


@dataclasses.dataclass(frozen=True, slots=True)
class Plain:
    """Values of JSON that are written and read as they are, without being looked at."""

    value: Any


class _Encoder:
    def __init__(self) -> None:
        self.nodes: list[object] = []
        self._numbers: dict[object, int] = {}

    def encode(self, value: object) -> object:
        kind = type(value)
        if kind is Plain:
            return {"$plain": value.value}  # type: ignore[attr-defined]
        if isinstance(value, Shared):
            if value not in self._numbers:
                encoded = self._fields(value)
                self._numbers[value] = len(self.nodes)
                self.nodes.append(encoded)
            return {"$node": self._numbers[value]}
        if dataclasses.is_dataclass(kind):
            return self._fields(value)
        if isinstance(value, tuple | list):
            return [self.encode(member) for member in value]
        if isinstance(value, Mapping):
            return {_escape(name): self.encode(member) for name, member in value.items()}
        if isinstance(value, Decimal):
            return {"$decimal": str(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"$double": repr(value)}
        if isinstance(value, frozenset | set):
            return {"$set": [self.encode(member) for member in sorted(value)]}
        return value

    def _fields(self, value: Any) -> dict[str, object]:
        kind = type(value)
        if _classes.get(kind.__name__) is not kind:
            raise TypeError(f"{kind.__name__} is not stored")
        members = {
            field.name: self.encode(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.compare
        }
        return {"$class": kind.__name__, **members}


class _Decoder:
    def __init__(self) -> None:
        self.nodes: list[object] = []

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.decode(member) for member in value)
        if not isinstance(value, dict):
            return value
        if "$class" in value:
            fields = {name: self.decode(member) for name, member in value.items() if name != "$class"}
            return _classes[value["$class"]](**fields)
        if "$node" in value:
            return self.nodes[value["$node"]]
        if "$plain" in value:
            return Plain(value["$plain"])
        if "$decimal" in value:
            return Decimal(value["$decimal"])
        if "$double" in value:
            return float(value["$double"])
        if "$set" in value:
            return frozenset(self.decode(member) for member in value["$set"])
        return {name.removeprefix("$"): self.decode(member) for name, member in value.items()}


def _escape(name: str) -> str:
    """Return a key under which a member of a mapping is not taken for a mark such as "$class".

    >>> from_json("x", to_json("x", {"$class": 1}))
    {'$class': 1}
    """
    return f"${name}" if name.startswith("$") else name


def write_text(path: str | Path, text: str) -> None:
    """Write a file in UTF-8."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None
