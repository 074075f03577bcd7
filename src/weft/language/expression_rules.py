"""Build expressions from the rules of the grammar."""

from typing import Any, cast

from lark import Token

from weft import expressions
from weft.errors import Span
from weft.expressions import Aggregate, Attribute, ComparisonOperator, Equivalence, Expression, Literal, Place
from weft.language.findings import span_of
from weft.language.foreign_words import meant_by_function
from weft.language.lexer import quote_name
from weft.language.literals import INT64_MAX, number_literal, parse_date, parse_timestamp
from weft.language.pattern_rules import PatternRules
from weft.pattern.nodes import ReturnColumn
from weft.schema import BOOLEAN, DATE, DURATION, LONG, STRING, TIMESTAMP, Type
from weft.tree import walk

_OF_ATTRIBUTES = ("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV")
FUNCTIONS = (*_OF_ATTRIBUTES, "ABS", "SUPPRESSED")
_OPERATORS = {"==": "=", "<>": "!="}  # what is written otherwise than in an expression
_PLACES: dict[str, Place] = {"i": "current", "i-1": "previous"}
_TIMES = {
    "TIMESTAMP": (parse_timestamp, TIMESTAMP, "time", "2024-01-31T12:00:00Z"),
    "DATE": (parse_date, DATE, "date", "2024-01-31"),
}
_VALUES = (
    *(Literal, Attribute, Aggregate, Type),
    *(expressions.CountTrends, expressions.Suppressed),
    *(expressions.Arithmetic, expressions.Negate, expressions.Absolute),
)


