"""Give every part of an expression its type, converting operands so that they agree."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from weft import expressions
from weft.errors import Span
from weft.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    InList,
    Like,
    Literal,
    arithmetic_type,
    type_of,
)
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text
from weft.language.typing_rules import (
    Operand,
    TypeMismatchError,
    agree,
    arithmetic_operands,
    common_type_of_list,
    convert,
    is_null,
)
from weft.schema import BOOLEAN, LONG, STRING, TIMESTAMP, Schema, Type
from weft.tree import find

# A type of None stands for one that could not be found out; the reason has been reported.
Typed = tuple[Any, Type | None]
Pair = TypeVar("Pair", Arithmetic, Comparison)

_NUMBERS = frozenset({"long", "double", "decimal"})
_ORDERED = _NUMBERS | {"duration", "timestamp", "date"}
_ARGUMENTS = {  # COUNT takes all types
    "sum": _NUMBERS | {"duration"},
    "avg": _NUMBERS,
    "stddev": _NUMBERS,
    "min": _ORDERED | {"string"},
    "max": _ORDERED | {"string"},
}
_TREND_ARGUMENTS = {
    **dict.fromkeys(("sum", "avg", "stddev"), _NUMBERS),
    **dict.fromkeys(("min", "max"), _ORDERED),
}
NO_VALUES = "is it the right file, with more in it than a header? Parquet tells types without values"
_TREND_HINTS = {
    "sum": "in a trend query SUM takes numbers",
    "stddev": "in a trend query STDDEV takes numbers",
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

    def value(self, expression: Expression) -> Expression:
        """Return a RETURN expression, typed."""
        return self._type(expression)[0]  # type: ignore[no-any-return]

    def predicate(self, expression: Expression) -> Expression:
        """Return an expression that must be true or false, typed."""
        node, given = self._type(expression)
        if is_null(node):
            return Literal(None, BOOLEAN, node.span)
        if given is not None and given != BOOLEAN:
            message = f"expected a predicate, found {_shown(expression, given)}"
            self.complain(message, expression.span, "compare it with something, as in a.x > 3")
        return node  # type: ignore[no-any-return]

    def column(self, name: str, span: Span | None) -> tuple[str, Type | None]:
        """Return the column that an attribute names, and its type; `time` may stand for the event time."""
        given = self.schema.attributes.get(name)
        if given is not None:
            return name, given
        shown = quote_name(name)
        if name in self.schema.unusable:
            reason = self.schema.unusable[name]
            hint = "cast the column to a number, a string, a boolean or a time first"
            self.complain(f"the attribute {shown} cannot be used: {reason}", span, hint)
        elif name == "time":
            return self.schema.time, TIMESTAMP
        else:
            known = [*self.schema.attributes, *self.schema.unusable]
            remedy = _numbered(name, known) or self.findings.suggest(name, known)
            self.complain(f"unknown attribute {shown}", span, remedy)
        return name, None

    def _type(self, node: expressions.Predicate) -> Typed:
        match node:
            case Attribute():
                name, given = self.column(node.name, node.span)
                return Attribute(node.variable, name, node.place, given, node.span), given
            case Literal():
                return node, node.type
            case Comparison():
                return self._comparison(node), BOOLEAN
            case Arithmetic():
                return self._arithmetic(node)
            case expressions.And() | expressions.Or():
                operands = tuple(self.predicate(operand) for operand in node.operands)
                return type(node)(operands, node.span), BOOLEAN
            case expressions.Not():
                return expressions.Not(self.predicate(node.operand), node.span), BOOLEAN
            case expressions.IsNull():
                return expressions.IsNull(self._type(node.operand)[0], node.span), BOOLEAN
            case InList():
                return self._in_list(node), BOOLEAN
            case Like():
                return self._like(node), BOOLEAN
            case expressions.Negate() | expressions.Absolute():
                return self._sign(node)
            case Aggregate():
                return self._aggregate(node)
            case expressions.CountTrends() | expressions.Suppressed():
                return node, type_of(node)
            case expressions.Cast():
                return self._type(node.operand)
            case expressions.Equivalence():  # where it may not stand, as the parser has reported
                return node, None

    def _aggregate(self, node: Aggregate) -> Typed:
        if node.name is None:
            if node.function != "count":
                word = node.function.upper()
                self.complain(f"{word} needs an attribute", node.span, f"write {word}({node.variable}.x)")
                return node, None
            return node, type_of(node)
        name, given = self.column(node.name, node.span)
        typed = Aggregate(node.function, node.variable, name, given, node.span)
        if given is None:
            return typed, None
        arguments = _TREND_ARGUMENTS if self.is_trend else _ARGUMENTS
        if node.function in arguments and given.kind not in arguments[node.function]:
            message = f"{node.function.upper()} does not take {quote_name(node.variable)}."
            hint = _TREND_HINTS.get(node.function) if self.is_trend else None
            hint = self._without_values(node) or hint
            self.complain(f"{message}{quote_name(name, after_dot=True)} ({given})", node.span, hint)
            return typed, None
        return typed, type_of(typed)

    def _sign(self, node: expressions.Negate | expressions.Absolute) -> Typed:
        operand, given = self._type(node.operand)
        if is_null(operand):
            operand, given = Literal(None, LONG, operand.span), LONG
        rebuilt = type(node)(operand, node.span)
        if given is not None and given.kind not in _ARGUMENTS["sum"]:
            word = "-" if isinstance(node, expressions.Negate) else "ABS"
            hint = self._without_values(node)
            self.complain(f"{word} does not take {_shown(node.operand, given)}", node.span, hint)
            return rebuilt, None
        return rebuilt, given

    def _arithmetic(self, node: Arithmetic) -> Typed:
        rule = partial(arithmetic_operands, node.operator)
        typed, wanted = self._pair(node, rule, f"{node.operator} does not take", "and")
        return typed, None if wanted is None else arithmetic_type(node.operator, *wanted)

    def _comparison(self, node: Comparison) -> Expression:
        typed, wanted = self._pair(node, agree, "cannot compare", "with")
        if wanted is None:
            return typed
        if is_null(typed.left) or is_null(typed.right):
            word = "IS NOT NULL" if node.operator == "!=" else "IS NULL"
            shown = expression_to_text(node.right if is_null(typed.left) else node.left)
            self.complain("a comparison with NULL is never true", node.span, f"write {shown} {word}")
        elif wanted[0] == BOOLEAN and node.operator not in ("=", "!="):
            message = f"booleans have no order, so {node.operator} does not take them"
            self.complain(message, node.span, "use = or !=")
        return typed

    def _pair(
        self, node: Pair, rule: Callable[[Operand, Operand], tuple[Type, Type]], refusal: str, joint: str
    ) -> tuple[Pair, tuple[Type, Type] | None]:
        """Return a node with both operands converted as a rule says, and their types, None if unknown."""
        left, given = self._type(node.left)
        right, other = self._type(node.right)
        wanted = None
        if given is not None and other is not None:
            try:
                wanted = rule((left, given), (right, other))
                left, right = convert(left, given, wanted[0]), convert(right, other, wanted[1])
            except TypeMismatchError as mismatch:
                sides = f"{_shown(node.left, given)} {joint} {_shown(node.right, other)}"
                self.complain(f"{refusal} {sides}", node.span, self._without_values(node) or mismatch.hint)
                return node, None
        return type(node)(node.operator, left, right, node.span), wanted

    def _without_values(self, node: Expression) -> str | None:
        """Return what to do about a column that is taken for a text because no row has a value there."""
        mentioned = {own.name for own in find(node, Attribute)} | {own.name for own in find(node, Aggregate)}
        names = [name for name in self.schema.without_values if name in mentioned]
        if not names:
            return None
        shown = " and ".join(map(quote_name, sorted(names)))
        return f"no row has a value of {shown}, so its type is not known: {NO_VALUES}"

    def _in_list(self, node: InList) -> Expression:
        operand, given = self._type(node.operand)
        if given is None:
            return InList(operand, node.values, node.span)
        for value in node.values:
            if value.value is None:
                self.complain("NULL in a list equals nothing", value.span or node.span, "leave it out")
                return node
        try:
            common = common_type_of_list((operand, given), node.values)
            values = tuple(convert(value, value.type, common) for value in node.values)
            return InList(convert(operand, given, common), values, node.span)  # type: ignore[arg-type]
        except TypeMismatchError as mismatch:
            kinds = ", ".join(sorted({str(value.type) for value in node.values}))
            message = f"{_shown(node.operand, given)} cannot be in a list of {kinds}"
            self.complain(message, node.span, self._without_values(node) or mismatch.hint)
            return node

    def _like(self, node: Like) -> Expression:
        operand, given = self._type(node.operand)
        if given is not None and given != STRING:
            message = f"LIKE takes a string, found {_shown(node.operand, given)}"
            self.complain(message, node.span, "cast the column to string")
        if (len(node.pattern) - len(node.pattern.rstrip("\\"))) % 2:
            hint = "write two backslashes for a literal one"
            self.complain("the LIKE pattern ends in a backslash that escapes nothing", node.span, hint)
        return Like(operand, node.pattern, node.span)


def _numbered(name: str, known: Iterable[str]) -> str | None:
    """Return what became of columns of one name."""
    places = [own for own in known if own.startswith(name) and own[len(name) :].isdigit()]
    if len(places) < 2:
        return None
    shown = " and ".join(map(quote_name, places))
    return f"there are {shown}; if a CSV file names several columns {name}, rename all but one"


def _shown(expression: Expression, given: Type) -> str:
    return f"{expression_to_text(expression)} ({given})"
