"""Give every part of an expression its type, converting operands so that they agree."""

from collections.abc import Callable
from typing import Any

from weft.errors import Span
from weft.expressions import (
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    CountTrends,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    arithmetic_type,
    type_of,
)
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text
from weft.language.typing_rules import (
    TypeMismatchError,
    agree,
    arithmetic_operands,
    common_type_of_list,
    convert,
    is_null,
)
from weft.schema import BOOLEAN, LONG, STRING, TIMESTAMP, Schema, Type

# A type of None stands for one that could not be found out; the reason has been reported.
Typed = tuple[Any, Type | None]

_ARGUMENTS = {
    "sum": ("long", "double", "decimal", "duration"),
    "avg": ("long", "double", "decimal"),
    "min": ("long", "double", "decimal", "duration", "string", "timestamp", "date"),
    "max": ("long", "double", "decimal", "duration", "string", "timestamp", "date"),
    "count": ("long", "double", "decimal", "duration", "string", "timestamp", "date", "boolean"),
}
_TREND_ARGUMENTS = {
    "sum": ("long", "double", "decimal"),
    "avg": ("long", "double", "decimal"),
    "min": ("long", "double", "decimal", "duration", "timestamp", "date"),
    "max": ("long", "double", "decimal", "duration", "timestamp", "date"),
    "count": _ARGUMENTS["count"],
}
_TREND_HINTS = {
    "sum": "in a trend query SUM takes numbers",
    "min": "in a trend query MIN takes numbers, times and durations",
    "max": "in a trend query MAX takes numbers, times and durations",
}


