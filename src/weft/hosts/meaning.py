"""What the columns of events mean, wherever the events lie, and what of them the engine is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import pyarrow as pa

from weft.errors import DataError, near_name
from weft.hosts.demand import Demand
from weft.pattern.normal_form import EVERY_TYPE
from weft.runtime.columns.layout import FLAGS_PER_COLUMN, Layout
from weft.schema import LONG, TIMESTAMP, Schema, Type

TIME, TYPE, ID, CONTENT = (
    "weft_time",
    "weft_type",
    "weft_id",
    "weft_content",
)  # columns on the way to the engine
NOT_A_VALUE = " is not a type Weft computes with"
TIE, FLAGS, ATTRIBUTE = "weft_tie", "weft_flags", "weft_attribute"


@dataclass(frozen=True, kw_only=True)
class EventRoles:
    """The columns that hold an event's time, type, id, place among others of its time, and site.

    `types` has the conditions of types that are derived from other columns.
    """

    time: str
    type: str | None = None
    id: str | None = None
    order_by: str | None = None
    site: str | None = None
    types: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EventMeaning(EventRoles):
    """Columns that have the roles, and what queries may mention of events."""

    to_time: ClassVar = "to_timestamp or timestamp_millis"  # turns numbers and texts into times

    schema: Schema

    @classmethod
    def bind(cls, kinds: Mapping[str, Type | str], roles: EventRoles, **more: Any) -> Self:
        """Return the meaning of columns, of which `kinds` has the type or says why Weft cannot use it."""
        require_column(list(kinds), roles.time, "the event time")
        if kinds[roles.time] != TIMESTAMP:
            found = str(kinds[roles.time]).removesuffix(NOT_A_VALUE)
            raise DataError(
                f"the time column {roles.time!r} is {found}, expected timestamp; "
                f"convert it, for example with {cls.to_time}"
            )
        if roles.type is None and not roles.types:
            raise DataError(
                "neither a type column (type=) nor derived types (columns=Columns(types=...)) are given"
            )
        named = (
            (roles.type, "the event type"),
            (roles.id, "the event id"),
            (roles.order_by, "the order"),
            (roles.site, "the site"),
        )
        for name, role in named:
            if name is not None:
                require_column(list(kinds), name, role)
        schema = _event_schema(kinds, roles)
        order_by = roles.order_by
        if order_by is not None and order_by not in schema.attributes:
            raise DataError(f"cannot order by {order_by!r}: {schema.unusable[order_by]}")
        own = {own.name: getattr(roles, own.name) for own in fields(EventRoles)}
        return cls(schema=schema, **own, **more)

    @property
    def required(self) -> list[str]:
        """The columns besides the time in which every event has a value."""
        return [name for name in (self.type, self.id, self.site) if name is not None]

    @property
    def id_type(self) -> pa.DataType:
        """The type that the ids of events have in matches: a number or a text."""
        is_number = self.id is not None and self.schema.attributes.get(self.id) == LONG
        return pa.int64() if is_number else pa.string()

    def layout(self, demand: Demand) -> Layout:
        """Return which columns the engine is given for what plans ask of the events."""
        type_names = sorted(demand.types - {EVERY_TYPE})
        derived = tuple(name for name in type_names if name in self.types)
        attributes: dict[str, tuple[str, Type]] = {}
        for number, name in enumerate(sorted(demand.attributes)):
            kind = self.schema.type_of(name)
            if kind is None:
                raise ValueError(f"the queries mention the unknown attribute {name}")
            is_time = name == self.time or (name == "time" and name not in self.schema.attributes)
            attributes[name] = (TIME, TIMESTAMP) if is_time else (f"{ATTRIBUTE}{number}", kind)
        return Layout(
            time=TIME,
            type=TYPE if self.type is not None else None,
            id=ID if self.id is not None else None,
            content=None if self.id is not None else CONTENT,
            tie=TIE if self.order_by is not None else None,
            attributes=attributes,
            type_names=tuple(name for name in type_names if name not in derived),
            derived_types=derived,
            flags=tuple(f"{FLAGS}{start}" for start in range(0, len(derived), FLAGS_PER_COLUMN)),
            tie_type=None if self.order_by is None else self.schema.attributes[self.order_by],
        )


def flagged_types(layout: Layout) -> dict[str, tuple[str, ...]]:
    """Return the derived types whose bits each column of flags holds, the lowest first."""
    return {
        name: layout.derived_types[number * FLAGS_PER_COLUMN : (number + 1) * FLAGS_PER_COLUMN]
        for number, name in enumerate(layout.flags)
    }


def _event_schema(kinds: Mapping[str, Type | str], roles: EventRoles) -> Schema:
    """Return what the queries may mention of events; derived types may overlap."""
    attributes = {name: kind for name, kind in kinds.items() if isinstance(kind, Type)}
    unusable = {name: kind for name, kind in kinds.items() if isinstance(kind, str)}
    known = None if roles.type is not None else frozenset(roles.types)
    return Schema(attributes, roles.time, known, types_overlap=bool(roles.types), unusable=unusable)


def refuse_duplicates(names: Sequence[str], *, ignores_case: bool = False) -> None:
    """Refuse events with columns of one name, or, where case is ignored, of names that differ in it alone.

    >>> refuse_duplicates(["ts", "id", "ID"])
    >>> refuse_duplicates(["ts", "id", "ID"], ignores_case=True)
    Traceback (most recent call last):
    weft.errors.DataError: the events have the columns 'id' and 'ID', which differ in case alone
      hint: rename or drop one of them; Spark tells them apart with spark.sql.caseSensitive=true
    """
    seen: dict[str, str] = {}
    for name in names:
        key = name.casefold() if ignores_case else name
        if key not in seen:
            seen[key] = name
            continue
        first = seen[key]
        if first == name:
            raise DataError(
                f"the events have several columns {name!r}\n"
                "  hint: rename or drop all but one; after a join, join on the name, or drop that of one side"
            )
        raise DataError(
            f"the events have the columns {first!r} and {name!r}, which differ in case alone\n"
            "  hint: rename or drop one of them; Spark tells them apart with spark.sql.caseSensitive=true"
        )


def require_column(names: Sequence[str], name: str, role: str) -> None:
    """Refuse when a column that the caller named is not there, and say which there are."""
    if name in names:
        return
    near = near_name(name, names)
    hint = f"; did you mean {near!r}?" if near else "."
    raise DataError(f"no column {name!r} for {role}{hint} The columns are: {', '.join(names)}")
