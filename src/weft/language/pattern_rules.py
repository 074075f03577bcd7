"""Build patterns, windows and policies from the rules of the grammar."""

from typing import Any, NamedTuple, cast

from lark import Token

from weft.errors import Span
from weft.expressions import Attribute
from weft.language.findings import Notes, span_of
from weft.language.foreign_words import meant_by_operator
from weft.language.lexer import CLAUSES, quote_name
from weft.language.literals import INT64_MAX, UNITS, duration_of
from weft.language.printer import OPERATOR_WORDS
from weft.pattern import nodes
from weft.pattern.nodes import Event, Kleene, Pattern, Window
from weft.pattern.policies import Skip, Strategy, Suppression

_OPERATORS: dict[str, Any] = {word: operator for operator, word in OPERATOR_WORDS.items()}
_CALENDAR_UNITS = frozenset({"month", "months", "year", "years"})


class Quantifier(NamedTuple):
    """How often an event may repeat, and where that is written."""

    least: int
    most: int | None
    span: Span


class WrittenVariable(NamedTuple):
    """A variable as declared, with or without the brackets of a list."""

    name: str
    is_list: bool
    span: Span


class WrittenGroupKey(NamedTuple):
    """An attribute of GROUP BY, and the variable before it if there is one."""

    variable: str | None
    name: str
    span: Span


