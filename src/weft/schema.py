"""Value types and the schema of an event stream."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from weft.codec import stored

Kind = Literal["long", "double", "boolean", "string", "timestamp", "date", "decimal", "duration"]

MAX_DECIMAL_DIGITS = 18  # a decimal is an unscaled int64 inside
EMITTED_DIGITS = 19  # ... which may grow to this many by arithmetic


@stored
class Type:
    """The type of a value; `scale` counts the digits after the point of a decimal."""

    kind: Kind
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({MAX_DECIMAL_DIGITS},{self.scale})" if self.kind == "decimal" else self.kind

    @property
    def is_numeric(self) -> bool:
        return self.kind in ("long", "double", "decimal")


LONG = Type("long")
DOUBLE = Type("double")
BOOLEAN = Type("boolean")
STRING = Type("string")
TIMESTAMP = Type("timestamp")  # int64 microseconds since the epoch, UTC
DATE = Type("date")  # int64 days since the epoch
DURATION = Type("duration")  # int64 microseconds


def decimal(scale: int) -> Type:
    """Return the type of decimals with `scale` digits after the point and at most 18 digits in all."""
    return Type("decimal", scale)


@dataclass(frozen=True, slots=True)
class Schema:
    """What is known of an event stream: its attributes, and which of them is the time.

    `types` lists the event types when they are known beforehand (derived types); None means any
    name may occur in the type column. `types_overlap` says that one event may have several types.
    `unusable` names the columns whose type Weft cannot compute with, and says why; `without_values` those
    that are taken for texts only because no row has a value there.
    """

    attributes: Mapping[str, Type]
    time: str
    types: frozenset[str] | None = None
    types_overlap: bool = False
    unusable: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    without_values: frozenset[str] = frozenset()

    def type_of(self, attribute: str) -> Type | None:
        """Return the type of an attribute; `time` names the event time unless a column has that name."""
        if attribute in self.attributes:
            return self.attributes[attribute]
        return TIMESTAMP if attribute == "time" else None
