"""Which of the events are looked at: those with given values of attributes, and around a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from weft.errors import WeftError, near_name
from weft.expressions import Attribute, Comparison, Expression, Literal
from weft.language.literals import EPOCH, parse_date, parse_timestamp, scale_of
from weft.normalize.split_alternatives import positive_variables
from weft.pattern.nodes import Event, Pattern, Query, TimeWindow
from weft.schema import LONG, TIMESTAMP, Schema, Type
from weft.tree import find

KeyValue: TypeAlias = str | int | float | bool | Decimal | datetime | date
Key: TypeAlias = Mapping[str, KeyValue]


@dataclass(frozen=True)
class Look:
    """What is asked of all events, and between which times the matched ones lie."""

    schema: Schema
    values: tuple[tuple[str, Literal], ...] = ()
    since: int | None = None
    until: int | None = None

    def conditions(self, pattern: Pattern) -> Iterator[Expression]:
        """Yield the conditions on the events of a pattern; those of NOT may lie at any time."""
        positive = positive_variables(pattern)
        for variable in dict.fromkeys(event.variable for event in find(pattern, Event)):
            yield from self.conditions_on(variable, is_timed=variable in positive)

    def conditions_on(self, variable: str, *, is_timed: bool = True) -> Iterator[Expression]:
        """Yield the conditions on the event of a variable."""
        for name, value in self.values:
            yield Comparison("=", self.attribute(variable, name), value)
        if is_timed:
            time = self.attribute(variable, self.schema.time)
            if self.since is not None:
                yield Comparison(">=", time, Literal(self.since, TIMESTAMP))
            if self.until is not None:
                yield Comparison("<=", time, Literal(self.until, TIMESTAMP))

    def attribute(self, variable: str, name: str) -> Attribute:
        """Return an attribute of a variable, with its type."""
        return Attribute(variable, name, type=self.schema.type_of(name))

    @property
    def text(self) -> str:
        """What is looked at, for people; empty where it is all events."""
        parts = [f"{name}={literal.value}" for name, literal in self.values]
        if self.since is not None and self.until is not None:
            parts.append(f"from {moment_text(self.since)} to {moment_text(self.until)}")
        return ", ".join(parts)


def look_at(
    schema: Schema,
    rule: Query,
    key: Key | None,
    at: datetime | str | None,
) -> Look:
    """Return what is looked at: events with given values, of a match around a time.

    >>> from weft.schema import DOUBLE, STRING, Schema
    >>> schema = Schema({"ts": TIMESTAMP, "user": STRING}, time="ts")
    >>> rule = Query("q", Event("A", "a"), window=TimeWindow(1_000_000))
    >>> look_at(schema, rule, {"user": "ann"}, "1970-01-01T00:00:10").text
    'user=ann, from 1970-01-01 00:00:09 to 1970-01-01 00:00:11'
    """
    if not isinstance(key, Mapping | None):
        raise WeftError(
            f'key is {key!r}; expected values by the names of attributes, such as {{"user": "ann"}}'
        )
    values = tuple((name, _literal(schema, name, value)) for name, value in (key or {}).items())
    if at is None:
        return Look(schema, values)
    moment, window = _moment(at), rule.window
    if not isinstance(window, TimeWindow):
        raise WeftError(
            f"rule {rule.name} has no WITHIN of a length of time, so there is no window around a time\n"
            "  hint: leave the time out, or look at fewer events by a key"
        )
    return Look(schema, values, moment - window.length, moment + window.length)


def moment_text(microseconds: int) -> str:
    """Return a time for people.

    >>> moment_text(1_500_000), moment_text(60_000_000)
    ('1970-01-01 00:00:01.500', '1970-01-01 00:01:00')
    """
    moment = EPOCH + timedelta(microseconds=microseconds)
    fine = "microseconds" if microseconds % 1_000 else "milliseconds"
    kind = fine if microseconds % 1_000_000 else "seconds"
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec=kind)


def _moment(at: datetime | str) -> int:
    if isinstance(at, datetime):
        moment = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(microseconds=1)
    found = parse_timestamp(at)
    if found is None:
        raise WeftError(
            f"{at!r} is no time\n  hint: write it in ISO 8601, for example 2026-01-31T09:30:00; it is in UTC "
            "unless it says otherwise"
        )
    return found


def _literal(schema: Schema, name: str, value: KeyValue) -> Literal:
    """Return a value as one of the type of an attribute."""
    kind = schema.type_of(name)
    if kind is None:
        if name in schema.unusable:
            raise WeftError(f"cannot look at events by {name!r}: the column is {schema.unusable[name]}")
        near = near_name(name, schema.attributes)
        hint = f"did you mean {near!r}?" if near else f"the columns are: {', '.join(schema.attributes)}"
        raise WeftError(f"cannot look at events by {name!r}: there is no such column\n  hint: {hint}")
    try:
        return _typed_literal(kind, value)
    except (ValueError, ArithmeticError):
        raise WeftError(
            f"cannot look at events with {name}={value}: {name} is {kind}\n  hint: give a value of that type"
        ) from None


def _typed_literal(kind: Type, value: KeyValue) -> Literal:
    text = str(value).strip()
    match kind.kind:
        case "string":
            return Literal(str(value), kind)
        case "long":
            return Literal(int(text), LONG)
        case "double":
            return Literal(float(text), kind)
        case "boolean" if text.lower() in ("true", "false"):
            return Literal(text.lower() == "true", kind)
        case "decimal":
            number = Decimal(text)
            if scale_of(number) > kind.scale:
                raise ValueError(text)
            return Literal(number.quantize(Decimal(1).scaleb(-kind.scale)), kind)
        case "timestamp" if (moment := parse_timestamp(text)) is not None:
            return Literal(moment, kind)
        case "date" if (day := parse_date(text)) is not None:
            return Literal(day, kind)
    raise ValueError(text)
