"""Build the clauses of a CCL statement from the rules of the grammar."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from lark import Token

from weft.errors import Span
from weft.expressions import And, Comparison, CountTrends, Expression, Literal
from weft.language.expression_rules import Rules, holds_predicate
from weft.language.findings import span_of
from weft.language.nesting import is_nested_too_deeply
from weft.language.pattern_rules import counts_events
from weft.pattern.nodes import Conjunction, Event, Pattern, ReturnColumn, Sequence, Some, TimeWindow
from weft.schema import BOOLEAN
from weft.tree import find

MAX_CHAIN = 64

_OPERATORS: dict[str, type[Sequence] | type[Conjunction] | type[Some]] = {
    "COMMA": Sequence,
    "AMPERSAND": Conjunction,
    "PIPE": Some,
}


class CclSource(NamedTuple):
    """An event type of FROM under the name that the statement has for it."""

    type: str
    alias: str
    span: Span


class Matching(NamedTuple):
    """The interval of MATCHING, None after a mistake in it, and the pattern with aliases for types.

    `A, B` is a Sequence, `A & B` a Conjunction, `A | B` a Some, and `!A` a Negation.
    """

    window: TimeWindow | None
    pattern: Pattern


class CclRules(Rules):
    """One method per rule of the grammar of CCL; the rules of expressions are inherited."""

    def create_clause(self, parts: list[Any]) -> Token:
        return parts[1]  # type: ignore[no-any-return]

    def create_kind(self, parts: list[Token]) -> Token:
        return parts[-1]

    def select_clause(self, parts: list[Any]) -> list[ReturnColumn]:
        return [] if type(parts[0]) is Token else parts[::2]

    def select_column(self, parts: list[Any]) -> ReturnColumn:
        for counted in find(parts[0], CountTrends):
            hint = "count the matches afterwards, or count trends: QUERY q PATTERN ... RETURN COUNT(*)"
            self.complain("SELECT shows each match; COUNT(*) would count them", counted.span, hint)
        return self.column(parts)

    def from_clause(self, parts: list[Any]) -> list[CclSource]:
        return parts[::2]

    def source(self, parts: list[Token]) -> CclSource:
        return CclSource(parts[0].value, parts[-1].value, span_of(parts[0], parts[-1]))

    def matching_clause(self, parts: list[Any]) -> Matching:
        return Matching(parts[-4], parts[-2])

    def interval(self, parts: list[Token]) -> TimeWindow | None:
        span = span_of(parts[0], parts[-1])
        _, quantities = self.quantities("the interval", parts, ("seconds", "minutes"))
        if quantities and counts_events(quantities):
            hint = "write for example 10 seconds; QUERY ... WITHIN 500 EVENTS counts events"
            self.complain("an interval is a time, found a number of events", span, hint)
            return None
        length = self.microseconds(quantities)
        if length == 0:
            self.complain("the interval has no length", span, "write for example 10 seconds")
        return None if length is None else TimeWindow(length, span)

    def operator(self, parts: list[Any]) -> Pattern:
        return _OPERATORS[parts[1].type](tuple(parts[::2]), span_of(parts[0], parts[-1]))

    def source_name(self, parts: list[Token]) -> Event:
        return Event(parts[0].value, parts[0].value, span_of(parts[0], parts[0]))

    def nested_interval(self, parts: list[Any]) -> Pattern:
        span = span_of(parts[0], parts[-1])
        hint = "one interval holds for the whole pattern; compare the times of its events in ON instead"
        self.complain("an interval inside the pattern is not supported", span, hint)
        return parts[3]  # type: ignore[no-any-return]

    def chain(self, parts: list[Any]) -> Expression:
        """Let `a = b = c` say that every two of them are equal, also where one of them is not bound."""
        sides = parts[::2]
        for token in parts[1::2]:
            if token.value not in ("=", "=="):
                message = f"a chain of comparisons is one of equalities, found {token.value}"
                self.complain(message, span_of(token, token), "join two comparisons with AND")
        span = span_of(sides[0], sides[-1])
        for side in filter(holds_predicate, sides):  # which nested would double at every level
            self.complain("a chain takes numbers, texts and times, found a predicate", side.span)
            return Literal(None, BOOLEAN, span)
        if any(map(is_nested_too_deeply, sides)):
            return And(tuple(sides), span)  # refused with its clause
        different = list(dict.fromkeys(sides))
        if len(different) > MAX_CHAIN:
            message = f"a chain has at most {MAX_CHAIN} different values, found {len(different)}"
            self.complain(message, span, "write [k] for one attribute k of all events, or several chains")
            return Literal(None, BOOLEAN, span)
        pairs = [Comparison("=", left, right, span_of(left, right)) for left, right in _pairs(different)]
        equalities = And(tuple(pairs), span) if len(pairs) > 1 else pairs[0]
        self.chains[id(equalities)] = different
        return equalities


def _pairs(different: list[Expression]) -> Iterable[tuple[Expression, Expression]]:
    return combinations(different, 2) if len(different) > 1 else [(different[0], different[0])]
