"""Build expressions from the rules of the grammar."""

from typing import Any, NamedTuple, cast

from lark import Token

from weft.errors import Span
from weft.expressions import (
    Absolute,
    Aggregate,
    AggregateFunction,
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Comparison,
    ComparisonOperator,
    CountTrends,
    Equivalence,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Place,
)
from weft.language.findings import span_of
from weft.language.lexer import quote_name
from weft.language.literals import INT64_MAX, number_literal, parse_date, parse_timestamp
from weft.language.pattern_rules import PatternRules
from weft.schema import BOOLEAN, DATE, DURATION, LONG, STRING, TIMESTAMP

FUNCTIONS = ("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "ABS")

_OPERATORS: dict[str, ComparisonOperator] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}


class WrittenColumn(NamedTuple):
    """A RETURN item as written; without AS it has no name yet."""

    expression: Any
    name: str | None
    span: Span


class Rules(PatternRules):
    """One method per rule of the grammar; the rules of patterns are inherited."""

    def where_clause(self, parts: list[Any]) -> Any:
        return parts[0]

    def return_clause(self, parts: list[Any]) -> list[WrittenColumn]:
        return parts[::2]

    def column(self, parts: list[Any]) -> WrittenColumn:
        name = parts[2].value if len(parts) == 3 else None
        return WrittenColumn(parts[0], name, span_of(parts[0], parts[-1]))

    def disjunction(self, parts: list[Any]) -> Expression:
        return Or(tuple(parts[::2]), span_of(parts[0], parts[-1]))

    def conjunction(self, parts: list[Any]) -> Expression:
        return And(tuple(parts[::2]), span_of(parts[0], parts[-1]))

    def negated(self, parts: list[Any]) -> Expression:
        return Not(parts[1], span_of(parts[0], parts[1]))

    def comparison(self, parts: list[Any]) -> Expression:
        left, token, right = parts
        operator = _OPERATORS[token.value]
        if operator in ("=", "!="):
            for name, other in ((left, right), (right, left)):
                if type(name) is Attribute and not name.variable and _has_owner(other):
                    self.maybe_texts.append(name)
        return Comparison(operator, left, right, Span(left.span.start, right.span.end))

    def is_null(self, parts: list[Any]) -> Expression:
        return IsNull(parts[0], span_of(parts[0], parts[-1]))

    def is_not_null(self, parts: list[Any]) -> Expression:
        span = span_of(parts[0], parts[-1])
        return Not(IsNull(parts[0], span), span)

    def constants(self, parts: list[Any]) -> tuple[list[Any], Token]:
        return parts[1:-1:2], parts[-1]

    def in_list(self, parts: list[Any]) -> Expression:
        operand, (items, close) = parts[0], parts[-1]
        values = []
        for item in items:
            if not isinstance(item, Literal):
                hint = "join comparisons with OR instead: a.x = b.x OR a.x = b.y"
                self.complain("IN takes constants only", item.span, hint)
            elif item.value is None:
                self.complain(
                    "NULL in a list equals nothing", item.span, "leave it out, or add OR ... IS NULL"
                )
            else:
                values.append(item)
        return InList(operand, tuple(values), span_of(operand, close))

    def not_in_list(self, parts: list[Any]) -> Expression:
        found = self.in_list(parts)
        return Not(found, found.span)

    def between(self, parts: list[Any]) -> Expression:
        operand, low, high = parts[0], parts[-3], parts[-1]
        span = span_of(operand, high)
        if holds_predicate(operand):  # which has no order, and nested would double at every level
            self.complain("BETWEEN takes a number, a text or a time, found a predicate", operand.span)
            return Literal(None, BOOLEAN, span)
        return And((Comparison(">=", operand, low, span), Comparison("<=", operand, high, span)), span)

    def not_between(self, parts: list[Any]) -> Expression:
        found = self.between(parts)
        return Not(found, found.span)

    def like(self, parts: list[Any]) -> Expression:
        return Like(parts[0], parts[-1].value, span_of(parts[0], parts[-1]))

    def not_like(self, parts: list[Any]) -> Expression:
        found = self.like(parts)
        return Not(found, found.span)

    def arithmetic(self, parts: list[Any]) -> Expression:
        left, operator, right = parts
        return Arithmetic(
            cast(ArithmeticOperator, operator.value), left, right, Span(left.span.start, right.span.end)
        )

    def negative(self, parts: list[Any]) -> Expression:
        operand = parts[1]
        span = span_of(parts[0], operand)
        if type(operand) is Literal and _has_sign(operand):
            if self.too_large and self.too_large[-1] is operand:
                self.too_large.pop()
            value = -cast(int, operand.value)
            folded = Literal(value, operand.type, span)
            if folded.type == LONG and value > INT64_MAX:
                self.too_large.append(folded)
            return folded
        return Negate(operand, span)

    def parenthesized(self, parts: list[Any]) -> Any:
        return parts[1]

    def number(self, parts: list[Token]) -> Expression:
        token = parts[0]
        span = span_of(token, token)
        try:
            value, found = number_literal(token.value)
        except ValueError:
            self.complain("this number is too large", span)
            return Literal(0, LONG, span)
        literal = Literal(value, found, span)
        if found == LONG and value > INT64_MAX:
            self.too_large.append(literal)  # unless a minus precedes it
        return literal

    def string(self, parts: list[Token]) -> Expression:
        return Literal(parts[0].value, STRING, span_of(parts[0], parts[0]))

    def duration(self, parts: list[Token]) -> Expression:
        return Literal(self.microseconds(parts) or 0, DURATION, span_of(parts[0], parts[-1]))

    def constant(self, parts: list[Token]) -> Expression:
        span = span_of(parts[0], parts[0])
        if parts[0].type == "NULL":
            return Literal(None, STRING, span)
        return Literal(parts[0].type == "TRUE", BOOLEAN, span)

    def timestamp(self, parts: list[Token]) -> Expression:
        value = parse_timestamp(parts[1].value)
        span = span_of(parts[0], parts[1])
        if value is None:
            hint = "write it as in TIMESTAMP '2024-01-31T12:00:00Z'"
            self.complain(f"{parts[1].value!r} is no ISO 8601 time", span, hint)
        return Literal(value or 0, TIMESTAMP, span)

    def date(self, parts: list[Token]) -> Expression:
        value = parse_date(parts[1].value)
        span = span_of(parts[0], parts[1])
        if value is None:
            hint = "write it as in DATE '2024-01-31'"
            self.complain(f"{parts[1].value!r} is no ISO 8601 date", span, hint)
        return Literal(value or 0, DATE, span)

    def bare_attribute(self, parts: list[Token]) -> Expression:
        found = Attribute("", parts[0].value, span=span_of(parts[0], parts[0]))
        self.without_variable.append(found)
        return found

    def attribute(self, parts: list[Token]) -> Expression:
        first, last = parts[0], parts[2]
        return Attribute(first.value, last.value, "each", None, span_of(first, last))

    def indexed_attribute(self, parts: list[Any]) -> Expression:
        place, index_span = parts[2]
        if place is None:
            variable = quote_name(parts[0].value)
            hint = f"or write FIRST({variable}).x, LAST({variable}).x"
            self.complain("a list index is [i] or [i-1]", index_span, hint)
            place = "each"
        return Attribute(parts[0].value, parts[-1].value, place, None, span_of(parts[0], parts[-1]))

    def index(self, parts: list[Token]) -> tuple[Place | None, Span]:
        text = "".join(parts).lower()
        places: dict[str, Place] = {"i": "current", "i-1": "previous"}
        return places.get(text), span_of(parts[0], parts[-1])

    def equivalence(self, parts: list[Token]) -> Equivalence:
        names = tuple(part.value for part in parts[1:-1:2])
        found = Equivalence(names, span_of(parts[0], parts[-1]))
        self.equivalences.append(found)
        return found

    def call_of_nothing(self, parts: list[Token]) -> Expression:
        return self._misused(parts[0].value, span_of(parts[0], parts[-1]))

    def call_of_star(self, parts: list[Token]) -> Expression:
        span = span_of(parts[0], parts[-1])
        if parts[0].value.upper() != "COUNT":
            return self._misused(parts[0].value, span)
        return CountTrends(span)

    def call(self, parts: list[Any]) -> Expression:
        function, arguments = parts[0].value.upper(), parts[2:-1:2]
        span = span_of(parts[0], parts[-1])
        if len(arguments) != 1 or function not in FUNCTIONS:
            return self._misused(parts[0].value, span)
        argument = arguments[0]
        if function == "ABS":
            return Absolute(argument, span)
        if type(argument) is not Attribute or argument.place != "each":
            return self._misused(parts[0].value, span)
        if argument.variable:
            return _of_attribute(function, argument.variable, argument.name, span)
        self.without_variable.pop()
        if function == "COUNT":
            return Aggregate("count", argument.name, span=span)
        found = _of_attribute(function, "", argument.name, span)
        self.without_variable.append(found)
        return found

    def call_of_attribute(self, parts: list[Any]) -> Expression:
        function, arguments = parts[0].value.upper(), parts[2:-3:2]
        span = span_of(parts[0], parts[-1])
        argument = arguments[0]
        plain = type(argument) is Attribute and argument.place == "each" and not argument.variable
        if function not in ("FIRST", "LAST") or len(arguments) != 1 or not plain:
            return self._misused(parts[0].value, span)
        self.without_variable.pop()
        return _of_attribute(function, argument.name, parts[-1].value, span)

    def _misused(self, word: str, span: Span) -> Expression:
        while self.without_variable and _starts_in(self.without_variable[-1], span):
            self.without_variable.pop()  # one complaint is enough
        function = word.upper()
        if function not in FUNCTIONS:
            close = self.near(word, FUNCTIONS)
            hint = f"did you mean {close}?" if close else "the functions are " + ", ".join(FUNCTIONS)
            self.complain(f"unknown function {word}", Span(span.start, span.start + len(word)), hint)
        elif function == "ABS":
            self.complain("ABS takes one value", span, "for example ABS(a.x - b.x)")
        else:
            forms = {"COUNT": "COUNT(*), COUNT(v) or COUNT(v.x)", "FIRST": "FIRST(v).x", "LAST": "LAST(v).x"}
            form = forms.get(function, f"{function}(v.x)")
            self.complain(f"{function} takes one attribute of a variable", span, f"write {form}")
        return Literal(None, STRING, span)


def holds_predicate(expression: Any) -> bool:
    """Return whether a value has a predicate in it, or is one."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Arithmetic):
            waiting += (node.left, node.right)
        elif isinstance(node, Negate | Absolute):
            waiting.append(node.operand)
        elif not isinstance(node, Literal | Attribute | Aggregate | CountTrends):
            return True
    return False


def _has_owner(expression: Any) -> bool:
    return type(expression) is Attribute and bool(expression.variable)


def _starts_in(found: Attribute | Aggregate, span: Span) -> bool:
    return found.span is not None and found.span.start >= span.start


def _has_sign(literal: Literal) -> bool:
    return literal.value is not None and literal.type.kind in ("long", "double", "decimal", "duration")


def _of_attribute(function: str, variable: str, name: str, span: Span) -> Attribute | Aggregate:
    if function in ("FIRST", "LAST"):
        return Attribute(variable, name, cast(Place, function.lower()), None, span)
    return Aggregate(cast(AggregateFunction, function.lower()), variable, name, None, span)