class PatternRules(Notes):
    """One method per rule of the grammar that describes patterns, windows and which matches count."""

    def event(self, parts: list[Any]) -> Pattern:
        name = parts[0]
        span = span_of(name, parts[-1])
        quantifier = variable = None
        for part in parts[1:]:
            if type(part) is Quantifier:
                quantifier = part
            else:
                variable = part
        event = Event(name.value, variable.name if variable else name.value, span)
        self.events.append(event)
        if variable is None:
            self.events_without_variable.append(event)
        if quantifier is not None:
            return Kleene(event, quantifier.least, quantifier.most, span)
        if variable is not None and variable.is_list:
            shown = quote_name(event.type)
            self.complain(
                f"{variable.name}[] is a list, but {shown} matches one event",
                variable.span,
                f"write {shown}+ {quote_name(variable.name)}[] for one or more events, or leave out the []",
            )
        return event

    def variable(self, parts: list[Token]) -> WrittenVariable:
        return WrittenVariable(parts[0].value, len(parts) > 1, span_of(parts[0], parts[-1]))

    def quantifier(self, parts: list[Token]) -> Quantifier:
        span = span_of(parts[0], parts[-1])
        if len(parts) == 1:
            least, most = {"+": (1, None), "*": (0, None), "?": (0, 1)}[parts[0].value]
            return Quantifier(least, most, span)
        least = self._whole_number(parts[1])
        if len(parts) == 3:
            return Quantifier(least, least, span)
        return Quantifier(least, None if len(parts) == 4 else self._whole_number(parts[3]), span)

    def _whole_number(self, token: Token) -> int:
        text = token.value
        if text.isdecimal() and len(text) < 20 and int(text) <= INT64_MAX:
            return int(text)
        self.complain(f"expected a whole number, found {_shorten(text)}", span_of(token, token))
        return 1

    def negation(self, parts: list[Any]) -> Pattern:
        return nodes.Negation(parts[1], span_of(parts[0], parts[1]))

    def group(self, parts: list[Any]) -> Any:
        return parts[1]

    def repeated_group(self, parts: list[Any]) -> Any:
        _, operand, _, quantifier = parts
        return Kleene(operand, quantifier.least, quantifier.most, span_of(parts[0], quantifier))

    def composite(self, parts: list[Any]) -> Any:
        operator = parts[0]
        quantifier = parts.pop() if type(parts[-1]) is Quantifier else None
        span = span_of(operator, parts[-1])
        operands = tuple(parts[2:-1:2])
        if operator.type == "CALL":
            hint = meant_by_operator(operator.value)
            if hint is None:
                close = self.near(operator.value, ["SEQ", "AND", "OR", "SOME", "NOT"])
                hint = f"did you mean {close}?" if close else "the operators are SEQ, AND, OR, SOME and NOT"
            self.complain(f"unknown operator {operator.value}", span_of(operator, operator), hint)
            return nodes.Sequence(operands, span)
        if not operands:
            word = operator.value.upper()
            self.complain(f"{word} needs at least one operand", span, f"for example {word}(A a, B b)")
        pattern: Pattern = _OPERATORS[operator.type](operands, span)
        if quantifier is None:
            return pattern
        return Kleene(pattern, quantifier.least, quantifier.most, span_of(operator, quantifier))

    def within_clause(self, parts: list[Token]) -> Window | None:
        span = span_of(parts[0], parts[-1])
        sign, quantities = self.quantities("WITHIN", parts, ("seconds", "minutes", "EVENTS"))
        if len(quantities) == 2 and counts_events(quantities):
            return nodes.CountWindow(sign * self._whole_number(quantities[0]), span)
        length = self.microseconds(quantities, with_events=True)
        return None if length is None else nodes.TimeWindow(sign * length, span)

    def slide_clause(self, parts: list[Token]) -> int | None:
        return self._time("SLIDE", parts, "1 minute")

    def _time(self, clause: str, parts: list[Token], example: str) -> int | None:
        """Return the length of a clause that takes no number of events."""
        sign, quantities = self.quantities(clause, parts, ("seconds", "minutes"))
        if quantities and counts_events(quantities):
            span = span_of(parts[0], parts[-1])
            hint = f"write {clause} {example}"
            self.complain(f"{clause} takes a time, found a number of events", span, hint)
            return None
        length = self.microseconds(quantities)
        return None if length is None else sign * length

    def quantities(self, clause: str, parts: list[Token], units: tuple[str, ...]) -> tuple[int, list[Token]]:
        """Return the sign and the numbers with their units; complain of a number that has none."""
        sign = -1 if parts[0].type == "MINUS" else 1
        quantities = parts[1:] if sign < 0 else parts
        if len(quantities) == 1:
            amount = quantities[0].value
            hint = "write " + ", ".join(f"{amount} {unit}" for unit in units) + " ..."
            self.complain(f"{clause} {amount} has no unit", span_of(parts[0], parts[-1]), hint)
            return sign, []
        return sign, quantities

    def microseconds(self, quantities: list[Token], *, with_events: bool = False) -> int | None:
        """Return the length of `1 hour 30 minutes`, given as number and unit by turns, None without any."""
        if not quantities:
            return None
        total = 0
        for number, unit in zip(quantities[::2], quantities[1::2], strict=True):
            if unit.value.lower() not in UNITS:
                self._complain_of_unit(unit, with_events=with_events)
                return None
            length = duration_of(number.value, unit.value)
            if length is None or total + length > INT64_MAX:
                shown = f"{_shorten(number.value)} {unit.value}"
                self.complain(f"{shown} is no whole number of microseconds in range", span_of(number, unit))
                return None
            total += length
        return total

    def _complain_of_unit(self, unit: Token, *, with_events: bool) -> None:
        word = unit.value
        close = self.near(word, [*UNITS, *CLAUSES, "SLIDE", "EVENTS"])
        if word.lower() in _CALENDAR_UNITS:
            hint: str = "months and years differ in length; write weeks or days"
        elif close:
            hint = f"did you mean {close}?"
        else:
            hint = "the units are microseconds, milliseconds, seconds, minutes, hours, days, weeks"
            hint += " and EVENTS" if with_events else ""
        self.complain(f"unknown unit {_shorten(word)}", span_of(unit, unit), hint)

    def partition_clause(self, parts: list[Token]) -> tuple[str, ...]:
        return tuple(part.value for part in parts[::2])

    def group_clause(self, parts: list[Any]) -> tuple[WrittenGroupKey, ...]:
        return tuple(parts[::2])

    def group_key(self, parts: list[Token]) -> WrittenGroupKey:
        variable = parts[0].value if len(parts) == 3 else None
        return WrittenGroupKey(variable, parts[-1].value, span_of(parts[0], parts[-1]))

    def strategy_clause(self, parts: list[Token]) -> Strategy:
        return cast(Strategy, parts[0].type.lower())

    def after_clause(self, parts: list[Token]) -> Skip:
        return cast(Skip, " ".join(part.type for part in parts).lower())

    def prefer_clause(self, _parts: list[Token]) -> bool:
        return True

    def timeouts_clause(self, _parts: list[Token]) -> bool:
        return True

    def suppress_clause(self, parts: list[Any]) -> Suppression | None:
        *written, last = parts
        per: tuple[Attribute, ...] = last if type(last) is tuple else ()
        tokens = written if per else parts
        length = self._time("SUPPRESS", tokens, "1 hour")
        return None if length is None else Suppression(length, per, span_of(tokens[0], (*tokens, *per)[-1]))

    def per(self, parts: list[Any]) -> tuple[Attribute, ...]:
        return tuple(parts[1::2])


def counts_events(quantities: list[Token]) -> bool:
    """Return whether the unit of a quantity is an event, not a time."""
    return quantities[1].value.upper() in ("EVENT", "EVENTS")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
