"""A match as the reference returns it: the rows that it binds, its times, and its RETURN values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.expressions import Expression, Suppressed
from weft.pattern.nodes import Query
from weft.reference.evaluate import CurrentElements, evaluate
from weft.reference.events import Bindings, ReferenceEvent
from weft.reference.values import Value


@dataclass(frozen=True, slots=True)
class Match:
    """The bound variables with the rows of their events, in order; absent variables are left out.

    `start` and `end` are the times of the first and of the last event; `swallowed` is how many matches
    the quiet time before this one swallowed.
    """

    bindings: frozenset[tuple[str, tuple[int, ...]]]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    swallowed: int = field(default=0, compare=False)

    @property
    def rows(self) -> dict[str, tuple[int, ...]]:
        """The rows of each bound variable."""
        return dict(self.bindings)


def match_of(lists: Bindings) -> Match:
    """Return the match that binds each variable to a list of events."""
    times = [event.time for bound in lists.values() for event in bound]
    rows = frozenset((variable, tuple(event.row for event in bound)) for variable, bound in lists.items())
    return Match(rows, min(times), max(times))


def bindings_text(match: Match) -> str:
    """Return what a match binds as text, which tells it from all others of its query.

    >>> bindings_text(Match(frozenset({("b", (2, 3)), ("a", (0,))})))
    "[('a', (0,)), ('b', (2, 3))]"
    """
    return str(sorted(match.bindings))


def return_values(query: Query, match: Match, events: Sequence[ReferenceEvent]) -> dict[str, Value]:
    """Return the values of the RETURN columns of a match; an absent variable is an empty list.

    >>> from weft.expressions import Aggregate
    >>> from weft.pattern import nodes
    >>> column = nodes.ReturnColumn("n", Aggregate("count", "b"))
    >>> query = Query("q", nodes.Event("A", "a"), returns=(column,))
    >>> return_values(query, Match(frozenset({("a", (0,))})), [ReferenceEvent(0, frozenset("A"), 5)])
    {'n': 0}
    """
    by_row = {event.row: event for event in events}
    return {column.name: value_of(column.expression, match, by_row) for column in query.returns}


def value_of(expression: Expression, match: Match, events: Mapping[int, ReferenceEvent]) -> Value:
    """Return the value of an expression on a match, given the event of each row."""
    if isinstance(expression, Suppressed):
        return match.swallowed
    bindings = {variable: tuple(events[row] for row in rows) for variable, rows in match.bindings}
    single = {variable: bound[0] for variable, bound in bindings.items() if len(bound) == 1}
    return evaluate(expression, bindings, CurrentElements(single))