class Rules(PatternRules):
    """One method per rule of the grammar; the rules of patterns are inherited."""

    def return_clause(self, parts: list[Any]) -> list[ReturnColumn]:
        return parts[::2]

    def column(self, parts: list[Any]) -> ReturnColumn:
        name = parts[-1].value if len(parts) > 1 else ""  # to be named when the query is known
        return ReturnColumn(name, parts[0], span_of(parts[0], parts[-1]))

    def disjunction(self, parts: list[Any]) -> Expression:
        return expressions.Or(tuple(parts[::2]), span_of(parts[0], parts[-1]))

    def conjunction(self, parts: list[Any]) -> Expression:
        return expressions.And(tuple(parts[::2]), span_of(parts[0], parts[-1]))

    def logical_not(self, parts: list[Any]) -> Expression:
        return expressions.Not(parts[1], span_of(parts[0], parts[1]))

    def comparison(self, parts: list[Any]) -> Expression:
        left, token, right = parts
        operator = cast(ComparisonOperator, _OPERATORS.get(token.value, token.value))
        if operator in ("=", "!="):
            for name, other in ((left, right), (right, left)):
                if type(name) is Attribute and not name.variable and _has_owner(other):
                    self.maybe_texts.append(name)
        return expressions.Comparison(operator, left, right, Span(left.span.start, right.span.end))

    def is_null(self, parts: list[Any]) -> Expression:
        test = expressions.IsNull(parts[0], span_of(parts[0], parts[-1]))
        return _apply_not(test, parts[2])

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
                hint = "leave it out, or add OR ... IS NULL"
                self.complain("NULL in a list equals nothing", item.span, hint)
            else:
                values.append(item)
        return _apply_not(expressions.InList(operand, tuple(values), span_of(operand, close)), parts[1])

    def between(self, parts: list[Any]) -> Expression:
        operand, low, high = parts[0], parts[-3], parts[-1]
        span = span_of(operand, high)
        if holds_predicate(operand):  # which has no order, and nested would double at every level
            self.complain("BETWEEN takes a number, a text or a time, found a predicate", operand.span)
            return Literal(None, BOOLEAN, span)
        above = expressions.Comparison(">=", operand, low, span)
        below = expressions.Comparison("<=", operand, high, span)
        return _apply_not(expressions.And((above, below), span), parts[1])

    def like(self, parts: list[Any]) -> Expression:
        test = expressions.Like(parts[0], parts[-1].value, span_of(parts[0], parts[-1]))
        return _apply_not(test, parts[1])

    def arithmetic(self, parts: list[Any]) -> Expression:
        left, operator, right = parts
        return expressions.Arithmetic(operator.value, left, right, Span(left.span.start, right.span.end))

    def negative(self, parts: list[Any]) -> Expression:
        operand = parts[1]
        span = span_of(parts[0], operand)
        if type(operand) is not Literal or not _has_sign(operand):
            return expressions.Negate(operand, span)
        if self.too_large and self.too_large[-1] is operand:
            self.too_large.pop()
        return self._in_range(Literal(-cast(int, operand.value), operand.type, span))

    def number(self, parts: list[Token]) -> Expression:
        span = span_of(parts[0], parts[0])
        try:
            value, kind = number_literal(parts[0].value)
        except ValueError:
            self.complain("this number is too large", span)
            return Literal(0, LONG, span)
        return self._in_range(Literal(value, kind, span))

    def _in_range(self, literal: Literal) -> Literal:
        """Note a number that is too large, unless a minus precedes it."""
        if literal.type == LONG and cast(int, literal.value) > INT64_MAX:
            self.too_large.append(literal)
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

    def time(self, parts: list[Token]) -> Expression:
        keyword, text = parts
        parse, kind, word, example = _TIMES[keyword.type]
        value = parse(text.value)
        span = span_of(keyword, text)
        if value is None:
            hint = f"write it as in {keyword.type} '{example}'"
            self.complain(f"{text.value!r} is no ISO 8601 {word}", span, hint)
        return Literal(value or 0, kind, span)

    def bare_attribute(self, parts: list[Token]) -> Expression:
        attribute = Attribute("", parts[0].value, span=span_of(parts[0], parts[0]))
        self.without_variable.append(attribute)
        return attribute

    def attribute(self, parts: list[Token]) -> Expression:
        return Attribute(parts[0].value, parts[2].value, "each", None, span_of(parts[0], parts[2]))

    def indexed_attribute(self, parts: list[Any]) -> Expression:
        place, index_span = parts[2]
        if place is None:
            variable = quote_name(parts[0].value)
            hint = f"or write FIRST({variable}).x, LAST({variable}).x"
            self.complain("a list index is [i] or [i-1]", index_span, hint)
        return Attribute(parts[0].value, parts[-1].value, place or "each", None, span_of(parts[0], parts[-1]))

    def index(self, parts: list[Token]) -> tuple[Place | None, Span]:
        return _PLACES.get("".join(parts).lower()), span_of(parts[0], parts[-1])

    def equivalence(self, parts: list[Token]) -> Equivalence:
        names = tuple(part.value for part in parts[1:-1:2])
        equivalence = Equivalence(names, span_of(parts[0], parts[-1]))
        self.equivalences.append(equivalence)
        return equivalence

    def call(self, parts: list[Any]) -> Expression:
        function, arguments = parts[0].value.upper(), parts[2:-1:2]
        span = span_of(parts[0], parts[-1])
        if type(parts[2]) is Token and parts[2].type == "DISTINCT":  # after COUNT alone
            function, arguments = "DISTINCT", [parts[3]]
        if function == "SUPPRESSED" and not arguments:
            return expressions.Suppressed(span)
        if len(arguments) != 1:
            return self._refuse_call(parts[0].value, span)
        argument = arguments[0]
        is_star = type(argument) is Token
        if is_star and function == "COUNT":
            return expressions.CountTrends(span)
        if not is_star and function == "ABS":
            return expressions.Absolute(argument, span)
        if (
            function not in (*_OF_ATTRIBUTES, "DISTINCT")
            or type(argument) is not Attribute
            or argument.place != "each"
        ):
            return self._refuse_call(parts[0].value, span)
        if argument.variable:
            return _of_attribute(function, argument.variable, argument.name, span)
        self.without_variable.pop()
        if function == "COUNT":
            return Aggregate("count", argument.name, span=span)
        mention = _of_attribute(function, "", argument.name, span)
        self.without_variable.append(mention)
        return mention

    def call_of_attribute(self, parts: list[Any]) -> Expression:
        function, arguments = parts[0].value.upper(), parts[2:-3:2]
        span = span_of(parts[0], parts[-1])
        argument = arguments[0]
        plain = type(argument) is Attribute and argument.place == "each" and not argument.variable
        if function not in ("FIRST", "LAST") or len(arguments) != 1 or not plain:
            return self._refuse_call(parts[0].value, span)
        self.without_variable.pop()
        return _of_attribute(function, argument.name, parts[-1].value, span)

    def _refuse_call(self, word: str, span: Span) -> Expression:
        while self.without_variable and _starts_in(self.without_variable[-1], span):
            self.without_variable.pop()  # one complaint is enough
        function = word.upper()
        if function not in FUNCTIONS:
            hint = meant_by_function(word)
            if hint is None:
                close = self.near(word, FUNCTIONS)
                hint = f"did you mean {close}?" if close else "the functions are " + ", ".join(FUNCTIONS)
            self.complain(f"unknown function {word}", Span(span.start, span.start + len(word)), hint)
        elif function == "ABS":
            self.complain("ABS takes one value", span, "for example ABS(a.x - b.x)")
        elif function == "SUPPRESSED":
            self.complain("SUPPRESSED takes no value", span, "write SUPPRESSED()")
        else:
            forms = {"COUNT": "COUNT(*), COUNT(v) or COUNT(v.x)", "FIRST": "FIRST(v).x", "LAST": "LAST(v).x"}
            form = forms.get(function, f"{function}(v.x)")
            self.complain(f"{function} takes one attribute of a variable", span, f"write {form}")
        return Literal(None, STRING, span)


def holds_predicate(expression: Any) -> bool:
    """Return whether a value has a predicate in it, or is one."""
    return not all(isinstance(node, _VALUES) for node in walk(expression))


def _apply_not(test: Expression, token: Token) -> Expression:
    """Return a test, or the opposite of it where NOT is written."""
    return expressions.Not(test, test.span) if token.type == "NOT" else test


def _has_owner(expression: Any) -> bool:
    return type(expression) is Attribute and bool(expression.variable)


def _starts_in(mention: Attribute | Aggregate, span: Span) -> bool:
    return mention.span is not None and mention.span.start >= span.start


def _has_sign(literal: Literal) -> bool:
    return literal.value is not None and literal.type.kind in ("long", "double", "decimal", "duration")


def _of_attribute(function: str, variable: str, name: str, span: Span) -> Attribute | Aggregate:
    if function in ("FIRST", "LAST"):
        return Attribute(variable, name, cast(Any, function.lower()), None, span)
    return Aggregate(cast(Any, function.lower()), variable, name, None, span)
