"""Typed expressions over events: the values of predicates and of RETURN columns.

A bound expression is fully typed: every `Attribute` carries its type, and the operands of a
comparison or of arithmetic have one type, made equal by explicit `Cast` nodes. Its meaning is
three-valued: NULL in, NULL out, except for AND, OR and IS NULL. Overflow of integers, decimals or
times, division by zero and a cast that does not fit give NULL, never an error.
"""

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal as OneOf
from typing import TypeAlias

from weft.codec import stored
from weft.errors import Span
from weft.schema import BOOLEAN, DOUBLE, DURATION, LONG, TIMESTAMP, Type, decimal
from weft.tree import find

RANK = "\0rank"  # an attribute that every event has: its place in the order of all
EVENT = "\0event"  # another one: a number that no other event has
INTRINSIC = frozenset({RANK, EVENT})  # attributes that no column has

Place = OneOf["each", "current", "previous", "first", "last"]
ArithmeticOperator = OneOf["+", "-", "*", "/", "%"]
ComparisonOperator = OneOf["=", "!=", "<", "<=", ">", ">="]
AggregateFunction = OneOf["count", "sum", "avg", "min", "max", "stddev", "distinct"]
OF_SINGLE_EVENTS = frozenset({"stddev", "distinct"})  # functions of trend queries of one event

FLIPPED: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}


@stored
class Literal:
    """A constant; None is NULL. Times are microseconds, dates days, decimals `Decimal`."""

    value: int | float | bool | str | Decimal | None
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Attribute:
    """An attribute of the event bound to a variable.

    Of a list variable, `place` says which element: `each` of them, the `current` one (`v[i]`) with
    the `previous` one (`v[i-1]`), the `first` or the `last`. For a single event it is `each`.
    """

    variable: str
    name: str
    place: Place = "each"
    type: Type | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Aggregate:
    """A value of a whole list: COUNT(v), or SUM, AVG, MIN, MAX of an attribute of its elements.

    In trend queries of a single event also STDDEV, and COUNT(DISTINCT v.x), which is `distinct`.
    """

    function: AggregateFunction
    variable: str
    name: str | None = None
    argument_type: Type | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class CountTrends:
    """COUNT(*) of a trend query: how many trends there are."""

    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Suppressed:
    """SUPPRESSED(): how many matches the quiet time before this one swallowed."""

    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Cast:
    """A conversion of type, put in by the binder."""

    operand: "Expression"
    to: Type
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Unary:
    operand: "Expression"
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Negate(_Unary):
    """Unary minus."""


@stored
class Absolute(_Unary):
    """ABS of a number or a duration."""


@stored
class Arithmetic:
    """A sum, difference, product, quotient (always double) or remainder (sign of the dividend)."""

    operator: ArithmeticOperator
    left: "Expression"
    right: "Expression"
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Comparison:
    """A comparison; NaN equals NaN and is greater than every other double, as in Spark."""

    operator: ComparisonOperator
    left: "Expression"
    right: "Expression"
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class And:
    """Three-valued conjunction."""

    operands: tuple["Expression", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Or:
    """Three-valued disjunction."""

    operands: tuple["Expression", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Not(_Unary):
    """Three-valued negation."""


@stored
class IsNull(_Unary):
    """True when the operand is NULL, false otherwise (IS NOT NULL is Not(IsNull))."""


@stored
class InList:
    """The operand equals one of the literals, all of its own type and none of them NULL."""

    operand: "Expression"
    values: tuple[Literal, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@stored
class Like:
    """SQL LIKE on a string: % any run, _ one character, backslash escapes."""

    operand: "Expression"
    pattern: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[a, b]`: all events of the match, negated ones included, agree on each attribute.

    NULL agrees with nothing, not even with itself.
    """

    attributes: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


Expression: TypeAlias = (
    Literal
    | Attribute
    | Aggregate
    | CountTrends
    | Suppressed
    | Cast
    | Negate
    | Absolute
    | Arithmetic
    | Comparison
    | And
    | Or
    | Not
    | IsNull
    | InList
    | Like
)
Predicate: TypeAlias = Expression | Equivalence


def type_of(expression: Expression) -> Type:
    """Return the type of a bound expression.

    >>> type_of(Arithmetic("/", Literal(1, LONG), Literal(2, LONG)))
    Type(kind='double', scale=0)
    """
    match expression:
        case Literal(type=kind):
            return kind
        case Attribute(type=Type() as kind):
            return kind
        case Attribute(variable=variable, name=name):
            raise ValueError(f"unbound attribute {variable}.{name}")
        case Aggregate():
            return _aggregate_type(expression)
        case CountTrends() | Suppressed():
            return LONG
        case Cast(to=to):
            return to
        case Negate(operand=operand) | Absolute(operand=operand):
            return type_of(operand)
        case Arithmetic(operator=operator, left=left, right=right):
            return arithmetic_type(operator, type_of(left), type_of(right))
        case _:
            return BOOLEAN


def arithmetic_type(operator: ArithmeticOperator, left: Type, right: Type) -> Type:
    """Return the type of arithmetic on two operands whose types the binder has made to agree."""
    if operator == "/":
        return DOUBLE
    if left.kind == "decimal" and operator == "*":
        return decimal(left.scale + right.scale)
    if left == TIMESTAMP:
        return DURATION if right == TIMESTAMP else TIMESTAMP
    return TIMESTAMP if right == TIMESTAMP else left


def _aggregate_type(aggregate: Aggregate) -> Type:
    if aggregate.function in ("count", "distinct"):
        return LONG
    if aggregate.function in ("avg", "stddev"):
        return DOUBLE
    if aggregate.argument_type is None:
        raise ValueError(f"unbound aggregate of {aggregate.variable}.{aggregate.name}")
    return aggregate.argument_type


def flip(comparison: Comparison) -> Comparison:
    """Return the same comparison with its sides exchanged."""
    return Comparison(FLIPPED[comparison.operator], comparison.right, comparison.left)


@functools.lru_cache(maxsize=1 << 16)
def variables_of(expression: Hashable) -> frozenset[str]:
    """Return the variables that an expression mentions.

    >>> sorted(variables_of(Comparison("<", Attribute("a", "x"), Aggregate("count", "b"))))
    ['a', 'b']
    """
    return frozenset(node.variable for node in find(expression, Attribute)) | frozenset(
        node.variable for node in find(expression, Aggregate)
    )


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Split an expression at its top-level ANDs."""
    if isinstance(expression, And):
        return tuple(part for operand in expression.operands for part in conjuncts(operand))
    return (expression,)
