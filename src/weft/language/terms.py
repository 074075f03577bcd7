"""Values and predicates as Python objects that operators combine."""

import math
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from weft import expressions
from weft.errors import Problem, QueryError
from weft.expressions import (
    AggregateFunction,
    And,
    ArithmeticOperator,
    Attribute,
    ComparisonOperator,
    Expression,
    Literal,
    Or,
)
from weft.language.literals import EPOCH, INT64_MAX, INT64_MIN, fits_decimal, scale_of
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, decimal

Constant: TypeAlias = bool | int | float | str | Decimal | datetime | date | timedelta | None


def _comparison(operator: ComparisonOperator) -> Callable[["Term", "Operand"], "Term"]:
    def compare(left: "Term", right: "Operand") -> "Term":
        return Term(expressions.Comparison(operator, left.expression, expression_of(right)))

    return compare


def _arithmetic(
    operator: ArithmeticOperator, *, reflected: bool = False
) -> Callable[["Term", "Operand"], "Term"]:
    def calculate(term: "Term", other: "Operand") -> "Term":
        left, right = (other, term) if reflected else (term, other)
        return Term(expressions.Arithmetic(operator, expression_of(left), expression_of(right)))

    return calculate


class Term:
    """A value or a predicate under construction; Python's operators combine terms.

    >>> price = Term(Attribute("stock", "price"))
    >>> (price * 2 > 3).expression.right
    Literal(value=3, type=Type(kind='long', scale=0))
    """

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_chain", "expression")

    def __init__(self, expression: Expression, chain: type[And] | type[Or] | None = None) -> None:
        self.expression = expression
        self._chain = chain

    def __bool__(self) -> bool:
        raise TypeError("a term has no truth value yet; join predicates with &, | and ~")

    def __repr__(self) -> str:
        return f"Term({self.expression!r})"

    __eq__ = _comparison("=")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __add__ = _arithmetic("+")
    __sub__ = _arithmetic("-")
    __mul__ = _arithmetic("*")
    __truediv__ = _arithmetic("/")
    __mod__ = _arithmetic("%")
    __radd__ = _arithmetic("+", reflected=True)
    __rsub__ = _arithmetic("-", reflected=True)
    __rmul__ = _arithmetic("*", reflected=True)
    __rtruediv__ = _arithmetic("/", reflected=True)
    __rmod__ = _arithmetic("%", reflected=True)

    def __neg__(self) -> "Term":
        return Term(expressions.Negate(self.expression))

    def __abs__(self) -> "Term":
        return Term(expressions.Absolute(self.expression))

    def __and__(self, other: "Term") -> "Term":
        return self._join(And, other)

    def __or__(self, other: "Term") -> "Term":
        return self._join(Or, other)

    def __invert__(self) -> "Term":
        return Term(expressions.Not(self.expression))

    def is_null(self) -> "Term":
        """Return the predicate that this is NULL."""
        return Term(expressions.IsNull(self.expression))

    def is_not_null(self) -> "Term":
        """Return the predicate that this is not NULL."""
        return Term(expressions.Not(expressions.IsNull(self.expression)))

    def is_in(self, values: Iterable[Constant]) -> "Term":
        """Return the predicate that this equals one of the constants."""
        return Term(expressions.InList(self.expression, tuple(_literal(value) for value in values)))

    def between(self, low: "Operand", high: "Operand") -> "Term":
        """Return the predicate that this lies between two values, both included."""
        bounds = ((self >= low).expression, (self <= high).expression)
        return Term(And(bounds))

    def like(self, pattern: str) -> "Term":
        """Return the predicate that this text matches an SQL LIKE pattern."""
        return Term(expressions.Like(self.expression, pattern))

    def count(self) -> "Term":
        """Return how many elements of the list have this attribute."""
        return self._aggregate("count")

    def count_distinct(self) -> "Term":
        """Return how many values of this attribute differ, in a trend query of a single event."""
        return self._aggregate("distinct")

    def stddev(self) -> "Term":
        """Return the sample standard deviation of this attribute, in a trend query of a single event."""
        return self._aggregate("stddev")

    def sum(self) -> "Term":
        """Return the sum of this attribute over the list."""
        return self._aggregate("sum")

    def avg(self) -> "Term":
        """Return the average of this attribute over the list."""
        return self._aggregate("avg")

    def min(self) -> "Term":
        """Return the least value of this attribute in the list."""
        return self._aggregate("min")

    def max(self) -> "Term":
        """Return the greatest value of this attribute in the list."""
        return self._aggregate("max")

    def _join(self, connective: type[And] | type[Or], other: "Term") -> "Term":
        """Join predicates; a & b & c is one conjunction of three, as the language reads it."""
        if not isinstance(other, Term):
            raise TypeError(f"expected a predicate, found {other!r}")
        mine = (self.expression,)
        if self._chain is connective and isinstance(self.expression, And | Or):
            mine = self.expression.operands  # type: ignore[assignment]
        return Term(connective((*mine, other.expression)), connective)

    def _aggregate(self, function: AggregateFunction) -> "Term":
        owner = self.expression
        if not isinstance(owner, Attribute) or owner.place != "each":
            raise refusal(f"{function.upper()} takes one attribute of a variable", f"write v.x.{function}()")
        return Term(expressions.Aggregate(function, owner.variable, owner.name))


Operand: TypeAlias = Term | Constant


def constant(value: Constant) -> Term:
    """Return a constant as a term; operators turn plain Python values into constants by themselves.

    >>> constant(timedelta(minutes=5)).expression
    Literal(value=300000000, type=Type(kind='duration', scale=0))
    """
    return Term(_literal(value))


def refusal(message: str, hint: str | None = None) -> QueryError:
    """Return the error of a builder call that makes no sense."""
    return QueryError([Problem(message, hint=hint)])


def expression_of(value: Operand) -> Expression:
    """Return the expression of a term, or of a plain Python value."""
    return value.expression if isinstance(value, Term) else _literal(value)


def _literal(value: Constant) -> Literal:
    match value:
        case None:
            return Literal(None, STRING)
        case bool():
            return Literal(value, BOOLEAN)
        case int() if INT64_MIN <= value <= INT64_MAX:
            return Literal(value, LONG)
        case float() if math.isfinite(value):
            return Literal(value, DOUBLE)
        case str():
            return Literal(value, STRING)
        case Decimal() if value.is_finite() and fits_decimal(value, scale_of(value)):
            return Literal(value, decimal(scale_of(value)))
        case datetime():
            moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return Literal((moment - EPOCH) // timedelta(microseconds=1), TIMESTAMP)
        case date():
            return Literal((value - EPOCH.date()).days, DATE)
        case timedelta():
            return Literal(value // timedelta(microseconds=1), DURATION)
        case _:
            raise refusal(f"{value!r} is no constant of the language")
