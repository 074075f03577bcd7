"""The definition of a query's match set, as a search through all bindings of its variables.

The pattern is split into clauses. In each clause every binding of its variables to events of the
right type is tried; it is a match when order, window, equivalences and predicates hold and no match
of a negated pattern lies in the scope of the negation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from weft.errors import Problem, QueryError
from weft.expressions import Expression, variables_of
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Pattern, Query
from weft.testing.clauses import Clause, clauses_of, positive_variables
from weft.testing.evaluate import CurrentElements, evaluate, holds
from weft.testing.events import Bindings, ReferenceEvent, agree
from weft.testing.stream import Stream, prepare
from weft.testing.values import Value
from weft.tree import find


@dataclass(frozen=True, slots=True)
class Match:
    """The bound variables with the rows of their events, in order; absent variables are left out.

    `start` and `end` are the times of the first and of the last event.
    """

    bindings: frozenset[tuple[str, tuple[int, ...]]]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    @property
    def rows(self) -> dict[str, tuple[int, ...]]:
        """The rows of each bound variable."""
        return dict(self.bindings)


def find_matches(query: Query, events: Sequence[ReferenceEvent], *, tie_break: bool = False) -> set[Match]:
    """Return the matches of a bound query in a stream; the order of `events` does not matter.

    >>> query = Query("q", nodes.Sequence((Event("A", "a"), Event("B", "b"))), window=nodes.TimeWindow(10))
    >>> arrivals = [("A", 0), ("A", 5), ("B", 10), ("B", 15)]
    >>> stream = [ReferenceEvent(row, frozenset(type), time) for row, (type, time) in enumerate(arrivals)]
    >>> sorted((match.rows["a"], match.rows["b"]) for match in find_matches(query, stream))
    [((0,), (2,)), ((1,), (2,)), ((1,), (3,))]
    """
    _refuse_repeated_groups(query.pattern)
    stream = prepare(query, events, tie_break=tie_break)
    positive = positive_variables(query.pattern)
    conditions = [conjunct for conjunct in stream.conjuncts if variables_of(conjunct) <= positive]
    return {
        _match(bindings)
        for clause in clauses_of(query.pattern)
        for bindings in _clause_matches(clause, stream.events, conditions, {}, stream)
    }


def _refuse_repeated_groups(pattern: Pattern) -> None:
    for kleene in find(pattern, Kleene):
        is_optional = kleene.most == 1 and not isinstance(kleene.operand, Negation)
        if not is_optional and not isinstance(kleene.operand, Event):
            message = "a repeated group is not supported in a query that returns matches"
            raise QueryError([Problem(message, kleene.span, "repeat a single event, or count trends")])


def returned(query: Query, match: Match, events: Sequence[ReferenceEvent]) -> dict[str, Value]:
    """Return the values of the RETURN columns of a match; an absent variable is an empty list.

    >>> from weft.expressions import Aggregate
    >>> column = nodes.ReturnColumn("n", Aggregate("count", "b"))
    >>> query = Query("q", nodes.Disjunction((Event("A", "a"), Event("B", "b"))), returns=(column,))
    >>> stream = [ReferenceEvent(0, frozenset("A"), 5)]
    >>> [returned(query, match, stream) for match in find_matches(query, stream)]
    [{'n': 0}]
    """
    by_row = {event.row: event for event in events}
    bindings = {variable: tuple(by_row[row] for row in rows) for variable, rows in match.bindings}
    elements = CurrentElements(
        {variable: bound[0] for variable, bound in bindings.items() if len(bound) == 1}
    )
    return {column.name: evaluate(column.expression, bindings, elements) for column in query.returns}


def _match(bindings: Bindings) -> Match:
    times = [event.time for event in _events_of(bindings)]
    rows = {(variable, tuple(event.row for event in bound)) for variable, bound in bindings.items() if bound}
    return Match(frozenset(rows), min(times), max(times))


def _events_of(bindings: Bindings) -> list[ReferenceEvent]:
    return [event for bound in bindings.values() for event in bound]


def _clause_matches(
    clause: Clause,
    events: Sequence[ReferenceEvent],
    conditions: Sequence[Expression],
    outer: Bindings,
    stream: Stream,
) -> Iterator[Bindings]:
    """Yield the matches of a clause among `events`; `outer` are bindings around a negated pattern.

    An absent optional variable is bound to the empty list, so that it has a count. A condition on a
    variable that is bound neither here nor outside belongs to a branch not taken: it is dropped.
    """
    positive = positive_variables(clause.pattern)
    if clause.pattern is None or not positive:
        return
    absent: Bindings = dict.fromkeys(clause.absent, ())
    known = positive | absent.keys() | outer.keys()
    applicable = [condition for condition in conditions if variables_of(condition) <= known]
    for found in _bindings(clause.pattern, events, stream):
        own = {**absent, **found}
        everything = {**outer, **own}
        if all(holds(condition, everything) for condition in applicable) and not _is_negated(
            clause.pattern, own, everything, stream
        ):
            yield own


# Bindings that satisfy types, order, window and equivalences.


def _bindings(pattern: Pattern, events: Sequence[ReferenceEvent], stream: Stream) -> Iterator[Bindings]:
    match pattern:
        case Event():
            yield from ({pattern.variable: (event,)} for event in _of_item(pattern, events, stream))
        case Kleene(operand=Event() as item, least=least, most=most):
            longest = len(events) if most is None else most
            for run in _runs(_of_item(item, events, stream), longest, stream):
                if len(run) >= least:
                    yield {item.variable: run}
        case nodes.Sequence(operands=operands):
            yield from _combined(
                [each for each in operands if _is_positive(each)], events, stream, ordered=True
            )
        case Conjunction(operands=operands):
            yield from _combined(
                [each for each in operands if _is_positive(each)], events, stream, ordered=False
            )
        case _:
            raise ValueError(f"not part of a clause: {pattern}")


def _is_positive(pattern: Pattern) -> bool:
    return not isinstance(pattern, Negation)


def _of_item(item: Event, events: Sequence[ReferenceEvent], stream: Stream) -> list[ReferenceEvent]:
    rows = {event.row for event in events}
    return [event for event in stream.candidates[item] if event.row in rows]


def _runs(
    events: Sequence[ReferenceEvent], longest: int, stream: Stream
) -> Iterator[tuple[ReferenceEvent, ...]]:
    """Yield every list of at most `longest` events in strictly increasing order, the empty one too."""
    yield ()
    if longest > 0:
        for event in events:
            for run in _runs(_compatible(events, [event], stream, ordered=True), longest - 1, stream):
                yield (event, *run)


def _combined(
    operands: Sequence[Pattern], events: Sequence[ReferenceEvent], stream: Stream, *, ordered: bool
) -> Iterator[Bindings]:
    """Yield the ways to bind all operands, each before the next if they are `ordered`."""
    if not operands:
        yield {}
        return
    for first in _bindings(operands[0], events, stream):
        left = _compatible(events, _events_of(first), stream, ordered=ordered)
        for rest in _combined(operands[1:], left, stream, ordered=ordered):
            yield {**first, **rest}


def _compatible(
    events: Sequence[ReferenceEvent], bound: Sequence[ReferenceEvent], stream: Stream, *, ordered: bool
) -> list[ReferenceEvent]:
    """Return the events that can be bound along with the bound ones, and after them if `ordered`."""
    return [
        event
        for event in events
        if all(stream.fit_together(other, event) for other in bound)
        and (not ordered or all(stream.is_before(other, event) for other in bound))
    ]


# Negations.


def _is_negated(pattern: Pattern, own: Bindings, everything: Bindings, stream: Stream) -> bool:
    """Say whether some negation of a clause, whose match binds `own`, has a match in its scope."""
    if not isinstance(pattern, nodes.Sequence | Conjunction):
        return False
    for index, operand in enumerate(pattern.operands):
        if not isinstance(operand, Negation):
            if _is_negated(operand, own, everything, stream):
                return True
            continue
        if isinstance(pattern, nodes.Sequence):
            scope = _scope_in_sequence(pattern.operands, index, own, stream)
        else:
            scope = _scope_in_conjunction(own, stream)
        if _has_match(operand.operand, scope, own, everything, stream):
            return True
    return False


def _scope_in_sequence(
    operands: Sequence[Pattern], index: int, own: Bindings, stream: Stream
) -> list[ReferenceEvent]:
    """Return the events between the nearest positive operands before and after operand `index`.

    Where there is none, the window of the whole match ends the scope.
    """
    bound = _events_of(own)
    previous = _nearest(operands[:index][::-1], own)
    following = _nearest(operands[index + 1 :], own)
    return [
        event
        for event in stream.events
        if (previous or stream.is_from_window_before(event, bound))
        and (following or stream.is_up_to_window_after(event, bound))
        and all(stream.is_before(other, event) for other in previous)
        and all(stream.is_before(event, other) for other in following)
    ]


def _nearest(operands: Sequence[Pattern], own: Bindings) -> list[ReferenceEvent]:
    """Return the events of the first positive operand, none if there is no such operand."""
    for operand in operands:
        if _is_positive(operand):
            return [event for variable in positive_variables(operand) for event in own[variable]]
    return []


def _scope_in_conjunction(own: Bindings, stream: Stream) -> list[ReferenceEvent]:
    """Return the events from the first event of the match to the end of the window it begins."""
    bound = _events_of(own)
    return [
        event
        for event in stream.events
        if stream.is_from_first(event, bound) and stream.is_up_to_window_after(event, bound)
    ]


def _has_match(
    pattern: Pattern, scope: Sequence[ReferenceEvent], own: Bindings, everything: Bindings, stream: Stream
) -> bool:
    """Say whether a negated pattern has a match in a scope, of events that the match does not bind.

    Its conditions are those that mention a variable of its own, and none that it negates in turn.
    """
    bound = _events_of(own)
    free = [
        event
        for event in scope
        if all(event.row != other.row and agree(event, other, stream.keys) for other in bound)
    ]
    positive = positive_variables(pattern)
    hidden = {item.variable for item in find(pattern, Event)} - positive
    conditions = [
        conjunct
        for conjunct in stream.conjuncts
        if variables_of(conjunct) & positive and not variables_of(conjunct) & hidden
    ]
    return any(
        True
        for clause in clauses_of(pattern)
        for _ in _clause_matches(clause, free, conditions, everything, stream)
    )