class Typing:
    """Types the expressions of one query against a schema."""

    def __init__(self, schema: Schema, findings: Findings, *, is_trend: bool = False) -> None:
        self.schema = schema
        self.findings = findings
        self.is_trend = is_trend
        self.complain = findings.complain
        self._rules: dict[type, Callable[[Any], Typed]] = {
            Literal: self._literal,
            Attribute: self._attribute,
            Aggregate: self._aggregate,
            CountTrends: self._count_trends,
            Cast: self._cast,
            Negate: self._signed,
            Absolute: self._signed,
            Arithmetic: self._arithmetic,
            Comparison: self._comparison,
            And: self._connective,
            Or: self._connective,
            Not: self._inversion,
            IsNull: self._is_null,
            InList: self._in_list,
            Like: self._like,
        }

    def value(self, expression: Expression) -> Expression:
        """Return a RETURN expression, typed."""
        return self._typed(expression)[0]  # type: ignore[no-any-return]

    def predicate(self, expression: Expression) -> Expression:
        """Return an expression that must be true or false, typed."""
        node, found = self._typed(expression)
        if is_null(node):
            return Literal(None, BOOLEAN, node.span)
        if found is not None and found != BOOLEAN:
            message = f"expected a predicate, found {_shown(expression, found)}"
            self.complain(message, expression.span, "compare it with something, as in a.x > 3")
        return node  # type: ignore[no-any-return]

    def column(self, name: str, span: Span | None) -> tuple[str, Type | None]:
        """Return the column that an attribute names, and its type; `time` may stand for the event time."""
        found = self.schema.attributes.get(name)
        if found is not None:
            return name, found
        shown = quote_name(name)
        if name in self.schema.unusable:
            reason = self.schema.unusable[name]
            hint = "cast the column to a number, a string, a boolean or a time first"
            self.complain(f"the attribute {shown} cannot be used: {reason}", span, hint)
        elif name == "time":
            return self.schema.time, TIMESTAMP
        else:
            known = [*self.schema.attributes, *self.schema.unusable]
            self.complain(f"unknown attribute {shown}", span, self.findings.suggest(name, known))
        return name, None

    def _typed(self, node: Expression) -> Typed:
        return self._rules[type(node)](node)

    def _literal(self, node: Literal) -> Typed:
        return node, node.type

    def _attribute(self, node: Attribute) -> Typed:
        name, found = self.column(node.name, node.span)
        return Attribute(node.variable, name, node.place, found, node.span), found

    def _aggregate(self, node: Aggregate) -> Typed:
        if node.name is None:
            if node.function != "count":
                word = node.function.upper()
                self.complain(f"{word} needs an attribute", node.span, f"write {word}({node.variable}.x)")
                return node, None
            return node, type_of(node)
        name, found = self.column(node.name, node.span)
        typed = Aggregate(node.function, node.variable, name, found, node.span)
        if found is None:
            return typed, None
        arguments = _TREND_ARGUMENTS if self.is_trend else _ARGUMENTS
        if found.kind not in arguments[node.function]:
            message = f"{node.function.upper()} does not take {quote_name(node.variable)}."
            hint = _TREND_HINTS.get(node.function) if self.is_trend else None
            self.complain(f"{message}{quote_name(name, after_dot=True)} ({found})", node.span, hint)
            return typed, None
        return typed, type_of(typed)

    def _count_trends(self, node: CountTrends) -> Typed:
        return node, type_of(node)

    def _cast(self, node: Cast) -> Typed:
        return self._typed(node.operand)

    def _signed(self, node: Negate | Absolute) -> Typed:
        operand, found = self._typed(node.operand)
        if is_null(operand):
            operand, found = Literal(None, LONG, operand.span), LONG
        rebuilt = type(node)(operand, node.span)
        if found is not None and found.kind not in ("long", "double", "decimal", "duration"):
            word = "-" if isinstance(node, Negate) else "ABS"
            self.complain(f"{word} does not take {_shown(node.operand, found)}", node.span, None)
            return rebuilt, None
        return rebuilt, found

    def _arithmetic(self, node: Arithmetic) -> Typed:
        left, given = self._typed(node.left)
        right, other = self._typed(node.right)
        if given is None or other is None:
            return Arithmetic(node.operator, left, right, node.span), None
        try:
            wanted_left, wanted_right = arithmetic_operands(node.operator, (left, given), (right, other))
            left, right = convert(left, given, wanted_left), convert(right, other, wanted_right)
        except TypeMismatchError as mismatch:
            one, two = _shown(node.left, given), _shown(node.right, other)
            self.complain(f"{node.operator} does not take {one} and {two}", node.span, mismatch.hint)
            return node, None
        typed = Arithmetic(node.operator, left, right, node.span)
        return typed, arithmetic_type(node.operator, wanted_left, wanted_right)

    def _comparison(self, node: Comparison) -> Typed:
        left, given = self._typed(node.left)
        right, other = self._typed(node.right)
        if given is None or other is None:
            return Comparison(node.operator, left, right, node.span), BOOLEAN
        if is_null(left) or is_null(right):
            word = "IS NOT NULL" if node.operator == "!=" else "IS NULL"
            shown = expression_to_text(node.right if is_null(left) else node.left)
            self.complain("a comparison with NULL is never true", node.span, f"write {shown} {word}")
            return node, BOOLEAN
        try:
            common = agree((left, given), (right, other))
            left, right = convert(left, given, common), convert(right, other, common)
        except TypeMismatchError as mismatch:
            one, two = _shown(node.left, given), _shown(node.right, other)
            self.complain(f"cannot compare {one} with {two}", node.span, mismatch.hint)
            return node, BOOLEAN
        if common == BOOLEAN and node.operator not in ("=", "!="):
            message = f"booleans have no order, so {node.operator} does not take them"
            self.complain(message, node.span, "use = or !=")
        return Comparison(node.operator, left, right, node.span), BOOLEAN

    def _connective(self, node: And | Or) -> Typed:
        operands = tuple(self.predicate(operand) for operand in node.operands)
        return type(node)(operands, node.span), BOOLEAN

    def _inversion(self, node: Not) -> Typed:
        return Not(self.predicate(node.operand), node.span), BOOLEAN

    def _is_null(self, node: IsNull) -> Typed:
        return IsNull(self._typed(node.operand)[0], node.span), BOOLEAN

    def _in_list(self, node: InList) -> Typed:
        operand, found = self._typed(node.operand)
        if found is None:
            return InList(operand, node.values, node.span), BOOLEAN
        for value in node.values:
            if value.value is None:
                self.complain("NULL in a list equals nothing", value.span or node.span, "leave it out")
                return node, BOOLEAN
        try:
            common = common_type_of_list((operand, found), node.values)
            values = tuple(convert(value, value.type, common) for value in node.values)
            typed = InList(convert(operand, found, common), values, node.span)  # type: ignore[arg-type]
        except TypeMismatchError as mismatch:
            kinds = ", ".join(sorted({str(value.type) for value in node.values}))
            message = f"{_shown(node.operand, found)} cannot be in a list of {kinds}"
            self.complain(message, node.span, mismatch.hint)
            return node, BOOLEAN
        return typed, BOOLEAN

    def _like(self, node: Like) -> Typed:
        operand, found = self._typed(node.operand)
        if found is not None and found != STRING:
            message = f"LIKE takes a string, found {_shown(node.operand, found)}"
            self.complain(message, node.span, "cast the column to string")
        if (len(node.pattern) - len(node.pattern.rstrip("\\"))) % 2:
            hint = "write two backslashes for a literal one"
            self.complain("the LIKE pattern ends in a backslash that escapes nothing", node.span, hint)
        return Like(operand, node.pattern, node.span), BOOLEAN


def _shown(expression: Expression, found: Type) -> str:
    return f"{expression_to_text(expression)} ({found})"
