"""Patterns and queries as frozen values: what the user means, in the user's words."""

from dataclasses import dataclass, field
from typing import TypeAlias

from weft.errors import Span
from weft.expressions import CountTrends, Equivalence, Expression, Predicate
from weft.pattern.policies import ALL_MATCHES, Policy
from weft.tree import find

MAX_ALTERNATIVES = 256  # of one query: more ways to match are refused
MAX_COMBINATIONS = 4_096  # the same with SOME, whose combinations have most of their joins in common


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a type, bound to a variable."""

    type: str
    variable: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """What the operators over several patterns have in common."""

    operands: tuple["Pattern", ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sequence(Operator):
    """Every event of an operand is before every event of the next."""


@dataclass(frozen=True, slots=True)
class Conjunction(Operator):
    """All operands, in any order, no event used twice."""


@dataclass(frozen=True, slots=True)
class Disjunction(Operator):
    """The union of the operands' matches."""


@dataclass(frozen=True, slots=True)
class Some(Operator):
    """Every non-empty combination of the operands, in any order, no event used twice."""


@dataclass(frozen=True, slots=True)
class Negation:
    """No match of the operand lies in the scope that the position of the negation gives."""

    operand: "Pattern"
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Kleene:
    """A list of `least` to `most` matches of the operand, each before the next; None: no bound."""

    operand: "Pattern"
    least: int
    most: int | None
    span: Span | None = field(default=None, compare=False, repr=False)


Pattern: TypeAlias = Event | Sequence | Conjunction | Disjunction | Some | Negation | Kleene


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """time(last) - time(first) <= length, in microseconds."""

    length: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CountWindow:
    """position(last) - position(first) < length; an event's position is the number of events before it."""

    length: int
    span: Span | None = field(default=None, compare=False, repr=False)


Window: TypeAlias = TimeWindow | CountWindow


@dataclass(frozen=True, slots=True)
class ReturnColumn:
    """One RETURN column: a name and the expression it shows."""

    name: str
    expression: Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A named pattern with its conditions; `where` holds the conjuncts in the order written.

    A trend query is not answered with its matches, the trends, but with aggregates over all those whose
    events lie in one window [k * slide, k * slide + length) and agree on the attributes of `group_by`; those
    results count of which all of `having` is true.
    """

    name: str
    pattern: Pattern
    where: tuple[Predicate, ...] = ()
    window: Window | None = None
    partition_by: tuple[str, ...] = ()
    returns: tuple[ReturnColumn, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)
    slide: int | None = None  # microseconds; of a trend query without SLIDE, the length of the window
    group_by: tuple[str, ...] = ()
    policy: Policy = ALL_MATCHES
    having: tuple[Expression, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes on which all events of a match agree, each once."""
        equal = (name for part in self.where if isinstance(part, Equivalence) for name in part.attributes)
        return tuple(dict.fromkeys((*equal, *self.partition_by)))

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """The conjuncts that are conditions on values, without the equivalences."""
        return tuple(part for part in self.where if not isinstance(part, Equivalence))

    @property
    def is_trend(self) -> bool:
        """Whether aggregates over trends are asked for, with SLIDE, GROUP BY or COUNT(*)."""
        asked = (*(column.expression for column in self.returns), *self.having)
        counts = any(True for expression in asked for _ in find(expression, CountTrends))
        return counts or self.slide is not None or bool(self.group_by)
